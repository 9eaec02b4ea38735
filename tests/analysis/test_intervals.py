"""Intervals of skewed means: the definition, the edges, and how often they cover."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy import special

from jaxbandits.analysis import intervals
from jaxbandits.analysis.intervals import (
    log_ratio_interval,
    mean_interval,
    median_interval,
    metric_interval,
    share_interval,
    smooth_interval,
    t_interval,
)
from jaxbandits.base.errors import InputError
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.run import run
from jaxbandits.results.result import Result
from tests.results import factories


def bootstrap_t(value, error, rows, tails, rng, resamples=40_000):
    """Both ends by the definition, on resamples of its own."""
    drawn = rows[rng.integers(len(rows), size=(resamples, len(rows)))]
    ratios = np.array([(value(part) - value(rows)) / error(part) for part in drawn])
    low, high = np.quantile(ratios, [tails, 1.0 - tails])
    return value(rows) - high * error(rows), value(rows) - low * error(rows)


def test_the_interval_of_a_mean_is_the_hull_of_both(rng):
    values = rng.lognormal(size=40)

    def error(part):
        return part.std(ddof=1) / np.sqrt(len(part))

    low, high = bootstrap_t(np.mean, error, values, 0.0125, rng)
    student = t_interval(values)
    found = mean_interval(values)
    np.testing.assert_allclose(found.low, min(low, student.low), rtol=0.03)
    np.testing.assert_allclose(found.high, max(high, student.high), rtol=0.03)
    assert found.mean == values.mean() and found.high > student.high and found.n == 40
    skewed = rng.lognormal(sigma=2.0, size=40)  # towards the bulk Student's interval reaches further
    assert mean_interval(skewed).low == pytest.approx(float(t_interval(skewed).low))
    mirrored = mean_interval(-values)
    np.testing.assert_allclose([mirrored.low, mirrored.high], [-found.high, -found.low], rtol=0.03)
    scaled = mean_interval(1e3 * values + 7.0)
    np.testing.assert_allclose([scaled.low, scaled.high], [1e3 * found.low + 7.0, 1e3 * found.high + 7.0], rtol=1e-9)


def test_indicators_have_the_interval_of_a_share():
    """Within [0, 1], of positive length if all values are equal, and in every column of an array; none of no value."""
    values = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    found = metric_interval(values, is_indicator=True)
    few = 0.025 ** (1 / 3)
    np.testing.assert_allclose(
        found[:3],
        [[1.0, 2 / 3, 0.0], [few, share_interval(2, 3).low, 0.0], [1.0, share_interval(2, 3).high, 1.0 - few]],
    )
    assert not found.deterministic and found.interval_at(0.5)[0][0] == pytest.approx(0.25 ** (1 / 3))
    assert pickle.loads(pickle.dumps(found)).interval_at(0.9)[1][2] == pytest.approx(1.0 - 0.05 ** (1 / 3))
    nothing = metric_interval(np.zeros(0), is_indicator=True)
    assert np.isnan(nothing.mean) and (nothing.low, nothing.high) == (0.0, 1.0)
    with pytest.raises(InputError, match="level"):
        metric_interval(values, level=95, is_indicator=True)


def test_tables_and_figures_show_shares_of_indicators():
    """Of ten trials all are correct: [0.69, 1] in the table, in `best`, and in the band of a curve."""
    made = factories.trials({"correct": np.ones((1, 10, 2))}, indicators=("correct",))
    result = Result({"a": made})
    row = result.table("correct").rows[0]
    assert "[0.69" in str(row) and "1]" in str(row)
    plotted = result.plot("correct")
    assert "exact interval" in plotted.get_legend().get_title().get_text() and "exact interval" in str(
        result.table("correct")
    )
    ends = plotted.collections[0].get_paths()[0].vertices[:, 1]
    assert ends.min() == pytest.approx(0.025 ** (1 / 10)) and ends.max() == 1.0


def test_what_is_never_negative_has_no_interval_below_zero():
    values = np.array([[0.0, -1.0], [0.0, 2.0], [9.0, 1.0]])
    student, found = t_interval(values[:, 0]), metric_interval(values[:, 0])
    assert student.low < 0.0 and (found.low, found.high, found.mean) == (0.0, student.high, student.mean)
    assert found.interval_at(0.5)[0] == student.interval_at(0.5)[0] > 0.0 == found.interval_at(0.99)[0]
    for free in (values, -values[:, 0]):  # of either sign
        np.testing.assert_array_equal(metric_interval(free)[:3], t_interval(free)[:3])
    several = {
        "a": factories.trials({"loss": values[None, :, :1]}),
        "b": factories.trials({"loss": values[None, :, 1:]}),
    }
    with pytest.warns(UserWarning, match="3 seeds"):
        rows = Result(several, {"base_seed": 0}).summary("loss")
    assert rows[0].low == 0.0 and rows[1].low < 0.0


def test_the_interval_of_a_ratio_is_that_of_its_logarithm(rng):
    rows = np.stack([rng.lognormal(1.0, 0.7, 50), rng.lognormal(0.0, 0.4, 50)], axis=1)

    def value(part):
        return np.log(part[:, 0].mean() / part[:, 1].mean())

    def error(part):
        first, second = part.T
        return (first / first.mean() - second / second.mean()).std(ddof=1) / np.sqrt(len(part))

    low, high = bootstrap_t(value, error, rows, 0.0125, rng, 20_000)
    half = special.stdtrit(49, 0.975) * error(rows)
    found = log_ratio_interval(*rows.T)
    np.testing.assert_allclose(np.log(found.mean), value(rows))
    np.testing.assert_allclose(np.log(found.low), min(low, value(rows) - half), atol=0.02)
    np.testing.assert_allclose(np.log(found.high), max(high, value(rows) + half), atol=0.02)
    inverse = log_ratio_interval(*rows.T[::-1])
    np.testing.assert_allclose([1.0 / inverse.high, 1.0 / inverse.low], [found.low, found.high], rtol=0.02)


def test_equal_data_have_equal_intervals_and_levels_are_nested(rng):
    values = rng.exponential(size=64)
    found = mean_interval(values)
    intervals._counts.cache_clear()
    again = mean_interval(values.copy())
    assert (found.low, found.high) == (again.low, again.high)
    ends = [found.interval_at(level) for level in (0.5, 0.9, 0.95, 0.99, 0.999)]
    lows, highs = np.transpose(ends)
    assert (np.diff(lows) < 0.0).all() and (np.diff(highs) > 0.0).all()
    assert found.interval_at(0.95) == (found.low, found.high)
    assert np.isinf(found.interval_at(1.0 - 1e-6)).all()  # more than the resamples can tell
    with pytest.raises(InputError, match="level"):
        mean_interval(values, level=95)


@pytest.mark.slow
def test_many_values_are_resampled_in_blocks(rng):
    """5000 values: blocks of three; the interval is about Student's, whose shape the skewness has all but left."""
    values = rng.lognormal(size=5000)
    found, student = mean_interval(values), t_interval(values)
    assert found.mean == student.mean and found.n == 5000 and len(intervals._blocks(values)) == 1666
    for mine, other in ((found.mean - found.low, student.half_width), (found.high - found.mean, student.half_width)):
        assert 0.999 * other <= mine <= 1.4 * other
    ratio = log_ratio_interval(values, values[::-1])
    slope = smooth_interval(
        np.stack([values, 2.0 * values[::-1]], axis=1),
        lambda m: m[..., 1] - m[..., 0],
        lambda m: np.stack([-1.0 + 0.0 * m[..., 0], 1.0 + 0.0 * m[..., 0]], axis=-1),
    )
    assert ratio.low < 1.0 < ratio.high and ratio.n == slope.n == 5000
    assert slope.low < values.mean() < slope.high and slope.half_width < 0.3


