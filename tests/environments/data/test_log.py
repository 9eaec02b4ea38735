"""Logs from data frames: what is read of them, what is refused by row and column, and what is warned of."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from jaxbandits import InputError, simulate
from jaxbandits.contextual import DisjointLinUCB
from jaxbandits.data import Log, LoggedReplay, RecordedTrace, TableBandit, evaluate
from jaxbandits.dro import Groups
from jaxbandits.oco import DataStream

COLUMNS = {
    "row": [0, 1, 2, 3, 4, 5],
    "ad": ["b", "a", "b", "c", "a", "b"],
    "paid": [1, 0, 1, 0, 0, 1],
    "p": [0.5, 0.25, 0.5, 0.25, 0.25, 0.5],
    "age": [3.0, 1.5, 2.0, 4.0, 0.5, 1.0],
    "hour": [7, 3, 1, 8, 2, 5],
}
FRAMES = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas, nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas, arrow": pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame(COLUMNS),
    "pyarrow": pa.table(COLUMNS),
    "mapping": {name: np.array(values) for name, values in COLUMNS.items()},
    "lists": COLUMNS,
}
NAMES = {"action": "ad", "reward": "paid", "propensity": "p", "context": ["hour", "age"], "actions": ["c", "b", "a"]}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_the_columns_that_are_named_are_read(frame):
    """The same from every library; a row number and what is left over are no context."""
    log = Log.from_frame(frame, **NAMES)
    assert log.action.tolist() == [1, 2, 1, 0, 2, 1] and log.actions == ("c", "b", "a")
    assert log.reward.tolist() == COLUMNS["paid"] and log.propensity.tolist() == COLUMNS["p"]
    np.testing.assert_array_equal(log.context, np.column_stack([COLUMNS["hour"], COLUMNS["age"]]))
    plain = Log.from_frame(frame, action="ad", reward="paid")
    assert plain.context is None and plain.propensity is None and plain.actions == ("a", "b", "c")


def test_a_log_says_what_it_is():
    log = Log.from_frame(COLUMNS, **NAMES)
    assert repr(log) == (
        "Log(6 events; 3 actions: c, b, a; mean reward 0.5 in [0, 1]; propensity in [0.25, 0.5]; context hour, age)"
    )
    assert "3 actions in alphabetical order: a, b, c" in repr(Log.from_frame(COLUMNS, action="ad", reward="paid"))
    sorted_ads = pd.DataFrame(COLUMNS).astype({"ad": "category"})
    categories = Log.from_frame(sorted_ads, action="ad", reward="paid", propensity="p")
    assert "3 actions in alphabetical order: a, b, c" in repr(categories)
    with pytest.raises(InputError, match="columns of policy cannot be matched"):
        evaluate(categories, [0.2, 0.3, 0.5])
    assert len(log) == 6 and log.counts.tolist() == [1, 3, 2]


def test_an_action_that_a_part_never_shows_keeps_its_number():
    first = {name: values[:3] for name, values in COLUMNS.items()}
    assert Log.from_frame(first, **NAMES).action.tolist() == [1, 2, 1]
    with pytest.raises(InputError, match=r"index has 2 different actions \(a, c\), but n_arms is 3: pass actions="):
        LoggedReplay.from_log(["a", "c", "c"], [1, 0, 0], 3)
    assert LoggedReplay.from_log(["a", "c", "c"], [1, 0, 0], actions=list("abc")).log.index.tolist() == [0, 2, 2]


@pytest.mark.parametrize("ids", [[1, 2, 3], [109498, 109417, 110004], ["10", "9", "11"]])
def test_ids_are_numbered_in_their_order(ids):
    frame = pl.DataFrame({"ad": ids, "paid": [1, 0, 1]})
    log = Log.from_frame(frame, action="ad", reward="paid")
    assert log.actions == tuple(sorted(map(str, ids), key=int)) and not log.is_sorted_text


def test_events_are_put_in_the_order_of_time():
    frame = pl.DataFrame(COLUMNS).with_columns(
        when=pl.Series(["2026-11-2" + str(k) for k in (5, 3, 1, 1, 2, 4)]).str.to_date()
    )
    for column in ("when",):
        log = Log.from_frame(frame, **NAMES, time=column)
        assert log.context[:, 1].tolist() == [2.0, 4.0, 0.5, 1.5, 1.0, 3.0]  # two on one day stay as they stand
    assert Log.from_frame(frame, **NAMES, time="hour").context[:, 0].tolist() == sorted(COLUMNS["hour"])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize(
    ("column", "bad", "message"),
    [
        ("ad", None, r"action \(column 'ad'\) must have no missing entries, but row 2 \(from 0\) is"),
        ("ad", "?", r"action \(column 'ad'\) must have no missing entries, but row 2 \(from 0\) is '\?'"),
        ("paid", None, r"reward \(column 'paid'\) must be finite, but row 2 \(from 0\) is"),
        ("p", None, r"propensity \(column 'p'\) must be finite, but row 2 \(from 0\) is"),
        ("age", None, r"context \(column 'age'\) must be finite, but row 2 \(from 0\) is"),
        ("p", 1.5, r"propensity must lie in \(0, 1\], got 1.5"),
        ("p", 0.0, r"propensity must lie in \(0, 1\], got 0"),
        ("ad", "d", r"action \(column 'ad'\): 'd' in row 2 \(from 0\) is not one of the actions c, b, a"),
    ],
)
def test_missing_and_wrong_entries_are_named_by_row_and_column(library, column, bad, message):
    values = [*COLUMNS[column][:2], bad, *COLUMNS[column][3:]]
    with pytest.raises(InputError, match=message):
        Log.from_frame(library(COLUMNS | {column: values}), **NAMES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"action": "add"}, r"action: unknown column of the frame 'add'; did you mean 'ad'"),
        ({"context": ["hour", "aeg"]}, r"context: unknown column of the frame 'aeg'; did you mean 'age'"),
        ({"context": "age"}, r"context must be a list of column names, got 'age'"),
        ({"context": ["age", "age"]}, r"context must name one or more different columns"),
        (
            {"context": ["ad"]},
            r"context \(column 'ad'\) must be numbers .*: encode text as numbers",
        ),
        ({"reward": 3}, r"reward: unknown column of the frame 3"),
        ({"time": "ad"}, r"time must be numbers"),
        ({"actions": ["b", "c"]}, r"'a' in row 1 \(from 0\) is not one of the actions b, c"),
    ],
)
def test_wrong_names_of_columns_are_one_line(change, message):
    for frame in (FRAMES["pandas"], FRAMES["polars"]):
        with pytest.raises(InputError, match=message):
            Log.from_frame(frame, **NAMES | change)


def test_what_is_no_frame_is_one_line():
    for frame, message in (
        (pl.LazyFrame(COLUMNS), r"got LazyFrame; call collect\(\) on a lazy frame"),
        (np.eye(3), "got ndarray"),
        ("log.csv", "got str"),
        (pd.DataFrame([["a", 1, 2]], columns=["ad", "paid", "paid"]), "column 'paid' occurs twice"),
        (pd.DataFrame(COLUMNS)[:0], "the frame has no rows"),
        (pl.DataFrame(COLUMNS)[:0], "the frame has no rows"),
        ({"ad": ["a"], "paid": [1.0, 2.0]}, "one entry per event"),
    ):
        with pytest.raises(InputError, match=message):
            Log.from_frame(frame, action="ad", reward="paid")


def test_a_constant_context_is_told():
    """Of an intercept, a constant 1, nothing is said."""
    with pytest.warns(UserWarning, match="column 'site' of the context is 3 in all 6 events"):
        Log.from_frame(COLUMNS | {"site": [3] * 6}, action="ad", reward="paid", context=["site", "age"])
    Log.from_frame(COLUMNS | {"one": [1] * 6}, action="ad", reward="paid", context=["one", "age"])
    with pytest.warns(UserWarning, match=r"TableBandit: column 'site' is 3 in all rows"):
        TableBandit.from_frame(COLUMNS | {"site": [3] * 6}, label="ad", features=["site", "age"])


def test_tables_groups_and_streams_from_frames():
    for frame in FRAMES.values():
        table = TableBandit.from_frame(frame, label="ad", features=["age", "hour"], classes=["c", "b", "a"])
        np.testing.assert_array_equal(np.asarray(table.table.rewards).argmax(axis=1), [1, 2, 1, 0, 2, 1])
        groups = Groups.from_frame(frame, label="paid", group="ad", features=["age"])
        assert groups.names == ("a", "b", "c") and groups.group.tolist() == [1, 0, 1, 2, 0, 1]
        stream = DataStream.from_frame(frame, target="paid", features=["age", "hour"])
        np.testing.assert_array_equal(stream.table.targets, COLUMNS["paid"])
        np.testing.assert_array_equal(stream.table.features[:, 1], COLUMNS["hour"])
    with pytest.raises(InputError, match=r"label \(column 'ad'\): 'b' in row 0 .* not one of the classes a, c"):
        TableBandit.from_frame(COLUMNS, label="ad", features=["age"], classes=["a", "c"])


def test_a_label_for_every_row_is_told():
    rows = np.arange(30)
    with pytest.warns(UserWarning, match=r"30 rows have 30 different labels, each of which is an arm"):
        TableBandit.from_frame({"id": rows, "x": rows}, label="id", features=["x"])


def test_frames_without_narwhals_are_one_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    with pytest.raises(InputError, match=r"data frames need the extra `data` .* pip install 'jaxbandits\[data\]'"):
        Log.from_frame(FRAMES["pandas"], action="ad", reward="paid")
    assert len(Log.from_frame(COLUMNS, action="ad", reward="paid")) == 6


# Replays ----------------------------------------------------------------------------------------------------------


def softmax_log(n, slope, seed=0):
    """Return context, action and propensity of a policy whose shares are equal and whose choices depend on x."""
    draws = np.random.default_rng(seed)
    x = draws.standard_normal((n, 2))
    scores = slope * x[:, :1] * np.array([1.0, -1.0])
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    action = (draws.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    return x, action, p[np.arange(n), action]


def test_a_log_whose_arms_depend_on_the_context_is_told():
    """Though the shares are equal; with propensities nothing is said, of a uniform log neither."""
    x, action, propensity = softmax_log(3000, 0.5)
    x[:, 1] *= 1e6
    with pytest.warns(UserWarning, match="not uniform.*the arm depends on the context"):
        LoggedReplay.from_log(action, np.ones(3000), 2, x)
    with pytest.warns(UserWarning, match="not uniform.*the arm depends on the context"):
        LoggedReplay.from_log(action, np.ones(3000), 2, x, propensity=np.full(3000, 0.5))
    LoggedReplay.from_log(action, np.ones(3000), 2, x, propensity=propensity)
    LoggedReplay.from_log(np.random.default_rng(1).integers(2, size=3000), np.ones(3000), 2, x)
    arms = np.random.default_rng(2).standard_normal((3000, 3, 2))
    uniform = np.random.default_rng(4).integers(3, size=3000)
    greedy = np.where(np.random.default_rng(3).random(3000) < 0.2, arms[:, :, 0].argmax(axis=1), uniform)
    with pytest.warns(UserWarning, match="the arm depends on the features of the arms"):
        LoggedReplay.from_log(greedy, np.ones(3000), 3, arms)


def test_uniform_logs_are_rarely_doubted():
    """The statistic of the test has the chi-squared law that it is compared with: 400 logs, at 5 %."""
    from scipy.stats import chi2

    from jaxbandits.environments.data import logged_replay

    draws, beyond = np.random.default_rng(0), []
    for _ in range(400):
        x, action = draws.standard_normal((200, 2)) ** 3, draws.integers(3, size=200)
        statistic, degrees = logged_replay._dependence(x - x.mean(axis=0), action, 3)
        assert degrees == 4
        beyond.append(chi2.sf(statistic, degrees) < 0.05)
    assert abs(np.mean(beyond) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400)


def test_few_rounds_that_survive_are_told():
    action = np.r_[np.zeros(990, int), np.ones(10, int)]
    propensity = np.r_[np.full(990, 0.99), np.full(10, 0.01)]
    with pytest.warns(UserWarning, match="about 10 of 1,000 events will count, .*; evaluating a policy .* uses all"):
        replay = LoggedReplay.from_log(action, np.ones(1000), 2, propensity=propensity)
    assert replay.expected_rounds == pytest.approx(10.0)
    assert LoggedReplay.from_log(np.arange(100) % 4, np.ones(100), 4).expected_rounds == 25.0


# The page's example -----------------------------------------------------------------------------------------------


class LinUCB:
    """Ridge regression of each arm in NumPy, float64 (Li et al., WWW 2010, Algorithm 1)."""

    def __init__(self, n_arms, dim, alpha=1.0):
        self.a, self.b, self.alpha = np.stack([np.eye(dim)] * n_arms), np.zeros((n_arms, dim)), alpha

    def choose(self, x):
        inverses = map(np.linalg.inv, self.a)
        return int(
            np.argmax([x @ v @ b + self.alpha * np.sqrt(x @ v @ x) for v, b in zip(inverses, self.b, strict=True)])
        )

    def learn(self, x, k, reward):
        self.a[k] += np.outer(x, x)
        self.b[k] += reward * x


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    """A CSV file of 20,000 events: six numbers, the name of the action, its probability, the reward."""
    draws = np.random.default_rng(0)
    n, names = 20_000, np.array(["popup", "banner", "email"])
    x = draws.standard_normal((n, 6)).round(4)
    action = draws.integers(3, size=n)
    means = 1.0 / (1.0 + np.exp(-np.stack([x[:, 0], -x[:, 1], np.full(n, 0.3)], axis=1)))
    reward = (draws.random(n) < means[np.arange(n), action]).astype(int)
    frame = pd.DataFrame(x, columns=[f"x{k}" for k in range(6)])
    frame["ad"], frame["p"], frame["clicked"] = names[action], 1 / 3, reward
    path = tmp_path_factory.mktemp("logs") / "clicks.csv"
    frame.to_csv(path)
    return path, x, action, reward


@pytest.mark.slow_after_first
@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv], ids=["pandas", "polars"])
def test_the_example_of_the_page(clicks, read):
    """Five lines; the values of a policy and of LinUCB by hand."""
    path, x, action, reward = clicks
    frame = read(path)
    context = [f"x{k}" for k in range(6)]
    names = ["popup", "banner", "email"]
    log = Log.from_frame(frame, action="ad", reward="clicked", propensity="p", context=context, actions=names)
    always = evaluate(log, [0.0, 1.0, 0.0], interval="student")
    learned = evaluate(log, DisjointLinUCB(n_arms=3, dim=6), seeds=1)

    assert always[0].value == pytest.approx(np.mean(np.where(action == 1, 3.0 * reward, 0.0)), rel=1e-12)
    assert always[2].value == pytest.approx(reward[action == 1].mean(), rel=1e-12)
    learner, counted = LinUCB(3, 6), []
    for i in range(3000):
        if learner.choose(x[i]) == action[i]:
            learner.learn(x[i], action[i], reward[i])
            counted.append(reward[i])
    replay = LoggedReplay.from_log(log, as_context=True)
    run = simulate(DisjointLinUCB(n_arms=3, dim=6), replay, 3000, seeds=1, record_points=1, progress=False)
    assert run.final("counted")[0, 0] == len(counted)
    assert run.final("mean_reward")[0, 0] == pytest.approx(np.mean(counted), rel=1e-12)
    assert learned[0].method == "replay" and 0.6 < learned[0].value < 0.75 and learned[0].ess > 6000
    assert learned[0].low < learned[0].value < learned[0].high


REPRS = {
    "LoggedReplay(6 events with propensities; 3 actions: c, b, a; context [6, 2]; order given)": (
        lambda: LoggedReplay.from_frame(COLUMNS, **NAMES)
    ),
    "LoggedReplay(3 events; 2 actions; no context; order shuffled)": (
        lambda: LoggedReplay.from_log([0, 1, 1], np.ones(3), 2, order="shuffled")
    ),
    "TableBandit(6 rows; 3 classes in alphabetical order: a, b, c; context [6, 2]; order iid)": (
        lambda: TableBandit.from_frame(COLUMNS, label="ad", features=["age", "hour"])
    ),
    "TableBandit(6 rows; 6 classes: 1, 2, 3, 5, ... (6); context [6, 1] as one context; order iid)": (
        lambda: TableBandit.from_frame(COLUMNS, label="hour", features=["age"], as_context=True)
    ),
    "TableBandit(4 rows; 3 arms; arms [4, 3, 2]; order iid)": (
        lambda: TableBandit.from_rewards(np.ones((4, 3)), np.ones((4, 3, 2)))
    ),
    "Groups(6 rows; 2 features; 3 groups: c, b, a; source 'ads')": (
        lambda: Groups.from_frame(
            COLUMNS, label="paid", group="ad", features=["age", "hour"], groups=["c", "b", "a"], source="ads"
        )
    ),
    "DataStream(6 rows; 2 features; squared loss; order given; comparator the best fit)": (
        lambda: DataStream.from_frame(COLUMNS, target="paid", features=["age", "hour"], order="given")
    ),
    "RecordedTrace(trace=<data [3, 1, 2], [3], [3]>)": (lambda: RecordedTrace.from_arrays(np.ones((3, 2)), np.ones(3))),
}


@pytest.mark.parametrize("text", REPRS)
def test_data_say_what_they_are_in_one_line(text):
    """Sizes and names in their order, never arrays; of any other environment with data the shapes."""
    assert repr(REPRS[text]()) == text


def test_the_order_of_the_names_is_said_where_it_matters():
    """In the table of results, and in the errors about columns; numbers from 0 need no names."""
    names, draws = np.array(["banner", "email", "popup"]), np.random.default_rng(0)
    action, reward = names[draws.integers(3, size=300)], draws.random(300)
    third = np.full(300, 1 / 3)
    log = Log.from_arrays(action, reward, third)
    policy = pd.DataFrame({"popup": third, "banner": third, "email": third})
    assert repr(evaluate(log, policy)).endswith("\n3 actions: popup, banner, email")
    with pytest.warns(UserWarning, match="in alphabetical order, banner, email, popup"):
        assert repr(evaluate(action, reward, third, np.full(3, 1 / 3))).endswith(
            "\n3 actions in alphabetical order: banner, email, popup"
        )
    given = Log.from_arrays(action, reward, third, actions=list(names))
    with pytest.raises(InputError, match=r"of the 3 actions in alphabetical order: banner, email, popup; got shape"):
        evaluate(given, np.ones(2))
    assert "actions" not in repr(evaluate(draws.integers(3, size=300), reward, third, np.full(3, 1 / 3)))
    with pytest.warns(UserWarning, match=r"context \[n, K, d\] are assumed to be the 3 actions in alphabetical"):
        Log.from_arrays(action, reward, third, np.ones((300, 3, 2)))
    Log.from_arrays(action, reward, third, np.ones((300, 3, 2)), actions=list(names))


def log_actions(probabilities, seed):
    """Actions of a policy `[n, K]`, and their probabilities."""
    draws = np.random.default_rng(seed)
    action = (probabilities.cumsum(axis=1) > draws.random((len(probabilities), 1))).argmax(axis=1)
    return action, probabilities[np.arange(len(action)), action]


def policies(kind, n, k, draws):
    """Logging policies `[n, K]`: one for all contexts, or one for each."""
    if kind == "skewed":
        return np.tile(draws.dirichlet(np.full(k, 0.3)) * 0.999 + 0.001 / k, (n, 1))
    if kind == "tiny":
        weights = 10.0 ** draws.uniform(-6.0, 0.0, k)
        return np.tile(weights / weights.sum(), (n, 1))
    if kind == "softmax":
        weights = np.exp(3.0 * draws.standard_normal((n, k)))
        return weights / weights.sum(axis=1, keepdims=True)
    if kind == "candidates":  # not every event offers every action
        weights = draws.random((n, k)) * (draws.random((n, k)) < 0.6) + 1e-9
        return weights / weights.sum(axis=1, keepdims=True)
    greedy = np.eye(k)[draws.integers(k, size=n) if kind == "epsilon-greedy" else np.zeros(n, int)]
    return greedy * (1.0 - 0.01) + 0.01 / k


@pytest.mark.parametrize("kind", ["skewed", "tiny", "softmax", "candidates", "epsilon-greedy", "one action"])
def test_true_propensities_are_not_warned_of(kind):
    draws = np.random.default_rng(0)
    for trial in range(300):
        n, k = int(draws.choice([50, 200, 2000])), int(draws.integers(2, 12))
        action, propensity = log_actions(policies(kind, n, k, draws), trial)
        Log.from_arrays(action, np.zeros(n), propensity, actions=k)


def test_wrong_propensities_are_warned_of_once_with_action_and_number():
    draws, n = np.random.default_rng(1), 3000
    probabilities = np.tile([0.6, 0.3, 0.1], (n, 1))
    action, propensity = log_actions(probabilities, 2)
    permuted = draws.permutation(propensity)
    by_hand = np.sum(1.0 / permuted[action == 0]) / n
    assert by_hand == pytest.approx(1.8, rel=0.1)  # 0.6 times the mean of 1/p, which is 3
    wrong = rf"events with action 'b' and divided by all 3,000, is {by_hand:.3g} \(standard error .* at most about 1"
    with pytest.warns(UserWarning, match=wrong) as told:
        Log.from_arrays(np.array(["b", "c", "a"])[action], np.zeros(n), permuted, actions=["b", "c", "a"])
    assert len(told) == 1
    other = np.array([0.1, 0.3, 0.6])[action]  # of another policy
    with pytest.warns(
        UserWarning, match=r"the mean of 1/propensity is 7\.\d+ .* but there are 3 actions, 3 of them"
    ) as told:
        Log.from_arrays(action, np.zeros(n), other, actions=3)
    assert len(told) == 1
    with pytest.warns(UserWarning, match="the mean of 1/propensity is 1.67"):  # of the most probable action
        Log.from_arrays(action, np.zeros(n), probabilities.max(axis=1), actions=3)
    with pytest.raises(InputError, match=r"propensity must lie in \(0, 1\], got \d+"):
        Log.from_arrays(action, np.zeros(n), 100.0 * propensity, actions=3)
    with pytest.warns(UserWarning, match=r"the mean of 1/propensity is 30\d"):  # in hundreds
        Log.from_arrays(action, np.zeros(n), propensity / 100.0, actions=3)


DATES = {
    "ISO": ["2026-11-25", "2026-11-26", "2026-11-27", "2026-11-28", "2026-11-29", "2026-11-30"],
    "with time": ["2026-11-25T10:00:00Z"] * 6,
    "European": ["25.11.2026"] * 6,
    "American": ["11/25/2026 10:00"] * 6,
    "parsed": list(pd.date_range("2026-11-25", periods=6)),
}


@pytest.mark.parametrize("dates", DATES.values(), ids=DATES)
def test_dates_where_numbers_belong_are_called_dates(dates):
    """Context, reward, label, features and time; a hint at one-hot encoding would make a column of every day."""
    for library in (pd.DataFrame, pl.DataFrame, pa.table, dict):
        frame = library(COLUMNS | {"when": dates})
        for read in (
            lambda frame=frame: Log.from_frame(frame, **NAMES | {"context": ["age", "when"]}),
            lambda frame=frame: Log.from_frame(frame, **NAMES | {"reward": "when"}),
            lambda frame=frame: Groups.from_frame(frame, label="when", group="ad", features=["age"]),
            lambda frame=frame: DataStream.from_frame(frame, target="paid", features=["when"]),
            lambda frame=frame: Log.from_frame(frame, **NAMES, time="when"),
        ):
            try:
                read()
            except InputError as error:
                assert "these are dates; pass the `time` of a log as parsed dates" in str(error), error
                assert "one-hot" not in str(error)
            else:
                assert dates is DATES["parsed"]  # as time


def test_dates_with_a_time_zone_are_ordered_by_instant():
    """The clocks of Berlin show 2 h to 3 h twice on 25 October 2026."""
    utc = ["2026-10-25 00:45Z", "2026-10-25 01:15Z", "2026-10-24 23:00Z", "2026-10-25 01:00Z"]
    when = pd.to_datetime(utc).tz_convert("Europe/Berlin")
    columns = {"ad": [0, 1, 2, 0], "paid": [0, 1, 2, 3]}
    frame = pd.DataFrame(columns | {"when": when})
    python = [time.to_pydatetime() for time in when]
    frames = [frame, frame.astype({"when": object}), pl.from_pandas(frame), pa.Table.from_pandas(frame)]
    for made in (
        *frames,
        columns | {"when": python},
        columns | {"when": [*python[:3], when[3].tz_convert("Asia/Tokyo")]},
    ):
        log = Log.from_frame(made, action="ad", reward="paid", time="when")
        assert log.order.tolist() == [2, 0, 3, 1] and log.reward.tolist() == [2, 0, 3, 1]
    for bad, message in (
        ([*when[:3], pd.NaT], r"time must have no missing entries, but row 3 \(from 0\) is missing"),
        ([*python[:3], pd.Timestamp("2026-01-01")], "time must be dates that can be compared"),
    ):
        with pytest.raises(InputError, match=message):
            Log.from_frame(columns | {"when": bad}, action="ad", reward="paid", time="when")


def test_a_name_for_every_row_is_told():
    """Actions of a log, groups, classes of a table; labels that are row numbers."""
    ids, ones, x = [f"id{k}" for k in range(40)], np.arange(40) % 2.0, np.arange(80.0).reshape(40, 2) ** 2
    with pytest.warns(UserWarning, match="Log: 40 events have 40 different actions"):
        Log.from_arrays(ids, ones)
    with pytest.warns(UserWarning, match="Groups: 40 rows have 40 different groups"):
        Groups.from_arrays(x, ones, ids)
    with pytest.warns(UserWarning, match="TableBandit: 40 rows have 40 different labels, each of which is an arm"):
        TableBandit.from_table(x, ids)
    two = ["a", "b"] * 20
    with pytest.warns(
        UserWarning, match="Groups: the 40 labels are consecutive whole numbers, each of which occurs once"
    ):
        Groups.from_arrays(x, np.arange(40.0)[::-1] + 7, two)
    Groups.from_arrays(x, np.arange(40.0) ** 2, two)
    Log.from_arrays(["a", "b"] * 20, ones)


def test_the_warning_of_a_log_that_is_not_uniform_fits_what_was_given():
    action = np.where(np.random.default_rng(0).random(1000) < 0.6, 0, 1)
    for propensity, text in (
        (
            None,
            r"the log has no propensities, so all are assumed to be 1/K = 0.5, but the log is not uniform \(arm 0",
        ),
        (np.full(1000, 0.5), r"LoggedReplay: all propensities are 1/K = 0.5, but the log is not uniform \(arm 0"),
    ):
        with pytest.warns(UserWarning, match=text):
            LoggedReplay.from_log(action, np.ones(1000), 2, propensity=propensity)


@pytest.mark.parametrize("convert", [np.asarray, list, lambda times: pd.Series(times, dtype="Int64")])
def test_events_are_sorted_by_whole_nanoseconds(convert):
    """float64 does not tell times apart that differ by less than 256 ns."""
    times = 1_700_000_000_000_000_000 + np.array([3, 1, 2, 0])
    frame = {"ad": ["a", "b", "a", "b"], "paid": [1.0, 0.0, 1.0, 0.0], "when": convert(times)}
    log = Log.from_frame(frame, action="ad", reward="paid", time="when")
    np.testing.assert_array_equal(log.order, [3, 1, 2, 0])
    masked = np.ma.array(times, mask=[False, True, False, False])
    with pytest.raises(InputError, match=r"row 1 .* is masked"):
        Log.from_frame(frame | {"when": masked}, action="ad", reward="paid", time="when")
