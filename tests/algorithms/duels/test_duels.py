"""Learners of duels step by step against their references, laws of their draws, hostile sizes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import simulate
from jaxbandits.algorithms.duels.duel_policy import DuelCounts
from jaxbandits.armed import KLUCB, UCB1, BernoulliArms, TsallisINF
from jaxbandits.base.errors import InputError
from jaxbandits.combinatorial import CascadeUCB1
from jaxbandits.duels import RMED1, RMED2FH, RUCB, DoubleTS, DuelingArms, Sparring
from jaxbandits.types import ArmDecision, IndexObs, PairDecision, Preference, Reward
from tests.algorithms.duels.replay_duels import play, recorded_duels
from tests.reference import duels as reference

ROUNDS, K = 120, 4
KINDS = ["plain", pytest.param("masked", marks=pytest.mark.slow)]


def duel_counts(wins):
    """Return the counts of wins `[K, K]`."""
    return DuelCounts(jnp.asarray(wins), jnp.asarray(wins + wins.T))


def rounds(learner, theirs, rng, key, kind, seen):
    """Yield round, availability, pair, what was seen, and add the duel to the reference."""
    won, mask = recorded_duels(rng, kind, ROUNDS)
    decisions, before = jax.tree.map(np.asarray, play(learner, won, mask, key, seen))
    for t in range(ROUNDS):
        i, j = int(decisions.first[t]), int(decisions.second[t])
        assert mask[t, i] and mask[t, j], f"round {t}"
        yield t, mask[t], (i, j), jax.tree.map(lambda x, t=t: x[t], before)
        theirs.update(t, i, j, won[t, i, j], mask[t])


@pytest.mark.parametrize("kind", KINDS)
def test_rucb_against_its_reference(kind, rng, key):
    learner, theirs = RUCB(n_arms=K, alpha=0.6), reference.RUCB(K, alpha=0.6)
    hypotheses = set()
    for t, available, (first, second), (upper, best) in rounds(
        learner, theirs, rng, key, kind, lambda learner, key, t, state: (learner.index(t, state.duels), state.best)
    ):
        wanted = theirs.uppers(t)
        np.testing.assert_allclose(upper, wanted, rtol=1e-9, err_msg=f"round {t}")
        assert {int(best)} - {-1} == theirs.best, f"round {t}"
        assert theirs.law(t, available)[first] > 0.0, f"round {t}"
        assert wanted[second, first] >= wanted[available, first].max() - 1e-9, f"round {t}"
        hypotheses.add(int(best))
    assert len(hypotheses) > 1


@pytest.mark.parametrize("best", [-1, 0, 2])
@pytest.mark.parametrize("champions", ["none", "some", "one"])
def test_the_first_arm_of_rucb_has_its_law(champions, best, key):
    wins = {
        "none": np.where(np.roll(np.eye(K), 1, axis=1) > 0, 50.0, 0.0),
        "some": np.where(np.arange(K) == 3, 50.0, 0.0)[None] * (np.arange(K) < 3)[:, None],
        "one": np.where(np.arange(K) == 2, 50.0, 0.0)[:, None] * (np.arange(K) != 2)[None],
    }[champions]
    learner, theirs, t = RUCB(n_arms=K), reference.RUCB(K, alpha=0.51), 200
    theirs.best = frozenset({best} - {-1})
    theirs.duels = [(i, j, 1) for i in range(K) for j in range(K) for _ in range(int(wins[i, j]))]
    state = learner.init(key)._replace(duels=duel_counts(wins), best=jnp.int32(best))
    select = jax.jit(jax.vmap(lambda k: learner.select(k, jnp.int32(t), state, IndexObs.of(K)).first))
    counts = np.bincount(select(jax.random.split(key, 8_000)), minlength=K)
    p = theirs.law(t, np.ones(K, bool))
    assert counts[p == 0.0].sum() == 0
    assert st.chisquare(counts[p > 0.0], 8_000 * p[p > 0.0]).pvalue > 1e-4 or (p == 1.0).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_plus", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_double_thompson_sampling_against_its_reference(is_plus, kind, rng, key):
    """Both arms are those of the reference for the samples that the learner drew."""
    learner = DoubleTS(n_arms=K, alpha=0.6, is_plus=is_plus)
    theirs = reference.DoubleTS(K, alpha=0.6, is_plus=is_plus)

    def samples(learner, key, t, state):
        obs = IndexObs.of(K)
        first_key, second_key = jax.random.split(key)  # as the learner splits
        firsts = jnp.arange(K)
        against = jax.vmap(lambda arm: learner.sample_against(second_key, state, arm))(firsts)
        del obs, t
        return learner.sample(first_key, state), against

    pairs = set()
    for t, available, (first, second), (theta, against) in rounds(learner, theirs, rng, key, kind, samples):
        np.testing.assert_allclose(theta + theta.T, 1.0, rtol=1e-12)
        assert first == theirs.first(t, theta, available), f"round {t}"
        assert second == theirs.second(t, first, against[first], available), f"round {t}"
        pairs.add((first, second))
    assert len(pairs) > 4


@pytest.mark.slow
def test_samples_of_double_thompson_sampling_have_their_law(rng, key):
    learner = DoubleTS(n_arms=3)
    wins = jnp.asarray(rng.integers(0, 9, size=(3, 3)).astype(float)) * (1.0 - jnp.eye(3))
    keys, duels = jax.random.split(key, 10_000), duel_counts(wins)
    theta = np.asarray(jax.jit(jax.vmap(lambda k: learner.sample(k, duels)))(keys))
    against = np.asarray(jax.jit(jax.vmap(lambda k: learner.sample_against(k, duels, jnp.int32(1))))(keys))
    assert (against[:, 1] == 0.5).all()
    for i, j in ((0, 1), (2, 0), (2, 1)):
        law = st.beta(1 + wins[i, j], 1 + wins[j, i])
        assert st.kstest(theta[:, i, j], law.cdf).pvalue > 1e-4
        if j == 1:
            assert st.kstest(against[:, i], law.cdf).pvalue > 1e-4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["rmed1", "rmed2fh"])
def test_rmed_against_its_reference(name, kind, rng, key):
    learner, theirs = {
        "rmed1": (RMED1(n_arms=K, weight=0.1), reference.RMED1(K, weight=0.1)),
        "rmed2fh": (RMED2FH(n_arms=K, weight=0.1, first_duels=3), reference.RMED2FH(K, weight=0.1, first_duels=3)),
    }[name]
    lists = set()
    for t, available, pair, (divergence, left) in rounds(
        learner, theirs, rng, key, kind, lambda learner, key, t, state: (learner.divergences(state.duels), state.left)
    ):
        np.testing.assert_allclose(divergence, [theirs.divergence(a) for a in range(K)], rtol=1e-9, atol=1e-9)
        assert set(np.flatnonzero(left)) == theirs.left, f"round {t}"
        assert pair == theirs.pair(t, available), f"round {t}"
        lists.add(tuple(left))
    assert len(lists) > 3


@pytest.mark.parametrize("learner", [RMED1(n_arms=K), RMED2FH(n_arms=K, first_duels=3)])
def test_the_lists_of_rmed_end_although_an_arm_is_never_available(learner, rng, key):
    """Without arm 0, which beats all others, the best arm is 2, and the first arm of nearly every duel in the end."""
    p = np.array([[0.5, 0.9, 0.9, 0.9], [0.1, 0.5, 0.2, 0.6], [0.1, 0.8, 0.5, 0.8], [0.1, 0.4, 0.2, 0.5]])
    won, mask = (rng.uniform(size=(1500, K, K)) < p).astype(float), np.ones((1500, K), bool)
    mask[40:, 0] = False
    decisions, _ = play(learner, won, mask, key, lambda learner, key, t, state: ())
    first = np.asarray(decisions.first)
    assert mask[np.arange(1500), first].all() and (first[1000:] == 2).mean() > 0.8
    assert {1, 3} < set(first[300:].tolist())  # later lists have the other arms as well


def test_the_opening_of_rmed2fh():
    learner = RMED2FH.theory(n_arms=5, horizon=100_000)
    assert learner.first_duels == np.ceil(3 * np.log(np.log(1e5) + 0.01)) == 8
    assert learner.exploration_rounds == 80 and RMED2FH.theory(n_arms=2, horizon=1).first_duels == 1


def test_the_fixed_opponents_of_rmed2fh_do_not_depend_on_an_arm_without_duels(rng):
    wins = rng.integers(1, 9, size=(4, 4)).astype(float) * (1.0 - np.eye(4))
    rivals = RMED2FH(n_arms=4, first_duels=2).fixed_rivals(duel_counts(wins))
    found = RMED2FH(n_arms=5, first_duels=2).fixed_rivals(duel_counts(np.pad(wins, (1, 0))))
    np.testing.assert_array_equal(found[1:], rivals + 1)


@pytest.mark.slow
def test_sparring_learners_see_their_own_side(rng, key):
    """Each player's state is that of the learner alone on its arms and wins."""
    policy = TsallisINF(n_arms=K)
    learner, obs = Sparring(policy=policy), IndexObs.of(K)
    state, alone = learner.init(key), [policy.init(key), policy.init(key)]
    for t in range(20):
        decision = learner.select(jax.random.fold_in(key, t), jnp.int32(t), state, obs)
        won = float(rng.integers(2))
        for player, reward in enumerate((won, 1.0 - won)):
            arm = (decision.first, decision.second)[player]
            drawn = ArmDecision(arm, arm, decision.probability[player])
            weights = policy.weights(jnp.int32(t), alone[player].losses)
            np.testing.assert_allclose(drawn.probability, weights[arm], rtol=1e-9)
            alone[player] = policy.update(key, jnp.int32(t), alone[player], obs, drawn, Reward(reward))
        state = learner.update(key, jnp.int32(t), state, obs, decision, Preference(jnp.asarray(won)))
        for player, own in enumerate(state):
            np.testing.assert_allclose(own.losses, alone[player].losses, rtol=1e-9)


