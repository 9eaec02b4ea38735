"""Blocked and bandit learners with constraints in float32 (a process without x64), against the float64 references."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.coco.bfw_tvc import BFWTVC
from jaxbandits.algorithms.coco.lbpm import LBPM
from jaxbandits.algorithms.coco.loo_bogd import LOOBOGD
from jaxbandits.algorithms.coco.lpm import LPM
from jaxbandits.algorithms.coco.opdp import OPDP
from jaxbandits.algorithms.coco.scbfw_tvc import SCBFWTVC
from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains import Box
from jaxbandits.environments.coco.quadratic_constraints import QuadraticConstraints
from jaxbandits.types import PointDecision
from tests.algorithms.coco.replay_blocks import KEY, random_bandit_trace, random_trace, replay, replay_bandit
from tests.reference import bfw_tvc, convex_sets, loo_bogd, lpm, opdp, scbfw_tvc

DIM, ROUNDS, DELTA = 3, 60, 0.3
BOX = convex_sets.Box(DIM, 1.0)
COMMON = {"dim": DIM, "domain": Box(dim=DIM), "horizon": ROUNDS}
X = np.array([0.1, -0.2, 0.05])


def bandits(x):
    first = {"c": 0.3, "beta": 2.0, "gamma": 0.5, "lam": 0.25, "eps": 0.05, "delta": DELTA}
    second = {"alpha": 0.8, "beta": 0.7, "gamma": 1.3, "delta": DELTA}
    third = {"eta": 0.03, "theta": 0.2, "eta_l": 0.4}
    return {
        "bfw_tvc": (
            BFWTVC(**COMMON, block=5, start=x, g_init=1.0, **first),
            bfw_tvc.BFWTVC(BOX, x, T=ROUNDS, K=5, G=1.0, M=1.0, **first),
            lambda state: state.last.x,
            lambda other: other.y,
        ),
        "scbfw_tvc": (
            SCBFWTVC(**COMMON, block=5, steps=3, start=x, curvature=0.8, beta=0.7, gamma=1.3, delta=DELTA),
            scbfw_tvc.SCBFWTVC(BOX, x, ROUNDS, K=5, L=3, **second),
            lambda state: state.last.x,
            lambda other: other.y,
        ),
        "lbpm": (
            LBPM(**COMMON, block=5, start=x, eta=0.03, damping=0.2, dual_step=0.4, delta=DELTA, cut_first=False),
            lpm.LBPM(BOX, x, K=5, delta=DELTA, **third),
            lambda state: state.run.x,
            lambda other: other.x,
        ),
    }


def first_order(x):
    return {
        "loo_bogd": (
            LOOBOGD(**COMMON, block=5, start=x, eta=0.3, eps=0.01, cut_first=False),
            loo_bogd.LOOBOGD(BOX, x, 0.3, 0.01, 5),
            lambda state: state.run.x,
            lambda other: other.x,
        ),
        "lpm": (
            LPM(**COMMON, block=5, start=x, eta=0.3, eps=0.01, damping=0.2, dual_step=0.4, cut_first=False),
            lpm.LPM(BOX, x, 0.3, 0.01, 5, 0.2, 0.4),
            lambda state: state.run.x,
            lambda other: other.x,
        ),
        "opdp": (
            OPDP(**COMMON, start=x, dual_step=0.4, damping=0.2),
            opdp.OPDP(BOX, x, ROUNDS, 1.0, 0.4, 0.2),
            lambda state: state.last.x,
            lambda other: other.x,
        ),
    }


@pytest.mark.slow_after_first
@pytest.mark.parametrize("name", bandits(X))
def test_bandits_follow_the_reference(name):
    us, fs, gs = random_bandit_trace(np.random.default_rng(0), (DIM,), ROUNDS)
    learner, other, ours, theirs = bandits(X)[name]
    decision, state, _ = replay_bandit(learner, *(a.astype(np.float32) for a in (us, fs, gs)))
    expected, played = [], []
    for u, f, g in zip(us, fs[:, 0], gs[:, 0], strict=True):
        played.append(other.play(u))
        other.step(f, g)
        expected.append(theirs(other))
    assert decision.play.dtype == np.float32
    np.testing.assert_allclose(ours(state), expected, atol=1e-4)
    np.testing.assert_allclose(decision.play, played, atol=1e-4)
    assert np.ptp(expected, axis=0).max() > 0.1
    assert np.abs(decision.play).max() <= 1.0 + 1e-6


@pytest.mark.slow_cases("lpm")
@pytest.mark.parametrize("name", first_order(X))
def test_first_order_methods_follow_the_reference(name):
    trace = random_trace(np.random.default_rng(1), (DIM,), ROUNDS)
    learner, other, ours, theirs = first_order(X)[name]
    _, state, _ = replay(learner, *(a.astype(np.float32) for a in trace))
    expected = []
    for row in zip(*trace, strict=True):
        other.step(row[0]) if name == "loo_bogd" else other.step(*row)
        expected.append(theirs(other))
    assert ours(state).dtype == np.float32
    np.testing.assert_allclose(ours(state), expected, atol=1e-4)
    assert np.ptp(expected, axis=0).max() > 0.1


@pytest.mark.slow
def test_quadratic_constraints_comparators():
    """After 20000 rounds, against a bisection over the multiplier in NumPy, from the state in float64."""
    environment = as_arrays(QuadraticConstraints(dim=DIM, domain=Box(dim=DIM, low=-0.6, high=0.6)))

    @jax.jit
    def run():
        def round_(state, t):
            decision = PointDecision.at(jnp.zeros(DIM))
            state, told, _ = environment.step(jax.random.fold_in(KEY, t), t, state, None, decision)
            return state, -told.grad[0]

        state, targets = jax.lax.scan(round_, environment.init(KEY), jnp.arange(20_000, dtype=jnp.int32))
        return state, targets, environment.at_record(state, None)

    state, targets, answer = run()
    mean, a, bound = np.float64(targets).mean(axis=0), np.float64(state.normal), float(state.bound)

    def excess(mu):
        x = np.clip(mean - mu * a, -0.6, 0.6)
        return a @ x - bound, 20_000.0 * (0.5 * x @ x - x @ mean)

    low, high = 0.0, 10.0
    for _ in range(100):
        mu = 0.5 * (low + high)
        low, high = (mu, high) if excess(mu)[0] > 0.0 else (low, mu)
    assert low > 0.01  # the constraint matters
    # a rounding of the mean or of the bound moves the value by 20000 times that
    assert float(answer["feasible_comparator_excess"]) == pytest.approx(excess(high)[1], abs=20_000 * 1e-6)
    assert float(answer["comparator_excess"]) == pytest.approx(excess(0.0)[1], abs=20_000 * 1e-6)
    assert float(answer["comparator_excess"]) < float(answer["feasible_comparator_excess"]) - 20.0
