"""Tables, logs and traces as bandits, against plain NumPy loops over the same rows."""

import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import InputError, Meter, from_spec, simulate, to_spec
from jaxbandits.base.pytree import pytree, static, validate
from jaxbandits.data import LoggedReplay, RecordedTrace, TableBandit
from jaxbandits.environments.data import rows
from jaxbandits.linear import OFUL, TOFU
from jaxbandits.operators import with_delay
from jaxbandits.testing import contract
from jaxbandits.types import ArmDecision, Reward
from tests.bad_values import WRONG, outcome

N, K, P, SEEDS = 24, 3, 2, 3


@pytree
class Follow:
    """Plays the largest of x'b + t-dependent preferences; b adds up rewards: wrong on another round's `t` or arms."""

    feedback: ClassVar[type] = Reward
    dim: int = static(K * P, "[1, inf)", "d")

    def init(self, key):
        return jnp.zeros(self.dim)

    def select(self, key, t, state, obs):
        favour = 0.3 * jnp.where((jnp.arange(obs.arms.shape[0]) - t) % 2 == 0, 1.0, 0.0)
        index = jnp.argmax(jnp.sum(obs.arms * state, axis=1) + favour)
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        return state + (1.0 + 0.1 * t) * (feedback.reward - 0.4) * decision.x


class Follower:
    """The same in NumPy."""

    def __init__(self, dim):
        self.b, self.t = np.zeros(dim), 0

    def choose(self, arms):
        return int(np.argmax(arms @ self.b + 0.3 * ((np.arange(len(arms)) - self.t) % 2 == 0)))

    def learn(self, x, reward):
        self.b = self.b + (1.0 + 0.1 * self.t) * (reward - 0.4) * x
        self.t += 1


METERS = [Meter("arm", lambda r: r.decision.index, "last")]
ROW = Meter("row", lambda r: r.env_state.row, "last")
EVENT = Meter("row", lambda r: r.env_state.place.row, "last")


def run(environment, rounds, *meters, learner=None):
    learner = Follow(dim=environment.dim) if learner is None else learner
    found = simulate(
        learner, environment, rounds, SEEDS, record_points=rounds, meters=[*METERS, *meters], width=32, progress=False
    )
    return next(iter(found.trials.values()))


def blocks(x):
    return np.kron(np.eye(K), x)


