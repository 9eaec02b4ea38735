"""Off-policy estimates: against a loop, unbiased, with intervals that cover, and clear about wrong input."""

import warnings
from typing import ClassVar

import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest

from jaxbandits import ArmDecision, InputError, Reward, pytree, static
from jaxbandits.data import Log, evaluate
from jaxbandits.linear import OFUL
from tests.reference import off_policy as reference

K = 3
NAMES = ("ash", "beech", "cedar")


def _log(seed, n):
    """Return a log of a softmax policy, the policy to be evaluated, a biased model, and the true value."""
    draws = np.random.default_rng(seed)
    scores = draws.standard_normal((n, K))
    logging = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    action = np.array([draws.choice(K, p=p) for p in logging])
    means = 1.0 / (1.0 + np.exp(-scores @ np.array([[1.0, 0.2, 0], [0, -1.0, 0.3], [0.4, 0, 0.5]])))
    reward = (draws.uniform(size=n) < means[np.arange(n), action]).astype(float)
    policy = np.full((n, K), 0.1)
    policy[np.arange(n), means.argmax(axis=1)] = 0.8
    return (action, reward, logging[np.arange(n), action], policy), means + 0.1, (policy * means).sum(axis=1).mean()


def values(table):
    return {row.method: row.value for row in table}


@pytest.mark.parametrize("largest", [None, 1.2])
def test_estimates_are_those_of_a_loop(largest):
    log, model, _ = _log(0, 300)
    found = values(evaluate(*log, model=model, largest=largest))
    expected = reference.evaluate(*log, model, np.sqrt(300) if largest is None else largest)
    assert found.keys() == expected.keys()
    for method, value in expected.items():
        assert found[method] == pytest.approx(value, rel=1e-10)


def test_weights_are_described():
    (action, reward, propensity, policy), _, _ = _log(0, 300)
    weight = policy[np.arange(300), action] / propensity
    row = evaluate(action, reward, propensity, policy)[0]
    assert row.ess == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    with pytest.warns(DeprecationWarning, match="`effective_events` has been renamed: use `ess`"):
        assert row.effective_events == row.ess
    assert row.largest_weight == weight.max() and row.support == pytest.approx(1.0)


def test_huge_weights_are_described_too():
    """The square of a weight of 1e200 is infinite."""
    action, reward, propensity = np.arange(200) % 2, np.arange(200) % 3, np.full(200, 0.5)
    propensity[7] = 0.5e-200
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = evaluate(action, reward, propensity, [0.5, 0.5], interval="student")
    assert any("effective sample size is 1 of 200" in str(warning.message) for warning in caught)
    assert {row.ess for row in found} == {1.0} and found[0].largest_weight == 1e200
    propensity[7] = 5e-324
    with np.errstate(all="ignore"), pytest.raises(InputError, match="event 7"):
        evaluate(action, reward, propensity, [0.5, 0.5])


def test_the_policy_that_logged_earns_the_mean_of_the_log():
    draws = np.random.default_rng(1)
    policy = np.tile([0.5, 0.3, 0.2], (100, 1))
    action, reward = draws.choice(K, size=100, p=policy[0]), draws.standard_normal(100)
    for row in evaluate(action, reward, policy[0][action], policy):
        assert row.value == pytest.approx(reward.mean()) and row.ess == pytest.approx(100)


