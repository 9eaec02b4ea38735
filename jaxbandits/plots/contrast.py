"""Figures over swept fields: sensitivity of a metric, and the regions in which one learner beats another."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.analysis import intervals, pairs, summary
from jaxbandits.analysis.labelled import LabelledTrials
from jaxbandits.analysis.result_table import point_label
from jaxbandits.analysis.table import digits_of_fields, mean_of
from jaxbandits.analysis.trials import PointSelection, Trials, checked_name, swept_arrays
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.text import count_of
from jaxbandits.plots import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CURVES = curves.MOST_CURVES
_MOST_TICKS = 10  # largest number of values of a field that are all ticks of its axis


def sensitivity(
    result: LabelledTrials,
    metric: str | None,
    field: str,
    points: PointSelection,
    ax: "Axes | None",
    level: float,
) -> "Axes":
    """Draw final means against a swept field (see `Result.sensitivity`)."""
    level = intervals.checked_level(level)
    metric, of = result.labels_with_metric(metric)
    lines: dict[tuple[str, Any], list[tuple[float, Any]]] = {}  # keyed by label and the other fields
    places, colours = curves.first_colours(result), {}
    for label, trials in of.items():
        if field not in trials.points[0]:
            continue
        _scalar(trials, metric)
        same = [name for name in trials.points[0] if all(point[name] == point[field] for point in trials.points)]
        for h in trials.indices(points):
            point = {name: value for name, value in trials.points[h].items() if name not in same}
            at = _number(field, trials.points[h][field])
            good = trials.usable(metric)[h]
            values = trials.final(metric)[h, good]
            failed = int(trials.failures(metric)[h].sum())
            mean = intervals.metric_interval(values, level=level, is_indicator=metric in trials.indicators)
            mean = mean._replace(failed=failed)
            curve = label, tuple(point.items())
            lines.setdefault(curve, []).append((at, mean))
            colours.setdefault(curve, places[label])
            places[label] += len(lines[curve]) == 1  # the next curve of this label
    _check_arrays({label: trials for label, trials in of.items() if field in trials.points[0]}, [field])
    if not lines:
        swept = dict.fromkeys(name for trials in of.values() for name in trials.points[0])
        checked_name("swept field", field, swept)
    if len(lines) > _MOST_CURVES:
        raise InputError(
            f"{len(lines):,} curves are more than a figure can show (at most {_MOST_CURVES}): choose some with "
            "points={field: value}"
        )
    is_own, ax = ax is None, curves.axes(ax)
    digits = {label: digits_of_fields(trials.points) for label, trials in of.items()}
    for curve, line in lines.items():
        line.sort(key=lambda entry: entry[0])
        x = np.asarray([at for at, _ in line])
        mean, low, high = (np.asarray([getattr(e, key) for _, e in line]) for key in ("mean", "low", "high"))
        look = curves.look(colours[curve])
        name = point_label(curve[0], dict(curve[1]), digits[curve[0]]) + curves.failed_text(
            sum(e.failed for _, e in line)
        )
        ax.plot(x, mean, label=curves.legend_text(name), markersize=4, **look)
        curves.draw_band(ax, x, low, high, look["color"])
    unit = next((trials.units[metric] for trials in of.values() if trials.units.get(metric)), "")
    ax.set(xlabel=field, ylabel=mean_of(curves.spoken(metric, unit)))
    _scale(ax, [at for line in lines.values() for at, _ in line])
    title = f"mean, {100.0 * level:g} % {summary.kind_of_interval(metric, of)}"
    curves.legend(ax, title, outside=is_own and len(lines) > curves.MOST_INSIDE)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def contrast(
    result: LabelledTrials,
    labels: tuple[str, str],
    metric: str | None,
    fields: tuple[str, str | None],
    points: PointSelection,
    ax: "Axes | None",
    level: float,
) -> "Axes":
    """Draw paired differences of two labels over one or two fields (see `Result.contrast`)."""
    (first, second), (x, y) = labels, fields
    a, b = result.one(first), result.one(second)
    metric = a.metric(metric)
    b.metric(metric)
    if a.points != b.points:
        raise InputError(
            f"{first} and {second} must have run at the same points to be contrasted: use one grid for both"
        )
    _check_arrays({first: a, second: b}, a.points[0])
    if y == x:
        raise InputError(f"x and y must be two fields, got {x!r} twice")
    if first == second:
        raise InputError(f"the labels to compare must differ, got {first!r} twice")
    for field in (x, y) if y is not None else (x,):
        checked_name("swept field", field, a.points[0])
    chosen = a.indices(points)
    level = intervals.checked_level(level)
    alpha = (1.0 - level) / len(chosen)
    cells: dict[tuple[Any, Any], intervals.Estimate] = {}
    for h in chosen:
        who = (pairs.Contestant(first, a, h), pairs.Contestant(second, b, h))
        values = pairs.common(*who, metric)
        cell = (_number(x, a.points[h][x]), None) if y is None else (a.points[h][x], a.points[h][y])
        if cell in cells:
            raise InputError(
                f"several points have {x}={format_value(cell[0])}: choose one of them with points={{field: value}}"
            )
        cells[cell] = pairs.skewed_mean(values[0] - values[1], alpha)._replace(failed=values[2])
    ax = curves.axes(ax)
    unit = next((trials.units[metric] for trials in (a, b) if trials.units.get(metric)), "")
    what = f"{mean_of(curves.spoken(metric, unit))}: {curves.legend_text(f'{first} - {second}')}"
    if y is None:
        _draw_line(ax, x, {at: found for (at, _), found in cells.items()}, what, level)
    else:
        _map(ax, x, y, cells, what, level)
    if n_failed := sum(found.failed for found in cells.values()):
        curves.add_to_title(ax, f"{count_of(n_failed, 'pair')} with a failed trial left out")
    return ax


def _check_arrays(of: Mapping[str, Trials], fields: Iterable[str]) -> None:
    """Raise an error if labels use the same names for different arrays of a field."""
    for field in fields:
        named: dict[Any, tuple[str, object]] = {}  # first label that has a name, and its array
        for label, trials in of.items():
            for name, array in swept_arrays(trials, field).items():
                other, known = named.setdefault(name, (label, array))
                if known != array:
                    raise InputError(
                        f"{other} and {label} have different arrays of {field} under the name {name!r}: use one grid "
                        "for both, or give the arrays other names"
                    )


def _draw_line(ax: "Axes", x: str, cells: Mapping[Any, intervals.Estimate], what: str, level: float) -> None:
    at = sorted(cells)
    found = [cells[value] for value in at]
    mean, low, high = (np.asarray([getattr(e, key) for e in found]) for key in ("mean", "low", "high"))
    ax.axhline(0.0, color="#000000", linewidth=0.8)
    ax.errorbar(at, mean, [mean - low, high - mean], marker="o", markersize=4, capsize=3, color=curves.COLOURS[0])
    ax.set(xlabel=x, ylabel=what)
    ax.set_title(f"simultaneous {100.0 * level:g} % intervals", fontsize="small")
    curves.mark_unbounded_intervals(ax, np.asarray(at), mean, np.isinf(low) | np.isinf(high))
    _scale(ax, at)
    ax.spines[["top", "right"]].set_visible(False)


def _map(
    ax: "Axes", x: str, y: str, cells: Mapping[tuple[Any, Any], intervals.Estimate], what: str, level: float
) -> None:
    columns, rows = (_sort(cell[i] for cell in cells) for i in (0, 1))
    means = np.full((len(rows), len(columns)), np.nan)
    for (across, up), found in cells.items():
        i, j = rows.index(up), columns.index(across)
        means[i, j] = found.mean
        if not (found.low > 0.0 or found.high < 0.0):
            ax.text(j, i, "?", ha="center", va="center")
    most = float(np.max(np.abs(means), initial=0.0, where=np.isfinite(means))) or 1.0
    image = ax.imshow(np.ma.masked_invalid(means), origin="lower", aspect="auto", cmap="RdBu_r", vmin=-most, vmax=most)
    ax.set_xticks(range(len(columns)), curves.ticks(columns), rotation=45)
    ax.set_yticks(range(len(rows)), curves.ticks(rows))
    ax.set(xlabel=x, ylabel=y)
    ax.set_title(f"?: simultaneous {100.0 * level:g} % interval contains zero", fontsize="small")
    ax.figure.colorbar(image, ax=ax).set_label(what)


def _sort(values: Iterable[Any]) -> list[Any]:
    """Sort the different values of a field; names of arrays may be numbers and texts, which follow the numbers."""
    return sorted(set(values), key=lambda value: (isinstance(value, str), value))


def _scale(ax: "Axes", at: Sequence[float]) -> None:
    """Make an axis logarithmic if its values span more than a factor of ten, and put its ticks at the swept values."""
    if min(at) > 0.0 and max(at) > 10.0 * min(at):
        ax.set_xscale("log")
    values = sorted(set(at))
    if len(values) <= _MOST_TICKS:
        ax.set_xticks(values, curves.ticks(values))
        ax.minorticks_off()


def _scalar(trials: Trials, metric: str) -> None:
    if trials.get(metric).ndim > 3:
        raise InputError(
            f"metric {metric!r} is a vector with axes ({', '.join(trials.axis_names(metric))}); `sensitivity` needs a "
            "scalar metric"
        )


def _number(field: str, value: float | str) -> float:
    if isinstance(value, (bool, str)):
        raise InputError(
            f"{field} has values that are not numbers, such as {format_value(value)}, so they cannot be put on an "
            "axis (arrays can be given numbers as names)"
        )
    if not np.isfinite(value):  # the figure would omit the point
        raise InputError(f"{field}={value} has no place on an axis: choose other values with points={{field: [...]}}")
    return float(value)