@pytest.mark.slow
def test_a_table_of_all_rewards(rng):
    """Two passes over it, shuffled anew: what is paid, and both regrets."""
    seen, rewards = rng.standard_normal((N, P)), rng.random((N, K))
    trials = run(TableBandit.from_rewards(rewards, seen, order="shuffled"), 2 * N, ROW)
    for s in range(SEEDS):
        order = trials.get("row")[0, s].astype(int)
        for half in (order[:N], order[N:]):
            assert sorted(half) == list(range(N))
        learner, played = Follower(K * P), []
        for i in order:
            played.append(learner.choose(blocks(seen[i])))
            learner.learn(blocks(seen[i])[played[-1]], rewards[i, played[-1]])
        np.testing.assert_array_equal(trials.get("arm")[0, s], played)
        paid, offered = rewards[order, played], rewards[order]
        close = {"rtol": 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(trials.get("regret")[0, s], np.cumsum(offered.max(axis=1) - paid), **close)
        fixed = np.cumsum(offered, axis=0).max(axis=1) - np.cumsum(paid)
        np.testing.assert_allclose(trials.get("fixed_arm_regret")[0, s], fixed, **close)
    assert not np.array_equal(trials.get("row")[0, 0], trials.get("row")[0, 1])
    assert trials.metrics[0] == "regret" and trials.units["regret"] == "reward" and not trials.inadmissible.any()


@pytest.mark.slow
def test_orders_of_rows(key):
    """Independent rows are uniform, given ones are as they stand, a permutation of every pass."""
    rounds = 4000

    @jax.jit
    def follow_order(key):
        begin, *keys = jax.random.split(key, rounds + 1)
        keys = jnp.stack(keys)
        found = {}
        for order in rows.ORDERS:

            def move(place, given, order=order):
                return rows.follow(given[1], given[0], order, 5, place), place.row

            found[order] = jax.lax.scan(move, rows.begin(begin, order, 5), (jnp.arange(rounds), keys))[1]
        return found

    found = {order: np.asarray(x) for order, x in follow_order(key).items()}
    np.testing.assert_array_equal(found["given"], np.arange(rounds) % 5)
    np.testing.assert_array_equal(np.sort(found["shuffled"].reshape(-1, 5), axis=1), np.tile(np.arange(5), (800, 1)))
    for order, spread in (("iid", rounds), ("shuffled", rounds / 5)):
        counts = np.bincount(found[order] if order == "iid" else found[order][::5], minlength=5)
        assert ((counts - spread / 5) ** 2 / (spread / 5)).sum() < 33.4  # chi squared, 4 degrees: probability 1e-6


@pytest.mark.parametrize("labels", [["b", "a", "c", "b"], [2.0, 1.0, 7.0, 2.0], [True, False, True, False]])
def test_labels_become_arms_in_sorted_order(labels):
    table = TableBandit.from_table(np.arange(8.0).reshape(4, 2), labels)
    numbers = np.unique(labels, return_inverse=True)[1]
    np.testing.assert_array_equal(table.table.rewards, numbers[:, None] == np.arange(len(set(labels))))
    assert table.dim == 2 * table.n_arms == 2 * len(set(labels))


def replay(log, order, learner):
    """Events that counted and reward, event by event."""
    seen, index, reward = log
    counted, earned, kept = [], [], []
    for i in order:
        k = learner.choose(blocks(seen[i]))
        counts = k == index[i]
        if counts:
            learner.learn(blocks(seen[i])[k], reward[i])
            kept.append((k, reward[i]))
        counted.append(counts)
        earned.append(reward[i] * counts)
    return np.cumsum(counted), np.cumsum(earned), kept


def test_replay_by_rejection(rng):
    """Only events with the logged arm count, and the learner's clock is theirs; after the log nothing does."""
    seen, index, reward = rng.standard_normal((N, P)), rng.integers(K, size=N), rng.random(N)
    environment = LoggedReplay.from_log(index, reward, n_arms=K, seen=seen, order="shuffled")
    trials = run(environment, N + 9, EVENT)
    for s in range(SEEDS):
        order = trials.get("row")[0, s].astype(int)[:N]
        assert sorted(order) == list(range(N))
        counted, earned, _ = replay((seen, index, reward), order, Follower(K * P))
        np.testing.assert_array_equal(trials.get("counted")[0, s, :N], counted)
        np.testing.assert_allclose(trials.get("reward")[0, s, :N], earned, rtol=1e-12)
        mean = np.where(counted > 0, earned / np.maximum(counted, 1), np.nan)
        np.testing.assert_allclose(trials.get("mean_reward")[0, s, :N], mean, rtol=1e-12)
        assert (trials.get("counted")[0, s, N:] == counted[-1]).all() and 0 < counted[-1] < N
    assert trials.metrics[0] == "mean_reward"


def test_what_counts_is_what_the_learner_would_have_met():
    """Theorem 1 of Li et al. where nothing is random but the logged arms: rounds that count are those of a live run.

    Over all logs of 6 events, the chance that m rounds count is that of m successes at rate 1/K: no log is favoured.
    """
    seen, paid = np.array([0.7, -0.2]), np.array([0.9, 0.1, 0.5])
    live, online = Follower(K * P), []
    for _ in range(6):
        k = live.choose(blocks(seen))
        live.learn(blocks(seen)[k], paid[k])
        online.append((k, paid[k]))
    lengths = []
    for log in np.ndindex(*(K,) * 6):
        index = np.array(log)
        events = np.tile(seen, (6, 1)), index, paid[index]
        kept = replay(events, range(6), Follower(K * P))[2]
        assert kept == online[: len(kept)]
        lengths.append(len(kept))
    assert list(np.bincount(lengths)) == [math.comb(6, m) * (K - 1) ** (6 - m) for m in range(7)]


def test_a_trace_gives_the_estimate_of_its_data(rng):
    """Ridge regression on the trace, whatever the learner would have liked to play; its end is the end."""
    rounds, ridge = 30, 0.7
    x, reward = rng.standard_normal((rounds, P)), rng.standard_normal(rounds)
    estimate = Meter("theta", lambda r: r.algorithm.recommend(r.next_state), "last", axes=("coordinate",))
    learner = OFUL(dim=P, ridge=ridge)
    trials = run(RecordedTrace.from_arrays(x, reward), rounds + 5, estimate, learner=learner)
    for n in (1, 12, rounds, rounds + 5):
        used = slice(min(n, rounds))
        theta = np.linalg.solve(ridge * np.eye(P) + x[used].T @ x[used], x[used].T @ reward[used])
        np.testing.assert_allclose(trials.get("theta")[0, 0, n - 1], theta, rtol=1e-10)
    np.testing.assert_allclose(trials.get("reward")[0, 0, rounds:], reward.sum(), rtol=1e-12)
    assert not trials.inadmissible.any()


def test_a_trace_with_the_arms_that_were_shown(rng):
    """A mask leaves one arm; fixed arms are told to be."""
    arms, index, reward = rng.standard_normal((K, P)), rng.integers(K, size=9), rng.standard_normal(9)
    fixed = RecordedTrace.from_arrays(arms, reward, index)
    changing = RecordedTrace.from_arrays(np.tile(arms, (9, 1, 1)), reward, index)
    assert fixed.dim == changing.dim == P
    for t in (0, 4, 8, 20):
        seen = [e.observe(None, jnp.int32(t), None) for e in (fixed, changing)]
        np.testing.assert_array_equal(seen[0].arms, seen[1].arms)
        for obs in seen:
            np.testing.assert_array_equal(obs.mask, np.arange(K) == index[min(t, 8)])
    assert bool(fixed.admits(None, seen[0], ArmDecision(jnp.int32(index[8]), None)))
    assert not bool(fixed.admits(None, seen[0], ArmDecision(jnp.int32((index[8] + 1) % K), None)))


MADE = {
    "table": TableBandit.from_table(np.eye(5, P) + 0.5, list("abcab"), order="shuffled"),
    "arms": TableBandit.from_rewards(np.eye(4, K), np.ones((4, K, 5))),
    "rewards": TableBandit.from_rewards(np.eye(4, K), order="given"),
    "replay": LoggedReplay.from_log([0, 1, 2, 0], np.ones(4), n_arms=K),
    "trace": RecordedTrace.from_arrays(np.eye(4, P), np.ones(4)),
    "delayed": with_delay(TableBandit.from_table(np.eye(5, P), list("abcab")), 2),
}


@pytest.mark.parametrize("name", MADE)
def test_the_contract_and_specifications(name):
    environment = MADE[name]
    validate(environment)
    dim = getattr(environment, "dim", K * P)
    for check in (contract.state_shape_is_fixed, contract.select_is_read_only):
        check(OFUL(dim=dim), environment)
    data = {}
    written = to_spec(environment, data)
    assert to_spec(from_spec(written, data)) == written


def test_what_is_not_supported_is_refused_in_one_line():
    replay = LoggedReplay.from_log([0, 1], [1.0, 0.0], n_arms=2)
    for message, environment, learner in (
        ("learners that store every round cannot run on a replay", replay, TOFU.practical(dim=2, horizon=20)),
        ("must not be a replay that rejects rounds", with_delay(replay, 1), OFUL(dim=2)),
    ):
        with pytest.raises(InputError, match=message) as said:
            simulate(learner, environment, 5, SEEDS, progress=False, width=32)
        assert "\n" not in str(said.value)


def test_a_log_that_is_not_uniform_is_named():
    """90 % on one arm; a uniform log of as many events is silent."""
    draws = np.random.default_rng(0)
    biased = np.where(draws.uniform(size=1000) < 0.9, 0, 1)
    with pytest.warns(UserWarning, match=r"not uniform \(arm 0 has \d\d% .*evaluate with propensities"):
        LoggedReplay.from_log(biased, np.ones(1000), n_arms=2)
    LoggedReplay.from_log(draws.integers(2, size=1000), np.ones(1000), n_arms=2)


def test_a_log_is_read_from_a_file(tmp_path):
    """Actions by name, contexts in the columns that are named; the same as from arrays."""
    path = tmp_path / "log.csv"
    path.write_text("age,arm,paid\n0.5,B,1\n0.1,A,0\n0.9,B,0.5\n")
    read = LoggedReplay.from_file(path, action="arm", reward="paid", seen=["age"])
    made = LoggedReplay.from_log(["B", "A", "B"], [1, 0, 0.5], 2, [[0.5], [0.1], [0.9]])
    assert read.n_arms == 2
    for a, b in zip(read.log[:3], made.log[:3], strict=True):
        np.testing.assert_array_equal(a, b)
    assert list(read.log.index) == [1, 0, 1]


def test_columns_of_a_log_that_nobody_asked_for_are_not_used(tmp_path):
    """Text and time stamps beside the columns that are named; without any, a warning names what is left."""
    path = tmp_path / "log.csv"
    path.write_text("when,age,arm,paid,city\n2026-11-25,0.5,B,1,Oslo\nx,0.1,A,0,Rome\n,0.9,B,0.5,\n")
    read = LoggedReplay.from_file(path, action="arm", reward="paid", seen=["age"])
    np.testing.assert_array_equal(read.log.seen, [[0.5], [0.1], [0.9]])
    assert LoggedReplay.from_file(path, action="arm", reward="paid", seen=[]).log.seen is None
    with pytest.warns(UserWarning, match=r"columns when, age, city are not used: pass seen="):
        assert LoggedReplay.from_file(path, action="arm", reward="paid").log.seen is None
    for seen, message in (
        (["city"], r"line 2: column 5 \(city\) must be a finite number, got 'Oslo'"),
        (["sex"], "unknown column of .*'sex'"),
        ("age", "seen must be a list of names or indices of columns, got 'age'"),
        (["arm"], "are the same column"),
    ):
        with pytest.raises(InputError, match=message):
            LoggedReplay.from_file(path, action="arm", reward="paid", seen=seen)


def test_labels_of_pandas_are_text():
    table = TableBandit.from_table(np.eye(3), np.array(["a", "b", "a"], dtype=object)).table
    np.testing.assert_array_equal(table.rewards, [[1, 0], [0, 1], [1, 0]])


WRONG_DATA = [
    (lambda: TableBandit.from_table([["red"], ["blue"]], [1, 2]), r"one-hot by pandas.get_dummies"),
    (lambda: TableBandit.from_table([[np.nan], [1.0]], [1, 2]), r"fill in missing values or leave out their rows"),
    (
        lambda: LoggedReplay.from_log(["a", "b", "c"], [1.0, 1.0, 0.0], n_arms=2),
        r"index has 3 different actions \(a, b, c\), but n_arms is 2",
    ),
    (
        lambda: TableBandit.from_table(np.ones((3, 2)), ["a"] * 3),
        "labels must have at least two different values, got 1",
    ),
    (lambda: TableBandit.from_table(np.ones((3, 2)), [1, 2]), r"shapes \(n, d\) and \(n,\) .* got \(3, 2\) and \(2,\)"),
    (
        lambda: TableBandit.from_table([[1.0], [np.nan]], [1, 2]),
        r"features must be finite, but row 1, column 0 \(from 0\) is not",
    ),
    (lambda: TableBandit.from_rewards(np.ones(3)), r"rewards must have shape \(n, K\), got \(3,\)"),
    (lambda: TableBandit.from_rewards(np.ones((3, 2)), np.ones((4, 2))), r"must have 3 rows .*got shape \(4, 2\)"),
    (
        lambda: TableBandit.from_rewards(np.ones((3, 2)), order="sorted"),
        "unknown order of TableBandit 'sorted'; did you",
    ),
    (
        lambda: LoggedReplay.from_log([0, 3], [1.0, 1.0], n_arms=3),
        r"index has 2 different actions \(0, 3\), but n_arms is 3: pass actions=",
    ),
    (lambda: LoggedReplay.from_log([0.5], [1.0], n_arms=3), "index must hold names or whole numbers, got 0.5"),
    (
        lambda: LoggedReplay.from_log([0], [1.0, 1.0], n_arms=3),
        r"one entry per event: reward has 2, but action has shape \(1,\)",
    ),
    (lambda: LoggedReplay.from_log([0], [1.0], n_arms=1, order="iid"), "unknown order of LoggedReplay 'iid'"),
    (lambda: RecordedTrace.from_arrays(np.ones((3, 2)), np.ones(2)), "arms, index and reward of 2 rounds"),
    (lambda: RecordedTrace.from_arrays(np.ones((3, 2)), [1.0], [3]), r"whole numbers in \[0, 3\)"),
]


@pytest.mark.parametrize(("make", "message"), WRONG_DATA, ids=[str(i) for i in range(len(WRONG_DATA))])
def test_wrong_data_are_one_line(make, message):
    with pytest.raises(InputError, match=message) as said:
        make()
    assert "\n" not in str(said.value)


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_arguments(wrong):
    for make in (
        lambda value: TableBandit.from_table(value, [1, 2]),
        lambda value: TableBandit.from_table(np.ones((2, 2)), value),
        lambda value: TableBandit.from_rewards(value),
        lambda value: TableBandit.from_rewards(np.ones((2, 2)), value),
        lambda value: TableBandit.from_rewards(np.ones((2, 2)), order=value),
        lambda value: validate(TableBandit(table=value)),
        lambda value: LoggedReplay.from_log(value, [1.0, 2.0], 2),
        lambda value: LoggedReplay.from_log([0, 1], value, 2),
        lambda value: LoggedReplay.from_log([0, 1], [1.0, 2.0], value),
        lambda value: validate(LoggedReplay(log=value, n_arms=2)),
        lambda value: RecordedTrace.from_arrays(value, [1.0, 2.0]),
        lambda value: RecordedTrace.from_arrays(np.ones((2, 2)), value),
        lambda value: RecordedTrace.from_arrays(np.ones((2, 2)), [1.0, 2.0], value),
        lambda value: validate(RecordedTrace(trace=value)),
    ):
        outcome(make, wrong)


def test_disjoint_arms_are_the_kronecker_product(rng):
    x = rng.standard_normal(P)
    np.testing.assert_array_equal(rows.disjoint(jnp.asarray(x), K), blocks(x))
    many = jax.jit(jax.vmap(lambda x: rows.disjoint(x, K) @ jnp.ones(K * P)))(jnp.stack([x, 2 * x]))
    np.testing.assert_allclose(many, np.stack([blocks(x).sum(axis=1), blocks(2 * x).sum(axis=1)]), rtol=1e-14)
