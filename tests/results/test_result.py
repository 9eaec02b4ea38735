"""Labels that differ in points, seeds, record points and metrics; summaries, paired differences, their warnings."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import stats

from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.results.result import Result
from tests.results import factories


def _quiet(call, *arguments, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **settings)


def test_a_result_is_iterated_like_a_mapping():
    result = factories.result()
    assert list(result.keys()) == list(result) and list(result.values()) == [result[label] for label in result]
    assert dict(result.items()) == dict(result) == result.trials


def test_tables_and_estimates_are_copied_and_pickled():
    result = factories.result()
    table, best = _quiet(result.table, "regret"), result.best("regret")
    found = [result, table, result.pairs("regret", points=[0]), result.growth("loss", since=0.0), best]
    swept = Result({"a": result["swept"], "b": result["swept"]})
    found += [result.time_to("regret", 3.0), swept.paired_difference("a", "b")]
    for one in found:
        for same in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), copy.copy(one)):
            assert type(same) is type(one) and repr(same) == repr(one)
    estimate = pickle.loads(pickle.dumps(best["swept"].estimate))
    np.testing.assert_array_equal(estimate.interval_at(0.95), estimate[1:3])
    assert pickle.loads(pickle.dumps(table))._repr_html_() == table._repr_html_()


def test_labels_keep_their_own_shapes():
    result = factories.result()
    assert result.labels == tuple(result) == ("swept", "grouped") and len(result) == 2
    assert result.metrics == ("regret", "loss", "risk")
    assert result.get("regret", "swept").shape == (3, 6, 4)
    assert result.get("risk", "grouped").shape == (1, 4, 2, 3) and result.final("risk", "grouped").shape == (1, 4, 3)
    assert result.usable("loss", "swept").shape == (3, 6) and not result.failures("regret", "grouped").any()
    np.testing.assert_array_equal(result["swept"].seeds, range(6))


def test_a_label_may_be_left_out_only_where_there_is_one():
    result = factories.result()
    one = Result({"swept": result["swept"]})
    np.testing.assert_array_equal(one.get("loss"), result.get("loss", "swept"))
    for method in (result.get, result.final, result.usable, result.failures):
        with pytest.raises(InputError, match=r"choose one of swept, grouped with label=$"):
            method("regret")


def test_a_metric_by_name_gives_its_values():
    result = factories.result()
    one = Result({"swept": result["swept"]})
    np.testing.assert_array_equal(one["regret"], result.get("regret", "swept"))
    np.testing.assert_array_equal(result["swept"]["loss"], result.get("loss", "swept"))
    with pytest.raises(InputError, match=r"'risk' is a metric, .*, for example result\['grouped'\]\['risk'\]"):
        result["risk"]


def test_unknown_names_suggest_the_known_ones():
    result = factories.result()
    for call, message in (
        (lambda: result["swep"], "unknown label 'swep'; did you mean 'swept'"),
        (lambda: result[0], "unknown label 0"),
        (lambda: result.get("los", "swept"), "unknown metric 'los'; did you mean 'loss'"),
        (lambda: result.get("risk", "swept"), "unknown metric 'risk'"),
        (lambda: result.get(["loss"], "swept"), "unknown metric"),
        (lambda: result.get("loss", ["swept"]), "unknown label"),
        (lambda: result.summary("regrets"), "did you mean 'regret'"),
        (lambda: result.summary("risk", grup=0), "no axis 'grup'"),
        (lambda: result.paired_difference("swept", "group"), "did you mean 'grouped'"),
        (lambda: result.paired_difference("swept", "swept"), "labels to compare must differ, got 'swept' twice"),
        (lambda: result.contrast("swept", "swept", x="rate"), "labels to compare must differ, got 'swept' twice"),
        (lambda: result.table("lss"), "did you mean 'loss'"),
        (lambda: Result({}).summary(), "the result has no metrics"),
    ):
        with pytest.raises(InputError, match=message) as error:
            call()
        assert "\n" not in str(error.value)


def test_censored_stopping_times_are_counted(rng):
    times = rng.integers(5, 21, size=(1, 60, 2)).astype(float)
    early, late = ({"stopping_time": times, "stopped": np.full((1, 60, 2), 1.0)} for _ in range(2))
    late["stopped"][0, :7] = 0.0
    result = Result({"early": factories.trials(early), "late": factories.trials(late)})
    with pytest.warns(UserWarning, match="^late: 7 of 60 trials had not stopped by round 20") as said:
        result.table("stopping_time")
    assert len(said) == 1
    result.table("stopped")  # without a warning


def test_a_message_lists_few_known_names():
    few, many = (str(unknown_name("name", "??", [f"n{i:02}" for i in range(n)])) for n in (30, 31))
    assert few.endswith("known: " + ", ".join(f"n{i:02}" for i in range(30)))
    assert many.endswith("n28, n29, ... (31 names)")
    pointing = str(unknown_name("name", "??", [f"n{i:02}" for i in range(31)], "jaxbandits list"))
    assert pointing.endswith("known: n00, n01, n02, n03, n04, ... (31 names; see `jaxbandits list`)")


@pytest.mark.parametrize("level", [95, 0, 1, -1, 0.0, 1.0, float("nan"), "x", True, None, [0.9]])
def test_levels_lie_between_zero_and_one(level):
    result = factories.result()
    for call in (
        lambda: result.summary(level=level),
        lambda: result.table(level=level),
        lambda: result.best(level=level),
        lambda: result.paired_difference("swept", "swept", level=level),
    ):
        with pytest.raises(InputError, match=r"level must lie in \(0, 1\)"):
            call()


def test_summary_interval_and_quantiles_are_the_textbook_ones(rng):
    values = rng.gamma(2.0, size=(1, 64, 3))
    (row,) = Result({"a": factories.trials({"loss": values})}).summary("loss", level=0.9)
    last = values[0, :, -1]
    low, high = stats.t.interval(0.9, 63, last.mean(), stats.sem(last))
    assert (row.mean, row.low, row.high) == pytest.approx((last.mean(), low, high), rel=1e-12)
    assert (row.median, row.q10, row.q25, row.q75, row.q90) == pytest.approx(
        tuple(np.quantile(last, (0.5, 0.1, 0.25, 0.75, 0.9)))
    )
    assert (row.trials, row.failed, row.ns_per_round) == (64, 0, 20.0)


def test_summary_has_a_row_per_point_and_entry_and_leaves_out_labels_without_the_metric():
    result = factories.result()
    rows = _quiet(result.summary, "regret")
    assert [(row.label, row.point) for row in rows] == [
        ("swept", {"rate": 0.1}),
        ("swept", {"rate": 0.2}),
        ("swept", {"rate": 0.4}),
        ("grouped", {}),
    ]
    rows = _quiet(result.summary, "risk")
    assert [(row.label, row.entry) for row in rows] == [("grouped", {"group": g}) for g in range(3)]
    (row,) = _quiet(result.summary, "risk", group=1)
    assert row == rows[1] and row.mean == pytest.approx(result.final("risk", "grouped")[0, :, 1].mean())


def test_failed_trials_are_counted_and_left_out_with_a_warning():
    values = np.ones((1, 60, 2))
    values[0, :7, 1] = np.nan
    values[0, 7, 0] = 100.0
    result = Result({"a": factories.trials({"loss": values}), "b": factories.trials({"loss": np.ones((1, 60, 2))})})
    with pytest.warns(
        UserWarning,
        match="7 of 120 trials have NaN or infinite values, the first of them by round 20; they are left out and",
    ):
        rows = result.summary()
    assert [(row.trials, row.failed, row.mean) for row in rows] == [(53, 7, 1.0), (60, 0, 1.0)]
    (row,) = _quiet(Result({"a": factories.trials({"loss": np.full((1, 3, 2), np.nan)})}).summary)
    assert row.trials == 0 and row.failed == 3 and np.isnan([row.mean, row.median]).all()


def test_inadmissible_decisions_warn():
    inadmissible = np.zeros((1, 60), np.int64)
    inadmissible[0, 3] = 4
    result = Result({"a": factories.trials({"loss": np.ones((1, 60, 2))}, inadmissible=inadmissible)})
    with pytest.warns(UserWarning, match="a: 1 of 60 trials made inadmissible decisions, in up to 4 of 20 rounds"):
        result.summary()


def test_few_seeds_warn_and_name_who_has_them():
    few, many = factories.trials({"loss": np.ones((1, 7, 2))}), factories.trials({"loss": np.ones((1, 80, 2))})
    with pytest.warns(UserWarning, match="^only 7 seeds: confidence intervals of skewed quantities need about 50"):
        Result({"a": few}).summary()
    with pytest.warns(UserWarning, match="^only 7 seeds of slow, slower: confidence intervals"):
        Result({"slow": few, "fast": many, "slower": few}).summary()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Result({"fast": many}).summary()


def test_one_seed_has_an_interval_without_end():
    (row,) = _quiet(Result({"a": factories.trials({"loss": np.ones((1, 1, 2))})}).summary)
    assert (row.mean, row.low, row.high, row.trials) == (1.0, -np.inf, np.inf, 1)


def test_paired_difference_is_over_the_seeds_both_ran(rng):
    noise = rng.normal(size=12)
    a = factories.trials({"loss": np.tile(noise[:8, None] + 3.0, (1, 1, 2))}, first_seed=0)
    b = factories.trials({"loss": np.tile(noise[4:, None], (1, 1, 2))}, first_seed=4)
    estimate = Result({"a": a, "b": b}).paired_difference("a", "b")
    assert estimate.n == 4 and estimate.failed == 0
    assert estimate.mean[0] == pytest.approx(3.0) and estimate.half_width[0] < 1e-12


def test_pairs_with_a_failed_trial_are_left_out_with_a_warning():
    a, b = np.full((2, 60, 1), 5.0), np.full((2, 60, 1), 3.0)
    a[0, 7], b[1, 9] = np.inf, np.nan
    points = [{"rate": 0.1}, {"rate": 0.2}]
    result = Result({"a": factories.trials({"loss": a}, points), "b": factories.trials({"loss": b}, points)})
    with pytest.warns(UserWarning, match="on 2 of 60 common seeds a trial failed"):
        estimate = result.paired_difference("a", "b", "loss")
    assert estimate.n == 58 and estimate.failed == 2 and estimate.mean.tolist() == [2.0, 2.0]


def test_paired_difference_of_a_vector_metric_keeps_its_axes(rng):
    values = rng.normal(size=(2, 1, 9, 2, 3))
    result = Result({k: factories.trials({"risk": v}) for k, v in zip("ab", values, strict=True)})
    estimate = result.paired_difference("a", "b")
    np.testing.assert_allclose(estimate.mean, (values[0] - values[1])[:, :, -1].mean(1))


def test_what_cannot_be_paired_is_refused():
    result = factories.result()
    with pytest.raises(
        InputError, match="swept and grouped cannot be paired, because their shapes differ: 3 points and 1 point"
    ):
        result.paired_difference("swept", "grouped")
    far = factories.trials({"regret": np.ones((1, 4, 2))}, first_seed=100)
    with pytest.raises(InputError, match="no seed in common"):
        Result({"a": result["grouped"], "b": far}).paired_difference("a", "b")


def test_repr_is_short_and_shows_no_numbers():
    result = factories.result()
    assert repr(result["swept"]) == "Trials(3 points x 6 seeds, 40 rounds at 4 record points; regret, loss)"
    assert "swept: 3 points x 6 seeds" in repr(result) and "regret, loss, risk" in repr(result)
    many = Result({f"learner {i}": result["swept"] for i in range(1000)})
    assert len(repr(many)) < 600 and "and 995 more labels" in repr(many)


def test_a_state_that_is_lost_behind_a_finite_metric_has_no_round():
    trials = factories.trials({"regret": np.ones((1, 60, 3))}, healthy=np.arange(60)[None] != 7)
    with pytest.warns(UserWarning, match="1 of 60 trials have NaN or infinite values; they are left out"):
        Result({"a": trials}).table("regret")
