"""Learners of lists against their references, step by step; the law of the draws; hostile sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import simulate
from jaxbandits.armed import UCB1, BernoulliArms
from jaxbandits.base.errors import InputError
from jaxbandits.combinatorial import CTS, CascadeKLUCB, CascadeTS, CascadeUCB1, CascadingClicks, CombUCB1, SemiBandit
from jaxbandits.estimation.oracles import Partition, TopM
from jaxbandits.types import IndexObs, ItemRewards, SetDecision
from tests.algorithms.combinatorial.replay_items import compare_with_reference
from tests.reference import combinatorial as reference

ROUNDS, L = 200, 7
CASES = {
    "ucb1": (lambda **n: CascadeUCB1(**n), lambda: reference.UCB1(L, exploration=1.5)),
    "ucb1 practical": (lambda **n: CascadeUCB1.practical(**n), lambda: reference.UCB1(L, exploration=0.015)),
    "kl_ucb": (lambda **n: CascadeKLUCB(**n), lambda: reference.KLUCB(L, c=3.0)),
    "kl_ucb practical": (lambda **n: CascadeKLUCB.practical(**n), lambda: reference.KLUCB(L, c=0.0)),
}


def recorded_rewards(rng, kind):
    """Rewards `[T, L]`, in [0, 1] unless wild, and which items are available: fewer than a list holds, at times."""
    means = np.array([0.6, 0.5, 0.4, 0.4, 0.2, 0.1, 0.0])
    rewards = (rng.uniform(size=(ROUNDS, L)) < means).astype(float)
    mask = np.ones((ROUNDS, L), bool)
    if kind == "fractions":
        rewards = rng.beta(0.1 + 3 * means, 3.1 - 3 * means, size=(ROUNDS, L))
    if kind == "wild":
        rewards = 3.0 * rewards - 1.0
    if kind == "masked":
        mask = rng.uniform(size=(ROUNDS, L)) < rng.choice([0.1, 0.6], size=(ROUNDS, 1))
        mask[np.arange(ROUNDS), rng.integers(L, size=ROUNDS)] = True
        assert (mask.sum(axis=1) < 3).any()
    return rewards, mask


@pytest.mark.quick_cases("ucb1-3-masked", "kl_ucb-3-coins", "kl_ucb-7-wild")
@pytest.mark.parametrize("kind", ["coins", "fractions", "masked", "wild"])
@pytest.mark.parametrize("size", [1, 3, L])
@pytest.mark.parametrize("name", CASES)
def test_learners_of_lists_against_their_references(name, size, kind, rng, key):
    make, theirs = CASES[name]
    decisions, _ = compare_with_reference(
        make(n_items=L, list_size=size), theirs(), lambda u, mask: reference.best_list(u, mask, size),
        *recorded_rewards(rng, kind), key, cascade=True,
    )  # fmt: skip
    assert len(np.unique(decisions.items[:, 0])) > 1


@pytest.mark.slow
def test_thompson_sampling_draws_its_posterior(rng, key):
    """After 30 lists, and the list holds the largest draws, in order, of the available items."""
    learner = CascadeTS(n_items=4, list_size=3, prior_success=0.5, prior_failure=2.0)
    theirs, state, t = reference.Beta(4, prior_success=0.5, prior_failure=2.0), learner.init(key), jnp.int32(30)
    for _ in range(30):
        items, reward = rng.permutation(3), rng.uniform(-0.3, 1.3, size=3)
        seen = np.arange(3) <= rng.integers(4)
        feedback = ItemRewards(jnp.where(seen, reward, 0.0), jnp.asarray(seen))
        state = learner.update(key, t, state, None, SetDecision(jnp.asarray(items)), feedback)
        theirs.update(items, reward, seen)
    keys = jax.random.split(key, 20_000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda k: learner.index(k, t, state)))(keys))
    for i, law in enumerate(zip(*theirs.parameters(), strict=True)):  # the last item was never seen
        assert st.kstest(drawn[:, i], st.beta(*law).cdf).pvalue > 1e-4, i
    mask = jnp.array([True, False, True, True])
    listed = jax.jit(jax.vmap(lambda k: learner.select(k, t, state, IndexObs.of(4, mask)).items))(keys)
    np.testing.assert_array_equal(listed, np.array([0, 2, 3])[np.argsort(-drawn[:, [0, 2, 3]])])


SETS = {
    "top m": (TopM(size=3), lambda u, mask: reference.best_list(u, mask, 3)),
    "partition": (Partition(blocks=7, block_size=1), lambda u, mask: [e for e in range(L) if mask[e]]),
}


@pytest.mark.slow_after_first
@pytest.mark.parametrize("kind", ["coins", "fractions", "masked"])
@pytest.mark.parametrize("oracle", SETS)
def test_learners_of_sets_against_their_reference(oracle, kind, rng, key):
    """All rewards of the chosen items are seen."""
    made, choose = SETS[oracle]
    learner = CombUCB1(n_items=L, oracle=made)
    compare_with_reference(
        learner, reference.UCB1(L, exploration=1.5), choose, *recorded_rewards(rng, kind), key, False
    )


@pytest.mark.parametrize("masked", [False, True])
def test_the_best_item_of_each_block_is_chosen(masked, rng):
    oracle, scores = Partition(blocks=3, block_size=4), rng.normal(size=12)
    mask = np.ones(12, bool)
    if masked:
        mask[[0, 4, 5, 6, 7, int(np.argmax(scores[8:])) + 8]] = False
    found = oracle.best(jnp.asarray(scores), jnp.asarray(mask) if masked else None)
    wanted = [
        4 * b + int(np.argmax(np.where(mask[4 * b : 4 * b + 4], scores[4 * b : 4 * b + 4], -np.inf)))
        if mask[4 * b : 4 * b + 4].any() else -1 for b in range(3)
    ]  # fmt: skip
    np.testing.assert_array_equal(found, wanted)
    assert bool(oracle.admits(found)) and not bool(oracle.admits(jnp.array([4, 5, 8])))


@pytest.mark.slow
def test_thompson_sampling_of_sets_draws_its_posterior(rng, key):
    learner = CTS(n_items=3, oracle=TopM(size=2), prior_success=0.5, prior_failure=2.0)
    theirs, state = reference.Beta(3, prior_success=0.5, prior_failure=2.0), learner.init(key)
    for _ in range(20):
        items, reward = rng.permutation(3)[:2], rng.uniform(-0.3, 1.3, size=2)
        feedback = ItemRewards(jnp.asarray(reward), jnp.ones(2, bool))
        state = learner.update(key, jnp.int32(0), state, None, SetDecision(jnp.asarray(items)), feedback)
        theirs.update(items, reward, [True, True])
    index = jax.jit(jax.vmap(lambda k: learner.index(k, jnp.int32(0), state)))(jax.random.split(key, 10_000))
    for i, law in enumerate(zip(*theirs.parameters(), strict=True)):
        assert st.kstest(np.asarray(index)[:, i], st.beta(*law).cdf).pvalue > 1e-4, i


def test_sets_that_an_oracle_cannot_choose_are_refused():
    for make, said in (
        (lambda: CombUCB1(n_items=3, oracle=TopM(size=4)), "size must be at most n_items=3, got 4"),
        (lambda: CTS(n_items=3, oracle=Partition(blocks=2, block_size=2)), "must be n_items=3, got 2 "),
        (lambda: CTS(n_items=3, oracle=7), "oracle must be an oracle of jaxbandits.oracles"),
    ):
        with pytest.raises(InputError, match=said):
            simulate(make(), SemiBandit(n_items=3, oracle=TopM(size=1)), 2, 2, progress=False)


def test_unseen_items_are_shown_in_turn_while_feedback_is_late():
    learner = CascadeUCB1(n_items=5, list_size=2)
    state = learner.init(jax.random.key(0))
    shown = [learner.select(None, jnp.int32(t), state, IndexObs.of(5)).items.tolist() for t in range(6)]
    assert shown == [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 1]]


@pytest.mark.parametrize("seen", [[True, True, False], [False, False, False]])
def test_only_what_was_seen_counts(seen):
    """Also not the reward that stands in a place that was not seen, nor a place without an item."""
    learner, key = CascadeUCB1(n_items=4, list_size=3), jax.random.key(0)
    decision = SetDecision(jnp.array([2, 0, -1]))
    feedback = ItemRewards(jnp.array([0.0, 1.0, 5.0]), jnp.array(seen))
    state = learner.update(key, jnp.int32(0), learner.init(key), None, decision, feedback)
    np.testing.assert_array_equal(state.count, np.array([1.0, 0.0, 1.0, 0.0]) * seen[0])
    np.testing.assert_array_equal(state.total, np.array([1.0, 0.0, 0.0, 0.0]) * seen[0])


def test_wrong_sizes_and_wrong_families_are_refused_in_one_line():
    clicks = CascadingClicks(n_items=5, list_size=2)
    for learner, env, said in (
        (CascadeUCB1(n_items=4, list_size=2), clicks, "has 5 items, but the learner has n_items=4"),
        (CascadeUCB1(n_items=5, list_size=3), clicks, "takes 2 items per round, but the learner chooses 3"),
        (CascadeUCB1(n_items=5, list_size=6), clicks, "list_size must be at most n_items=5, got 6"),
        (UCB1(n_arms=5), clicks, r"CascadingClicks takes SetDecision.*use a learner of jaxbandits.combinatorial"),
        (CascadeUCB1(n_items=5, list_size=2), BernoulliArms(n_arms=5), "use an environment of jaxbandits.combinatori"),
    ):
        with pytest.raises(InputError, match=said) as error:
            simulate(learner, env, 5, 2, progress=False, width=1)
        assert "\n" not in str(error.value)


@pytest.mark.slow
def test_the_best_list_is_found():
    """Every learner's regret in the second half of a run is a small part of that of the first."""
    env = CascadingClicks.from_attraction([0.9, 0.1, 0.8, 0.1, 0.1, 0.1], 2)
    for learner in (CascadeUCB1.practical(n_items=6, list_size=2), CascadeKLUCB(n_items=6, list_size=2),
                    CascadeTS(n_items=6, list_size=2)):  # fmt: skip
        trials = simulate(learner, env, 2000, 32, record_points=[1000, 2000], progress=False)
        regret = next(iter(trials.trials.values())).get("regret").mean(axis=(0, 1))
        assert regret[1] - regret[0] < 0.4 * regret[0], type(learner).__name__
