"""Curves with bands over seeds, distinguishable in greyscale, and heat maps."""

import functools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxbandits.analysis import intervals, summary
from jaxbandits.analysis.labelled import LabelledTrials
from jaxbandits.analysis.table import digits_of_fields, digits_to_tell, mean_of, number, plain, printable
from jaxbandits.analysis.trials import PointSelection, Trials, checked_name, usable_entry
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.text import count_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.typing import ColorType

# Okabe & Ito's palette, distinguishable with colour-vision deficiency, followed by further colours of Tol.
SMALL_LEGEND: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small", "frameon": False}  # for single axes
COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#F0E442",
    "#882255",
    "#999933",
    "#332288",
    "#888888",
    "#661100",
    "#44AA99",
    "#DD3D2D",
    "#6EA6CD",
)
STYLES = ("-", "--", "-.", ":", (0, (3, 1, 1, 1, 1, 1)), (0, (5, 1)), (0, (1, 1)), (0, (3, 5, 1, 5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
BANDS = {"mean": "mean, 95 % t-interval", "quantile": "median, 10 to 90 %"}
SCALES = ("linear", "log", "symlog")
_WIDTH, _HEIGHT, _WIDE = 5.0, 3.6, 7.6  # size of a figure in inches, and its width with a legend next to the axes
MOST_CURVES = 20
MOST_INSIDE = 8  # largest number of curves whose legend fits inside the axes
_MOST_NUMBERS = 100  # largest number of heat-map cells whose values are printed
_DECADES = 100.0  # smallest ratio of the largest to the smallest value for a logarithmic colour scale


def draw(  # noqa: PLR0913
    result: LabelledTrials,
    metric: str | None = None,
    *,
    x: str = "round",
    algorithms: Sequence[str] | None = None,
    points: PointSelection = None,
    ax: "Axes | None" = None,
    band: str = "mean",
    xscale: str | None = None,
    order: Sequence[str] | None = None,
    **settings: Any,
) -> "Axes":
    """Draw a curve for each label, hyperparameter point and entry of a vector metric (see `Result.plot`).

    If a label is in `order`, its colour depends only on its position in `order`.
    """
    if not isinstance(band, str) or band not in BANDS:
        raise InputError(f"band must be one of {', '.join(BANDS)}, got {format_value(band)}")
    if xscale is not None:
        checked_name("xscale", xscale, SCALES)
    metric, of = result.labels_with_metric(metric)
    chosen = _choose(result, algorithms, of, metric)
    if not isinstance(x, str) or x != "round":
        checked_name("metric for the x-axis", x, ["round", *result.metrics])
        for label in chosen:
            _check_abscissa(label, of[label], x, metric)
    axis_names = {name for label in chosen for name in of[label].axis_names(metric)}
    at = {name: settings.pop(name) for name in list(settings) if name in axis_names}
    line = _checked_line(settings)
    places = first_colours(result) | {label: i for i, label in enumerate(order or ())}
    curves = _curves(metric, of, chosen, points, at, places)
    if len(curves) > MOST_CURVES:
        raise InputError(
            f"{len(curves):,} curves are more than a figure can show (at most {MOST_CURVES}): plot the best points "
            "(`best`) or a `heatmap`, or choose labels (`algorithms=`) and points (`points=`)"
        )
    is_own, ax = ax is None, axes(ax)
    most = max(len(of[label].seeds) for label in chosen)
    for curve in curves:
        trials, h = curve.trials, curve.point
        failed = trials.failures(metric)[h] | (False if x == "round" else trials.failures(x)[h])
        named = {"label": legend_text(_legend(curve, int(failed.sum()), most)), **line}
        abscissa = None if x == "round" else _abscissa(trials, x, h, curve.entry)
        have_value = np.isfinite(curve.values[:, -1])  # other entries of a vector may have none
        usable = ~failed & have_value & (True if abscissa is None else np.isfinite(abscissa[:, -1]))
        if usable.any():
            at_x, values = trials.record_points, curve.values[usable]
            if abscissa is not None:
                at_x, values = _pair(abscissa[usable], values)
            estimate = functools.partial(intervals.metric_interval, is_indicator=metric in trials.indicators)
            _one_curve(ax, at_x, values, band, estimate, curve.colour, named)
        else:  # the legend shows that all trials failed
            ax.plot([], [], **_merge(look(curve.colour), named))
    unit, x_unit = (next((t.units[m] for t in of.values() if t.units.get(m)), "") for m in (metric, x))
    ax.set_xlabel(spoken(x, x_unit))
    ax.set_ylabel(spoken(metric, unit))
    if xscale is None:
        is_log = x == "round" and all(is_logarithmic(of[label].record_points) for label in chosen)
        xscale = "log" if is_log else "linear"
    if xscale != ax.get_xscale():
        ax.set_xscale(xscale)
    kind = summary.kind_of_interval(metric, {label: of[label] for label in chosen})
    title = f"{BANDS[band].replace('t-interval', kind)}\n{count_of(most, 'seed')}"
    legend(ax, title, outside=is_own and len(curves) > MOST_INSIDE)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def is_logarithmic(record_points: np.ndarray) -> bool:
    """Return True if record points span more than a decade and are spaced geometrically rather than evenly."""
    gaps = np.diff(record_points.astype(np.int64))  # unsigned differences would wrap
    return bool(
        len(gaps) > 2
        and record_points[-1] > 10 * record_points[0]
        and (np.diff(gaps) >= -1).all()  # -1, since record points are whole numbers of rounds
        and gaps[-1] >= 4 * gaps[len(gaps) // 2] > 0
    )


def legend(ax: "Axes", title: str, outside: bool = False) -> None:
    """Add a legend, either inside the axes where it hides the fewest points of curves, or next to the axes.

    Args:
      ax: axes to draw on.
      title: title of the legend, which describes the band.
      outside: put the legend to the right of the axes and widen the figure.
    """
    where: dict[str, Any] = {"loc": "best"}
    if outside:
        figure: Any = ax.figure
        figure.set_size_inches(_WIDE, _HEIGHT)
        where = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    ax.legend(title=title, alignment="left", **SMALL_LEGEND, **where)


def first_colours(result: LabelledTrials) -> dict[str, int]:
    """Return the colour index of the first curve of every label of a result.

    The index depends neither on the metric nor on which labels are drawn, so that a label looks the same in all figures
    of a result.
    """
    places, at = {}, 0
    for label, trials in result.trials.items():
        places[label] = at
        at += len(trials.points)
    return places


class _Curve(NamedTuple):
    colour: int  # position among colours, styles and markers
    label: str
    trials: Trials
    point: int
    entry: dict[str, int]
    values: np.ndarray  # [S, M]
    digits: dict[str, int]  # numbers of digits of the fields of `point`


def _curves(
    metric: str,
    of: Mapping[str, Trials],
    chosen: Sequence[str],
    points: PointSelection,
    at: Mapping[str, int],
    places: Mapping[str, int],
) -> list[_Curve]:
    if points is not None and not any(of[label].points[0] for label in chosen):
        raise InputError(f"points cannot be chosen, because no field was swept for {', '.join(chosen)}")
    curves: list[_Curve] = []
    free = 0  # all smaller indices are taken
    entries_of = {label: of[label].entries(metric, at) for label in of if label in chosen}
    is_scalar = all(len(entries) == 1 for entries in entries_of.values())
    for label, entries in entries_of.items():
        trials = of[label]
        digits = digits_of_fields(trials.points)
        first = places[label] if is_scalar else max(places[label], free)
        for h in trials.indices(points if trials.points[0] else None):
            for i, (entry, values) in enumerate(entries):
                colour = first + h * len(entries) + i
                curves.append(_Curve(colour, label, trials, h, entry, values[h], digits))
                free = max(free, colour + 1)
    return curves


def _legend(curve: _Curve, failed: int, most_seeds: int) -> str:
    point, n_seeds = curve.trials.points[curve.point], len(curve.trials.seeds)
    values = (f"{k}={plain(v, curve.digits[k])}" for k, v in point.items())
    which = [*values, *(f"{k} {v}" for k, v in curve.entry.items())]
    name = curve.label + (f" ({', '.join(which)})" if which else "")
    return name + (f" [{count_of(n_seeds, 'seed')}]" if n_seeds < most_seeds else "") + failed_text(failed)


def omitted_text(failed: int) -> str:
    """Return a note that counts the failed trials that a figure omits; "" if there are none."""
    return f"{count_of(failed, 'failed trial')} left out" if failed else ""


def failed_text(failed: int) -> str:
    """Return the end of a legend that counts failed trials; "" if there are none."""
    return f" [{failed} failed]" if failed else ""


def heatmap(
    trials: Trials,
    metric: str | None,
    fields: tuple[str | None, str | None],
    points: PointSelection,
    ax: "Axes | None",
    scale: str,
    minimise: bool,
    at: Mapping[str, int],
) -> "Axes":
    """Draw a heat map of final means over two swept fields (see `Result.heatmap`)."""
    first, second = fields
    checked_name("scale", scale, ("auto", "linear", "log"))
    ranges.flag("minimise", minimise)
    metric = trials.metric(metric)
    if first is None and second is None and len(trials.points[0]) == 2:
        first, second = trials.points[0]
    if first is None or second is None:
        swept = ", ".join(trials.points[0]) or "none"
        raise InputError(f"heatmap needs two swept fields, first and second; the swept fields are: {swept}")
    for field in (first, second):
        checked_name("field", field, trials.points[0])
    if first == second:
        raise InputError(f"heatmap needs two different fields, got {format_value(first)} twice")
    entries = trials.entries(metric, at)
    if len(entries) > 1:
        raise InputError(
            f"{metric!r} has {len(entries)} entries; choose one by the index of its axes: "
            f"{', '.join(trials.axis_names(metric))}"
        )
    final, usable = entries[0][1][:, :, -1], usable_entry(entries[0][1], trials.failures(metric))
    columns, rows = ([*dict.fromkeys(p[field] for p in trials.points)] for field in (first, second))
    columns, rows = (sorted(v) if all(isinstance(a, (int, float)) for a in v) else v for v in (columns, rows))
    means = np.full((len(rows), len(columns)), np.nan)
    seen: dict[tuple[int, int], dict[str, Any]] = {}
    failed = int(trials.failures(metric)[trials.indices(points)].sum())
    for h in trials.indices(points):
        point = trials.points[h]
        cell = rows.index(point[second]), columns.index(point[first])
        if cell in seen:
            others = [name for name in point if point[name] != seen[cell][name]]
            raise InputError(
                f"several points belong to the same cell and differ in {', '.join(others)}: choose one of them with "
                "points={field: value}"
            )
        seen[cell] = point
        means[cell] = final[h, usable[h]].mean() if usable[h].any() else np.nan
    ax = axes(ax)
    finite = means[np.isfinite(means)]
    if scale == "log" and not (finite > 0.0).all():
        raise InputError(
            f"a logarithmic scale needs positive means; the smallest {mean_of(metric)} is {finite.min():.4g}"
        )
    is_log = len(finite) > 0 and (scale == "log" or (scale == "auto" and 0.0 < _DECADES * finite.min() <= finite.max()))
    image = ax.imshow(
        np.ma.masked_invalid(means), origin="lower", aspect="auto", cmap="viridis", norm="log" if is_log else "linear"
    )
    if means.size <= _MOST_NUMBERS:
        _print_numbers(ax, means, image)
    if len(finite):
        _mark(ax, np.nanargmin(means) if minimise else np.nanargmax(means), means.shape)
    add_to_title(ax, omitted_text(failed))
    ax.set_xticks(range(len(columns)), ticks(columns), rotation=45)
    ax.set_yticks(range(len(rows)), ticks(rows))
    ax.set_xlabel(first)
    ax.set_ylabel(second)
    bar = ax.figure.colorbar(image, ax=ax)
    bar.set_label(mean_of(spoken(metric, trials.units.get(metric, ""))))
    return ax


def _print_numbers(ax: "Axes", means: np.ndarray, image: "AxesImage") -> None:
    """Print every value in its cell, dark on light colours and light on dark colours."""
    for (i, j), value in np.ndenumerate(means):
        if np.isfinite(value):
            shade = "black" if np.asarray(image.norm(value)) > 0.6 else "white"
            text = number(float(f"{value:.3g}")).removesuffix(".0")
            ax.text(j, i, text, ha="center", va="center", fontsize="x-small", color=shade)


def _mark(ax: "Axes", best: np.integer, shape: tuple[int, ...]) -> None:
    """Frame the best cell, and add a note."""
    from matplotlib.patches import Rectangle

    row, column = np.unravel_index(best, shape)
    ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=COLOURS[1], linewidth=2.5))
    ax.set_title("frame: best mean", fontsize="small")


def add_to_title(ax: "Axes", note: str) -> None:
    """Append a note to the title of axes; "" changes nothing."""
    title = ax.get_title()
    if note:
        ax.set_title(f"{title}; {note}" if title else note, fontsize="small")


def mark_unbounded_intervals(ax: "Axes", x: np.ndarray, y: np.ndarray, is_unbounded: np.ndarray) -> None:
    """Put a question mark above points whose intervals are unbounded, since without a bar they would look certain."""
    is_unbounded = is_unbounded & np.isfinite(y)
    for at, value in zip(x[is_unbounded], y[is_unbounded], strict=True):
        ax.annotate("?", (at, value), (0, 4), textcoords="offset points", ha="center")
    if is_unbounded.any():
        add_to_title(ax, "?: unbounded interval")


def ticks(values: Sequence[object]) -> list[str]:
    """Format values of a field for tick labels; different values have different labels, and 1000.0 is 1000."""
    floats = (abs(value) for value in values if isinstance(value, float))
    whole = max((len(f"{value:.0f}") for value in floats if value < 1e5), default=0)
    digits = digits_to_tell(values, least=max(3, whole))
    return [plain(value, digits) for value in values]


def _choose(
    result: LabelledTrials, algorithms: Sequence[str] | None, of: Mapping[str, Trials], metric: str
) -> list[str]:
    if algorithms is None:
        return list(of)
    if isinstance(algorithms, str) or not isinstance(algorithms, Sequence) or not algorithms:
        raise InputError(f"algorithms must be a list of labels, got {format_value(algorithms)}")
    for label in algorithms:
        if result[label] is not of.get(label):
            raise InputError(f"{label} did not measure {metric!r}")
    return list(algorithms)


_LONGEST_LEGEND = 60  # largest number of characters of a line


def legend_text(label: str) -> str:
    """Return a label for a legend, broken into lines and escaped.

    A label is not shortened, since the last field of a point may be the only one that differs. Matplotlib would read
    dollars as formulas, and would hide a label with a leading underscore.
    """
    text = printable(label)
    if len(text) > _LONGEST_LEGEND:
        text = textwrap.fill(text, _LONGEST_LEGEND, break_on_hyphens=False)
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def _check_abscissa(label: str, trials: Trials, x: str, metric: str) -> None:
    if x not in trials.values:
        raise InputError(f"{label} did not measure {x!r}")
    if trials.values[x].ndim > 3 and (
        trials.axis_names(x) != trials.axis_names(metric) or trials.values[x].shape != trials.values[metric].shape
    ):
        axes = ", ".join(trials.axis_names(x))
        raise InputError(
            f"the metric on the x-axis must be a scalar or have the same axes as {metric!r}, but {x!r} has axes {axes}"
        )


def _abscissa(trials: Trials, x: str, h: int, entry: Mapping[str, int]) -> np.ndarray:
    """Return the x-values `[S, M]` of a curve; `entry` is its entry of a vector metric."""
    chosen = tuple(entry[name] for name in trials.axis_names(x)) if trials.values[x].ndim > 3 else ()
    return trials.values[x][(h, slice(None), slice(None), *chosen)]


def _pair(x: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means `[M]` of x-values `[S, M]`, and values `[S, M]`; both omit trials where one of them is missing."""
    is_missing = np.isnan(x) | np.isnan(values)
    if not is_missing.any():
        return x.mean(axis=0), values
    present = [column[~missing] for column, missing in zip(x.T, is_missing.T, strict=True)]
    means = [column.mean() if len(column) else np.nan for column in present]
    return np.array(means), np.where(is_missing, np.nan, values)


def _checked_line(settings: dict[str, Any]) -> dict[str, Any]:
    from matplotlib.lines import Line2D

    try:
        Line2D([], [], **settings)
    except (AttributeError, TypeError, ValueError) as error:
        why = " ".join(str(error).partition(";")[0].split())[:150]  # matplotlib lists all colours after the semicolon
        raise InputError(
            f"a keyword is neither an axis of the metric nor a setting of matplotlib's lines: {why}"
        ) from None
    return settings


def axes(ax: "Axes | None") -> "Axes":
    """Return the axes to draw on: `ax`, or new axes if `ax` is None."""
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    if ax is None:
        return plt.subplots(figsize=(_WIDTH, _HEIGHT), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise InputError(f"ax must be matplotlib axes, got {type(ax).__name__}")
    return ax


def spoken(metric: str, unit: str) -> str:
    """Return the axis label of a metric: its name without underscores, and its unit in parentheses."""
    return metric.replace("_", " ") + (f" ({unit})" if unit else "")


def _one_curve(
    ax: "Axes",
    x: np.ndarray,
    values: np.ndarray,
    band: str,
    estimate: Callable[[np.ndarray], intervals.Estimate],
    index: int,
    line: dict[str, Any],
) -> None:
    present = [column[~np.isnan(column)] for column in values.T]  # a trial has no value before its first counted round
    if band == "mean":
        ends = [estimate(column)[:3] for column in present] if np.isnan(values).any() else None
        centre, low, high = estimate(values)[:3] if ends is None else np.array(ends).T
    else:
        quantiles = [np.quantile(c, (0.1, 0.5, 0.9)) if len(c) else (np.nan,) * 3 for c in present]
        low, centre, high = np.array(quantiles).T
    # Markers at a few staggered points keep the curves apart in grey.
    every = max(1, len(x) // 8)
    ours = look(index) | {"markersize": 4, "markevery": ((index * every) // 8, every)}
    (drawn,) = ax.plot(x, centre, **_merge(ours, line))
    draw_band(ax, x, low, high, drawn.get_color())


def draw_band(ax: "Axes", x: np.ndarray, low: np.ndarray, high: np.ndarray, colour: "ColorType") -> None:
    """Draw a band where its ends are finite, and a line at a single abscissa, where a band would have no area."""
    is_bounded = np.isfinite(low) & np.isfinite(high)
    is_alone = is_bounded & ~np.r_[False, is_bounded[:-1]] & ~np.r_[is_bounded[1:], False]
    if (is_bounded & ~is_alone).any():
        ax.fill_between(x, low, high, where=(is_bounded & ~is_alone).tolist(), color=colour, alpha=0.2, linewidth=0)
    if is_alone.any():
        ax.vlines(x[is_alone], low[is_alone], high[is_alone], colors=colour, alpha=0.5)


def look(i: int) -> dict[str, Any]:
    """Return the colour, line style and marker of the i-th curve, as a dict of line settings.

    No two curves of a figure look alike, and no colour repeats within 16 consecutive curves.
    """
    turn = i // 8
    style, marker = STYLES[(i + turn) % 8], MARKERS[(i + 3 * turn) % 8]
    return {"color": COLOURS[i % len(COLOURS)], "linestyle": style, "marker": marker}


def _merge(look: dict[str, Any], line: dict[str, Any]) -> dict[str, Any]:
    """Merge settings of a line; the caller's take precedence, under any of matplotlib's aliases (`c` for `color`)."""
    from matplotlib import cbook
    from matplotlib.lines import Line2D

    return look | cbook.normalize_kwargs(line, Line2D)
