"""Figures that experiments declare are drawn (fast: one of each kind); each kind shows the numbers it is given."""

import dataclasses
import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.experiment import Experiment, Panel
from jaxbandits.reproduction.engine.figures import Against, Bound, Cost, Curves, Exponents, GroupCurves, Heatmap, Shares
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.experiments.classics.setting import WinsAndLosses
from jaxbandits.reproduction.figures import panels as panels_lib
from jaxbandits.reproduction.figures import render
from jaxbandits.reproduction.figures.style import mathtext, set_logarithmic
from jaxbandits.reproduction.ledger import files
from jaxbandits.results.result import Result
from jaxbandits.simulation import RoundTimes
from tests.reproduction import factories
from tests.results import factories as results

pytestmark = pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")  # few seeds by design


@pytest.fixture(autouse=True)
def close_figures():
    """No figure stays open."""
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def _looks(ax):
    """Colour, line and marker of all that the legend of a panel names."""
    handles = (getattr(handle, "lines", [handle])[0] for handle in ax.get_legend_handles_labels()[0])
    lines = [line for line in handles if hasattr(line, "get_marker")]
    return [f"{line.get_color()} {line.get_linestyle()} {line.get_marker()}" for line in lines]


@pytest.mark.quick_cases(
    "linear/fig1", "linear/coverage", "linear/bound", "linear/exponent", "linear/sub-gaussian", "linear/scale",
    "linear/sensitivity", "glm/fig1", "glm/covertype", "glm/coverage", "glm/bound", "glm/kappas", "glm/rates", "oco/e1",
    "oco/constants", "oco/bound", "oco/terms", "oco/growth", "oco/cost", "coco/rates", "coco/bandit", "coco/tradeoff",
    "coco/errata", "coco/cost", "dro/fig1", "dro/fig4", "dro/rates", "dro/bounds", "dro/players", "dro/budgets",
)  # fmt: skip
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_declared_figure_is_drawn(name):
    report = factories.report(EXPERIMENTS[name])
    for drawing in report.experiment.figures:
        figure = render.draw(report, drawing)  # laid out where files are written, which is slow
        assert report.preset in figure.get_supxlabel() and report.experiment.title[:10] in figure.get_suptitle()
        points = sum(len(line.get_xdata()) for ax in figure.axes for line in ax.lines)
        areas = sum(len(ax.collections) + len(ax.images) for ax in figure.axes)
        assert points + areas >= len(report.results), drawing
        longest = max((line for ax in figure.axes for line in ax.get_ylabel().split("\n")), key=len)
        assert not isinstance(drawing, Curves) or len(longest) <= 46, longest  # a panel is 3.2 inches high
        for looks in map(_looks, figure.axes):
            assert len({*looks}) == len(looks), "two labels look alike"


def test_files_of_several_figures_have_different_names():
    for experiment in EXPERIMENTS.values():
        names = [drawing.name for drawing in experiment.figures]
        assert len(set(names)) == len(names) >= 1


# Each kind, by hand ---------------------------------------------------------------------------------------------------


def report_of(panels, figures_, times=None, metric="regret"):
    """A report of Trials: panel name to (x, bound, label to trials)."""
    experiment = Experiment(
        name="toy/toy", title="toy", source="nobody", horizon=40, seeds=3, presets={"theory": "none"},
        algorithms=lambda preset, horizon, panel: {},
        panels=lambda horizon: {name: Panel(name, None, x, bound) for name, (x, bound, _) in panels.items()},
        metric=metric, figures=figures_,
    )  # fmt: skip
    return Report(experiment, "theory", 40, {k: Result(v[2]) for k, v in panels.items()}, times or {}, ())


def curve(*finals, **more):
    """Trials whose regret rises linearly to the given values at rounds 10, 20, 30, 40."""
    values = np.asarray(finals)[None, :, None] * np.asarray([0.25, 0.5, 0.75, 1.0])
    return results.trials({"regret": values} | {k: np.asarray(v)[None] for k, v in more.items()})


def by_label(ax):
    return {line.get_label(): line for line in ax.lines}