def test_sparring_of_learners_without_probabilities(key):
    learner = Sparring(policy=KLUCB(n_arms=3))
    (trials,) = simulate(learner, DuelingArms(n_arms=3), 50, 4, progress=False).trials.values()
    assert trials.healthy.all() and not trials.inadmissible.any()


@pytest.mark.slow
def test_the_winner_is_found():
    """Every learner's regret in the second half of a run is a small part of that of the first."""
    env = DuelingArms.from_preferences([[0.5, 0.8, 0.9], [0.2, 0.5, 0.7], [0.1, 0.3, 0.5]])
    for learner in (RUCB(n_arms=3), DoubleTS(n_arms=3), RMED1(n_arms=3), RMED2FH.theory(n_arms=3, horizon=2000)):
        (trials,) = simulate(learner, env, 2000, 32, record_points=[1000, 2000], progress=False).trials.values()
        regret = trials.get("regret").mean(axis=(0, 1))
        assert regret[1] - regret[0] < 0.4 * regret[0], type(learner).__name__


def test_a_duel_of_an_arm_with_itself_counts_nowhere(key):
    learner = RUCB(n_arms=3)
    state = learner.update(
        key, jnp.int32(0), learner.init(key), IndexObs.of(3), PairDecision(jnp.int32(1), jnp.int32(1)), Preference(1.0)
    )
    assert (state.duels.wins == 0.0).all() and (state.duels.count == 0.0).all()


def test_wrong_sizes_and_wrong_families_are_refused_in_one_line():
    env = DuelingArms(n_arms=3)
    for learner, where, said in (
        (RUCB(n_arms=4), env, "has 3 arms, but the learner has n_arms=4"),
        (UCB1(n_arms=3), env, r"DuelingArms takes PairDecision.*use a learner of jaxbandits.duels"),
        (CascadeUCB1(n_items=3, list_size=2), env, r"DuelingArms takes PairDecision"),
        (RMED1(n_arms=3), BernoulliArms(n_arms=3), "use an environment of jaxbandits.duels"),
        (Sparring(policy=RUCB(n_arms=3)), env, "policy must be a learner of jaxbandits.armed"),
    ):
        with pytest.raises(InputError, match=said) as error:
            simulate(learner, where, 5, 2, progress=False, width=1)
        assert "\n" not in str(error.value)
