"""Pairs, growth and time to a threshold: against formulas written out here, and their coverage by simulation."""

import numpy as np
import pytest
from scipy import stats

from jaxbandits.analysis import growth, intervals, pairs
from jaxbandits.base.errors import InputError
from jaxbandits.results import describe
from jaxbandits.results.result import Result
from tests.results import factories


def three(rng, n=40):
    base = rng.gamma(2.0, size=(1, n, 4)).cumsum(2)
    shift = {"low": 0.0, "same": 0.0, "high": 3.0}
    noise = {name: 0.3 * rng.normal(size=base.shape) for name in shift}
    return Result({name: factories.trials({"regret": base + by + noise[name]}) for name, by in shift.items()})


def test_differences_and_wins_are_the_textbook_ones_at_a_third_of_the_error(rng):
    result = three(rng)
    found = result.pairs(level=0.9)
    assert [pair[:2] for pair in found] == [("low", "same"), ("low", "high"), ("same", "high")]
    assert [pair.decided for pair in found] == [False, True, True]
    a, b = (result.final(label=name)[0] for name in ("low", "same"))
    wanted = pairs.skewed_mean(a - b, 0.1 / 3)
    assert (found[0].difference.low, found[0].difference.high) == (wanted.low, wanted.high)
    wins = stats.binomtest(int((a < b).sum()), 40).proportion_ci(1.0 - 0.1 / 3, method="exact")
    assert (found[0].improvement.low, found[0].improvement.high) == pytest.approx((wins.low, wins.high), rel=1e-9)
    assert found[1].improvement.mean == 1.0 and found[1].improvement.high == 1.0
    text = str(found)
    assert "90 % simultaneous" in text and text.splitlines()[3].endswith("undecided") and "first lower" in text


def test_the_interval_of_a_mean_is_students_without_skewness_and_better_with():
    half = np.asarray([0.3, 1.0, 2.0, 3.5, 0.1])
    found = pairs.skewed_mean(np.concatenate([7.0 + half, 7.0 - half]), 0.04)
    low, high = stats.t.interval(0.96, 9, 7.0, stats.sem(np.concatenate([half, -half])))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)
    x = np.random.default_rng(3).lognormal(size=30)
    found, g, n = pairs.skewed_mean(x, 0.05), stats.skew(x), 30
    assert found.low == pytest.approx(stats.t.interval(0.95, n - 1, x.mean(), stats.sem(x))[0])  # the wider end of both
    longer = 4.0 / n * (x.max() + x.min() - 2.0 * x.mean())
    # What Hall's transformation makes of the other end, less what it gains by the longer tail, is the quantile.
    u = (x.mean() - (found.high - longer)) / x.std(ddof=1)
    mirrored = pairs.skewed_mean(-x, 0.05)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low), rel=1e-12)
    assert np.sqrt(n) * (u + g * u**2 / 3 + g**2 * u**3 / 27 + g / (6 * n)) == pytest.approx(stats.t.ppf(0.025, n - 1))
    many = np.random.default_rng(4).lognormal(size=(4000, 64))
    misses = {}
    for name, ends in (
        ("Hall", pairs.skewed_mean(many, 0.05)[1:3]),
        ("Student", intervals.t_interval(many, axis=1)[1:3]),
    ):
        misses[name] = np.mean((ends[0] > np.exp(0.5)) | (ends[1] < np.exp(0.5)))
    assert misses["Hall"] < 0.05 < 0.08 < misses["Student"]  # of 5 %, at n = 64
    for n in (1, 5):
        assert pairs.skewed_mean(np.ones(n), 0.05)[:3] == (1.0, -np.inf, np.inf)


@pytest.mark.parametrize("alpha", [0.0, 5e-324, 1e-300, 1e-250, 1e-150])
def test_intervals_of_tiny_errors_contain_their_estimate(alpha, rng):
    """The first of many looks may spend an error of which SciPy knows no quantile."""
    with np.errstate(all="raise", under="ignore"):
        for values in (rng.lognormal(size=9), -rng.lognormal(size=20), rng.normal(size=(3, 50)), np.zeros(5)):
            found = pairs.skewed_mean(values, alpha)
            assert (found.low <= found.mean).all() and (found.mean <= found.high).all()
        for successes, n, ties in ((2.0, 5, 0.0), (2.0, 5, 3.0), (0.0, 5, 5.0), (500.0, 1000, 1.0)):
            found = intervals.share_interval(successes, n, alpha, ties)
            assert 0.0 <= found.low <= found.mean <= found.high <= 1.0


