"""Figures over swept fields."""

import functools

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxbandits.analysis import pairs
from jaxbandits.base.errors import InputError
from jaxbandits.plots import curves
from jaxbandits.results import describe
from jaxbandits.results.result import Result
from tests.results import factories

POINTS = [{"environment.df": d, "environment.dim": n} for d in (2.0, 30.0) for n in (2, 5)]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def result(rng):
    base = rng.gamma(2.0, size=(4, 30, 3)).cumsum(2)
    better = base - np.asarray([5.0, 5.0, -5.0, 0.0])[:, None, None] + 0.1 * rng.normal(size=base.shape)
    return Result({"a": factories.trials({"regret": better}, POINTS), "b": factories.trials({"regret": base}, POINTS)})


def test_a_contrast_over_one_field_shows_paired_differences(result):
    ax = result.contrast("a", "b", x="environment.df", points={"environment.dim": 2})
    (line,) = [line for line in ax.lines if line.get_marker() == "o"]
    assert line.get_xdata().tolist() == [2.0, 30.0] and line.get_ydata() == pytest.approx([-5.0, 5.0], abs=0.1)
    difference = result.final(label="a")[0] - result.final(label="b")[0]
    (segments,) = [bars.get_segments() for bars in ax.containers[0].lines[2]]
    assert segments[0][:, 1] == pytest.approx(pairs.skewed_mean(difference, 0.05 / 2)[1:3])  # two points are drawn
    assert ax.get_xscale() == "log" and ax.get_ylabel() == "mean regret: a - b"


def test_a_contrast_over_two_fields_marks_what_is_open(result):
    ax = result.contrast("a", "b", x="environment.df", y="environment.dim")
    shown = ax.images[0].get_array()
    np.testing.assert_allclose(shown, [[-5.0, 5.0], [-5.0, 0.0]], atol=0.1)
    assert [(text.get_text(), text.get_position()) for text in ax.texts] == [("?", (1, 1))]
    assert ax.images[0].get_clim()[0] == -ax.images[0].get_clim()[1]


def test_an_unbounded_interval_is_marked(rng):
    """The difference at the first point is the same on all seeds, which decides nothing."""
    base = rng.gamma(2.0, size=(3, 30, 1))
    other = base + rng.normal(size=base.shape)
    other[0], other[2] = base[0] + 5.0, np.nan
    points = [{"rate": rate} for rate in (1.0, 2.0, 3.0)]
    trials = {"a": factories.trials({"regret": other}, points), "b": factories.trials({"regret": base}, points)}
    ax = Result(trials).contrast("a", "b", x="rate")
    assert [(mark.get_text(), mark.xy) for mark in ax.texts] == [("?", (1.0, pytest.approx(5.0)))]
    assert ax.get_title().startswith("simultaneous 95 % intervals; ?: unbounded interval; 30 pairs")
    assert not Result(trials).contrast("a", "b", x="rate", points={"rate": [2.0]}).texts


def test_names_on_a_map_may_be_numbers_and_texts(rng):
    points = [{"x": x, "y": y} for x in ("hard", 2, 1) for y in (0, 1)]
    trials = factories.trials({"regret": rng.gamma(2.0, size=(6, 30, 1))}, points)
    ax = Result({"a": trials, "b": trials}).contrast("a", "b", x="x", y="y")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "hard"]


def test_infinite_values_are_not_left_out_in_silence(rng):
    points = [{"cap": cap} for cap in (1.0, 2.0, np.inf)]
    one = factories.trials({"regret": rng.gamma(2.0, size=(3, 30, 1))}, points)
    two = factories.trials({"regret": rng.gamma(2.0, size=(3, 30, 1))}, points)
    result = Result({"a": one, "b": two})
    sensitivity = functools.partial(result.sensitivity, "regret", "cap")
    for draw in (sensitivity, functools.partial(result.contrast, "a", "b", x="cap")):
        with pytest.raises(InputError, match="cap=inf has no place on an axis"):
            draw()
        assert not plt.get_fignums()
        assert draw(points={"cap": [1.0, 2.0]}).lines
        plt.close("all")


def test_arrays_of_the_same_name_must_be_equal(rng):
    """Points hold the names of arrays only, by default their positions in the grid of a label."""
    one, other = ({"array": means, "dtype": "float64", "shape": [2]} for means in ([0.9, 0.1], [0.5, 0.5]))
    of = {}
    for label, arrays in {
        "a": [[0, one], [1, other]],
        "b": [[0, other], [1, one]],
        "c": [[0, one], [1, other]],
    }.items():
        spec = {"arrays": {"environment.means": arrays}}
        points = [{"environment.means": i} for i in range(2)]
        of[label] = factories.trials({"regret": rng.gamma(2.0, size=(2, 30, 12)).cumsum(2)}, points, spec=spec)
    result = Result(of)
    assert result.contrast("a", "c", x="environment.means") is not None
    named = r"have different arrays of environment.means under the name 0: use one grid for both"
    with pytest.raises(InputError, match=f"^a and b {named}"):
        result.contrast("a", "b", x="environment.means")
    with pytest.raises(InputError, match=f"^a and b {named}"):
        result.sensitivity("regret", "environment.means")
    assert result.only({"a": None, "c": None}).sensitivity("regret", "environment.means") is not None
    sections = describe.analysis(result, None, None, 0.95).split("== environment.means = ")
    pairs_of = {frozenset(label for label in "abc" if f"\n{label} (" in section) for section in sections[1:]}
    assert len(sections) == 5 and pairs_of == {frozenset("ac"), frozenset("b")}