def test_curves_are_means_over_rounds_and_leave_labels_out():
    panels = {"p": (np.nan, np.nan, {"a": curve(1.0, 3.0), "b": curve(4.0, 8.0), "huge": curve(1e6, 1e6)})}
    drawing = Curves(not_drawn=("huge",), logarithmic=True)
    mean, quantile = render.draw(report_of(panels, (drawing,)), drawing).axes
    assert set(by_label(mean)) == {"a", "b"} and mean.get_yscale() == "symlog"
    np.testing.assert_allclose(by_label(mean)["a"].get_xydata(), [[10, 0.5], [20, 1.0], [30, 1.5], [40, 2.0]])
    assert "median" in quantile.get_ylabel()


def test_the_legend_of_all_panels_names_every_curve_of_every_panel():
    failed = curve(1.0, np.nan, 3.0)
    panels = {"p": (np.nan, np.nan, {"a [1]": curve(1.0, 3.0)}), "q": (np.nan, np.nan, {"a [2]": failed, "b": failed})}
    drawing = Curves()
    figure = render.draw(report_of(panels, (drawing,)), drawing)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a [1]", "a [2]", "b"]
    assert [ax.get_title() for ax in figure.axes] == ["p", "q\n2 failed trials left out", "", ""]
    assert legend.get_title().get_text() == "3 seeds"


def test_the_label_of_an_axis_breaks_where_it_would_not_fit():
    long = "estimation_error_of_the_worst_arm"
    trials = {"a": curve(1.0, 3.0, **{long: [[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 6.0]]})}
    for metric, lines in (("regret", 1), (long, 2)):
        drawing = Curves(metric=metric)
        for ax in render.draw(report_of({"p": (np.nan, np.nan, trials)}, (drawing,)), drawing).axes:
            assert len(ax.get_ylabel().split("\n")) == lines


def test_a_row_that_repeats_another_is_left_out():
    same, differ = {"a": curve(2.0, 2.0)}, {"a": curve(1.0, 3.0)}
    for trials, rows in ((same, 1), (differ, 2)):
        drawing = Curves()
        figure = render.draw(report_of({"p": (np.nan, np.nan, trials)}, (drawing,)), drawing)
        assert len(figure.axes) == rows and figure.axes[0].get_title() == "p"
    drawing = Curves(limit=0.5)
    (ax,) = render.draw(report_of({"p": (np.nan, np.nan, differ)}, (drawing,)), drawing).axes
    assert by_label(ax)["claimed: below 0.5"].get_ydata() == [0.5, 0.5] and "median" in ax.get_ylabel()


def test_a_panel_alone_is_drawn_as_in_its_figure(tmp_path):
    experiment = EXPERIMENTS["glm/fig2"]
    report = factories.report(experiment)
    for name, result in report.results.items():
        result.save(tmp_path / f"fig2-{name}.npz")
    about = {"experiment": "glm/fig2", "preset": report.preset, "horizon": 60, "panels": dict.fromkeys(report.results)}
    (tmp_path / "manifest.json").write_text(json.dumps(about))
    file, result, settings = panels_lib.of_directory(tmp_path, "S5", EXPERIMENTS)
    assert file.name == "fig2-S5.npz"
    whole = render.draw(report, experiment.figures[0])
    beside = next(ax for ax in whole.axes if ax.get_title().startswith("S = 5"))
    for paper in (False, True):
        figure = render.single(result, **settings, paper=paper)
        (ax,) = figure.axes
        assert colours(ax) == colours(beside) and ax.get_yscale() == "symlog"
    assert figure.get_size_inches()[0] < 3.5 and not figure.get_suptitle() and not ax.get_title()
    for panel, message in ((None, "several panels: choose one with --panel, of S3, S5, S7"), ("S4", "unknown panel")):
        with pytest.raises(InputError, match=message):
            panels_lib.of_directory(tmp_path, panel, EXPERIMENTS)
    with pytest.raises(InputError, match="holds no finished experiment"):
        panels_lib.of_directory(tmp_path / "elsewhere", None, EXPERIMENTS)


