"""The simulation room on toys whose results are known by hand."""

import warnings

import numpy as np
import pytest

from jaxbandits.core.errors import InputError
from jaxbandits.simulation import Meter, Result, compare, simulate, sweep, time_rounds
from jaxbandits.simulation import program as program_lib
from jaxbandits.simulation.plan import record_points
from tests.toys import Lost, NeedsGradient, Noisy, Shrink

QUIET = {"progress": False, "width": 32}


def test_block_sums_are_the_exact_cumulative_sums():
    result = simulate(Shrink(rate=0.5), Noisy(), 10, 3, record=[1, 2, 5, 10], **QUIET)
    expected = 2.0 * (1.0 - 0.5 ** np.array([1, 2, 5, 10]))
    np.testing.assert_allclose(result.get("loss"), np.broadcast_to(expected, (1, 1, 3, 4)), rtol=1e-12)
    np.testing.assert_array_equal(result.get("played")[0, 0], np.tile([1.0, 2.0, 5.0, 10.0], (3, 1)))
    np.testing.assert_allclose(result.get("newest")[0, 0], np.tile(0.5 ** np.array([1, 2, 5, 10]), (3, 1)))
    assert result.units == {"loss": "points"}


def test_trials_are_independent_and_environment_streams_do_not_depend_on_the_algorithm():
    result = compare({"a": Shrink(rate=0.5), "b": Shrink(rate=0.1)}, Noisy(scale=1.0), 20, 40, **QUIET)
    noise = {
        name: result.final("loss", name)[0] - sum((1.0 - rate) ** k for k in range(20))
        for name, rate in (("a", 0.5), ("b", 0.1))
    }
    np.testing.assert_allclose(noise["a"], noise["b"], rtol=1e-12, atol=1e-12)
    assert len(np.unique(noise["a"])) == 40
    assert abs(noise["a"].std() / np.sqrt(20.0) - 1.0) < 0.4  # 20 rounds of unit noise


def test_a_trial_is_the_same_alone_in_a_crowd_and_in_any_order():
    alone = simulate(Shrink(), Noisy(scale=1.0), 30, 1, record=5, **QUIET)
    crowd = simulate(Shrink(), Noisy(scale=1.0), 30, 500, record=5, **QUIET)
    later = simulate(Shrink(), Noisy(scale=1.0), 30, 3, record=5, first_seed=497, workers=1, **QUIET)
    for metric in alone.metrics:
        np.testing.assert_array_equal(alone.get(metric)[0, 0, 0], crowd.get(metric)[0, 0, 0])
        np.testing.assert_array_equal(later.get(metric)[0, 0], crowd.get(metric)[0, 0, 497:])


def test_the_piece_width_changes_nothing_but_rounding():
    runs = [simulate(Shrink(), Noisy(scale=1.0), 50, 70, progress=False, width=width) for width in (32, 64, 96)]
    for other in runs[1:]:
        np.testing.assert_allclose(other.get("loss"), runs[0].get("loss"), rtol=1e-12, atol=1e-12)


def test_the_base_seed_changes_every_trial():
    a, b = (simulate(Shrink(), Noisy(scale=1.0), 5, 4, seed=seed, **QUIET) for seed in (0, 1))
    assert not np.isclose(a.final("loss"), b.final("loss")).any()


def test_sweep_is_the_product_and_reaches_nested_and_environment_fields():
    grid = {"rate": [0.1, 0.5], "environment.scale": [0.0, 1.0, 2.0]}
    result = sweep(Shrink(), Noisy(), 4, 5, grid=grid, record=2, **QUIET)
    assert result.get("loss").shape == (1, 6, 5, 2)
    assert result.points[0] == {"rate": 0.1, "environment.scale": 0.0} and result.points[5]["rate"] == 0.5
    quiet = [h for h, point in enumerate(result.points) if point["environment.scale"] == 0.0]
    for h in quiet:
        keep = 1.0 - result.points[h]["rate"]
        np.testing.assert_allclose(result.final("loss")[0, h], sum(keep**k for k in range(4)))
    listed = sweep(Shrink(), Noisy(), 4, 5, grid=[{"rate": 0.5}, {"rate": 0.25}], **QUIET)
    np.testing.assert_allclose(listed.final("loss")[0, :, 0], [1.875, 2.734375])