def test_ties_count_half_and_seeds_are_paired_by_number():
    a = factories.trials({"loss": np.asarray([1.0, 2.0, 3.0, 4.0])[None, :, None]})
    b = factories.trials({"loss": np.asarray([2.0, 3.0, 5.0])[None, :, None]}, first_seed=1)
    (pair,) = Result({"a": a, "b": b}).pairs()
    assert pair.difference.n == 3 and pair.improvement.mean == pytest.approx(0.5 * 2 / 3 + 1 / 3)
    assert pair.improvement.high == 1.0  # both ties may be wins, and none of them
    assert pair.improvement.low == pytest.approx(1.0 - 0.975 ** (1 / 3))


def test_points_of_a_sweep_are_contestants_and_a_failed_trial_decides_nothing(rng):
    values = rng.normal(size=(3, 30, 2)) + 9.0 * np.arange(3)[:, None, None]
    values[2, 4] = np.nan
    result = Result({"a": factories.trials({"loss": values}, [{"rate": r} for r in (0.1, 0.2, 0.4)])})
    found = result.pairs()
    assert found[0].first == "a (rate=0.1)" and found[0].decided
    assert not found[1].decided and found[1].difference.failed == 1 and "29 (1 left out)" in str(found)
    assert len(result.pairs(points={"rate": [0.1, 0.2]})) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: Result({"low": r["low"]}).pairs(), "at least two labels or points"),
        (lambda r: r.pairs(level=95), "level must lie"),
        (lambda r: r.pairs("los"), "unknown metric 'los'"),
        (lambda r: factories.result().pairs("risk"), "at least two"),
        (lambda r: Result({k: factories.result()["grouped"] for k in "ab"}).pairs("risk"), "'risk' is a vector"),
        (lambda r: Result({"a": factories.trials({"x": np.ones((1, 2, 1))}),
                           "b": factories.trials({"x": np.ones((1, 2, 1))}, first_seed=9)}).pairs(),
         "no seed in common"),
        (lambda r: Result({"a": factories.trials({"x": np.ones((21, 2, 1))}, [{"r": i} for i in range(21)])}).pairs(),
         "21 points are too many"),
        (lambda r: r.pairs(margin=np.ones(2)), r"margin must be one number in \[0, inf\), got an array"),
        (lambda r: r.growth(since=2), "since must lie in"),
        (lambda r: r.growth(since=0.9), "1 record point at or after round"),
        (lambda r: r.time_to(None, "low"), "a threshold must be a finite number, got 'low'"),
        (lambda r: factories.result().time_to("risk", 1.0), "'risk' is a vector"),
        (lambda r: factories.result().growth("regret", since=0.0), "grouped has 2 record points"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(rng, call, message):
    with pytest.raises(InputError, match=message) as error:
        call(three(rng))
    assert "\n" not in str(error.value)


def test_growth_includes_the_round_at_which_it_begins(rng):
    """In floats, 0.55 * 100 is above 55."""
    rounds = np.asarray([10, 55, 70, 100])
    curves = rng.gamma(3.0, size=(1, 5, 1)) * rounds**0.5
    (row,) = Result({"a": factories.trials({"regret": curves}, record_points=rounds)}).growth(since=0.55)
    assert row.exponent.mean == pytest.approx(0.5)


def test_growth_is_the_slope_of_logarithms_with_a_jackknife(rng):
    t = 10.0 * np.arange(1, 31)
    curves = rng.gamma(3.0, size=(1, 25, 1)) * t**0.7
    result = Result({"a": factories.trials({"regret": curves})})
    (row,) = result.growth(since=0.2)
    assert row.exponent.mean == pytest.approx(0.7, abs=1e-12)
    assert row.exponent.high - row.exponent.low < 1e-9  # every mean of such curves has that exponent
    curves = curves * (1.0 + 0.2 * rng.normal(size=curves.shape))
    late = t >= 0.2 * t[-1]

    def slope(rows):
        return np.polyfit(np.log(t[late]), np.log(rows.mean(axis=0)[late]), 1)[0]

    without = [slope(np.delete(curves[0], i, axis=0)) for i in range(25)]
    half = stats.t.ppf(0.975, 24) * np.sqrt(24 / 25 * np.sum((np.asarray(without) - np.mean(without)) ** 2))
    (row,) = Result({"a": factories.trials({"regret": curves})}).growth(since=0.2)
    assert tuple(row.exponent[:3]) == pytest.approx(
        (slope(curves[0]), *(slope(curves[0]) + half * np.asarray([-1, 1])))
    )
    (row,) = Result({"a": factories.trials({"regret": -curves})}).growth()
    assert np.isnan(row.exponent.mean) and row.exponent.high == np.inf


@pytest.mark.parametrize(("others", "zeros", "is_known"), [(4, 0, True), (5, 40, True), (2, 40, False)])
def test_few_trials_that_are_not_zero_do_not_determine_growth(others, zeros, is_known):
    """Multiples of one curve among zeros have one slope without any of them, but two are no evidence for it."""
    curves = np.outer(np.r_[np.arange(1.0, others + 1.0), np.zeros(zeros)], np.arange(1.0, 21.0))
    (row,) = Result({"a": factories.trials({"regret": curves[None]})}).growth(since=0.0)
    assert row.exponent.mean == pytest.approx(1.0) and np.isfinite(row.exponent.half_width) == is_known
    curves[0, 5] = np.nan
    trials = factories.trials({"regret": curves[None]}, may_be_missing=("regret",))
    (row,) = Result({"a": trials}).growth(since=0.0)
    assert np.isnan(row.exponent.mean) and np.isinf(row.exponent.low)  # there is no mean at one record point


def test_time_to_a_threshold_is_the_first_record_point(rng):
    values = np.asarray([[9.0, 5.0, 1.0], [9.0, 1.0, 5.0], [9.0, 9.0, 9.0], [0.0, 9.0, 9.0]])[None]
    result = Result({"a": factories.trials({"loss": values})})
    (row,) = result.time_to("loss", 1.0)
    np.testing.assert_array_equal(row.rounds, [30, 20, np.inf, 10])
    assert row.share.mean == 0.75 and row.median.mean == 20 and row.median.high == np.inf  # four trials say little
    (row,) = result.time_to("loss", 9.0, above=True)
    np.testing.assert_array_equal(row.rounds, [10, 10, 10, 20])
    assert "loss >= 9" in str(result.time_to("loss", 9.0, above=True))


def test_the_interval_of_a_median_covers(rng):
    """At least the level (orders of a binomial), and not far above."""
    inside = 0
    for _ in range(2000):
        found = growth._median(rng.exponential(size=41), 0.9)
        inside += bool(found.low <= np.log(2.0) <= found.high)
    assert 0.9 - 5 * 0.0067 < inside / 2000 < 0.9 + 0.06


@pytest.mark.parametrize("power", [-1000, -400, 400, 1015])
def test_an_interval_of_a_skewed_mean_scales_with_its_values(power, rng):
    """Also where cubes overflow, as for a learner that diverges, or underflow."""
    values = rng.exponential(size=(3, 30)) - 0.5
    values[1] = 0.25
    usual, scaled = (pairs.skewed_mean(x, 0.05) for x in (values, np.ldexp(values, power)))
    for one, other in zip(usual[:3], scaled[:3], strict=True):
        np.testing.assert_allclose(np.ldexp(other, -power), one, rtol=1e-12)
    assert np.isinf(scaled.low[1]) and np.isfinite(scaled.low[[0, 2]]).all()


def test_a_result_in_words(rng):
    points = [{"rate": r, "environment.df": d} for r in (0.1, 0.2) for d in (2.0, 3.0)]
    swept = factories.trials({"regret": rng.gamma(2.0, size=(4, 30, 12)).cumsum(2)}, points)
    result = Result({"a": swept}, {"base_seed": 3, "started_unix_s": 0.0})
    text = describe.text(result)
    for part in (
        "a: 4 points x 30 seeds",
        "seeds: 0 to 29",
        "swept: rate, environment.df",
        "1970-01-01",
        "base_seed: 3",
    ):
        assert part in text
    said = describe.analysis(result, None, 9.0, 0.95)
    assert (
        said.count("best points, chosen by the smallest mean") == 2 and "environment.df = 2" in said
    )  # one choice for each environment
    assert "pairs of the best points: a comparison in pairs needs" in said and "regret <= 9" in said


@pytest.mark.parametrize(
    ("seeds", "said"),
    [
        ([3], "seeds: 3"),
        ([0, 1, 2, 20, 30, 31], "seeds: 0 to 2, 20, 30 to 31"),
        (range(0, 200, 10), "seeds: 0, 10, 20, 30, 40, and 15 more ranges up to 190"),
    ],
)
def test_gaps_between_the_seeds_of_merged_results_are_described(rng, seeds, said):
    trials = factories.trials({"regret": rng.gamma(2.0, size=(1, len(seeds), 3))}, seeds=np.asarray(seeds, np.uint32))
    assert f"  {said}\n" in describe.text(Result({"a": trials}))


def test_best_points_are_compared_on_the_seeds_by_which_none_was_chosen(rng):
    """On all seeds, tests at 5 % between equal learners would decide in 19 % of cases with so many points."""
    decided, points = 0, [{"rate": float(i)} for i in range(100)]
    for _ in range(300):
        swept, alone = factories.trials({"regret": rng.normal(size=(100, 60, 1))}, points), rng.normal(size=(1, 60, 1))
        result = Result({"a": swept, "b": factories.trials({"regret": alone})})
        kept = {"a": int(swept.final("regret")[:, :30].mean(axis=1).argmin()), "b": 0}
        compared = describe._evaluation(result, {"a": swept}, kept)
        assert list(compared["a"].seeds) == list(compared["b"].seeds) == list(range(30, 60))
        np.testing.assert_array_equal(compared["a"].get("regret")[0], swept.get("regret")[kept["a"], 30:])
        (pair,) = compared.pairs("regret")
        decided += pair.decided
    assert decided < 300 * 0.05 + 3.5 * np.sqrt(300 * 0.05 * 0.95)


def test_a_label_whose_seeds_all_chose_points_is_not_compared(rng):
    points, some = [{"rate": r} for r in (0.1, 0.2)], rng.gamma(2.0, size=(2, 20, 12)).cumsum(2)
    few, plain = factories.trials({"regret": some[:, :8]}, points), factories.trials({"regret": some[:1]})
    result = Result({"a": factories.trials({"regret": some}, points), "few": few, "plain": plain})
    said = describe.analysis(result, None, None, 0.95)
    assert "few" in said.partition("pairs of the best points")[0]
    assert "few" not in said.partition("pairs of the best points")[2] and "plain" in said.partition("pairs of")[2]
    assert "\n\nThe following tables leave out few, all of whose seeds were used to choose a point.\n\n" in said
    alone = describe.analysis(result.only({"a": None, "few": None}), None, None, 0.95)
    assert "leave out few" in alone and "pairs of the best points: a comparison in pairs needs" in alone
    assert list(result["a"].on_seeds([3, 19, 44]).seeds) == [3, 19]
    assert list(result["a"].on_seeds(np.array([-1, 3, 2**40])).seeds) == [3]
    for unknown in ([44], []):
        with pytest.raises(InputError, match="none of the given seeds was run; the trials have seeds up to"):
            result["a"].on_seeds(unknown)
    for wrong in (1.5, "1", True, 2.0):
        with pytest.raises(InputError, match=f"seeds must be whole numbers, got {wrong!r}"):
            result["a"].on_seeds([3, wrong])


def test_a_description_without_best_points_compares_all_points(rng):
    """With one seed there is none to choose by; a label without a sweep may fail without hiding the best points."""
    points, values = [{"rate": r} for r in (0.1, 0.2)], {"regret": rng.gamma(2.0, size=(2, 8, 12)).cumsum(2)}
    one = {"regret": values["regret"][:, :1]}
    said = describe.analysis(Result({"a": factories.trials(one, points)}), None, None, 0.95)
    assert "needs" not in said.partition("\n\n")[2] and "of the best points" not in said
    assert "\n\npairs\n" in said and "a (rate=0.1)  a (rate=0.2)" in said
    failed = factories.trials({"regret": np.full((1, 8, 12), np.nan)})
    said = describe.analysis(Result({"a": factories.trials(values, points), "b": failed}), None, None, 0.95)
    best = 0.1 if values["regret"][0, :4, -1].mean() < values["regret"][1, :4, -1].mean() else 0.2
    assert f"a (rate={best})" in said.partition("pairs of the best points\nThe following tables use only")[0]
    assert f"a (rate={0.3 - best:.1f})" not in said
    with pytest.raises(InputError, match=r"level must lie in \(0, 1\)"):
        describe.analysis(Result({"a": failed}), None, None, 95)
    with pytest.raises(InputError, match="threshold must"):
        describe.analysis(Result({"a": failed}), None, np.nan, 0.95)
