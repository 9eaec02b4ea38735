"""The theorems of group DRO on a bounded problem: mean duality gaps below their bounds, and falling as they should.

m = 5 groups of 40 rows in R^4 with ||x|| <= 1, ||w|| <= 1, losses divided by log(1 + e): in [0, 1], with gradients up
to G = .557, and D^2 = 1/2. A trial draws its rows with replacement; its gap is exact, up to a certified 1e-9.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains import L2Ball
from jaxbandits.dro import SMD, AnytimeATkRO1, AnytimeATkROm, AnytimeOnline, AnytimeSMD, ATkROk, ATkROm, Online
from jaxbandits.types import Gradient
from tests.algorithms.dro.replay_dro import logistic, patch_uniforms
from tests.reference import dro_methods, dro_risks
from tests.reference import dro_steps as bounds

M, D, ROWS, SEEDS = 5, 4, 40, 20
SCALE = float(np.log(1.0 + np.e))  # the largest loss for |w'x| <= 1
LIPSCHITZ = np.e / (1.0 + np.e) / SCALE  # .557
PROBLEM = {"m": M, "diameter_sq": 0.5, "lipschitz": LIPSCHITZ}
FIELDS = {"dim": D, "n_groups": M, "domain": L2Ball(radius=1.0), "lipschitz": LIPSCHITZ}


@pytest.fixture(scope="module")
def problem():
    """Rows x [m, rows, d], y [m, rows]: groups that disagree, one of them noisier."""
    rng = np.random.default_rng(17)
    x = rng.normal(size=(M, ROWS, D))
    x /= np.maximum(np.linalg.norm(x, axis=2, keepdims=True), 1.0)
    optima = rng.normal(size=D) + 0.7 * rng.normal(size=(M, D))
    y = np.sign(np.einsum("mrd,md->mr", x, optima))
    flips = rng.random((M, ROWS)) < np.array([0.35, 0.1, 0.1, 0.1, 0.1])[:, None]
    return x, np.where(flips, -y, y)


def scaled_loss(w, x, y):
    loss, slope = dro_methods.logistic(w, x, y)
    return loss / SCALE, slope / SCALE


def gaps(learner, problem, horizon, rng, k=1):
    """[seeds] duality gaps of what the learner recommends."""
    pool_x, pool_y = problem
    picks = rng.integers(0, ROWS, (SEEDS, horizon, M))
    u = rng.random((SEEDS, horizon, M))

    @jax.jit
    @jax.vmap
    def run(picks, u):
        x, y, algorithm = jnp.asarray(pool_x), jnp.asarray(pool_y), as_arrays(learner)

        def round_(state, row):
            t, picked, u = row
            with patch_uniforms(u):
                decision = algorithm.select(jax.random.key(0), t, state, None)
            group = jnp.asarray(decision.group)
            loss, grad = logistic(decision.play, x[group, picked[group]], y[group, picked[group]])
            feedback = Gradient(loss / SCALE, grad / SCALE)
            return algorithm.update(None, t, state, None, decision, feedback), None

        rows = jnp.arange(horizon, dtype=jnp.int32), picks, u
        state, _ = jax.lax.scan(round_, algorithm.init(jax.random.key(0)), rows)
        return algorithm.recommend(state)

    ws, qs = run(picks, u)
    flat = pool_x.reshape(-1, D), pool_y.reshape(-1), np.repeat(np.arange(M), ROWS)
    return np.array(
        [
            dro_risks.table_gap(w, q, *flat, scaled_loss, 1.0, 0.25 / SCALE, k)[1]
            for w, q in zip(np.asarray(ws), np.asarray(qs), strict=True)
        ]
    )


T = 2000
CASES = {
    "SMD(m)": (SMD(**FIELDS, horizon=T), 1, bounds.bound_theorem_1(horizon=T, **PROBLEM)),
    "SMD(m)_a": (AnytimeSMD(**FIELDS), 1, bounds.bound_theorem_2(t=T, **PROBLEM)),
    "Online(1)": (Online(**FIELDS, horizon=T), 1, bounds.bound_theorem_4(horizon=T, **PROBLEM)),
    "Online(1)_a": (AnytimeOnline(**FIELDS), 1, bounds.bound_theorem_8(t=T, **PROBLEM)),
    "ATkRO(m)": (ATkROm(**FIELDS, k=2, horizon=T), 2, bounds.bound_theorem_1(horizon=T, k=2, **PROBLEM)),
    "ATkRO(m)_a": (AnytimeATkROm(**FIELDS, k=2), 2, bounds.bound_theorem_2(t=T, k=2, **PROBLEM)),
    "ATkRO(k)": (ATkROk(**FIELDS, k=2, horizon=T), 2, bounds.bound_theorem_14(horizon=T, k=2, **PROBLEM)),
    "ATkRO(1)_a": (AnytimeATkRO1(**FIELDS, k=2), 2, bounds.bound_theorem_8(t=T, **PROBLEM)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_mean_gap_is_below_the_bound(name, problem, rng):
    learner, k, bound = CASES[name]
    found = gaps(learner, problem, T, rng, k)
    assert np.all(found > -1e-8)
    error = np.std(found) / np.sqrt(SEEDS)
    assert np.mean(found) + 5.0 * error < bound, (np.mean(found), error, bound)
    assert np.mean(found) < 0.1, "the bounds are loose: a learner that stands still passes some of them"


@pytest.mark.slow
def test_gaps_fall_with_the_horizon(problem, rng):
    """T = 1000, 4000, 16000: ratios of means as of 1 / sqrt(T), 2, at some distance."""
    smd = [np.mean(gaps(SMD(**FIELDS, horizon=t), problem, t, rng)) for t in (1000, 4000, 16_000)]
    assert smd[0] / smd[1] >= 1.5 and smd[1] / smd[2] >= 1.5, smd
    online = [np.mean(gaps(Online(**FIELDS, horizon=t), problem, t, rng)) for t in (1000, 16_000)]
    assert online[0] / online[1] >= 1.8, online