def test_new_values_never_compile_again():
    simulate(Shrink(rate=0.2), Noisy(scale=0.3), 7, 2, record=3, **QUIET)
    before = program_lib.compiled_count()
    simulate(Shrink(rate=1, start=3), Noisy(scale=2.0), 9, 5, record=3, seed=9, **QUIET)
    assert program_lib.compiled_count() == before


def test_meters_reduce_by_sum_maximum_and_last():
    meters = [
        Meter("total", lambda r: r.decision.play),
        Meter("largest", lambda r: -r.decision.play, "max"),
        Meter("newest_round", lambda r: r.t, "last"),
    ]
    result = simulate(Shrink(), Noisy(), 8, 2, record=[2, 4, 8], meters=meters, **QUIET)
    np.testing.assert_allclose(result.get("total")[0, 0, 0], [1.5, 1.875, 2 - 2**-7])
    np.testing.assert_allclose(result.get("largest")[0, 0, 0], [-0.5, -0.125, -(2.0**-7)])
    np.testing.assert_array_equal(result.get("newest_round")[0, 0, 0], [1, 3, 7])


def test_long_sums_do_not_lose_small_terms_in_float32_blocks():
    """A float32 running sum of 2^17 terms of 0.1 is off by 1e-4; block sums added in float64 are not."""
    result = simulate(Shrink(rate=0.0, start=0.1), Noisy(), 2**17, 1, record=200, **QUIET)
    assert abs(result.final("loss")[0, 0, 0] / (0.1 * 2**17) - 1.0) < 1e-6


def test_failed_trials_are_counted_by_trial_and_left_out_with_a_warning():
    result = simulate(Shrink(), Noisy(fail_at=3.0), 6, 60, record=6, **QUIET)
    positive = result.final("offset")[0, 0] > 0
    np.testing.assert_array_equal(result.failed("loss")[0, 0], positive)
    with pytest.warns(UserWarning, match="not finite"):
        (row,) = result.summary("loss")
    assert row.failed == positive.sum() > 0
    assert row.trials == 60 - row.failed
    assert row.mean == pytest.approx(2 - 2**-5)


def test_a_nan_in_the_state_counts_even_if_every_metric_is_finite():
    result = simulate(Lost(), Noisy(), 6, 60, record=3, **QUIET)
    assert np.isfinite(result.final("loss")).all()
    assert result.failed("loss").all()
    assert not simulate(Shrink(), Noisy(), 6, 60, record=3, **QUIET).failed("loss").any()


def test_metrics_may_not_hide_each_other():
    for name in ("loss", "offset"):
        with pytest.raises(InputError, match=f"two metrics have the name '{name}'"):
            simulate(Shrink(), Noisy(), 5, 2, meters=[Meter(name, lambda r: r.t, "max")], **QUIET)


def test_few_seeds_warn():
    with pytest.warns(UserWarning, match="about 50"):
        simulate(Shrink(), Noisy(), 3, 4, **QUIET).summary("loss")


def test_summary_interval_and_quantiles_are_the_textbook_ones():
    from scipy import stats

    result = simulate(Shrink(), Noisy(scale=1.0), 5, 64, **QUIET)
    (row,) = result.summary("loss")
    values = result.final("loss")[0, 0]
    low, high = stats.t.interval(0.95, 63, values.mean(), stats.sem(values))
    assert (row.mean, row.low, row.high) == pytest.approx((values.mean(), low, high), rel=1e-12)
    assert (row.median, row.q10, row.q90) == pytest.approx(tuple(np.quantile(values, (0.5, 0.1, 0.9))))
    assert row.ns_per_round > 0


def test_paired_difference_removes_the_common_noise():
    result = compare({"a": Shrink(rate=0.5), "b": Shrink(rate=0.25)}, Noisy(scale=5.0), 6, 30, **QUIET)
    estimate = result.paired_difference("a", "b", "loss")
    assert estimate.mean[0] == pytest.approx(sum(0.5**k - 0.75**k for k in range(6)), rel=1e-9)
    assert estimate.half_width[0] < 1e-9