@pytest.mark.slow
def test_forms_of_a_policy_and_of_a_model():
    """obp's [n, K, 1], the same in all events, a function of the context, frames with columns in any order."""
    (action, reward, propensity, policy), model, _ = _log(0, 300)
    same = np.tile([0.2, 0.3, 0.5], (300, 1))
    expected = evaluate(action, reward, propensity, same, model=model)
    for form in (same[:, :, None], [0.2, 0.3, 0.5]):
        assert evaluate(action, reward, propensity, form, model=model) == expected
    log = Log.from_arrays(np.array(NAMES)[action], reward, propensity, model, actions=NAMES)
    expected = evaluate(action, reward, propensity, policy, model=model)
    frame = pl.DataFrame(policy, schema=list(NAMES))
    for form in (
        policy,
        frame.select("cedar", "ash", "beech"),
        frame.to_pandas(),
        frame.to_arrow(),
        {name: policy[:, k] for k, name in enumerate(NAMES)},
    ):
        assert evaluate(log, form, model=lambda context: context) == expected
    greedy = np.eye(K)[model.argmax(axis=1)]
    assert evaluate(log, lambda context: np.eye(K)[context.argmax(axis=1)]) == evaluate(log, greedy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: [0, 3]}, r"action has 2 different actions \(0, 3\), but the number of actions is 3"),
        ({1: [1.0, np.nan]}, r"reward must be finite, but row 1 \(from 0\)"),
        ({1: [1.0, None]}, r"reward must be finite, but row 1 \(from 0\) is missing"),
        ({1: np.ma.masked_equal([1.0, -9.0], -9.0)}, r"reward must be finite, but row 1 \(from 0\) is masked"),
        ({1: ["1", "0"]}, r"reward must be numbers of shape \(n,\), got \['1', '0'\]: encode text as numbers"),
        ({1: np.array(["2026-11-26", "2026-11-27"], "M8[D]")}, r"reward must be numbers of shape \(n,\), got array"),
        ({2: [0.0, 0.5]}, r"propensity must lie in \(0, 1\], got 0"),
        ({2: [0.5]}, r"one entry per event: reward has 2, but propensity has shape \(1,\)"),
        ({3: [[0.5, 0.5, 0.5], [1.0, 0.0, 0.0]]}, r"rows of policy must sum to 1, but row 0 .* 1.5"),
        ({3: [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]}, r"gives probability 0 to the action of every event"),
        ({3: [[0.0, 0.0, 1.0]]}, r"policy must have a row for each of the 2 events and a column for each of the 3"),
        ({3: None}, r"evaluate needs a policy"),
        (
            {0: pd.DataFrame({"a": [0, 1]})},
            r"a Log or an array of actions, not a frame: create the log by Log\.from_frame\(frame",
        ),
        ({3: lambda context: context}, r"a policy that is a function needs a log with contexts"),
    ],
)
def test_wrong_input_is_one_line(change, message):
    log = [[0, 1], [1.0, 0.0], [0.5, 0.5], [[0.2, 0.3, 0.5]] * 2]
    with pytest.raises(InputError, match=message) as said, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluate(*(change.get(i, part) for i, part in enumerate(log)))
    assert "\n" not in str(said.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": [[1.0], [1.0]]}, r"model must have a row for each of the 60 events and a column for each of the 3"),
        ({"level": 95}, r"level must lie in \(0, 1\), such as 0.95, got 95"),
        ({"level": True}, "level must lie in"),
        ({"level": [0.9]}, "level must lie in"),
        ({"interval": "bernstien"}, "unknown interval 'bernstien'; did you mean 'bernstein'"),
        ({"largest": 0.0}, r"largest must lie in \(0, inf\)"),
        ({"max_weight": -1.0}, r"max_weight must lie in \(0, inf\)"),
        ({"max_weight": 2.0, "interval": "bernstein"}, r"must bound all weights, but it is 2\.0 and the log"),
        ({"reward_range": (0.0, 0.5), "interval": "bernstein"}, r"reward must lie in \[0.0, 0.5\], got 1"),
        ({"reward_range": (1.0, 0.0)}, r"reward_range must be \(least, largest\)"),
    ],
)
def test_wrong_settings_are_one_line(settings, message):
    log, _, _ = _log(0, 60)
    with pytest.raises(InputError, match=message):
        evaluate(*log, **settings)


def test_actions_by_name():
    """In the order that is given; without it a warning says which order was taken, and a log refuses."""
    (action, *rest), _, _ = _log(0, 300)
    names = np.array(["popup", "banner", "email"])
    expected = evaluate(action, *rest)
    assert evaluate(names[action], *rest, actions=list(names)) == expected
    with pytest.warns(
        UserWarning, match="to be the actions in alphabetical order, banner, email, popup: pass actions="
    ):
        assert evaluate(names[action], *rest) != expected
    categories = pd.Categorical(names[action], categories=names)
    for named in (categories, pd.Series(categories), pl.Series(names[action], dtype=pl.Enum(names))):
        assert evaluate(named, *rest) == expected
    log = Log.from_frame(
        {"ad": names[action], "paid": rest[0], "p": rest[1]}, action="ad", reward="paid", propensity="p"
    )
    with pytest.raises(InputError, match=r"columns of policy cannot be matched .* \(banner, email, popup\): pass"):
        evaluate(log, rest[2])
    frame = pl.DataFrame(rest[2], schema=list(names))
    assert evaluate(log, frame) == expected
    with pytest.raises(InputError, match="policy has no column for the action 'banner'"):
        evaluate(log, frame.drop("banner"))
    few = np.where(names[action] == "email", "popup", names[action])
    with pytest.raises(
        InputError,
        match=r"action has 2 different actions \(banner, popup\), but the number of actions is 3: pass actions=",
    ):
        evaluate(few, *rest)