@pytest.mark.parametrize("power", [-1000, -600, 0, 600, 1000])
def test_squares_of_tiny_and_huge_values_do_not_leave_float64(rng, power):
    """Else the interval of tiny values has length zero, and that of huge values is infinite."""
    values = np.stack([rng.exponential(size=30), np.full(30, 0.25), np.zeros(30)])
    usual, scaled = t_interval(values, axis=1), t_interval(np.ldexp(values, power), axis=1)
    for one, other in zip(usual[:3], scaled[:3], strict=True):
        np.testing.assert_allclose(np.ldexp(other, -power), one, rtol=1e-14)


@pytest.mark.parametrize(("n", "rare"), [(10, 1), (50, 1), (64, 3), (100, 3), (400, 3)])
def test_intervals_of_rare_values_scale_with_them(n, rare):
    """Resamples without the rare value have equal values: their variance is zero, not a rounding error."""
    values = np.r_[np.zeros(n - rare), np.ones(rare)]
    found = mean_interval(values)
    assert found.high <= 1.6 * t_interval(values).high
    for scale in (0.7, 1.0 / 3.0, 10.3):
        scaled = mean_interval(scale * values)
        np.testing.assert_allclose([scaled.low, scaled.high], [scale * found.low, scale * found.high], rtol=1e-6)
        ratio = log_ratio_interval(0.3 + scale * values, np.full(n, 0.7))
        assert ratio.high <= 10.0 * ratio.mean