def test_curves_may_stand_over_any_recorded_metric():
    samples = np.asarray([[1.0, 2.0, 4.0, 8.0], [3.0, 6.0, 8.0, 12.0]])
    panels = {"p": (np.nan, np.nan, {"a": curve(1.0, 3.0, samples=samples)})}
    drawing = Curves(x="samples")
    mean, _ = render.draw(report_of(panels, (drawing,)), drawing).axes
    np.testing.assert_allclose(by_label(mean)["a"].get_xdata(), samples.mean(axis=0))
    assert mean.get_xlabel() == "samples"


def colours(ax):
    return {label: line.get_color() for label, line in by_label(ax).items() if not label.startswith("_")}


def test_a_metric_that_all_share_is_drawn_once_in_grey():
    shared = np.asarray([[1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 6.0]])
    panels = {"p": (np.nan, np.nan, {label: curve(1.0, 3.0, zero=shared) for label in "ab"})}
    drawing = Curves(reference=("zero", "X = 0"))
    for ax in render.draw(report_of(panels, (drawing,)), drawing).axes:
        line = by_label(ax)["X = 0"]
        np.testing.assert_allclose(line.get_xydata(), [[10, 2.0], [20, 3.0], [30, 4.0], [40, 5.0]])
        assert line.get_color() == "#888888" and set(by_label(ax)) == {"a", "b", "X = 0"}


@pytest.mark.quick_cases("drawing0", "drawing2")
@pytest.mark.parametrize(
    "drawing", [Curves(not_drawn=("huge",)), Curves(), Against("x", not_drawn=("huge",)), Against("x")]
)
def test_a_learner_keeps_its_colour_when_others_are_left_out(drawing):
    def draw_curves(labels):
        some = {label: curve(1.0, 3.0) for label in labels}
        report = report_of({"p": (1.0, np.nan, some), "q": (2.0, np.nan, some)}, (drawing,))
        every = ("a", "huge", "b", "c")
        report = dataclasses.replace(report, declared={"p": every, "q": every})
        ax = render.draw(report, drawing).axes[0]
        if isinstance(drawing, Curves):
            return colours(ax)
        return {box.get_label(): box.lines[0].get_color() for box in ax.containers}

    whole = draw_curves(("a", "huge", "b", "c"))
    assert len(set(whole.values())) == len(whole) >= 3
    for labels in (("a", "b", "c"), ("b", "c"), ("c",), ("huge", "c")):
        assert draw_curves(labels) == {label: whole[label] for label in labels if label in whole}


BY_HAND = {  # every other kind of figure that has colours for labels
    "bound": (Bound(), lambda: curve(1.0, 2.0, bound=np.full((2, 4), 8.0))),
    "shares": (Shares(), lambda: curve(1.0, 2.0)),
    "exponents": (Exponents("x", theory=float, statement="t"), lambda: curve(*range(1, 60))),
    "cost": (Cost("x"), lambda: curve(1.0, 2.0)),
}


@pytest.mark.parametrize("kind", BY_HAND)
def test_other_figures_keep_colours_too(kind):
    drawing, make = BY_HAND[kind]
    both = {"p": ("a", "b"), "q": ("a", "b")}
    seen = []
    for labels in ("ab", "b"):
        some, ns = {label: make() for label in labels}, {label: np.full((3, 2), 100.0) for label in labels}
        times = {(name, 1): RoundTimes(1, np.asarray([10, 40]), ns, dict.fromkeys(ns, 8)) for name in "pq"}
        report = report_of({"p": (1.0, np.nan, some), "q": (2.0, np.nan, some)}, (drawing,), times)
        ax = render.draw(dataclasses.replace(report, declared=both), drawing).axes[0]
        shown = {box.get_label(): box.lines[0].get_color() for box in ax.containers} or colours(ax)
        seen.append({label: colour for label, colour in shown.items() if label.startswith("b") and label != "bound"})
    assert seen[0] == seen[1] != {}


