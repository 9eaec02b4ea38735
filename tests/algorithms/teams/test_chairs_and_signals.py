"""Musical Chairs, SIC-MMAB and multiple play against references, on true, random and hidden feedback; laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats as st

from jaxbandits import simulate
from jaxbandits.algorithms.teams.sic_mmab import EXPLOITATION
from jaxbandits.armed import KLUCB, UCB1, ThompsonBeta
from jaxbandits.base.errors import InputError
from jaxbandits.operators import with_delay
from jaxbandits.teams import SICMMAB, MultiplePlay, MusicalChairs, SharedArms
from jaxbandits.types import IndexObs, PlayerRewards, TeamDecision
from tests.algorithms.teams.replay_teams import FEEDBACK, MEANS, ROUNDS, K, run
from tests.reference import armed
from tests.reference import teams as reference

HORIZON = 500.0
STAGES = ("fixation", "estimation", "exploration", "communication", "exploitation")
CASES = [(players, feedback) for feedback in FEEDBACK for players in (1, 2, 3, K)]


@pytest.mark.quick_cases("3-true", "4-random")
@pytest.mark.parametrize(("players", "feedback"), CASES, ids=[f"{p}-{f}" for p, f in CASES])
def test_musical_chairs_is_its_reference(players, feedback, rng, key):
    learning = 60.5
    learner = MusicalChairs(n_arms=K, n_players=players, learning_rounds=learning)
    states, index, received = run(learner, feedback, rng, key)
    theirs = [reference.MusicalChairs(K, learning) for _ in range(players)]
    for t in range(ROUNDS):
        for j, player in enumerate(theirs):
            assert index[t, j] in player.moves(), f"round {t}, player {j}"
            player.learn(index[t, j], received.reward[t, j], received.collided[t, j])
            where = f"round {t}, player {j}"
            assert bool(states.seated[t + 1, j]) == (player.chair is not None), where
            assert set(np.flatnonzero(states.best[t + 1, j])) == set(player.best), where
            np.testing.assert_allclose(
                states.total[t + 1, j], [sum(r) for r in player.rewards], rtol=1e-9, atol=1e-9, err_msg=where
            )
            assert states.count[t + 1, j].tolist() == [len(r) for r in player.rewards], where
            assert states.collisions[t + 1, j] == player.met, where


@pytest.mark.quick_cases("hoeffding-True-3-true", "kl-True-2-random")
@pytest.mark.parametrize(("players", "feedback"), CASES, ids=[f"{p}-{f}" for p, f in CASES])
@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("bounds", ["hoeffding", "kl"])
def test_sic_mmab_is_its_reference(bounds, skips, players, feedback, rng, key):
    learner = SICMMAB(n_arms=K, n_players=players, horizon=HORIZON, bounds=bounds, skips_short_phases=skips)
    states, index, received = run(learner, feedback, rng, key)
    theirs = [reference.SICMMAB(K, HORIZON, bounds=bounds, skips=skips) for _ in range(players)]
    for t in range(ROUNDS):
        for j, player in enumerate(theirs):
            where = f"round {t}, player {j}"
            assert index[t, j] in player.moves(), where
            player.learn(index[t, j], received.sensed[t, j], received.collided[t, j])
            assert STAGES[states.stage[t + 1, j]] == player.stage, where
            if player.stage == "exploitation":
                assert states.arm[t + 1, j] == player.chair, where
                continue
            assert np.flatnonzero(states.active[t + 1, j]).tolist() == player.active, where
            assert (states.players[t + 1, j], states.rank[t + 1, j]) == (player.players, player.rank), where
            np.testing.assert_allclose(states.total[t + 1, j], player.total, rtol=1e-9, atol=1e-9, err_msg=where)
            np.testing.assert_allclose(states.own[t + 1, j], player.own, rtol=1e-9, atol=1e-9, err_msg=where)
            assert states.count[t + 1, j] == player.n, where
    if feedback == "true" and players in (2, K):  # the gap of 1 and of 3 players is too small to end
        assert {player.stage for player in theirs} == {"exploitation"}
    if feedback == "true" and players == 3:  # the first two ranks have an arm, the last one goes on alone
        assert sorted(player.stage for player in theirs).count("exploitation") == 2


@pytest.mark.parametrize(
    ("players", "feedback"), [(2, "true"), (2, "fractions"), pytest.param(K, "true", marks=pytest.mark.slow)]
)
def test_players_of_sic_mmab_agree_and_share_their_sums(players, feedback, rng, key):
    """After the estimation each knows M and another rank; after a communication all have the same sums."""
    learner = SICMMAB.practical(n_arms=K, n_players=players, horizon=HORIZON)
    states, index, received = run(learner, feedback, rng, key)
    fixed = int(np.ceil(np.e * K * np.log(HORIZON)))
    counted = fixed + 2 * K
    assert (states.players[counted] == players).all()
    assert sorted(states.rank[counted]) == list(range(players))
    assert states.rank[counted][np.argsort(states.seat[counted])].tolist() == list(range(players))
    explores = (states.stage[:-1] == STAGES.index("exploration")).all(axis=1)
    assert explores.sum() > K and (received.collided[explores] == 0.0).all()
    begins = np.flatnonzero(np.diff(states.count[:, 0]) > 0)  # rounds that end a communication
    assert len(begins)
    for t in begins:
        if (states.stage[t + 1] != EXPLOITATION).all():
            np.testing.assert_array_equal(states.total[t + 1], np.tile(states.total[t + 1, 0], (players, 1)))
            assert states.total[t + 1, 0].sum() > 0.0
    assert set(index[-1]) == set(np.argsort(-MEANS)[:players])


def test_musical_chairs_counts_players_by_their_collisions():
    """The estimate inverts the probability (1 - 1/K)^{P - 1} of a round without a collision."""
    learner = MusicalChairs(n_arms=9, n_players=1, learning_rounds=1000.0)
    for players in range(1, 10):
        alone = round(1000 * (1 - 1 / 9) ** (players - 1))
        assert learner.count_players(jnp.asarray([alone, 0.0]), jnp.asarray(1000.0 - alone)) == players
    assert learner.count_players(jnp.zeros(9), jnp.asarray(7.0)) == 9  # collisions alone
    assert learner.count_players(jnp.zeros(9), jnp.asarray(0.0)) == 9


@pytest.mark.slow
def test_musical_chairs_explores_uniformly_and_independently(key):
    learner = MusicalChairs(n_arms=K, n_players=2, learning_rounds=100.0)
    state = learner.init(key)
    feedback = PlayerRewards(jnp.ones(2), jnp.ones(2), jnp.zeros(2))
    update = jax.jit(jax.vmap(lambda k: learner.update(
        k, jnp.int32(3), state, IndexObs.of(K), TeamDecision(state.arm), feedback).arm))  # fmt: skip
    pairs = np.asarray(update(jax.random.split(key, 8_000)))
    counts = np.zeros((K, K))
    np.add.at(counts, (pairs[:, 0], pairs[:, 1]), 1)
    assert st.chisquare(counts.ravel()).pvalue > 1e-4


def test_theory_of_musical_chairs_is_the_formula():
    found = MusicalChairs.theory(n_arms=9, n_players=3, horizon=1e4, gap=0.1).learning_rounds
    terms = (9 / 2 * np.log(2 * 81e4), 16 * 9 / 0.01 * np.log(4 * 81e4), 81 * np.log(2e4) / 0.02)
    assert found == np.ceil(max(terms)) == 215_872.0
    assert MusicalChairs.theory(n_arms=9, n_players=3, horizon=1e4, gap=1.0).learning_rounds == np.ceil(terms[2])


@pytest.mark.parametrize("policy", [KLUCB(n_arms=K), UCB1(n_arms=K)])
def test_multiple_play_takes_the_largest_indices(policy, rng, key):
    players = 3
    learner = MultiplePlay(policy=policy, n_players=players)
    states, index, _ = run(learner, "true", rng, key)
    theirs = armed.KLUCB(K, c=0.0)
    for t in range(200):
        assert len(set(index[t])) == players
        if isinstance(policy, KLUCB):
            scores = theirs.index(t)
            if np.isfinite(scores).all():
                ordered = np.sort(scores)[::-1]
                np.testing.assert_allclose(scores[index[t]], ordered[:players], rtol=1e-6)
            gained = states.total[t + 1] - states.total[t]
            for arm in index[t]:
                theirs.update(arm, gained[arm])
    np.testing.assert_array_equal(states.count[-1], np.bincount(index.ravel(), minlength=K))


def test_multiple_play_never_collides_and_wastes_little():
    env = SharedArms.from_means([0.1, 0.5, 0.6, 0.9], 2)
    (trials,) = simulate(MultiplePlay.theory(n_arms=4, n_players=2), env, 500, 16, progress=False).trials.values()
    assert (trials.get("collisions") == 0.0).all()
    assert 0.0 < trials.get("regret")[0, :, -1].mean() < 40.0  # 16 for a uniform choice every 12 rounds


def test_wrong_arguments_are_refused_in_one_line():
    for make, said in (
        (
            lambda: MusicalChairs(n_arms=3, n_players=4, learning_rounds=9.0),
            "n_players must be at most n_arms=3, got 4",
        ),
        (lambda: MusicalChairs(n_arms=3, n_players=2, learning_rounds=0.0), "learning_rounds"),
        (lambda: MusicalChairs.theory(n_arms=3, n_players=2, horizon=10, gap=0.0), "gap"),
        (lambda: SICMMAB(n_arms=3, n_players=4, horizon=9.0), "n_players must be at most n_arms=3, got 4"),
        (lambda: SICMMAB(n_arms=3, n_players=2, horizon=9.0, bounds="KL"), '"hoeffding" or "kl", got \'KL\''),
        (lambda: SICMMAB(n_arms=3, n_players=2, horizon=1.0), "horizon"),
        (lambda: MultiplePlay.theory(n_arms=3, n_players=4), "n_players must be at most n_arms=3, got 4"),
        (lambda: MultiplePlay(policy=ThompsonBeta(n_arms=3), n_players=2), "deterministic .* such as KLUCB"),
    ):
        with pytest.raises(InputError, match=said) as error:
            simulate(make(), SharedArms(n_arms=3, n_players=2), 5, 2, progress=False, width=1)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("wrap", [lambda env: env, lambda env: with_delay(env, 0)], ids=["plain", "operator"])
@pytest.mark.parametrize(
    "learner",
    [MusicalChairs(n_arms=3, n_players=2, learning_rounds=9.0), SICMMAB(n_arms=3, n_players=2, horizon=9.0)],
    ids=["chairs", "sic"],
)
def test_teams_that_need_collisions_reject_environments_that_hide_them(learner, wrap):
    said = f"{type(learner).__name__} needs players who observe every collision, but .* sees_collisions=True, or a team"
    with pytest.raises(InputError, match=said) as error:
        simulate(learner, wrap(SharedArms(n_arms=3, n_players=2, sees_collisions=False)), 5, 2, progress=False, width=1)
    assert "\n" not in str(error.value)
