"""Players who share arms, step by step against their references; laws of their draws; claims on arms; bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import operators, simulate
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.teams.team_policy import PlayerState, draw_arm_of, order_arms
from jaxbandits.armed import AOUCB, DUCB, ETC, KLUCB, UCB1, BernoulliArms, EpsGreedy, Exp3, ThompsonBeta
from jaxbandits.base.errors import InputError
from jaxbandits.teams import MCTopM, MultiplePlay, MusicalChairs, RandTopM, RhoRand, Selfish, SharedArms
from jaxbandits.types import IndexObs, PlayerRewards, TeamDecision
from tests.reference import teams as reference

ROUNDS, K, P = 150, 5, 3
RULES = {"mc_top_m": MCTopM, "rand_top_m": RandTopM, "rho_rand": RhoRand, "selfish": Selfish}


@jax.jit
def play(learner, coins, key, mask=None):
    """The state before every round and after the last, for coins `[T, K]` and a mask `[K]` or `[T, K]`."""

    def round_(state, row):
        t, coin, available = row
        obs = IndexObs.of(K, available)
        index = learner.select(None, t, state, obs).index
        met = jnp.sum(index[:, None] == index, axis=1) > 1
        sensed = coin[index]
        feedback = PlayerRewards(sensed, jnp.where(met, 0.0, sensed), jnp.where(met, 1.0, 0.0))
        after = learner.update(jax.random.fold_in(key, t), t, state, obs, TeamDecision(index), feedback)
        return after, after

    start = learner.init(key)
    masks = None if mask is None else jnp.broadcast_to(mask, coins.shape)
    after = jax.lax.scan(round_, start, (jnp.arange(len(coins), dtype=jnp.int32), coins, masks))[1]
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), start, after)


@pytest.mark.quick_cases("mc_top_m")
@pytest.mark.parametrize("name", RULES)
def test_players_move_as_their_references_allow(name, rng, key):
    coins = (rng.uniform(size=(ROUNDS, K)) < [0.2, 0.5, 0.8, 0.4, 0.7]).astype(float)
    states = jax.tree.map(np.asarray, play(RULES[name].theory(n_arms=K, n_players=P), coins, key))
    players, meetings = [reference.Player(K) for _ in range(P)], 0
    before = np.full((P, K), np.inf)
    for t in range(ROUNDS):
        arms = states.arm[t]
        sensed, reward, met = reference.share(coins[t], arms)
        meetings += met.sum()
        for j, player in enumerate(players):
            player.learn(arms[j], (reward if name == "selfish" else sensed)[j])
            index = player.index(t + 1)
            seen = np.isfinite(index)
            found = states.index[t + 1, j]
            np.testing.assert_allclose(found[seen], index[seen], rtol=1e-9, err_msg=f"round {t}, player {j}")
            exact = np.where(seen, found, np.inf)  # ties of the learner's own numbers
            moves, notes = reference.next_moves(name, exact, before[j], arms[j], met[j], states.note[t, j], P)
            assert states.arm[t + 1, j] in moves, f"round {t}, player {j}"
            assert states.note[t + 1, j] in notes, f"round {t}, player {j}"
            before[j] = exact
    assert meetings > 4 and len(np.unique(states.arm)) == K


@pytest.mark.parametrize(
    "learner",
    [
        *(rule.theory(n_arms=K, n_players=P) for rule in RULES.values()),
        MusicalChairs(n_arms=K, n_players=P, learning_rounds=400.0),
    ],
)
def test_players_claim_no_arm_that_is_never_available(learner, rng, key):
    """They would all play the first available arm instead, and collide. Arms 2 to 4 are the best available ones."""
    coins = (rng.uniform(size=(2_000, K)) < [0.9, 0.1, 0.7, 0.6, 0.8]).astype(float)
    arms = np.asarray(play(learner, coins, key, jnp.array([False, True, True, True, True])).arm)[1_000:-1]
    assert np.mean([len({*arms[t]} & {2, 3, 4}) == P for t in range(len(arms))]) > 0.7


@pytest.mark.parametrize(
    "learner", [MCTopM.theory(n_arms=K, n_players=P), MusicalChairs(n_arms=K, n_players=P, learning_rounds=400.0)]
)
def test_players_do_not_claim_the_arm_that_stands_in_for_theirs(learner, rng, key):
    """If arm 2 or 4 is unavailable in one round, its player plays arm 0; both players on arm 0 then stayed there."""
    coins = (rng.uniform(size=(2_000, K)) < [0.9, 0.1, 0.7, 0.2, 0.8]).astype(float)
    mask = np.ones((2_000, K), bool)
    mask[1_000, 2] = mask[1_001, 4] = False
    arms = np.asarray(play(learner, coins, key, mask).arm)
    alone = np.array([len({*row}) == P for row in arms])
    assert alone[900:1_000].mean() > 0.8 and alone[1_500:].mean() > 0.8


@pytest.mark.parametrize("rule", [RandTopM, Selfish])
def test_players_try_all_arms_however_large_indices_are(rule, key):
    """The index of an arm with plays is about 1e50 here; a score of 1e30 for arms without plays came after it."""
    learner = rule(policy=AOUCB(n_arms=K, noise_scale=1e50), n_players=1)
    pulls = play(learner, jnp.ones((4 * K, K)), key).pulls
    assert (pulls.count[-1] > 0.0).all()


@pytest.mark.slow
def test_players_draw_uniformly_and_apart(key):
    """After a meeting, from the three best arms, and two players independently."""
    learner = MCTopM.theory(n_arms=K, n_players=P)
    pulls = Pulls(jnp.full((P, K), 50.0), jnp.tile(jnp.array([10.0, 25.0, 40.0, 20.0, 35.0]), (P, 1)))
    index = jax.vmap(lambda p: learner.policy.index(None, jnp.int32(200), p))(pulls)
    state = PlayerState(pulls, index, jnp.array([2, 2, 4], jnp.int32), jnp.zeros(P, jnp.int32))
    feedback = PlayerRewards(jnp.ones(P), jnp.array([0.0, 0.0, 1.0]), jnp.array([1.0, 1.0, 0.0]))
    update = jax.jit(jax.vmap(lambda k: learner.update(
        k, jnp.int32(200), state, IndexObs.of(K), TeamDecision(state.arm), feedback)))  # fmt: skip
    after = update(jax.random.split(key, 6_000))
    pairs = np.asarray(after.arm)
    assert (pairs[:, 2] == 4).all() and (np.asarray(after.note)[:, 2] == 1).all()
    counts = np.zeros((K, K))
    np.add.at(counts, (pairs[:, 0], pairs[:, 1]), 1)
    best = counts[np.ix_([1, 2, 4], [1, 2, 4])]
    assert best.sum() == 6_000 and st.chisquare(best.ravel()).pvalue > 1e-4


def test_equal_indices_are_ordered_by_the_draws():
    index, ties = jnp.array([1.0, 3.0, 1.0, 1.0]), jnp.array([0.2, 0.1, 0.9, 0.5])
    np.testing.assert_array_equal(order_arms(ties, index), [3, 0, 1, 2])


def test_arms_of_a_mask_are_drawn_by_equal_parts_of_the_unit_interval():
    mask = jnp.array([False, True, True, False, True])
    found = [int(draw_arm_of(jnp.asarray(u), mask)) for u in (0.0, 0.33, 0.34, 0.66, 0.67, 0.999, 1.0)]
    assert found == [1, 1, 2, 2, 4, 4, 4]


@pytest.mark.slow
def test_as_many_players_as_arms_find_an_arm_each():
    """MCTopM soon does so for good; selfish players never do."""
    env = SharedArms.from_means([0.2, 0.5, 0.8, 0.6], 4)
    found = {}
    for learner in (MCTopM.theory(n_arms=4, n_players=4), Selfish.theory(n_arms=4, n_players=4)):
        (trials,) = simulate(learner, env, 2000, 16, record_points=[1000, 2000], progress=False).trials.values()
        collisions = trials.get("collisions")[0]
        found[type(learner).__name__] = (collisions[:, 1] - collisions[:, 0]).max()
    assert found["MCTopM"] == 0.0 and found["Selfish"] > 10.0


def test_wrong_arguments_are_refused_in_one_line():
    env = SharedArms(n_arms=4, n_players=2)
    for learner, where, said in (
        (MCTopM.theory(n_arms=5, n_players=2), env, "has 4 arms, but the learner has n_arms=5"),
        (MCTopM.theory(n_arms=4, n_players=3), env, "has 2 players, but the learner has 3"),
        (MCTopM.theory(n_arms=4, n_players=5), env, "n_players must be at most n_arms=4, got 5"),
        (MCTopM(policy=ThompsonBeta(n_arms=4), n_players=2), env, "deterministic .* such as KLUCB"),
        (MCTopM(policy=Exp3(n_arms=4), n_players=2), env, "deterministic .* such as KLUCB"),
        # Its exploration is in `select`, which players do not call: it would be greedy.
        (MCTopM(policy=EpsGreedy(n_arms=4, gap=0.1), n_players=2), env, "deterministic .* such as KLUCB"),
        (MultiplePlay(policy=DUCB(n_arms=4, discount=0.9), n_players=2), env, "DUCB discounts or ignores"),
        (MultiplePlay(policy=ETC(n_arms=4, exploration=2.0), n_players=2), env, "ETC discounts or ignores"),
        (UCB1(n_arms=4), env, r"SharedArms takes TeamDecision.*use a learner of jaxbandits.teams"),
        (Selfish(policy=KLUCB(n_arms=4), n_players=2), BernoulliArms(n_arms=4), "environment of jaxbandits.teams"),
        (MCTopM.theory(n_arms=4, n_players=2), operators.with_delay(env, 3), "MCTopM"),
    ):
        with pytest.raises(InputError, match=said) as error:
            simulate(learner, where, 5, 2, progress=False, width=1)
        assert "\n" not in str(error.value)