def test_symbols_are_set_as_formulas():
    """In every text of a figure, and nowhere else: labels, tables and files keep theirs."""
    wanted = {
        "regret: Sigma^2 = 4 m^2": r"regret: $\Sigma^{2}$ = 4 $m^{2}$",
        "D (sqrt(sigma^2) + sqrt(Sigma^2))": r"D ($\sqrt{\sigma^{2}}$ + $\sqrt{\Sigma^{2}}$)",
        "lambda_t = d log(1 + t), theta*": r"$\lambda_t$ = d log(1 + t), $\theta^*$",
        "kappa^0.1.": r"$\kappa^{0.1}$.",
        "Hvt, tau_scale 0.1, beta_scale": "Hvt, tau_scale 0.1, beta_scale",
        "zeta, alphabet, SMD_r, round": "zeta, alphabet, SMD_r, round",
        "c_eta, c_corr, P_t, Q_{t-1}": r"$c_{\eta}$, $c_{\mathrm{corr}}$, $P_t$, $Q_{t-1}$",
        "||u|| = 8 +- 0.2, G~": r"$\|u\|$ = 8 $\pm$ 0.2, $\tilde{G}$",
        r"$\lambda$ and sigma": r"$\lambda$ and sigma",
    }
    assert {text: mathtext(text) for text in wanted} == wanted
    drawing = Against("D (sqrt(sigma^2) + sqrt(Sigma^2))")
    panels = {"p": (1.0, np.nan, {"lambda = d": curve(1.0, 3.0)}), "q": (3.0, np.nan, {"lambda = d": curve(2.0, 3.0)})}
    figure = render.draw(report_of(panels, (drawing,)), drawing)
    assert figure.axes[0].get_xlabel() == wanted[drawing.axis]
    assert figure.legends[0].get_texts()[0].get_text() == r"$\lambda$ = d"
    figure.draw_without_rendering()  # matplotlib reads them


def test_a_figure_is_never_empty():
    """Where all but the labels that would flatten the others are left out, they are drawn."""
    panels = {"p": (1.0, np.nan, {"uniform": curve(1.0, 3.0)}), "q": (2.0, np.nan, {"uniform": curve(1.0, 3.0)})}
    drawing, against = Curves(not_drawn=("uniform",)), Against("x", not_drawn=("uniform",))
    assert set(by_label(render.draw(report_of(panels, (drawing,)), drawing).axes[0])) == {"uniform"}
    assert len(render.draw(report_of(panels, (against,)), against).axes[0].containers) == 1


def test_against_shows_the_worst_panel_of_each_abscissa_and_the_bound():
    panels = {
        "low": (1.0, np.nan, {"a": curve(1.0, 3.0)}),
        "high": (1.0, 9.0, {"a": curve(5.0, 7.0)}),
        "far": (10.0, np.nan, {"a": curve(30.0, 50.0)}),
        "nowhere": (np.nan, np.nan, {"a": curve(99.0, 99.0)}),
    }
    drawing = Against("x")
    (ax,) = render.draw(report_of(panels, (drawing,)), drawing).axes
    np.testing.assert_allclose(ax.containers[0].lines[0].get_xydata(), [[1.0, 6.0], [10.0, 40.0]])
    np.testing.assert_allclose(by_label(ax)["theory"].get_xydata(), [[1.0, 9.0]])
    assert ax.get_xlabel() == "x" and ax.get_yscale() == "log"


def test_against_marks_unbounded_intervals_and_counts_failed_trials():
    panels = {
        "p": (1.0, np.nan, {"a": curve(1.0), "b": curve(3.0)}),
        "q": (2.0, np.nan, {"a": curve(4.0, 5.0, np.nan)}),
    }
    drawing = Against("x")
    with pytest.warns(UserWarning, match="1 of 3 trials have NaN"):
        (ax,) = render.draw(report_of(panels, (drawing,)), drawing).axes
    assert [(text.get_text(), *text.xy) for text in ax.texts] == [("?", 1.0, 1.0), ("?", 1.0, 3.0)]
    assert ax.get_title() == "?: unbounded interval; 1 failed trial left out"