def test_a_series_is_matched_by_its_names():
    """Of shares of actions, the most frequent first; without names it is read by position."""
    (action, reward, propensity, _), _, _ = _log(0, 300)
    names = np.array(NAMES)[action]
    shares = pd.Series(names).value_counts(normalize=True)
    assert list(shares.index) != sorted(NAMES)
    policy = np.bincount(action) / 300
    expected = values(evaluate(action, reward, propensity, policy, model=policy))
    columns = {"tree": names, "paid": reward, "p": propensity, "x": reward}
    roles = {"action": "tree", "reward": "paid", "propensity": "p", "context": ["x"]}
    for log in (Log.from_frame(columns, **roles), Log.from_frame(columns, **roles, actions=NAMES)):
        for form in (shares, lambda context: shares):
            assert values(evaluate(log, form, model=shares)) == pytest.approx(expected, rel=1e-12)
    assert values(evaluate(names, reward, propensity, shares, model=shares)) == pytest.approx(expected, rel=1e-12)
    assert values(evaluate(log, pd.Series(policy), model=shares)) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(InputError, match=r"policy must have one column for each action, .* 'ash' is missing"):
        evaluate(log, pd.Series([1.0], index=["oak"]))
    with pytest.raises(InputError, match="name 'ash' occurs twice in the index"):
        evaluate(log, pd.concat([shares, shares[["ash"]]]))


def test_a_series_whose_names_are_numbers_in_another_order():
    """The index 0, 1, 2 has the names of the actions, which are in the order 2, 1, 0."""
    action = np.arange(60) % 3
    log = Log.from_arrays(action, (action == 0) * 1.0, np.full(60, 1 / 3), actions=[2, 1, 0])
    policy = pd.Series([1.0, 0.0, 0.0])
    with pytest.warns(UserWarning, match="effective sample size|have a reward"):
        found = evaluate(log, policy)
    assert found[0].value == pytest.approx(1.0)
    with pytest.warns(UserWarning, match="effective sample size|have a reward"):
        assert values(found) == values(evaluate(log, policy.to_frame().T))


def test_what_a_function_raises_is_one_line():
    log = Log.from_arrays([0, 1] * 30, [0, 1] * 30, [0.5] * 60, np.arange(60.0)[:, None], actions=2)
    said = r"is called once with .*, an array of shape \(60, 1\), and must return an array \[n, K\] of "
    with pytest.raises(InputError, match=rf"the policy {said}probabilities; it raised ValueError: The truth value"):
        evaluate(log, lambda x: [1.0, 0.0] if x > 0 else [0.0, 1.0])
    with pytest.raises(InputError, match=rf"the model {said}rewards; it raised IndexError: "):
        evaluate(log, [0.5, 0.5], model=lambda x: x[60])


