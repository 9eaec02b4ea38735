"""Teams, duels, paths, hidden clicks and change detection in float32: decisions of the float64 references."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.teams.team_policy import order_arms
from jaxbandits.armed import KLUCB, Restarting
from jaxbandits.combinatorial import CTS, PBMUCB, CombUCB1, FullBanditTS
from jaxbandits.duels import RMED1, RUCB, DoubleTS
from jaxbandits.estimation import detectors
from jaxbandits.estimation.oracles import LayeredPaths, TopM
from jaxbandits.teams import SICMMAB, MCTopM, MultiplePlay, MusicalChairs
from jaxbandits.types import (
    IndexObs,
    ItemRewards,
    ListClicks,
    PlayerRewards,
    Reward,
    SetDecision,
    SetReward,
    TeamDecision,
)
from tests.algorithms.duels.replay_duels import play as play_duels
from tests.algorithms.duels.replay_duels import recorded_duels
from tests.algorithms.teams.replay_teams import FEEDBACK, ROUNDS, K, run
from tests.reference import armed, combinatorial, duels, restarting, teams

CLOSE = 1e-4
STAGES = ("fixation", "estimation", "exploration", "communication", "exploitation")


@pytest.mark.parametrize("feedback", ["true", "random"])
@pytest.mark.parametrize("bounds", ["hoeffding", "kl"])
def test_sic_mmab_takes_the_decisions_of_its_reference(bounds, feedback, rng, key):
    """Sums of coins and bits are whole numbers, which float32 holds exactly."""
    learner = SICMMAB.practical(n_arms=K, n_players=2, horizon=500.0, bounds=bounds)
    states, index, received = run(learner, feedback, rng, key)
    assert states.total.dtype == np.float32
    theirs = [teams.SICMMAB(K, 500.0, bounds=bounds, skips=True) for _ in range(2)]
    for t in range(ROUNDS):
        for j, player in enumerate(theirs):
            assert index[t, j] in player.moves(), f"round {t}"
            player.learn(index[t, j], received.sensed[t, j], received.collided[t, j])
            assert STAGES[states.stage[t + 1, j]] == player.stage, f"round {t}"
            np.testing.assert_array_equal(states.total[t + 1, j], player.total)


def test_players_of_sic_mmab_share_large_sums_of_fractions(key):
    """A sum of 3e6 has a spacing of 1/4, to which rewards of 0.3 would be rounded one by one."""
    learner, both, p = SICMMAB(n_arms=3, n_players=2, horizon=1e9), jnp.ones(2, jnp.int32), 6
    start = learner.init(key)._replace(
        stage=2 * both, arm=both + jnp.arange(2, dtype=jnp.int32), seat=jnp.arange(2, dtype=jnp.int32),
        rank=jnp.arange(2, dtype=jnp.int32), players=2 * both, phase=p * both, total=jnp.full((2, 3), 3e6),
        count=jnp.full(2, 1e7),
    )  # fmt: skip

    @jax.jit
    def play(state):
        def round_(t, state):
            meets = jnp.full(2, jnp.where(state.arm[0] == state.arm[1], 1.0, 0.0))
            sensed = jnp.array([0.3, 0.9, 0.1])[state.arm]
            received = PlayerRewards(sensed, sensed * (1.0 - meets), meets)
            return learner.update(key, t, state, None, TeamDecision(state.arm), received)

        n_rounds = 2**p * 3 + 2 * 3 * (p + 1)  # exploration and communication
        return jax.lax.fori_loop(jnp.int32(0), jnp.int32(n_rounds), round_, state)

    last = play(start)
    np.testing.assert_array_equal(last.phase, p + 1)
    np.testing.assert_array_equal(last.total, np.tile(3e6 + 2.0 * np.floor(2**p * np.array([0.3, 0.9, 0.1])), (2, 1)))


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_musical_chairs_takes_the_decisions_of_its_reference(feedback, rng, key):
    states, index, received = run(MusicalChairs(n_arms=K, n_players=3, learning_rounds=60.0), feedback, rng, key)
    theirs = [teams.MusicalChairs(K, 60.0) for _ in range(3)]
    for t in range(ROUNDS):
        for j, player in enumerate(theirs):
            assert index[t, j] in player.moves(), f"round {t}"
            player.learn(index[t, j], received.reward[t, j], received.collided[t, j])
    assert [set(np.flatnonzero(row)) for row in states.best[-1]] == [set(player.best) for player in theirs]


@pytest.mark.parametrize("learner", [MCTopM.theory(n_arms=K, n_players=3), MultiplePlay.theory(n_arms=K, n_players=3)])
def test_indices_of_teams_are_close_to_the_reference(learner, rng, key):
    states, index, received = run(learner, "true", rng, key)
    theirs = armed.KLUCB(K, c=0.0)
    for t in range(ROUNDS):
        for j in range(3) if isinstance(learner, MultiplePlay) else (0,):
            theirs.update(index[t, j], received.sensed[t, j])
    pulls = states if isinstance(learner, MultiplePlay) else jax.tree.map(lambda x: x[:, 0], states.pulls)
    last = jax.tree.map(lambda x: jnp.asarray(x[-1]), pulls)
    assert last.total.dtype == jnp.float32
    found = np.asarray(learner.policy.index(None, jnp.int32(ROUNDS), last))
    np.testing.assert_allclose(found, theirs.index(ROUNDS), rtol=CLOSE)


def test_ranks_of_close_indices_are_exact():
    index = np.float32(0.5) + np.arange(6, dtype=np.float32) * np.finfo(np.float32).eps
    assert order_arms(jnp.zeros(6), jnp.asarray(index)).tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize("name", ["rucb", "rmed1", "double_ts"])
def test_duels_are_close_to_the_reference(name, rng, key):
    won, mask = recorded_duels(rng, "plain", 120)
    learner, theirs, seen = {
        "rucb": (RUCB(n_arms=4), duels.RUCB(4, alpha=0.51), lambda a, key, t, s: a.index(t, s.duels)),
        "rmed1": (RMED1(n_arms=4, weight=0.1), duels.RMED1(4, weight=0.1),
                  lambda a, key, t, s: a.divergences(s.duels)),
        "double_ts": (DoubleTS(n_arms=4), duels.DoubleTS(4, alpha=0.51, is_plus=False),
                      lambda a, key, t, s: a.sample(jax.random.split(key)[0], s)),
    }[name]  # fmt: skip
    decisions, before = jax.tree.map(np.asarray, play_duels(learner, won.astype(np.float32), mask, key, seen))
    assert before.dtype == np.float32
    for t in range(120):
        i, j = int(decisions.first[t]), int(decisions.second[t])
        if name == "rucb":
            np.testing.assert_allclose(before[t], theirs.uppers(t), rtol=CLOSE, err_msg=f"round {t}")
        elif name == "rmed1":
            wanted = [theirs.divergence(a) for a in range(4)]
            np.testing.assert_allclose(before[t], wanted, rtol=CLOSE, atol=CLOSE, err_msg=f"round {t}")
            assert (i, j) == theirs.pair(t, mask[t]), f"round {t}"
        else:
            np.testing.assert_allclose(before[t] + before[t].T, 1.0, atol=1e-6)
            assert i == theirs.first(t, before[t].astype(float), mask[t]), f"round {t}"
        theirs.update(t, i, j, won[t, i, j], mask[t])


def test_hidden_clicks_are_close_to_the_reference(rng, key):
    examination = np.array([0.9, 0.6, 0.3])
    learner, theirs = PBMUCB.theory(n_items=6, examination=examination), combinatorial.PBMUCB(6, examination, 0.1)
    state, update, index = learner.init(key), jax.jit(learner.update), jax.jit(learner.index)
    for t in range(300):
        items, clicks = rng.permutation(6)[:3], (rng.uniform(size=3) < 0.4).astype(np.float32)
        state = update(key, jnp.int32(t), state, None, SetDecision(jnp.asarray(items)), ListClicks(jnp.asarray(clicks)))
        theirs.update(items, clicks)
    assert state.examined.total.dtype == jnp.float32
    np.testing.assert_allclose(index(key, jnp.int32(300), state), theirs.index(300), rtol=CLOSE)


def test_examinations_of_a_position_add_up_in_a_long_run():
    """Plain sums of 10^6 examination probabilities of 0.9 and 0.6 are 0.9 % and 0.15 % too small."""
    learner, n = PBMUCB.theory(n_items=3, examination=[0.9, 0.6, 0.3]), 10**6
    decision, clicks = SetDecision(jnp.arange(3, dtype=jnp.int32)), ListClicks(jnp.zeros(3))
    state = jax.lax.fori_loop(
        0, n, lambda t, state: learner.update(None, t, state, None, decision, clicks), learner.init(None)
    )
    np.testing.assert_allclose(state.examined.total, n * np.array([0.9, 0.6, 0.3]), rtol=1e-6)


def test_sums_of_sets_are_close_to_the_reference(rng, key):
    learner, theirs = FullBanditTS(n_items=5, oracle=TopM(size=2)), combinatorial.RidgeOfSums(5, 1.0)
    state, update = learner.init(key), jax.jit(learner.update)
    for t in range(1000):
        items, total = rng.permutation(5)[:2], rng.normal()
        state = update(key, jnp.int32(t), state, None, SetDecision(jnp.asarray(items)), SetReward(jnp.float32(total)))
        theirs.update(set(items), total)
    assert state.theta.dtype == jnp.float32
    np.testing.assert_allclose(state.theta, theirs.posterior()[0], atol=CLOSE)


@pytest.mark.parametrize("cls", [CombUCB1, CTS])
def test_paths_of_unseen_edges_are_tried_within_the_range_of_floats(cls, key):
    """Scores of unseen edges are up to 1e30 L, and their sums stay finite."""
    oracle = LayeredPaths.complete(n_nodes=4, length=4)
    n_items = oracle.first_items[-1]
    learner, seen = cls(n_items=n_items, oracle=oracle), np.zeros(n_items)
    select, update = jax.jit(learner.select), jax.jit(learner.update)
    state = learner.init(key)
    for t in range(60):
        now = jax.random.fold_in(key, t)
        decision = select(now, jnp.int32(t), state, IndexObs.of(n_items))
        assert bool(oracle.admits(decision.items)), f"round {t}"
        seen[np.asarray(decision.items)] += 1
        feedback = ItemRewards(jnp.full(4, 0.5), jnp.ones(4, bool))
        state = update(now, jnp.int32(t), state, None, decision, feedback)
    assert np.isfinite(np.asarray(state.total)).all()
    assert cls is CTS or (seen > 0).all()


def test_changes_are_detected_in_the_rounds_of_the_reference(rng, key):
    """By GLR on coins, whose counts float32 holds exactly."""
    rewards = rng.uniform(size=(300, 3)) < np.where(np.arange(300)[:, None] < 120, [0.2, 0.5, 0.9], [0.9, 0.5, 0.1])
    learner = Restarting(policy=KLUCB(n_arms=3), detector=detectors.GLR(horizon=300, delta=0.1, period=5),
                         exploration=0.21)  # fmt: skip
    theirs = restarting.Restarting(3, restarting.glr(0.1, 5), is_local=True, exploration=0.21)

    @jax.jit
    def play(paid):
        def round_(state, row):
            t, paid = row
            obs = IndexObs.of(3)
            decision = learner.select(key, t, state, obs)
            state = learner.update(key, t, state, obs, decision, Reward(paid[decision.index]))
            return state, (decision.index, state.since, state.pulls.total)

        return jax.lax.scan(round_, learner.init(key), (jnp.arange(300, dtype=jnp.int32), paid))[1]

    arms, since, total = map(np.asarray, play(jnp.asarray(rewards, jnp.float32)))
    assert total.dtype == np.float32
    for t, arm in enumerate(arms):
        theirs.update(t, arm, float(rewards[t, arm]))
        np.testing.assert_array_equal(since[t], theirs.since, err_msg=f"round {t}")
    assert since[-1].max() > 120
