"""Policies that forget at changes, step by step against their references; presets, exploration at random, bad input."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import detectors, simulate
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.armed.restarting import RestartState
from jaxbandits.armed import (
    DUCB,
    ETC,
    KLUCB,
    SWUCB,
    UCB1,
    BernoulliArms,
    Exp3,
    Restarting,
    SwitchingArms,
    ThompsonBeta,
)
from jaxbandits.base.errors import InputError
from jaxbandits.types import IndexObs, Reward
from tests.reference import restarting as reference

ROUNDS, ARMS = 300, 3
MEANS, STARTS = [(0.2, 0.5, 0.9), (0.9, 0.5, 0.1), (0.9, 0.1, 0.8)], [0, 100, 180]
CASES = {
    "glr": (detectors.GLR(horizon=ROUNDS, delta=0.1, period=5), reference.glr(0.1, 5)),
    "glr every round": (detectors.GLR(horizon=ROUNDS, delta=0.05, period=1), reference.glr(0.05, 1)),
    "half windows": (detectors.HalfWindows(window=10, threshold=3.5), reference.half_windows(10, 3.5)),
    "cusum": (detectors.CUSUM(threshold=3.0, drift=0.1, baseline=8.0), reference.cusum(3.0, 0.1, 8)),
    "oracle": (detectors.Oracle.from_phases(MEANS, STARTS), reference.oracle(MEANS, STARTS)),
}
slow = functools.partial(pytest.param, marks=pytest.mark.slow)


@jax.jit
def play(learner, rewards, mask, key):
    """The decisions of a run, the index before every round and the state after it, with a leading axis `[T]`."""

    def round_(state, row):
        t, paid, available = row
        obs, now = IndexObs.of(len(paid), available), jax.random.fold_in(key, t)
        decision, index = learner.select(now, t, state, obs), learner.index(now, t, state)
        state = learner.update(now, t, state, obs, decision, Reward(paid[decision.index]))
        return state, (decision.index, index, state.pulls, state.since, state.restarts)

    rows = (jnp.arange(len(rewards), dtype=jnp.int32), rewards, mask)
    return jax.lax.scan(round_, learner.init(key), rows)[1]


def recorded_rewards(rng, kind):
    """Rewards `[T, K]` whose means change twice, and which arms are available."""
    phase = np.searchsorted(STARTS, np.arange(ROUNDS), side="right") - 1
    means = np.array(MEANS)[phase]
    rewards = rng.beta(3 * means, 3 * (1 - means)) if kind == "fractions" else (rng.uniform(size=means.shape) < means)
    mask = np.ones(means.shape, bool)
    if kind == "masked":
        mask = rng.uniform(size=means.shape) < 0.6
        mask[np.arange(ROUNDS), rng.integers(ARMS, size=ROUNDS)] = True
    return rewards.astype(float), mask


@pytest.mark.parametrize("kind", ["coins", slow("fractions"), slow("masked")])
@pytest.mark.parametrize("is_local", [True, slow(False)])
@pytest.mark.parametrize("name", [slow(name) if name == "glr every round" else name for name in CASES])
def test_restarts_against_the_references(name, is_local, kind, rng, key):
    detector, test = CASES[name]
    learner = Restarting(policy=KLUCB(n_arms=ARMS), detector=detector, is_local=is_local, exploration=0.21)
    theirs = reference.Restarting(ARMS, test, is_local=is_local, exploration=0.21)
    rewards, mask = recorded_rewards(rng, kind)
    arms, index, pulls, since, restarts = jax.tree.map(np.asarray, play(learner, rewards, mask, key))
    times = 0
    for t, arm in enumerate(arms):
        wanted, forced = theirs.index(t), theirs.forced_arm(t)
        counts = np.isfinite(wanted)
        np.testing.assert_allclose(index[t][counts], wanted[counts], rtol=1e-9, atol=1e-9, err_msg=f"round {t}")
        if forced is not None and mask[t, forced]:
            assert arm == forced, f"round {t}"
        else:
            assert mask[t, arm] and wanted[arm] >= wanted[mask[t]].max() - 1e-9, f"round {t}"
        times += bool(theirs.update(t, arm, rewards[t, arm]))
        np.testing.assert_array_equal(since[t], theirs.since, err_msg=f"round {t}")
        np.testing.assert_array_equal(pulls.count[t], [len(x) for x in theirs.seen], err_msg=f"round {t}")
        assert restarts[t] == times, f"round {t}"
    assert 1 <= times <= 20  # the test is one of detectors that detect


def test_exploration_at_random(key):
    """A share w of the rounds plays an arm drawn uniformly, the others the best index."""
    learner = Restarting(policy=KLUCB(n_arms=ARMS), detector=detectors.CUSUM(), exploration=0.3, at_random=True)
    pulls = Pulls(jnp.array([50.0, 50.0, 50.0]), jnp.array([10.0, 40.0, 20.0]))
    state = RestartState(pulls, jnp.zeros(ARMS, jnp.int32), jnp.zeros(()), learner.detector.init(ARMS))
    obs, keys = IndexObs.of(ARMS), jax.random.split(key, 20_000)
    played = jax.jit(jax.vmap(lambda k: learner.select(k, jnp.int32(150), state, obs).index))(keys)
    counts = np.bincount(played, minlength=ARMS)
    assert st.chisquare(counts, 20_000 * np.array([0.1, 0.8, 0.1])).pvalue > 1e-4


def test_exploration_rounds_play_their_arm_however_large_indices_are(key):
    """Bounds of D-UCB grow without limit for arms whose plays are long ago."""
    learner = Restarting(policy=DUCB(n_arms=2, discount=0.5), detector=detectors.CUSUM(), exploration=0.1)
    state = learner.init(key)
    state = state._replace(pulls=Pulls(jnp.array([2.0, 1e-200]), jnp.zeros(2)))
    select = jax.jit(lambda t: learner.select(key, t, state, IndexObs.of(2)).index)
    assert [int(select(jnp.int32(t))) for t in range(39, 43)] == [1, 0, 1, 1]


def test_presets():
    policy, T, C = KLUCB(n_arms=3), 5000, 4
    common = {"policy": policy, "horizon": T, "changes": C}
    local, whole = Restarting.glr(**common), Restarting.glr(**common, is_local=False)
    assert local.detector.delta == pytest.approx(1 / math.sqrt(3 * C * T)) and local.detector.horizon == T
    assert local.exploration == pytest.approx(0.05 * math.sqrt(3 * C * math.log(T) / T)) and local.is_local
    assert whole.detector.delta == pytest.approx(1 / math.sqrt(C * T)) and not whole.is_local
    assert whole.exploration == pytest.approx(0.05 * math.sqrt(C * math.log(T) / T))
    m_ucb = Restarting.m_ucb(**common)
    b = math.sqrt(75 * math.log(2 * 3 * T**2))
    assert m_ucb.detector.threshold == pytest.approx(b) and m_ucb.detector.window == 150 and not m_ucb.is_local
    assert m_ucb.exploration == pytest.approx(math.sqrt(C * 3 * (2 * b + 3 * math.sqrt(150)) / (2 * T)))
    cusum = Restarting.cusum(**common, drift=0.001)
    assert cusum.detector.threshold == pytest.approx(math.log(T / C)) and cusum.detector.drift == 0.001
    assert cusum.exploration == pytest.approx(math.sqrt(C / T * math.log(T / C))) and cusum.at_random
    assert Restarting.cusum(policy=policy, horizon=4, changes=4).detector.threshold > 0.0


def test_a_baseline_that_is_not_whole_is_rounded_up():
    """Constant rewards lie on their own mean, so that neither statistic of the test may grow."""
    detector, pulls = detectors.CUSUM(threshold=1.0, drift=0.0, baseline=1.5), Pulls(jnp.zeros(1), jnp.zeros(1))
    state = detector.init(1)
    for _ in range(10):
        state, changed = detector.update(None, state, pulls, jnp.int32(0), jnp.asarray(0.9))
        assert not changed.any()
    np.testing.assert_allclose([state.up[0], state.down[0]], 0.0, atol=1e-12)


def test_forgetting_pays_where_the_best_arm_changes():
    """At the changes, with little regret after them; a policy that does not forget has several times as much."""
    env = SwitchingArms.from_phases([(0.9, 0.1), (0.1, 0.9)], [0, 500])
    policy = UCB1(n_arms=2, exploration=0.5)
    learner = Restarting.glr(policy=policy, horizon=1000, changes=1)
    found = []
    for made in (learner, policy):
        (trials,) = simulate(made, env, 1000, 32, progress=False).trials.values()
        found.append(trials.final("regret").mean())
    assert found[0] < 0.4 * found[1]


def test_wrong_arguments():
    policy = KLUCB(n_arms=3)
    for make, said in (
        (lambda: Restarting(policy=Exp3(n_arms=3), detector=detectors.CUSUM()), "policy must be an index policy"),
        (lambda: Restarting(policy=SWUCB(n_arms=3, window=5), detector=detectors.CUSUM()), "counts and sums"),
        (
            lambda: Restarting.glr(policy=DUCB(n_arms=3, discount=0.9), horizon=10, changes=1),
            "DUCB discounts or ignores",
        ),
        (lambda: Restarting.glr(policy=ETC(n_arms=3, exploration=2.0), horizon=10, changes=1), "ETC discounts or"),
        (lambda: Restarting(policy=policy, detector=3.0), "detector must be a detector of jaxbandits.detectors"),
        (lambda: Restarting.glr(policy=Exp3(n_arms=3), horizon=10, changes=1), "policy must be an index policy"),
        (lambda: Restarting.glr(policy=policy, horizon=10, changes=11), "changes must"),
        (lambda: Restarting(policy=policy, detector=detectors.HalfWindows(window=5)), "window must be even, got 5"),
        (lambda: detectors.Oracle.from_phases(MEANS, [0, 10.5, 20]), "starts must be whole numbers .* got 10.5"),
        (lambda: detectors.Oracle.from_phases(MEANS, [0, 20, 10]), "starts must increase"),
        (lambda: detectors.Oracle.from_phases(MEANS, [0, 1]), r"starts must have shape \[3\], got \[2\]"),
    ):
        with pytest.raises(InputError, match=said):
            simulate(make(), BernoulliArms(n_arms=3), 3, 2, progress=False)
    with pytest.raises(InputError, match="are for 3 arms, but the learner has 2"):
        oracle = detectors.Oracle.from_phases(MEANS, STARTS)
        simulate(Restarting(policy=KLUCB(n_arms=2), detector=oracle), BernoulliArms(n_arms=2), 3, 2, progress=False)


def test_a_sampling_policy_restarts():
    learner = Restarting.cusum(policy=ThompsonBeta(n_arms=2), horizon=600, changes=1, baseline=20.0)
    env = SwitchingArms.from_phases([(0.9, 0.1), (0.1, 0.9)], [0, 300])
    (trials,) = simulate(learner, env, 600, 16, progress=False).trials.values()
    assert trials.healthy.all() and trials.final("regret").mean() < 0.5 * 0.8 * 300
