"""Curves and heat maps: what is drawn, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import LogNorm
from scipy import special

from jaxbandits.base.errors import InputError
from jaxbandits.plots import curves
from jaxbandits.results.result import Result
from tests.results import factories


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def _names(ax):
    return ax.get_legend_handles_labels()[1]


def test_one_labelled_curve_with_a_band_per_label_and_point(rng):
    values = rng.gamma(2.0, size=(2, 60, 5)).cumsum(2)
    points = [{"rate": 0.1}, {"rate": 0.25}]
    a = factories.trials({"loss": values}, points, units={"loss": "points"})
    result = Result({"a": a, "b": factories.trials({"loss": values[:1, :40, :3]})})
    for band in ("mean", "quantile"):
        ax = result.plot("loss", band=band)
        assert _names(ax) == ["a (rate=0.1)", "a (rate=0.25)", "b [40 seeds]"]
        np.testing.assert_array_equal(ax.lines[1].get_xdata(), a.record_points)
        np.testing.assert_array_equal(ax.lines[2].get_xdata(), [10, 20, 30])
        centre = values[1].mean(0) if band == "mean" else np.median(values[1], 0)
        np.testing.assert_allclose(ax.lines[1].get_ydata(), centre)
        assert len(ax.collections) == 3
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("round", "loss (points)")
        assert ax.get_legend().get_title().get_text() == f"{curves.BANDS[band]}\n60 seeds"


def test_failed_trials_are_left_out_and_named():
    values = np.ones((1, 60, 2))
    values[0, :3, 1] = np.nan
    ax = Result({"a": factories.trials({"loss": values})}).plot()
    assert _names(ax) == ["a [3 failed]"] and ax.lines[0].get_ydata().tolist() == [1.0, 1.0]


def test_a_label_without_a_sound_trial_stays_in_the_legend():
    values = np.ones((1, 60, 2))
    ax = Result({k: factories.trials({"loss": v}) for k, v in (("a", np.nan * values), ("b", values))}).plot()
    assert _names(ax) == ["a [60 failed]", "b"] and [len(line.get_xdata()) for line in ax.lines] == [0, 2]


def test_entries_against_the_same_entries_of_another_metric(rng):
    """Risks of single groups against the rows drawn from each."""
    risk, drawn = rng.normal(size=(1, 60, 4, 3)), rng.integers(1, 9, size=(1, 60, 4, 3)).cumsum(2).astype(float)
    axes = {"risk": ("group",), "drawn": ("group",), "spent": ("coin",)}
    result = Result({"a": factories.trials({"risk": risk, "drawn": drawn, "spent": drawn[..., :2]}, axes=axes)})
    for group, line in enumerate(result.plot("risk", x="drawn").lines):
        np.testing.assert_allclose(line.get_xdata(), drawn[0, :, :, group].mean(0))
        np.testing.assert_allclose(line.get_ydata(), risk[0, :, :, group].mean(0))
    np.testing.assert_allclose(result.plot("risk", x="drawn", group=2).lines[0].get_xdata(), drawn[0, ..., 2].mean(0))
    with pytest.raises(InputError, match="or have the same axes as 'risk', but 'spent' has axes coin"):
        result.plot("risk", x="spent")


def test_any_recorded_scalar_is_an_abscissa(rng):
    samples = rng.integers(1, 9, size=(1, 60, 4)).cumsum(2).astype(float)
    loss = rng.normal(size=(1, 60, 4))
    loss[0, 7, 2] = np.inf
    trials = factories.trials(
        {"loss": loss, "samples": samples, "risk": np.zeros((1, 60, 4, 2))}, units={"samples": "draws"}
    )
    result = Result({"a": trials})
    ax = result.plot("loss", x="samples")
    np.testing.assert_allclose(ax.lines[0].get_xdata(), np.delete(samples[0], 7, axis=0).mean(0))
    assert ax.get_xlabel() == "samples (draws)"
    assert np.isfinite(result.plot("samples", x="loss").lines[0].get_xdata()).all()
    for x, message in (
        ("sample", "unknown metric for the x-axis 'sample'; did you mean 'samples'"),
        ("risk", "must be a scalar or have the same axes as 'loss', but 'risk' has axes risk_0"),
        (3, "unknown metric for the x-axis 3"),
        (np.ones(3), "unknown metric for the x-axis"),
    ):
        with pytest.raises(InputError, match=message):
            result.plot("loss", x=x)
    other = Result({"a": trials, "b": factories.trials({"loss": loss})})
    with pytest.raises(InputError, match="b did not measure 'samples'"):
        other.plot("loss", x="samples")


def test_every_entry_of_a_vector_metric_or_the_one_asked_for():
    result = factories.result()
    ax = result.plot("risk")
    assert _names(ax) == ["grouped (group 0)", "grouped (group 1)", "grouped (group 2)"]
    assert len({line.get_color() for line in ax.lines}) == 3
    ax = result.plot("risk", group=-1)
    assert _names(ax) == ["grouped (group 2)"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), result.get("risk", "grouped")[0, :, :, 2].mean(0))


def test_labels_and_points_are_selected_and_colours_stay():
    result = factories.result()
    ax = result.plot()
    colours = {name: line.get_color() for name, line in zip(_names(ax), ax.lines, strict=True)}
    ax = result.plot(algorithms=["grouped"])
    assert [line.get_color() for line in ax.lines] == [colours["grouped [4 seeds]"]]
    assert _names(ax) == ["grouped"]
    for points in ({"rate": [0.1, 0.4]}, [0, 2]):  # of labels that sweep; another one keeps its point
        assert _names(result.plot(points=points)) == ["swept (rate=0.1)", "swept (rate=0.4)", "grouped [4 seeds]"]
    with pytest.raises(InputError, match="points cannot be chosen, because no field was swept for grouped"):
        result.plot(algorithms=["grouped"], points={"rate": 0.1})


def test_line_settings_overrule_ours_under_any_name():
    (line,) = factories.result().plot(algorithms=["grouped"], c="red", linewidth=3, ls=":").lines
    assert (line.get_color(), line.get_linewidth(), line.get_linestyle()) == ("red", 3, ":")


def test_axes_are_drawn_into():
    ax = plt.figure().add_subplot()
    assert factories.result().plot(ax=ax) is ax and len(ax.lines) == 4


def test_too_many_curves_are_refused_at_once():
    points = [{"rate": float(i)} for i in range(1000)]
    result = Result({"a": factories.trials({"loss": np.zeros((1000, 2, 3))}, points)})
    with pytest.raises(InputError, match=r"1,000 curves .*`best`.*`heatmap`.*`algorithms=`"):
        result.plot()
    assert not plt.get_fignums()  # nothing was begun
    assert len(result.plot(points=range(curves.MOST_CURVES)).lines) == curves.MOST_CURVES
    with pytest.raises(InputError, match="21 curves"):
        result.plot(points=range(curves.MOST_CURVES + 1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "los"}, "did you mean 'loss'"),
        ({"band": "std"}, "band must be one of mean, quantile, got 'std'"),
        ({"band": ["mean"]}, "band must be one of"),
        ({"algorithms": "swept"}, "algorithms must be a list of labels"),
        ({"algorithms": []}, "algorithms must be a list of labels"),
        ({"algorithms": ["swep"]}, "did you mean 'swept'"),
        ({"algorithms": ["grouped"], "metric": "loss"}, "grouped did not measure 'loss'"),
        ({"algorithms": ["swept"], "points": {"rat": 1}}, "did you mean 'rate'"),
        ({"ax": 3}, "ax must be matplotlib axes, got int"),
        ({"colour": "red"}, "neither an axis of the metric nor a setting of matplotlib's lines"),
        ({"linewidth": "thick"}, "neither an axis of the metric nor a setting of matplotlib's lines"),
        ({"color": 3}, "setting of matplotlib's lines: 3 is not a valid value for color"),
        ({"metric": "risk", "grup": 1}, "neither an axis of the metric nor a setting of matplotlib's lines"),
        ({"metric": "risk", "group": 3}, "group must be an index below 3"),
    ],
)
def test_bad_settings_are_one_clear_line(settings, message):
    with pytest.raises(InputError, match=message) as error:
        factories.result().plot(**settings)
    assert "\n" not in str(error.value)


def test_a_long_legend_shows_all_fields_and_counts(rng):
    """The last field may be the only one that differs."""
    points = [{"environment.noise.df": 2.1, "environment.noise.scale": 0.5, "radius_scale": r} for r in (0.01, 0.02)]
    values = rng.gamma(2.0, size=(2, 8, 3))
    values[1, 0, 1] = np.nan
    names = _names(Result({"Hvt-UCB": factories.trials({"loss": values}, points)}).plot())
    assert [" ".join(name.split()) for name in names] == [
        f"Hvt-UCB (environment.noise.df=2.1, environment.noise.scale=0.5, radius_scale={end}"
        for end in ("0.01)", "0.02) [1 failed]")
    ]
    assert max(len(line) for name in names for line in name.split("\n")) <= 60


def test_different_values_look_different(rng):
    points = [{"discount": d, "horizon": t} for d in (1.0, 1.0 - 1e-7) for t in (1000.0, 1001.0)]
    result = Result({"a": factories.trials({"loss": rng.gamma(2.0, size=(4, 60, 3))}, points)})
    values = ["1, ", "0.9999999, "]
    assert _names(result.plot()) == [f"a (discount={d}horizon={t})" for d in values for t in (1000, 1001)]
    ax = result.heatmap()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0.9999999", "1"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["1000", "1001"]
    ax = result.sensitivity("loss", "horizon")
    assert _names(ax) == ["a (discount=1)", "a (discount=0.9999999)"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1000", "1001"]
    assert len({row[1] for row in result.table().rows}) == 2
    named = {name for pair in result.pairs() for name in (pair.first, pair.second)}
    assert len(named) == 4 and "discount=0.9999999" in str(result.growth())


def _grid(rng):
    points = [{"rate": r, "scale": s} for s in (3.0, 1.0) for r in (0.1, 0.2, 0.4)]
    return factories.trials({"loss": rng.normal(size=(6, 8, 2)), "risk": rng.normal(size=(6, 8, 2, 3))}, points)


def test_heat_maps_show_means_at_the_horizon(rng):
    trials = _grid(rng)
    trials.values["loss"][2, 5] = np.nan
    ax = Result({"a": trials}).heatmap("loss", "rate", "scale")
    shown = ax.images[0].get_array()
    assert shown.shape == (2, 3)
    assert shown[1, 0] == pytest.approx(trials.final("loss")[0].mean())  # rate 0.1, scale 3: upper left
    assert shown[1, 2] == pytest.approx(np.delete(trials.final("loss")[2], 5).mean())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rate", "scale")
    assert [t.get_text() for t in ax.get_yticklabels()] == ["1", "3"]
    assert Result({"a": trials}).heatmap("loss").get_xlabel() == ax.get_xlabel()  # there are only two
    entry = Result({"a": trials}).heatmap("risk", "rate", "scale", risk_0=2).images[0].get_array()
    assert entry[0, 0] == pytest.approx(trials.final("risk")[3, :, 2].mean())


def test_cells_without_trials_are_blank(rng):
    trials = factories.trials({"loss": rng.normal(size=(2, 8, 2))}, [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}])
    shown = Result({"x": trials}).heatmap("loss", "a", "b").images[0].get_array()
    assert np.ma.getmaskarray(shown).tolist() == [[False, True], [True, False]]


def test_heat_maps_count_failed_trials(rng):
    values = rng.gamma(2.0, size=(2, 8, 2))
    values[0, :3, 0] = np.nan
    points = [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]
    ax = Result({"x": factories.trials({"loss": values}, points)}).heatmap()
    assert ax.get_title() == "frame: best mean; 3 failed trials left out"
    ax = Result({"x": factories.trials({"loss": np.nan * values}, points)}).heatmap(scale="log")
    assert ax.get_title() == "16 failed trials left out"


def test_heat_maps_refuse_what_is_not_two_fields(rng):
    points = [{"rate": r, "scale": s, "df": d} for r in (0.1, 0.2) for s in (1.0, 2.0) for d in (2.0, 3.0)]
    result = Result({"a": factories.trials({"loss": rng.normal(size=(8, 4, 2))}, points)})
    with pytest.raises(
        InputError,
        match=r"several points belong to the same cell and differ in df: choose one of them with points={field: value}",
    ):
        result.heatmap("loss", "rate", "scale")
    assert result.heatmap("loss", "rate", "scale", points={"df": 3.0}).images[0].get_array().count() == 4
    with pytest.raises(
        InputError, match="needs two swept fields, first and second; the swept fields are: rate, scale, df"
    ):
        result.heatmap()
    for arguments, settings, message in (
        (("loss", "rat", "scale"), {}, "did you mean 'rate'"),
        (("loss", "rate", "rate"), {}, "two different fields"),
        (("los", "rate", "scale"), {}, "did you mean 'loss'"),
        (("loss", "rate", "scale"), {"label": "b"}, "unknown label 'b'"),
        (("loss", "rate", "scale"), {"group": 1}, "no axis 'group'"),
        (("loss", "rate", "scale"), {"points": {"df": 9.0}}, "no point has df=9.0"),
    ):
        with pytest.raises(InputError, match=message):
            result.heatmap(*arguments, **settings)
    with pytest.raises(InputError, match="'risk' has 3 entries; choose one by the index of its axes: risk_0"):
        Result({"a": _grid(rng)}).heatmap("risk", "rate", "scale")


LOG = np.unique(np.geomspace(1, 10_000, 60).astype(int))


@pytest.mark.parametrize(
    ("record_points", "scale"),
    [
        (LOG, "log"),
        (LOG[5:], "log"),
        (np.arange(10, 1001, 10), "linear"),
        (np.cumsum([1, 40, 30, 20, 10, 40, 80], dtype=np.uint32), "linear"),
        ([5, 50], "linear"),
        ([10, 20, 40], "linear"),
    ],
)
def test_the_abscissa_is_logarithmic_where_record_points_are(rng, record_points, scale):
    values = rng.gamma(2.0, size=(1, 60, len(record_points))).cumsum(2)
    result = Result({"a": factories.trials({"loss": values, "cost": values}, record_points=record_points)})
    assert result.plot().get_xscale() == scale
    assert result.plot(x="cost").get_xscale() == "linear"
    for chosen in ("linear", "log", "symlog"):
        assert result.plot(xscale=chosen).get_xscale() == chosen
    for bad in ("logit", 3, "Log"):
        with pytest.raises(InputError, match="unknown xscale"):
            result.plot(xscale=bad)


def test_a_legend_stays_off_the_curves(rng):
    """A curve in the upper left corner, where a legend otherwise stands, is not covered."""
    values = np.linspace(1.0, 0.0, 40)[None, None] + 0.001 * rng.normal(size=(1, 60, 40))
    ax = Result({"falling": factories.trials({"loss": values})}).plot()
    ax.figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    assert not box.contains(*ax.transData.transform(ax.lines[0].get_xydata()).T[:, 0])
    assert not any(box.contains(*point) for point in ax.transData.transform(ax.lines[0].get_xydata()))


def test_the_legend_of_many_curves_stands_beside_them(rng):
    points = [{"rate": float(i)} for i in range(12)]
    values = rng.gamma(2.0, size=(12, 60, 9)).cumsum(2)
    ax = Result({"a": factories.trials({"loss": values}, points)}).plot()
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    assert ax.get_legend().get_window_extent().x1 <= ax.figure.bbox.x1


def test_the_interval_at_a_single_record_point_is_a_line(rng):
    values = rng.normal(size=(1, 60, 1))
    result = Result({"a": factories.trials({"loss": values}, [{"rate": 0.1}])})
    half = special.stdtrit(59, 0.975) * values.std(ddof=1) / np.sqrt(60)
    for ax in (result.plot(), result.sensitivity("loss", "rate")):
        (bar,) = ax.collections
        (segment,) = bar.get_segments()
        np.testing.assert_allclose(segment[:, 1], [values.mean() - half, values.mean() + half])


def test_one_seed_is_one_seed(rng):
    ax = Result({"a": factories.trials({"loss": rng.normal(size=(1, 1, 3))})}).plot()
    assert ax.get_legend().get_title().get_text().endswith("\n1 seed")


def _looks(ax):
    return {
        name.partition(" ")[0]: (line.get_color(), line.get_marker())
        for name, line in zip(_names(ax), ax.lines, strict=False)
    }


def test_a_learner_looks_the_same_in_every_figure(rng):
    rates = [{"rate": r} for r in (0.1, 0.2, 0.4)]
    loss = rng.gamma(2.0, size=(3, 8, 4)).cumsum(2)
    risk = rng.normal(size=(1, 8, 4, 3))
    result = Result(
        {
            "only-cost": factories.trials({"cost": loss}, rates),
            "swept": factories.trials({"loss": loss, "cost": loss}, rates),
            "fixed": factories.trials({"loss": loss[:1], "cost": loss[:1], "risk": risk}),
            "other": factories.trials({"loss": loss}, rates),
        }
    )
    all_of = _looks(result.plot("cost", points={"rate": 0.1}))
    assert len(set(all_of.values())) == 3
    loss_of = _looks(result.plot("loss", points={"rate": 0.1}))
    assert {name: loss_of[name] for name in ("swept", "fixed")} == {name: all_of[name] for name in ("swept", "fixed")}
    assert _looks(result.plot("loss", algorithms=["fixed"])) == {"fixed": all_of["fixed"]}
    assert _looks(result.plot("risk", risk_0=2))["fixed"] == all_of["fixed"]
    along = _looks(result.sensitivity("loss", "rate"))
    assert along == {name: loss_of[name] for name in ("swept", "other")}
    every = result.plot("loss")
    assert len({(line.get_color(), line.get_linestyle(), line.get_marker()) for line in every.lines}) == 7


def test_entries_of_labels_with_different_numbers_of_groups_look_different(rng):
    of = {k: factories.trials({"risk": rng.normal(size=(1, 8, 4, n))}) for k, n in (("a", 3), ("b", 1), ("c", 2))}
    ax = Result(of).plot("risk")
    assert len({(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}) == 6


def test_cells_have_their_numbers_and_the_best_a_frame(rng):
    means = np.asarray([[3.0, 2000.0, 0.5], [7.25, 40.0, 900.0]])
    points = [{"a": a, "b": b} for b in (1.0, 2.0) for a in (0.1, 0.2, 0.4)]
    values = np.repeat(means.reshape(6, 1, 1), 4, axis=1)
    result = Result({"x": factories.trials({"loss": values}, points)})
    for settings, cell in (({}, (2, 0)), ({"minimise": False}, (1, 0))):
        ax = result.heatmap("loss", "a", "b", **settings)
        texts = {tuple(map(int, text.get_position())): text.get_text() for text in ax.texts}
        assert texts == {(0, 0): "3", (1, 0): "2000", (2, 0): "0.5", (0, 1): "7.25", (1, 1): "40", (2, 1): "900"}
        (frame,) = ax.patches
        assert frame.get_xy() == (cell[0] - 0.5, cell[1] - 0.5) and "best" in ax.get_title()


def test_colours_are_logarithmic_where_means_span_decades(rng):
    points = [{"a": a, "b": b} for b in (1.0, 2.0) for a in (0.1, 0.2)]

    def scale(means, **settings):
        values = np.repeat(np.reshape(means, (4, 1, 1)), 3, axis=1)
        ax = Result({"x": factories.trials({"loss": values}, points)}).heatmap("loss", **settings)
        return "log" if isinstance(ax.images[0].norm, LogNorm) else "linear"

    assert scale([1.0, 2.0, 50.0, 100.0]) == "log"
    assert scale([1.0, 2.0, 50.0, 99.0]) == scale([-1.0, 2.0, 50.0, 100.0]) == "linear"
    assert scale([0.0, 2.0, 50.0, 100.0]) == scale([1.0, 2.0, 3.0, 1000.0], scale="linear") == "linear"
    assert scale([1.0, 2.0, 3.0, 4.0], scale="log") == "log"
    with pytest.raises(InputError, match="needs positive means; the smallest mean loss is -1"):
        scale([-1.0, 2.0, 3.0, 4.0], scale="log")
    with pytest.raises(InputError, match="unknown scale 'logarithmic'"):
        scale([1.0, 2.0, 3.0, 4.0], scale="logarithmic")


def test_a_large_map_has_no_numbers(rng):
    points = [{"a": float(a), "b": float(b)} for a in range(11) for b in range(10)]
    ax = Result({"x": factories.trials({"loss": rng.gamma(2.0, size=(110, 3, 2))}, points)}).heatmap()
    assert not ax.texts and len(ax.patches) == 1
