"""Statistics of claims on results that are written by hand."""

import numpy as np
import pytest

from jaxbandits.core.errors import InputError
from jaxbandits.experiments import statistic
from jaxbandits.experiments.declare import Claim, Measured
from jaxbandits.simulation import Result, RoundTimes


def result_of(curves, records, points=({},), trials=None):
    """A result from label to `[H, S, M]` regret curves; shorter ones are filled up with NaN."""
    n_seeds = max(c.shape[1] for c in curves.values())
    filled = [np.pad(c, ((0, 0), (0, n_seeds - c.shape[1]), (0, 0)), constant_values=np.nan) for c in curves.values()]
    trials = np.asarray([c.shape[1] for c in curves.values()]) if trials is None else np.asarray(trials)
    healthy = np.ones((len(curves), len(points), n_seeds), bool)
    timing = {name: {"ns_per_round": []} for name in curves}
    return Result({"regret": np.stack(filled)}, tuple(curves), tuple(points), np.arange(n_seeds), trials,
                  np.asarray(records), healthy, {}, timing, {})  # fmt: skip


def measured_of(result, times=None):
    return Measured({"panel": result}, times or {})


def test_the_growth_exponent_of_a_power_law_is_its_exponent(rng):
    records = np.unique(np.geomspace(1, 10_000, 60).astype(int))
    level = rng.lognormal(sigma=0.5, size=(1, 400, 1))
    for power in (0.3, 0.5, 1.0):
        estimate = statistic.growth_exponent("panel", "a")(
            measured_of(result_of({"a": level * records**power}, records))
        )
        assert abs(estimate.mean - power) < 1e-9 and estimate.high - estimate.low < 1e-9
    # Trials of different exponents: the mean curve bends, and the interval shows how far the seeds disagree.
    powers = rng.uniform(0.3, 0.7, size=(1, 400, 1))
    estimate = statistic.growth_exponent("panel", "a")(measured_of(result_of({"a": records**powers}, records)))
    assert 0.5 < estimate.mean < 0.7 and 0.005 < estimate.high - estimate.low < 0.1


def test_the_growth_exponent_needs_enough_seeds_and_counts_lost_ones(rng):
    records = np.asarray([10, 30, 100])
    curves = np.ones((1, 10, 1)) * records
    estimate = statistic.growth_exponent("panel", "a")(measured_of(result_of({"a": curves}, records)))
    assert np.isnan(estimate.mean) and np.isinf(estimate.high)
    curves = rng.uniform(1, 2, (1, 100, 1)) * records
    curves[0, :3, -1] = np.nan
    estimate = statistic.growth_exponent("panel", "a", since=0.0)(measured_of(result_of({"a": curves}, records)))
    assert estimate.failed == 3 and estimate.n == 97 and abs(estimate.mean - 1.0) < 1e-9


def test_pairs_are_formed_over_the_seeds_that_both_ran(rng):
    slow, fast = rng.normal(size=(1, 20, 1)), rng.normal(size=(1, 100, 1))
    result = result_of({"slow": slow, "fast": fast}, [5])
    estimate = statistic.mean_difference("panel", "slow", "fast", factor=2.0)(measured_of(result))
    np.testing.assert_allclose(estimate.mean, np.mean(slow[0, :, 0] - 2.0 * fast[0, :20, 0]))
    assert estimate.n == 20 and estimate.failed == 0
    assert statistic.win_share("panel", "slow", "fast")(measured_of(result)).n == 20
    assert not result.failed("regret").any() and result.usable("regret").sum() == 120


def test_the_share_below_a_threshold_has_wilsons_interval():
    values = np.concatenate([np.full(90, 0.5), np.full(10, 1.5)])[None, :, None]
    estimate = statistic.share_below("panel", "a", "regret")(measured_of(result_of({"a": values}, [5])))
    np.testing.assert_allclose((estimate.mean, estimate.low, estimate.high), (0.9, 0.8256, 0.9448), atol=1e-4)


def test_two_points_of_a_sweep_are_compared_seed_by_seed(rng):
    points = ({"x": 1.0, "y": 2.0}, {"x": 1.0, "y": 3.0}, {"x": 4.0, "y": 2.0})
    values = rng.normal(size=(3, 50, 1))
    result = result_of({"a": values}, [5], points)
    estimate = statistic.point_difference("panel", points[2], points[0], factor=3.0)(measured_of(result))
    np.testing.assert_allclose(estimate.mean, np.mean(values[2] - 3.0 * values[0]))


def test_time_growth_and_total_ratio_of_known_times(rng):
    stops = np.linspace(0, 20_000, 21)[1:].astype(int)
    middles = stops - 500.0
    jitter = rng.lognormal(sigma=0.01, size=(5, 1))
    times = RoundTimes(1, stops, {"flat": 100.0 * jitter * np.ones(20), "linear": jitter * middles})
    measured = Measured({}, {1: times})
    assert abs(statistic.time_growth("flat")(measured).mean) < 1e-9
    assert abs(statistic.time_growth("linear")(measured).mean - 1.0) < 1e-9
    ratio = statistic.total_time_ratio("linear", "flat")(measured)
    np.testing.assert_allclose(ratio.mean, 100.0, rtol=1e-6)  # mean of t over 20 000 rounds, by 100
    np.testing.assert_allclose(times.at("linear", 5_000), 5_000 * jitter[:, 0])


def test_a_claim_about_what_was_left_out_is_not_decided():
    measured = measured_of(result_of({"a": np.zeros((1, 100, 1))}, [5]), {1: RoundTimes(1, np.asarray([5]), {})})
    for about in (
        statistic.mean_difference("panel", "a", "b"),
        statistic.share_below("panel", "b", "regret"),
        statistic.time_growth("b"),
        statistic.time_ratio("panel", "a", "b"),
    ):
        with pytest.raises(InputError):
            about(measured)
        judged = Claim("text", "source", about).judge(measured)
        assert judged.verdict == "not decided" and judged.why == "not measured in this run"