def test_save_and_load_keep_everything(tmp_path):
    result = sweep(Shrink(), Noisy(scale=1.0), 5, 3, grid={"rate": [0.1, 0.2]}, **QUIET)
    path = result.save(tmp_path / "deep" / "run")
    assert path.name == "run.npz"
    loaded = Result.load(path)
    for name, values in result.values.items():
        np.testing.assert_array_equal(loaded.values[name], values)
    assert loaded.points == result.points and loaded.algorithms == result.algorithms and loaded.units == result.units
    np.testing.assert_array_equal(loaded.records, result.records)
    assert loaded.info["spec"]["horizon"] == 5 and loaded.timing["Shrink"]["rounds"] == 30
    assert not list(tmp_path.rglob("*.tmp"))


def test_frames_and_arrays_agree_with_the_values():
    xarray, polars = pytest.importorskip("xarray"), pytest.importorskip("polars")
    result = sweep(Shrink(), Noisy(), 5, 3, grid={"rate": [0.1, 0.2]}, record=2, **QUIET)
    dataset = result.to_xarray()
    assert isinstance(dataset, xarray.Dataset) and dataset["loss"].dims == ("algorithm", "point", "seed", "round")
    np.testing.assert_array_equal(dataset["loss"].values, result.get("loss"))
    frame = result.to_polars()
    assert len(frame) == 1 * 2 * 3 * 2
    one = frame.filter((polars.col("rate") == 0.2) & (polars.col("seed") == 1) & (polars.col("round") == 5))
    assert one["loss"].to_list() == [result.get("loss")[0, 1, 1, -1]]


def test_plot_draws_one_labelled_curve_with_a_band_per_algorithm():
    result = compare({"a": Shrink(), "b": Shrink(rate=0.25)}, Noisy(scale=1.0), 6, 60, **QUIET)
    for band in ("mean", "quantile"):
        ax = result.plot("loss", band=band)
        assert ax.get_legend_handles_labels()[1] == ["a", "b"]
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), result.records)
        centre = result.get("loss", "a")[0]
        centre = centre.mean(0) if band == "mean" else np.median(centre, 0)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), centre)
        assert len(ax.collections) == 2
        assert ax.get_ylabel() == "loss (points)"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (4, [25, 50, 75, 100]),
        (1000, list(range(1, 101))),
        ([7, 20], [7, 20, 100]),
        (("log", 3), [1, 10, 100]),
        ([100], [100]),
    ],
)
def test_record_points(record, expected):
    np.testing.assert_array_equal(record_points(record, 100), expected)


def test_log_records_are_dense_and_end_at_the_horizon():
    points = record_points("log", 10**6)
    assert points[0] == 1 and points[-1] == 10**6 and 90 <= len(points) <= 121 and (np.diff(points) > 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, "horizon must be a whole number from 1"),
        ({"horizon": 2.5}, "horizon must be a whole number"),
        ({"horizon": True}, "horizon must be a whole number"),
        ({"seeds": 0}, "seeds must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"record": [5, 3]}, "increase strictly"),
        ({"record": "sometimes"}, "record must be"),
        ({"record": [float("nan")]}, "increase strictly"),
        ({"record": ("log", 0)}, "whole number of at least 1"),
        ({"first_seed": 2**31}, "first_seed must be a whole number from 0"),
        ({"devices": []}, "devices must be a list"),
        ({"algorithm": Shrink(rate=None)}, "Shrink.rate must be given"),
        ({"meters": [Meter("m", lambda r: r.t, "mean")]}, "reduce must be one of sum, max, last"),
        ({"algorithm": Shrink(rate=1.5)}, r"Shrink.rate must lie in \[0, 1\], got 1.5"),
        ({"algorithm": Shrink(rate="fast")}, "Shrink.rate must be a number"),
        ({"algorithm": Shrink(rate=float("nan"))}, "Shrink.rate must lie in"),
        ({"algorithm": Shrink}, "the class Shrink: make an instance"),
        ({"environment": object()}, "environment 'object|environment .* must be"),
        ({"algorithm": NeedsGradient()}, "grad missing"),
        ({"meters": [Meter("m", lambda r: r.t), Meter("m", lambda r: r.t)]}, "different names"),
        ({"meters": ["regret"]}, "must be Meter objects"),
        ({"width": -3}, "width must be"),
        ({"width": 40}, "width must be a multiple of 32"),
        ({"workers": 0}, "workers must be"),
    ],
)
def test_bad_input_is_one_clear_line(change, message):
    settings = {"algorithm": Shrink(), "environment": Noisy(), "horizon": 5, "seeds": 2, **QUIET, **change}
    with pytest.raises(InputError, match=message) as error:
        simulate(**settings)
    assert "\n" not in str(error.value)


