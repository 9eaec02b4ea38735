"""Learners that identify the best arm: plays, stopping and recommendations against NumPy references, step by step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import InputError, operators, simulate
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.explore import identification
from jaxbandits.algorithms.explore.proportions import optimal_proportions
from jaxbandits.armed import BernoulliArms
from jaxbandits.base.pytree import validate
from jaxbandits.explore import KLLUCB, LUCB1, SequentialHalving, TopTwoThompson, TrackAndStop
from jaxbandits.types import IndexObs, Reward
from tests.algorithms.armed.replay_armed import play
from tests.reference import explore as reference

ROUNDS, ARMS = 150, 5
MEANS = np.array([0.5, 0.3, 0.85, 0.4, 0.2])
LEARNERS = {
    "lucb1": (LUCB1(n_arms=ARMS, delta=0.2, eps=0.35), reference.LUCB1(ARMS, delta=0.2, eps=0.35)),
    "kl_lucb": (KLLUCB(n_arms=ARMS, delta=0.2, eps=0.05), reference.KLLUCB(ARMS, delta=0.2, eps=0.05, proven=False)),
    "kl_lucb theory": (
        KLLUCB.theory(n_arms=ARMS, delta=0.3, eps=0.3),
        reference.KLLUCB(ARMS, delta=0.3, eps=0.3, proven=True),
    ),
    "track_and_stop": (TrackAndStop(n_arms=ARMS, delta=0.1), reference.TrackAndStop(ARMS, delta=0.1, proven=False)),
    "track_and_stop theory": (
        TrackAndStop.theory(n_arms=ARMS, delta=0.3),
        reference.TrackAndStop(ARMS, delta=0.3, proven=True),
    ),
    "sequential_halving": (SequentialHalving(n_arms=ARMS, budget=ROUNDS), reference.SequentialHalving(ARMS, ROUNDS)),
}


def visible_state(learner, key, t, state):
    """Return what a user sees of a learner."""
    del key, t
    return learner.stopped(state), learner.recommend(state)


@pytest.mark.quick_cases("lucb1-*", "sequential_halving-*")
@pytest.mark.parametrize("kind", ["coins", "fractions"])
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_against_their_references(name, kind, rng, key):
    learner, made = LEARNERS[name]
    fresh = type(made)(ARMS, **{k: getattr(made, k) for k in ("delta", "eps", "proven", "budget") if hasattr(made, k)})
    rewards = rng.beta(9 * MEANS, 9 * (1 - MEANS), (ROUNDS, ARMS))
    if kind == "coins":
        rewards = (rng.uniform(size=(ROUNDS, ARMS)) < MEANS).astype(float)
    decisions, (stops, recommended) = play(learner, rewards, np.ones((ROUNDS, ARMS), bool), key, visible_state)
    for t in range(ROUNDS):
        assert bool(stops[t]) == fresh.stopped(), t
        if fresh.stopped():
            break
        if name != "sequential_halving":
            assert int(recommended[t]) == fresh.recommend(), t
        assert int(decisions.index[t]) == fresh.arm(), t
        fresh.update(int(decisions.index[t]), rewards[t, decisions.index[t]])
    assert t > 20
    if name == "sequential_halving":
        assert fresh.stopped() and int(recommended[t]) == fresh.left[0]


@pytest.mark.slow
def test_optimal_proportions_of_table_1():
    """The digits of Garivier and Kaufmann, and more of them by bisection."""
    for mu, printed in (
        ([0.5, 0.45, 0.43, 0.4], [0.417, 0.390, 0.136, 0.057]),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.336, 0.251, 0.177, 0.132, 0.104]),
    ):
        found = optimal_proportions(jnp.array(mu))
        np.testing.assert_allclose(found, printed, atol=5e-4)
        np.testing.assert_allclose(found, reference.proportions(mu), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 5])
def test_optimal_proportions_against_bisection(n, rng):
    solve = jax.jit(optimal_proportions)
    for mu in (*rng.uniform(size=(6, n)), *(0.5 + 0.01 * rng.uniform(size=(3, n))), *rng.beta(0.3, 0.3, size=(6, n))):
        mu = np.clip(mu, 1e-5 * np.arange(1, n + 1), 1 - 1e-5 * np.arange(1, n + 1))
        np.testing.assert_allclose(solve(jnp.asarray(mu)), reference.proportions(mu), rtol=1e-6, atol=1e-10)


def test_optimal_proportions_of_equal_arms():
    solve = jax.jit(optimal_proportions)
    np.testing.assert_allclose(solve(jnp.array([0.2, 0.6, 0.6])), [0.0, 0.5, 0.5])
    np.testing.assert_allclose(solve(jnp.zeros(4)), 0.25)
    np.testing.assert_allclose(solve(jnp.array([0.3])), [1.0])
    assert np.isfinite(solve(jnp.array([1.0, 0.0, 0.0]))).all()


def test_evidence(rng):
    evidence = jax.jit(identification.evidence)
    for _ in range(5):
        count, mean = rng.integers(1, 50, size=4).astype(float), rng.uniform(size=4)
        found = evidence(Pulls(jnp.asarray(count), jnp.asarray(count * mean)))
        np.testing.assert_allclose(found, reference.evidence(count, mean), rtol=1e-9)
    for total in (2.0, 3.0):  # a mean of 1 has infinite divergence from the mean 0 of an arm without plays
        assert identification.evidence(Pulls(jnp.array([3.0, 0.0]), jnp.array([total, 0.0]))) == 0.0


@pytest.mark.parametrize("learner", [LUCB1, KLLUCB, TrackAndStop, TopTwoThompson])
def test_a_single_arm_is_played_before_the_learner_stops(learner, key):
    _, (stops, recommended) = play(learner(n_arms=1), np.ones((2, 1)), np.ones((2, 1), bool), key, visible_state)
    np.testing.assert_array_equal(stops, [False, True])
    np.testing.assert_array_equal(recommended, 0)


@pytest.mark.slow
def test_top_two_thompson_plays_by_its_law(key):
    learner = TopTwoThompson(n_arms=4, share=0.3, attempts=64)
    pulls = Pulls(jnp.array([10.0, 8.0, 12.0, 2.0]), jnp.array([5.0, 5.0, 6.0, 0.5]))
    select = jax.jit(jax.vmap(lambda k: learner.select(k, jnp.int32(5), pulls, IndexObs.of(4)).index))
    counts = np.bincount(select(jax.random.split(key, 20_000)), minlength=4)
    p = reference.top_two_law(1.0 + pulls.total, 1.0 + pulls.count - pulls.total, 0.3)
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-6)
    assert st.chisquare(counts, 20_000 * p / p.sum()).pvalue > 1e-4


@pytest.mark.parametrize(("learner", "batch"), [(LUCB1(n_arms=4), 2), (SequentialHalving(n_arms=4, budget=64), 16)])
def test_feedback_in_batches_starves_no_arm(learner, batch, key):
    """If batches are even, LUCB would start its pair of arms again; halving would play the first arms only."""
    rewards = jnp.array([0.3, 0.2, 0.1, 0.9])
    select, update = jax.jit(learner.select), jax.jit(learner.update)
    state, obs, counts = learner.init(key), IndexObs.of(4), np.zeros(4, int)
    for t in range(64):
        if t % batch == 0:
            shown, late = state, []
        late.append((jnp.int32(t), select(key, jnp.int32(t), shown, obs)))
        counts[late[-1][1].index] += 1
        if t % batch == batch - 1:
            for s, decision in late:
                state = update(key, s, state, obs, decision, Reward(rewards[decision.index]))
        if t == 31:
            assert counts.min() >= 2 and counts.max() <= 20
    assert learner.recommend(state) == 3


@pytest.mark.parametrize("learner", [LUCB1, KLLUCB, TrackAndStop, TopTwoThompson])
def test_the_second_best_arm_is_compared_although_an_arm_is_never_available(learner, rng, key):
    """Arms 2 and 3 are the two best of the arms 1 to 4; no learner stops, since arm 0 may be better."""
    n = 900
    rewards, mask = (rng.uniform(size=(n, ARMS)) < [0.9, 0.3, 0.7, 0.5, 0.2]).astype(float), np.ones((n, ARMS), bool)
    mask[:, 0] = False
    decisions, (stops, recommended) = play(learner(n_arms=ARMS), rewards, mask, key, visible_state)
    share = np.bincount(decisions.index[n // 2 :], minlength=ARMS) / (n // 2)
    assert share[0] == 0.0 and share[2] > 0.3 and share[3] > 0.2
    assert not stops.any() and recommended[-1] == 2


@pytest.mark.parametrize("learner", [TrackAndStop(n_arms=3), SequentialHalving(n_arms=3, budget=18)])
def test_an_arm_without_plays_is_not_recommended(learner, key):
    rewards, mask = np.zeros((18, 3)), np.broadcast_to([False, True, True], (18, 3))
    _, (_, recommended) = play(learner, rewards, mask, key, visible_state)
    assert recommended[0] == 0 and recommended[-1] != 0


def test_budgets_that_are_too_small():
    with pytest.raises(InputError, match="budget must be at least 24 for 8 arms, got 23"):
        validate(SequentialHalving(n_arms=8, budget=23))


@pytest.mark.slow
def test_the_best_arm_is_found_in_time():
    """Also when feedback comes in batches."""
    coins = BernoulliArms.from_means(MEANS)
    for env in (coins, operators.with_batches(coins, 7)):
        run = simulate(TrackAndStop(n_arms=ARMS), env, 1500, 96, record_points=1, progress=False)
        found = next(iter(run.trials.values()))
        assert found.get("stopped").all()
        assert found.get("correct").mean() > 0.9
        assert (found.get("stopping_time") < 1000).all()