def test_cost_is_the_time_of_whole_trials():
    """10 rounds of 100 ns and 30 of 200 ns: 7 microseconds."""
    stops = np.asarray([10, 40])
    ns = {"a": np.asarray([[100.0, 200.0]] * 3)}
    times = {(name, 1): RoundTimes(1, stops, ns, {"a": 8}) for name in ("p", "q")}
    panels = {"p": (1.0, np.nan, {"a": curve(1.0, 2.0)}), "q": (5.0, np.nan, {"a": curve(1.0, 2.0)})}
    drawing = Cost("size")
    left, first, _ = render.draw(report_of(panels, (drawing,), times), drawing).axes
    np.testing.assert_allclose(by_label(left)["a"].get_xydata(), [[1.0, 7e-6], [5.0, 7e-6]])
    np.testing.assert_allclose(by_label(first)["a"].get_xydata(), [[5.0, 100.0], [25.0, 200.0]])


def test_run_times_are_drawn_however_often_each_learner_was_timed(rng):
    ns = {"often": rng.uniform(1e4, 2e4, (5, 2)), "lost": rng.normal(50, 60, (30, 2))}
    times = {(name, 1): RoundTimes(1, np.asarray([10, 40]), ns, {}) for name in ("p", "q")}
    both = {"often": curve(1.0, 2.0), "lost": curve(1.0, 2.0)}
    drawing = Cost("size")
    figure = render.draw(report_of({"p": (1.0, np.nan, both), "q": (2.0, np.nan, both)}, (drawing,), times), drawing)
    figure.draw_without_rendering()


def test_bound_and_shares_show_the_trials():
    limit = np.full((3, 4), 8.0)
    panels = {"p": (np.nan, np.nan, {"a": curve(1.0, 2.0, 6.0, bound=limit)})}
    drawing = Bound()
    (ax,) = render.draw(report_of(panels, (drawing,)), drawing).axes
    lines = by_label(ax)
    assert lines["a, median"].get_ydata()[-1] == 2.0 and lines["a, largest"].get_ydata()[-1] == 6.0
    assert lines["bound"].get_ydata()[-1] == 8.0
    drawing = Shares(mark=3.0)
    (ax,) = render.draw(report_of(panels, (drawing,)), drawing).axes
    np.testing.assert_allclose(by_label(ax)["a, p"].get_xydata(), [[1.0, 1 / 3], [2.0, 2 / 3], [6.0, 1.0]])
    assert any(list(line.get_xdata()) == [3.0, 3.0] for line in ax.lines)


def test_no_two_lines_of_several_learners_have_one_name():
    """A bound that all learners of a panel share is one line; different bounds are named after their learners."""
    same, other = np.full((2, 4), 8.0), np.full((2, 4), 9.0)
    for second, bounds in ((same, ["bound"]), (other, ["a, bound", "b, bound"])):
        both = {"a": curve(1.0, 2.0, bound=same), "b": curve(1.0, 3.0, bound=second)}
        drawing = Bound()
        axes = render.draw(report_of(dict.fromkeys("pq", (np.nan, np.nan, both)), (drawing,)), drawing).axes
        shown = [text.get_text() for text in axes[0].get_legend().get_texts()]
        assert len(shown) == len(axes[0].lines) == len(axes[1].lines) and len(set(_looks(axes[0]))) == len(shown)
        assert [name for name in shown if "bound" in name] == bounds
    drawing = Exponents("x", theory=float, statement="t")
    both = {"a": curve(*range(1, 60)), "b": curve(*range(1, 60))}
    right = render.draw(report_of({"p": (1.0, np.nan, both), "q": (2.0, np.nan, both)}, (drawing,)), drawing).axes[1]
    shown = [text.get_text() for text in right.get_legend().get_texts()]
    assert shown == ["a, p", "a, q", "b, p", "b, q"] and len(set(_looks(right))) == 4


@pytest.mark.parametrize("drawing", [Bound(), Shares(), Exponents("x", theory=float, statement="t")])
def test_figures_count_the_failed_trials_that_they_omit(drawing):
    records = np.unique(np.geomspace(1, 1000, 40).astype(int))
    values = records**0.5 * np.ones((1, 60, 1))
    values[0, :3] = np.nan
    made = {"a": values, "b": np.full_like(values, np.nan)}  # every trial of b failed
    trials = {
        label: results.trials({"regret": v, "bound": np.full_like(v, 99.0)}, record_points=records)
        for label, v in made.items()
    }
    figure = render.draw(report_of({"p": (1.0, np.nan, trials)}, (drawing,)), drawing)
    assert "63 failed trials left out" in figure.axes[-1].get_title()
    figure.draw_without_rendering()


