"""RS-GLinCB's warm-up, elimination and refits, round by round and at the horizon of the figures.

That every round agrees with the reference: tests/algorithms/glm/test_glm_mle.py.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.glm.rs_glincb import RSGLinCB
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays, validate
from jaxbandits.types import ArmObs
from tests import compiled
from tests.algorithms.glm.replay_mle import fixed_instance, play, regret
from tests.reference import glb_omd

KEY = jax.random.key(0)
FAMILY = glb_omd.FAMILIES["bernoulli"]


def instance(seed, S, T=3000):
    """Theta*, arms [20, 2], rewards [T, 20], and kappa of the arms shown."""
    star, X, R = fixed_instance(seed, 2, 20, T, S, "bernoulli")
    return star, X, R, 1.0 / FAMILY.slope(X @ star).min()


def learner(kappa, S, make=RSGLinCB.experiments, **changes):
    return make(dim=2, n_arms=20, horizon=3000, norm_bound=S, kappa=kappa, **changes)


def warm_up(trace):
    """Rounds in which theta_o changed: every warm-up round fits it anew."""
    before = np.vstack([np.zeros((1, 2)), trace["theta_o"][:-1]])
    return int(np.any(trace["theta_o"] != before, axis=1).sum())


@pytest.mark.slow
@pytest.mark.parametrize("make", [RSGLinCB.theory, RSGLinCB.experiments])
def test_warm_up_never_ends_with_the_paper_s_constants(make):
    """d = 2, S = 3, T = 3000: the threshold is 3.8e-7, and 3000 rounds bring ||x||^2 to about 1e-3 only."""
    _, X, R, kappa = instance(100, 3.0)
    algorithm = learner(kappa, 3.0, make)
    V = float(algorithm._ridge) * np.eye(2)
    trace = play(algorithm, X, R)
    for k in trace["index"]:
        norms = np.einsum("kd,dk->k", X, np.linalg.solve(V, X.T))
        assert norms[k] == pytest.approx(norms.max(), rel=1e-9)  # every round explores
        V += np.outer(X[k], X[k])
    assert norms.max() > 1e-4 > 1e-6 > float(algorithm._threshold)
    assert np.all(trace["theta_tau"] == 0.0) and np.all(trace["growth"] == 0.0)


def test_constants_by_hand():
    algorithm = RSGLinCB.theory(dim=2, n_arms=20, horizon=3000, norm_bound=3.0, kappa=20.0, reward_bound=2.0)
    log_term = 2.0 * np.log(3000 / 0.05)
    assert float(algorithm._ridge) == pytest.approx(log_term / 4.0)
    assert float(algorithm._gamma) == pytest.approx(25.0 * 6.0 * np.sqrt(log_term))
    assert float(algorithm._threshold) == pytest.approx(1.0 / (150.0**2 * log_term * 20.0 * 4.0))
    practical = RSGLinCB.practical(dim=2, n_arms=20, horizon=3000, norm_bound=3.0, kappa=20.0, reward_bound=2.0)
    assert float(practical._threshold) == pytest.approx(1.0 / (0.01 * 20.0 * 16.0 * 9.0 * 2.0))
    assert float(practical._gamma) == pytest.approx(6.0 * np.sqrt(log_term))
    assert float(RSGLinCB(dim=2, n_arms=20, horizon=9, norm_bound=3.0)._kappa) == pytest.approx(
        2.0 + 2.0 * np.cosh(3.0)
    )


@pytest.mark.parametrize("bound", [np.int32(2000), np.uint8(200), np.float16(200), np.array([2000, 300], np.int32)])
def test_the_practical_threshold_does_not_overflow(bound):
    """It contains the fourth power of the bound on the rewards."""
    made = RSGLinCB.practical(dim=2, n_arms=5, horizon=30, kappa=4.0, norm_bound=3.0, reward_bound=bound)
    np.testing.assert_allclose(made.threshold, 100.0 / (4.0 * np.asarray(bound, float) ** 4 * 9.0 * 2.0))


@pytest.mark.parametrize("delta", [1e-12, 0.05, np.nextafter(1.0, 0.0)])
def test_one_round_with_the_theory_s_constants(delta):
    """lambda = d log(T/delta) / R^2 stays positive, so nothing is divided by zero."""
    algorithm = RSGLinCB.theory(dim=2, n_arms=5, horizon=1, delta=delta)
    validate(algorithm)
    for leaf in jax.tree.leaves(algorithm.init(KEY)):
        assert np.isfinite(leaf).all()
    with pytest.raises(InputError, match=r"RSGLinCB\.delta must lie in \(0, 1\), got 1\.0"):
        validate(RSGLinCB(dim=2, n_arms=5, horizon=1, delta=1.0))


def at_rest(algorithm, theta_o, widths, bonuses):
    """After the warm-up, theta_tau = 0, diagonal matrices: arm e_i has the given width and the given bonus."""
    state = algorithm.init(KEY)
    beta = 150.0 * float(algorithm.beta_scale) * np.sqrt(float(algorithm._log_term))
    diagonals = np.diag(np.square(np.asarray(widths) / float(algorithm._gamma))), np.diag(np.square(bonuses) / beta**2)
    v_inverse, h_tau_inverse = (jnp.asarray(m) for m in diagonals)
    theta_o = jnp.asarray(theta_o)
    return state._replace(theta_o=theta_o, v_inverse=v_inverse, h_tau_inverse=h_tau_inverse)


@pytest.mark.parametrize(("upper", "second", "expected"), [(0.901, 0.95, 2), (0.899, 0.95, 1), (0.899, 0.89, 0)])
def test_elimination_is_against_the_largest_lower_bound(upper, second, expected):
    """Lower bounds 0.9, 0.7, 0.1; an arm goes when its upper bound is below 0.9, however large its bonus.

    (Against the smallest lower bound, as in some public code, all three would stay.)
    """
    algorithm = as_arrays(RSGLinCB(dim=3, n_arms=3, horizon=100, kappa=1.0, threshold=1.0))
    widths = [0.1, second - 0.8, upper - 0.5]
    state = at_rest(algorithm, [1.0, 0.8, 0.5], widths, [1.0, 2.0, 3.0])
    obs = ArmObs(jnp.eye(3))
    assert int(compiled.select(algorithm, KEY, jnp.int32(0), state, obs).index) == expected
    masked = obs._replace(mask=jnp.asarray([False, True, True]))  # the largest lower bound left is that of the second
    assert int(compiled.select(algorithm, KEY, jnp.int32(0), state, masked).index) == 2


@pytest.mark.slow
def test_refits_are_rare():
    """One a doubling of det H, which is at most (lambda + T / (4 e d))^d: theta_tau changes at no other time."""
    _, X, R, kappa = instance(100, 3.0)
    algorithm = learner(kappa, 3.0, gamma_scale=0.004, beta_scale=4.0 / 150.0)
    trace = play(algorithm, X, R)
    before = np.vstack([np.zeros((1, 2)), trace["theta_tau"][:-1]])
    refits = np.flatnonzero(np.any(trace["theta_tau"] != before, axis=1))
    growth = np.append(0.0, trace["growth"])
    # H over the rounds, summed anew with the estimate theta_o of its round
    H, logs = 2.0 * np.eye(2), []
    explored = np.any(trace["theta_o"] != np.vstack([np.zeros((1, 2)), trace["theta_o"][:-1]]), axis=1)
    for t, k in enumerate(trace["index"]):
        if not explored[t]:
            H = H + FAMILY.slope(X[k] @ trace["theta_o"][t]) / np.e * np.outer(X[k], X[k])
        logs.append(np.linalg.slogdet(H)[1])
    at = np.append(np.log(4.0), np.asarray(logs)[refits])
    assert np.all(np.diff(at) > np.log(2.0))
    for start, stop in zip(refits, np.append(refits[1:], len(logs)), strict=True):
        np.testing.assert_allclose(growth[start + 1 : stop + 1], np.asarray(logs)[start:stop] - logs[start], atol=1e-9)
        assert np.all(growth[start + 1 : stop + 1] <= np.log(2.0))
    bound = 2.0 * np.log1p(3000.0 / (4.0 * np.e * 2.0 * 2.0)) / np.log(2.0)
    assert 5 <= len(refits) <= bound


@pytest.mark.slow
@pytest.mark.parametrize(("S", "rounds", "expected"), [(3.0, 75, 74), (5.0, 1333, 459), (7.0, 3000, 1442)])
def test_closed_loop(S, rounds, expected):
    """Mean final regret of three trials and warm-up of the last, by an independent NumPy loop on the same draws."""
    regrets, explored = [], []
    for seed in (100, 101, 102):
        star, X, R, kappa = instance(seed, S)
        trace = play(learner(kappa, S, gamma_scale=0.004, beta_scale=4.0 / 150.0), X, R)
        regrets.append(regret(FAMILY, star, X, trace["index"]))
        explored.append(warm_up(trace))
    assert np.mean(regrets) == pytest.approx(expected, abs=0.51)
    assert explored[-1] == rounds