def test_sensitivity_is_a_curve_per_label_and_other_fields(result):
    ax = result.sensitivity("regret", "environment.df")
    labels = ax.get_legend_handles_labels()[1]
    assert labels == [f"{k} (environment.dim={n})" for k in "ab" for n in (2, 5)]
    np.testing.assert_allclose(ax.lines[1].get_ydata(), result.final(label="a")[[1, 3]].mean(1))


def test_sensitivity_keeps_points_apart_that_print_alike(rng):
    points = [{"x": x, "y": y} for x in (1.0, 2.0) for y in (0.1, 0.1 + 1e-9)]
    ax = Result({"a": factories.trials({"loss": rng.normal(size=(4, 8, 2))}, points)}).sensitivity("loss", "x")
    assert [line.get_xdata().tolist() for line in ax.lines] == [[1.0, 2.0]] * 2


def test_sensitivity_to_a_size_that_learner_and_environment_share_is_one_curve(rng):
    points = [{"dim": dim, "environment.dim": dim, "eps": eps} for dim in (2, 5) for eps in (0.3, 0.9)]
    ax = Result({"a": factories.trials({"loss": rng.normal(size=(4, 8, 2))}, points)}).sensitivity("loss", "dim")
    assert [list(line.get_xdata()) for line in ax.lines] == [[2, 5], [2, 5]]
    assert ax.get_legend_handles_labels()[1] == ["a (eps=0.3)", "a (eps=0.9)"]


def test_failed_trials_are_counted_in_the_figure(rng):
    values = rng.gamma(2.0, size=(4, 30, 3))
    bad = values.copy()
    bad[0, :2, 1], bad[1, 4, 2] = np.nan, np.inf
    result = Result({"a": factories.trials({"regret": bad}, POINTS), "b": factories.trials({"regret": values}, POINTS)})
    names = result.sensitivity("regret", "environment.df").get_legend_handles_labels()[1]
    assert names[:2] == ["a (environment.dim=2) [2 failed]", "a (environment.dim=5) [1 failed]"]
    title = result.contrast("a", "b", x="environment.df", y="environment.dim").get_title()
    assert title.endswith("; 3 pairs with a failed trial left out")
    title = result.contrast("a", "b", x="environment.df", points={"environment.dim": 5}).get_title()
    assert title.endswith("; 1 pair with a failed trial left out")
    result = Result({k: factories.trials({"regret": np.nan * values}, POINTS) for k in "ab"})
    ax = result.contrast("a", "b", x="environment.df", y="environment.dim")
    assert np.ma.getmaskarray(ax.images[0].get_array()).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda r: r.contrast("a", "b", x="environment.df"),
            r"several points have environment.df=2.0: choose one of them with",
        ),
        (lambda r: r.contrast("a", "b", x="environment.dfs"), "did you mean 'environment.df'"),
        (lambda r: r.contrast("a", "c", x="environment.df"), "unknown label 'c'"),
        (
            lambda r: Result({"a": r["a"], "b": r["b"].at([0])}).contrast("a", "b", x="environment.df"),
            "the same points",
        ),
        (lambda r: r.sensitivity("regret", "rate"), "unknown swept field 'rate'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(result, call, message):
    with pytest.raises(InputError, match=message):
        call(result)
    assert not plt.get_fignums()


def test_bands_of_quantities_that_are_never_negative_are_not_either(rng):
    skewed = factories.trials({"regret": rng.gamma(0.05, size=(1, 5, 3)), "gain": rng.normal(size=(1, 5, 3))})
    low = {}
    for metric in ("regret", "gain"):
        (band,) = Result({"a": skewed}).plot(metric).collections
        low[metric] = band.get_paths()[0].vertices[:, 1].min()
    assert low["regret"] == 0.0 > low["gain"]


def test_sixteen_curves_have_colours_of_their_own():
    looks = [curves.look(i) for i in range(64)]
    assert len({look["color"] for look in looks[:16]}) == 16
    assert len({(look["color"], look["linestyle"], look["marker"]) for look in looks}) == 64


def test_ticks_of_whole_numbers_have_no_exponent():
    assert curves.ticks([100.0, 1000.0, 30000.0]) == ["100", "1000", "30000"]
    assert curves.ticks([0.001, 1 / 3, 1234.5]) == ["0.001", "0.3333", "1234"]
    assert curves.ticks([1.0, 1e7, np.inf, "none"]) == ["1", "1e+07", "inf", "none"]


def test_ticks_stand_at_the_swept_values(rng):
    for rates, scale in (((0.1, 0.3, 1.0, 3.0, 30.0), "log"), ((1.0, 2.0, 5.0), "linear")):
        points = [{"rate": rate} for rate in rates]
        result = Result({"a": factories.trials({"loss": rng.gamma(2.0, size=(len(rates), 30, 3))}, points)})
        ax = result.sensitivity("loss", "rate")
        assert ax.get_xscale() == scale and ax.get_xticks().tolist() == list(rates)
        assert [text.get_text() for text in ax.get_xticklabels()] == [f"{rate:.3g}" for rate in rates]
        assert not len(ax.get_xticks(minor=True))
    points = [{"rate": float(rate)} for rate in range(1, 15)]
    many = Result({"a": factories.trials({"loss": rng.gamma(2.0, size=(14, 30, 3))}, points)}).sensitivity(
        "loss", "rate"
    )
    assert len(many.get_xticks()) < 14