def test_rows_for_events_keep_the_order_of_the_frame():
    """Of a log that was put in the order of time; functions see the contexts of the log."""
    (action, reward, propensity, policy), model, _ = _log(0, 300)
    columns = dict(zip(NAMES, model.T, strict=True))
    time = np.random.default_rng(1).permutation(300)
    log = Log.from_frame(
        columns | {"tree": action, "paid": reward, "p": propensity, "time": time},
        action="tree", reward="paid", propensity="p", context=NAMES, time="time", actions=range(K),
    )  # fmt: skip
    assert log.order is not None and log.reward.tolist() == reward[log.order].tolist()
    expected = values(evaluate(action, reward, propensity, policy, model=model))
    frame = pd.DataFrame(policy)
    for form in (policy, frame, pl.DataFrame(policy, schema=list("012"))):
        for predicted in (model, lambda context: context):
            assert values(evaluate(log, form, model=predicted)) == pytest.approx(expected, rel=1e-12)
    same = [0.2, 0.3, 0.5]
    expected = values(evaluate(action, reward, propensity, same))
    assert values(evaluate(log, same)) == pytest.approx(expected, rel=1e-12)
    shuffled = frame.sample(frac=1.0, random_state=0)
    for form in (shuffled, dict(shuffled.items())):
        with pytest.raises(InputError, match=r"policy has a row for each event, but its index is not 0, 1, 2, \.\.\.:"):
            evaluate(log, form)
    with pytest.raises(InputError, match="model has a row for each event, but its index"):
        evaluate(log, policy, model=shuffled)


def test_ids_keep_their_order():
    """Of twelve ads "1" to "12" the second pays: digits are in the order of numbers, whether text or not."""
    action = np.tile(np.arange(1, 13), 50)
    policy = np.tile(np.eye(12)[1], (600, 1))
    for ids in (action, action.astype(str), list(map(str, action)), pd.Series(action.astype(str))):
        found = evaluate(ids, action == 2, np.full(600, 1 / 12), policy, interval="bernstein")
        assert found[0].value == pytest.approx(1.0)


def test_what_makes_estimates_worthless_is_told_with_its_number():
    """One warning each, and none for a good log."""
    draws = np.random.default_rng(0)
    action = draws.choice(2, size=400, p=[0.9, 0.1])
    propensity, reward = np.where(action == 0, 0.9, 0.1), draws.random(400)
    uniform = np.full((400, 2), 0.5)
    evaluate(action, reward, propensity, uniform)
    with pytest.warns(UserWarning, match=r"actions that never occur in the log \(2\) with probability 25.00%"):
        assert evaluate(action, reward, propensity, [0.5, 0.25, 0.25])[0].support == 0.75
    with pytest.warns() as told:
        evaluate(action, reward, np.full(400, 0.9), uniform)
    assert [str(w.message)[:30] for w in told] == [
        "Log: the mean of 1/propensity ",
        "evaluate: the importance weigh",
    ]
    with pytest.warns(UserWarning, match=r"effective sample size is \d+ of 200 events, and below 50"):
        evaluate(action[:200], reward[:200], propensity[:200], [0.0, 1.0])
    with pytest.warns(
        UserWarning, match=r"the mean of 1/propensity is 50 .* there are 2 actions, 2 of them in the log"
    ):
        Log.from_arrays(action, reward, np.full(400, 0.02), actions=2)


def test_the_arms_of_the_context_follow_the_columns_of_the_policy():
    """A model reads the context, whose arms are in alphabetical order; DR is then the same for any order of columns."""
    draws = np.random.default_rng(0)
    arm, means = draws.integers(3, size=300), np.array([0.1, 0.5, 0.9])
    reward = (draws.random(300) < means[arm]).astype(float)
    with pytest.warns(UserWarning, match="the arms of context"):
        log = Log.from_arrays(np.array(NAMES)[arm], reward, np.full(300, 1 / 3), np.tile(np.eye(3), (300, 1, 1)))
    first, second = (
        values(evaluate(log, pd.Series([0.2, 0.1, 0.7], NAMES)[list(order)], model=lambda context: context @ means))
        for order in (NAMES, NAMES[::-1])
    )
    assert second == pytest.approx(first, abs=1e-12)