def test_group_curves_count_failed_trials(rng):
    risk = rng.normal(size=(1, 4, 4, 2))
    risk[0, 1, 2, 0] = np.nan
    trials = {"a": results.trials({"risk": risk}, axes={"risk": ("group",)})}
    drawing = GroupCurves(panel="p", groups=(0, 1))
    figure = render.draw(report_of({"p": (np.nan, np.nan, trials)}, (drawing,), metric="risk"), drawing)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a [1 failed]"]


def test_exponents_stand_beside_the_theory():
    records = np.unique(np.geomspace(1, 1000, 40).astype(int))
    grown = {p: records ** (1.0 / (1.0 + p)) * np.ones((1, 60, 1)) for p in (0.5, 1.0)}
    panels = {
        f"eps{p:g}": (p, np.nan, {"a": results.trials({"regret": v}, record_points=records)}) for p, v in grown.items()
    }
    drawing = Exponents("eps", theory=lambda eps: 1.0 / (1.0 + eps), statement="theory")
    left, right = render.draw(report_of(panels, (drawing,)), drawing).axes
    np.testing.assert_allclose(left.containers[0].lines[0].get_xydata(), [[0.5, 2 / 3], [1.0, 0.5]])
    np.testing.assert_allclose(by_label(left)["theory"].get_ydata()[[0, -1]], [2 / 3, 0.5])
    assert set(by_label(right)) == {"eps0.5", "eps1"}


def test_a_heat_map_passes_through_the_nominal_point():
    points = [{"rate": r, "size": s, "other": o} for r in (0.1, 1.0) for s in (1.0, 2.0, 3.0) for o in (5.0, 6.0)]
    values = np.arange(1.0, 13.0)[:, None, None] * np.ones((12, 4, 1))
    values[3, :, 0] = np.nan  # every trial of one point failed: rate 0.1, size 2, other 6
    panels = {"p": (np.nan, np.nan, {"a": results.trials({"regret": values}, points)})}
    drawing = Heatmap({"rate": 1.01, "size": 2.0, "other": 6.0})
    figure = render.draw(report_of(panels, (drawing,)), drawing)
    maps = {(ax.get_ylabel(), ax.get_xlabel()): ax for ax in figure.axes if ax.images}
    assert set(maps) == {("rate", "size"), ("rate", "other"), ("size", "other")}
    shown = np.ma.filled(maps["rate", "size"].images[0].get_array(), np.nan)
    np.testing.assert_allclose(shown, [[2.0, np.nan, 6.0], [8.0, 10.0, 12.0]])
    assert figure.axes[-1].get_ylabel() == "mean regret, 4 seeds, 4 failed trials left out"
    (outlined,) = maps["rate", "size"].patches
    assert outlined.get_xy() == (0.5, 0.5)  # size 2 is the middle column, rate 1 the upper row


def test_a_figure_of_an_experiment_s_own_draws_itself():
    @dataclasses.dataclass(frozen=True)
    class Own:
        name: str = "own"

        def draw(self, plt, report):
            figure, ax = plt.subplots()
            ax.plot([report.horizon], [1.0])
            return figure

    figure = render.draw(report_of({"p": (1.0, 1.0, {"a": curve(1.0, 2.0)})}, (Own(),)), Own())
    assert figure.axes[0].lines[0].get_xdata()[0] == 40 and "toy" in figure.get_suptitle()