def test_bad_grids_are_one_clear_line():
    for grid, message in (
        ({"rat": [0.1]}, "no field 'rat'"),
        ({}, "at least one field"),
        ({"rate": ["a"]}, "grid must map"),
        (3, "grid must map"),
        ({"rate": [0.1], "algorithm.rate": [0.2]}, "names one field twice"),
        ({"rate": [0.1, 7.0]}, "must lie in"),
        ([{"rate": 0.1}, {"start": 0.1}], "same fields"),
    ):
        with pytest.raises(InputError, match=message):
            sweep(Shrink(), Noisy(), 5, 2, grid=grid, **QUIET)


def test_unknown_names_suggest_the_known_ones():
    result = simulate(Shrink(), Noisy(), 3, 2, **QUIET)
    with pytest.raises(InputError, match="did you mean 'loss'"):
        result.get("los")
    with pytest.raises(InputError, match="unknown algorithm 'Shrunk'"):
        result.get("loss", "Shrunk")
    with pytest.raises(InputError, match="two algorithms of one class"):
        compare([Shrink(), Shrink()], Noisy(), 3, 2, **QUIET)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert result.final("loss").shape == (1, 1, 2)


def test_a_slow_learner_runs_the_first_seeds_only(tmp_path):
    learners = {"slow": Shrink(rate=0.1), "fast": Shrink(rate=0.5)}
    full = compare(learners, Noisy(scale=1.0), 12, 80, record=3, **QUIET)
    few = compare(learners, Noisy(scale=1.0), 12, {"slow": 7, "fast": 80}, record=3, **QUIET)
    np.testing.assert_array_equal(few.trials, [7, 80])
    np.testing.assert_array_equal(few.get("loss", "slow")[:, :7], full.get("loss", "slow")[:, :7])
    np.testing.assert_array_equal(few.get("loss", "fast"), full.get("loss", "fast"))
    assert np.isnan(few.get("loss", "slow")[:, 7:]).all() and not few.failed("loss").any()
    with pytest.warns(UserWarning, match="7 seeds of slow"):
        rows = few.summary("loss")
    assert [(row.trials, row.failed) for row in rows] == [(7, 0), (80, 0)]
    paired = few.paired_difference("slow", "fast", "loss")
    assert paired.n == 7 and paired.failed == 0
    loaded = Result.load(few.save(tmp_path / "few"))
    np.testing.assert_array_equal(loaded.trials, few.trials)
    np.testing.assert_array_equal(loaded.get("loss"), few.get("loss"))
    frame = few.to_polars()
    assert len(frame) == (7 + 80) * 3 and not frame["loss"].is_nan().any()


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ({"slow": 7}, "seeds lacks 'fast'"),
        ({"slow": 7, "fats": 3, "fast": 3}, "did you mean 'fast'"),
        ({"slow": 0, "fast": 3}, "seeds of slow must be"),
    ],
)
def test_seeds_per_learner_must_name_every_learner(seeds, message):
    with pytest.raises(InputError, match=message):
        compare({"slow": Shrink(), "fast": Shrink()}, Noisy(), 5, seeds, **QUIET)


def test_time_per_round_is_measured_for_every_stretch():
    times = time_rounds({"a": Shrink(), "b": Shrink(rate=0.1)}, Noisy(), 1000, width=1, repeats=3, stretches=5,
                        progress=False)  # fmt: skip
    np.testing.assert_array_equal(times.stops, [200, 400, 600, 800, 1000])
    for ns in times.ns.values():
        assert ns.shape == (3, 5) and (np.abs(ns) < 1e6).all()  # noise may pass zero
    np.testing.assert_allclose(times.at("a", 100), times.ns["a"][:, 0])
    np.testing.assert_allclose(times.at("a", 200), times.ns["a"][:, :2].mean(axis=1))