class TestIntervals:
    def test_bernstein_is_that_of_the_theorem(self):
        (action, reward, propensity, policy), model, _ = _log(2, 40)
        weight = policy[np.arange(40), action] / propensity
        with pytest.warns(UserWarning, match="effective sample size"):
            found = evaluate(
                action, reward, propensity, policy, model=model, interval="bernstein", max_weight=9.0,
                reward_range=(-50.0, 60.0), level=0.9,
            )  # fmt: skip
        rows = {row.method: row for row in found}
        low, high = reference.bernstein(weight * reward, 9.0 * 110.0, 0.9)
        assert (rows["IPS"].low, rows["IPS"].high) == (max(low, -50.0), min(high, 60.0))
        direct, rest = (policy * model).sum(axis=1), weight * (reward - model[np.arange(40), action])
        length = np.ptp(model) + 9.0 * (60.0 - model.min() - (-50.0 - model.max()))
        low, high = reference.bernstein(direct + rest, length, 0.9)
        assert (rows["DR"].low, rows["DR"].high) == (max(low, -50.0), min(high, 60.0))

    def test_bernstein_of_a_ratio_holds_those_whose_residuals_may_average_0(self):
        (action, reward, propensity, policy), _, _ = _log(2, 4000)
        weight = policy[np.arange(4000), action] / propensity
        row = evaluate(
            action, reward, propensity, policy, interval="bernstein", max_weight=weight.max(), reward_range=(0, 1)
        )[2]
        for x, inside in (
            (row.low - 1e-3, False),
            (row.low + 1e-3, True),
            (row.high - 1e-3, True),
            (row.high + 1e-3, False),
        ):
            values = weight * (reward - x)
            half = np.sqrt(2 * values.var(ddof=1) * np.log(80) / 4000) + 7 * weight.max() * np.log(80) / 3 / 3999
            assert (abs(values.mean()) <= half) == inside

    @pytest.mark.parametrize(("n", "least", "length"), [(200_000, 1.0, 0.001), (200, 1e-160, 1.0)])
    def test_bernstein_of_a_ratio_has_no_length_zero(self, n, least, length):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of equal rewards and of overflow
            row = evaluate(
                np.zeros(n, int), np.full(n, 0.30025), np.where(np.arange(n) % 2, 1.0, least), [1.0],
                interval="bernstein", reward_range=(0, 1),
            )[2]  # fmt: skip
        assert row.low < row.value < row.high
        assert row.high - row.low == pytest.approx(length, rel=0.01)

    def test_an_action_without_events_leaves_every_reward_possible(self):
        with pytest.warns(UserWarning, match="never occur"):
            rows = evaluate(
                [0, 1] * 50, [0, 1] * 50, [0.5] * 100, [0.4, 0.4, 0.2], interval="bernstein", reward_range=(0, 2)
            )
        assert (rows[0].low, rows[0].high) == (0.0, 2.0)
        with pytest.raises(InputError, match="all rewards in the log are 1, so the range"):
            evaluate([0, 1] * 50, [1] * 100, [0.5] * 100, [0.5, 0.5], interval="bernstein")

    def test_student_is_shorter_than_the_bootstrap(self):
        log, model, _ = _log(0, 300)
        for short, long in zip(
            evaluate(*log, model=model, interval="student"), evaluate(*log, model=model), strict=True
        ):
            assert long.low <= short.low and short.high <= long.high


def test_the_table_and_the_figure():
    log, model, _ = _log(0, 300)
    found = evaluate(*log, model=model, interval="student")
    lines = repr(found).splitlines()
    assert lines[0].split("  ")[0] == "method" and "95 % student" in lines[0] and "ESS" in lines[0]
    assert [line.split("  ")[0] for line in lines[2:]] == ["IPS", "clipped IPS", "SNIPS", "DR", "switch-DR"]
    mpl.use("Agg")
    ax = found.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.method for row in found]
    np.testing.assert_allclose([bar[0].get_xdata()[0] for bar in ax.containers], [row.value for row in found])
    assert ax.get_ylim() == (len(found) - 0.5, -0.5)  # no row lies on the frame


def test_the_table_shows_a_small_share_without_support():
    action = np.arange(300) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the action that is not in the log
        found = evaluate(action, action, np.full(300, 0.5), [0.5, 0.498, 0.002])
    assert repr(found).splitlines()[2].endswith("99.8%")


def test_the_figure_marks_unbounded_intervals():
    log, _, _ = _log(0, 300)
    ax = evaluate(*log, level=1.0 - 1e-6).plot()  # more than the resamples can tell
    assert [mark.get_text() for mark in ax.texts] == ["?"] * 3 and ax.get_title() == "?: unbounded interval"
    assert not evaluate(*log).plot().texts