@pytest.mark.slow
def test_equal_results_give_equal_files(tmp_path):
    """PNG, SVG and PDF, byte for byte; the second figure is named after its kind."""
    drawings = (Against("x"), Curves())
    panels = {"p": (1.0, np.nan, {"a": curve(1.0, 3.0)}), "q": (3.0, np.nan, {"a": curve(2.0, 3.0)})}
    written = []
    for turn in ("one", "two"):
        paths = files.write(report_of(panels, drawings), tmp_path / turn)
        written.append({path.name: path.read_bytes() for path in paths if path.suffix in {".png", ".svg", ".pdf"}})
    assert set(written[0]) == {f"toy{kind}.{suffix}" for kind in ("", "-curves") for suffix in ("png", "svg", "pdf")}
    assert written[0] == written[1]


def test_a_long_title_keeps_the_rounds_on_one_line():
    report = report_of({"p": (1.0, np.nan, {"a": curve(1.0, 3.0)})}, (Curves(),))
    figure = render.draw(report, Curves())
    width = int(12 * figure.get_size_inches()[0])  # characters of a line
    plt.close(figure)
    for length in range(width - 8, width):
        title = dataclasses.replace(report.experiment, title="x" * length)
        figure = render.draw(dataclasses.replace(report, experiment=title), Curves())
        lines = figure.get_suptitle().replace("\N{NO-BREAK SPACE}", " ").split("\n")
        assert any(line.endswith("T = 40") for line in lines), lines
        plt.close(figure)


def test_figures_are_written_in_the_formats_asked_for(tmp_path):
    report = report_of({"p": (1.0, np.nan, {"a": curve(1.0, 3.0)})}, (Curves(),))
    names = {path.name for path in files.write(report, tmp_path, formats=("svg",))}
    assert names == {"toy-p.npz", "toy.svg", "toy.txt", "manifest.json"}


def test_wins_less_losses_count_significant_differences():
    """Of a and b, a is better in two panels and worse in the last one; c differs from the better one by noise alone."""
    low, high, noisy = curve(1.0, 1.1, 1.2, 1.3), curve(3.0, 3.1, 3.3, 3.2), curve(1.2, 0.9, 1.4, 1.1)
    panels = {
        name: (np.nan, np.nan, {"a": first, "b": second, "c": noisy})
        for name, first, second in (("p", low, high), ("q", low, high), ("r", high, low))
    }
    drawing = WinsAndLosses()
    left, right = render.draw(report_of(panels, (drawing,)), drawing).axes
    cells = {tuple(map(int, text.get_position()[::-1])): int(text.get_text()) for text in right.texts}
    assert cells == {
        (0, 1): 1,
        (0, 2): -1,
        (0, 3): 0,
        (1, 0): -1,
        (1, 2): -2,
        (1, 3): -3,
        (2, 0): 1,
        (2, 1): 2,
        (2, 3): 3,
    }
    assert right.get_title() == "wins minus losses over 3 data sets"
    assert [tick.get_text() for tick in right.get_xticklabels()] == ["a", "b", "c", "in all"]
    assert len(left.containers) == 3 and left.get_ylabel() == "share of mistakes"


def test_wins_less_losses_are_those_of_the_seeds_that_both_ran_without_failure():
    drawing, rival = WinsAndLosses(), curve(3.0, 3.1, 3.3, np.nan, 3.2, 3.1)
    report = report_of({"p": (1.0, np.nan, {"a": curve(1.0, 1.1, 1.2, 1.3), "b": rival})}, (drawing,))
    left, right = render.draw(report, drawing).axes
    assert {text.get_text() for text in right.texts} == {"+1", "-1"}
    b = left.containers[1].lines[0].get_ydata()[0]
    assert b == pytest.approx(np.mean([3.0, 3.1, 3.3, 3.2, 3.1]) / report.results["p"]["b"].horizon)


@pytest.mark.parametrize(
    ("values", "labels"),
    [((300.0, 900.0), {"300", "500", "700"}), ((250.0, 9e3), {"500", "2,000", "5,000"}), ((3.0, 9e4), None)],
)
def test_a_logarithmic_axis_of_few_decades_has_several_labels_per_decade(values, labels):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    ax.plot(values)
    set_logarithmic(ax)
    figure.canvas.draw()
    shown = {tick.get_text() for tick in ax.get_yticklabels()}
    assert labels <= shown if labels else any("10^" in text for text in shown)
    plt.close(figure)