def test_a_median_of_ties_is_not_known_at_every_level():
    """999 resamples with one median cannot support a claim at a level of 0.9999."""
    tied = median_interval(np.r_[np.zeros(60), np.ones(4)], np.zeros(64), 1.0)
    assert tied.low == tied.high == 0.0 and not tied.deterministic and tied.interval_at is not None
    assert [float(tied.interval_at(level)[1]) for level in (0.99, 0.9979, 0.9981, 0.9999)] == [0.0, 0.0, np.inf, np.inf]
    same = median_interval(np.ones(64), np.zeros(64), 1.0)
    assert same.deterministic and same.interval_at is not None and same.interval_at(0.9999) == (1.0, 1.0)


def test_without_spread_or_data():
    same = mean_interval(np.full(9, 2.5))
    assert (same.mean, same.low, same.high, same.n, same.deterministic) == (2.5, 2.5, 2.5, 9, True)
    one, none = mean_interval(np.ones(1)), mean_interval(np.ones(0))
    assert np.isinf(one.low) and not one.deterministic and one.n == 1 and np.isnan(none.mean) and none.n == 0
    for a, b in ((-np.ones(9), np.ones(9)), (np.ones(9), np.zeros(9)), (np.ones(0), np.ones(0))):
        assert np.isnan(log_ratio_interval(a, b).mean)
    level = np.linspace(1.0, 2.0, 9)
    np.testing.assert_allclose(log_ratio_interval(3.0 * level, level)[:3], 3.0, rtol=1e-12)


# Coverage -------------------------------------------------------------------------------------------------------------

LAWS = {
    "normal": (lambda rng, size: rng.normal(size=size), 0.0),
    "exponential": (lambda rng, size: rng.exponential(size=size), 1.0),
    "lognormal 1": (lambda rng, size: rng.lognormal(0.0, 1.0, size), np.exp(0.5)),
    "lognormal 1.5": (lambda rng, size: rng.lognormal(0.0, 1.5, size), np.exp(1.125)),
    "Pareto 2.5": (lambda rng, size: rng.pareto(2.5, size), 1.0 / 1.5),
    "Pareto 4": (lambda rng, size: rng.pareto(4.0, size), 1.0 / 3.0),
    "difference": (
        lambda rng, size: rng.lognormal(0.0, 1.0, size) - 3.0 * rng.lognormal(0.0, 0.5, size),
        np.exp(0.5) - 3.0 * np.exp(0.125),
    ),
}


def coverage(interval, draw, truth, n, repeats=1000):
    """How often the interval of n values holds the truth."""
    rng = np.random.default_rng(n)
    found = [interval(draw(rng, n)) for _ in range(repeats)]
    return np.mean([one.low < truth < one.high for one in found])


@pytest.mark.slow
@pytest.mark.parametrize("n", [64, 256])
@pytest.mark.parametrize("law", LAWS)
def test_means_are_covered(law, n):
    """0.94 asked; three standard errors of 1000 repeats are 0.0225."""
    covered = coverage(mean_interval, *LAWS[law], n)
    assert covered > 0.94 - 0.0225
    if law == "lognormal 1.5" and n == 64:  # what is mended
        assert coverage(t_interval, *LAWS[law], n) < 0.87


@pytest.mark.slow
def test_the_library_s_own_regret_is_covered():
    """Figure 1 in small: 2048 trials are the population, of which n = 64 are drawn. Skewness about 4; t covers 0.9.

    0.94 asked; three standard errors of 300 repeats are 0.041.
    """
    fig1 = EXPERIMENTS["linear/fig1"]
    small = dataclasses.replace(
        fig1, panels=lambda horizon: {"max": fig1.panels(horizon)["max"]}, claims=(), timed=None, record_points=10
    )
    without = ("HEAVY-OFUL", "CRMM", "uniform")
    whole = run(small, seeds=2048, horizon=1500, without=without, progress=False).results["max"]
    pair = [whole.final("regret", label)[0] for label in ("Hvt-UCB", "OFUL")]
    curves = whole.get("regret", "OFUL")[0][:, 1:]
    slopes = np.log(whole["OFUL"].record_points[1:])
    weights = (slopes - slopes.mean()) / np.sum((slopes - slopes.mean()) ** 2)
    rows = np.concatenate([np.stack(pair, axis=1), curves], axis=1)
    found = {
        "difference": lambda x: mean_interval(x[:, 0] - x[:, 1]),
        "mean": lambda x: mean_interval(x[:, 0]),
        "ratio": lambda x: log_ratio_interval(x[:, 0], x[:, 1]),
        "slope": lambda x: smooth_interval(x[:, 2:], lambda m: np.log(m) @ weights, lambda m: weights / m),
        "medians": lambda x: median_interval(x[:, 0], x[:, 1], 1.0),
    }
    rng = np.random.default_rng(0)
    samples = [rows[rng.integers(len(rows), size=64)] for _ in range(300)]
    covered = {}
    for name, interval in found.items():
        truth = interval(rows).mean
        covered[name] = np.mean([one.low < truth < one.high for one in map(interval, samples)])
    assert min(covered.values()) > 0.94 - 0.041, covered