def test_the_figure_shows_an_estimate_outside_its_interval():
    action, propensity = np.repeat([1, 0], [60, 140]), np.repeat([0.1, 0.9], [60, 140])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the propensities, which are too small
        found = evaluate(
            action, np.ones(200), propensity, [0.1, 0.9], interval="bernstein", max_weight=9.0, reward_range=(0, 1)
        )
    assert found[0].value > found[0].high == 1.0
    ax = found.plot()
    (segment,) = ax.containers[0].lines[2][0].get_segments()
    assert segment[:, 0].tolist() == [found[0].low, found[0].high]
    assert ax.lines[-1].get_xdata()[0] == found[2].value
    assert found[0].value in [float(line.get_xdata()[0]) for line in ax.lines if len(line.get_xdata())]


@pytree
class Constant:
    """Plays arm 1."""

    feedback: ClassVar[type] = Reward
    dim: int = static(6, "[1, inf)", "d")

    def init(self, key):
        return jnp.zeros(1)

    def select(self, key, t, state, obs):
        return ArmDecision(jnp.int32(1), obs.arms[1])

    def update(self, key, t, state, obs, decision, feedback):
        return state


class TestLearners:
    @pytest.mark.parametrize("uniform", [True, False])
    def test_a_learner_is_replayed(self, uniform):
        """Logging that depends on the context is corrected: arm 1 earns 0.5 on average, 0.33 on its events."""
        draws = np.random.default_rng(0)
        n = 8000
        context = draws.standard_normal((n, 2))
        logging = (
            np.where(context[:, :1] > 0, [[0.1, 0.7, 0.2]], [[0.6, 0.1, 0.3]])
            if not uniform
            else np.full((n, 3), 1 / 3)
        )
        action = (draws.random(n)[:, None] > logging.cumsum(axis=1)).sum(axis=1)
        paid = (draws.random(n) < np.where(context[:, 0] > 0, 0.3, 0.7)).astype(float)
        log = Log.from_arrays(action, paid, logging[np.arange(n), action], context, actions=3)
        table = evaluate(log, Constant(), seeds=8)
        (row,) = table
        rounds = n * logging.min()
        assert row.method == "replay" and row.ess == pytest.approx(rounds, rel=0.1)
        assert abs(row.value - 0.5) < 4 * 0.5 / np.sqrt(rounds)
        assert "95 % student, for the path on this log" in table.header and row.support == 1.0
        assert repr(table).splitlines()[2].split()[-3:] == ["-", "-", "100%"]
        half = 1.96 * 0.5 / np.sqrt(row.ess)
        assert (row.low, row.high) == pytest.approx((row.value - half, row.value + half), abs=0.01)

    def test_refused(self):
        log = Log.from_arrays([0], [1.0], [1.0], actions=1)
        with pytest.raises(InputError, match="fewer than two events count"):
            evaluate(log, OFUL(dim=1), seeds=1)
        for settings in ({"interval": "bootstrap"}, {"model": [0.5]}, {"max_weight": 2.0}, {"largest": 2.0}):
            (name,) = settings
            with pytest.raises(InputError, match=f"{name} can be given only with a policy, but a learner was given"):
                evaluate(log, OFUL(dim=1), **settings)

    def test_actions_that_the_log_never_shows_are_told(self):
        log = Log.from_arrays([0, 2] * 50, [0, 1] * 50, [0.5] * 100, np.ones((100, 3, 6)), actions=3)
        said = r"the log never contains 1, but the learner plays such actions in 100.00% of its rounds"
        with pytest.warns(UserWarning, match=said), pytest.raises(InputError, match="in every trial of the learner"):
            evaluate(log, Constant(), seeds=2)


def test_actions_that_may_be_numbered_from_1_are_warned_of():
    """Of three, the third was never logged: 1 and 2 may be the first two or the last two."""
    action, paid = np.tile([1, 2], 100), np.tile([1.0, 0.0], 100)
    arguments = (action, paid, np.full(200, 0.5))
    with pytest.warns(UserWarning, match=r"if they are numbered from 1 to 3, pass actions=range\(1, 4\)"):
        evaluate(*arguments, [0.0, 0.5, 0.5], interval="student")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = evaluate(*arguments, [0.5, 0.5, 0.0], actions=range(1, 4), interval="student")
    assert not any("range(1, 4)" in str(warning.message) for warning in said)
    assert found[0].value == 0.5
