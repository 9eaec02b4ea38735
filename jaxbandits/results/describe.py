"""Text descriptions of a result: its contents and its statistics."""

import dataclasses
import json
import time
import warnings
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.analysis import intervals, select, table
from jaxbandits.analysis.result_table import interval, point_label
from jaxbandits.analysis.trials import Trials, sizes, swept_arrays
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.text import fold

if TYPE_CHECKING:
    from jaxbandits.results.result import Result

_LONGEST = 100  # largest length of a setting on a line
_RANGES = 5  # largest number of ranges of seeds on a line
_SELECT = 0.5  # fraction of the seeds by which points are chosen
_OTHERS = "The following tables use only seeds that were not used to choose a point."
_NOT_SAID = ("digest", "programs")  # entries of a specification that do not help a reader


def text(result: "Result") -> str:
    """Return text with the sizes, metrics, seeds and settings of every label, and information on the run."""
    lines = []
    for label, trials in result.trials.items():
        failed = int((~trials.healthy).sum())
        lines += [f"{label}: {sizes(trials)}", f"  metrics: {', '.join(trials.metrics)}"]
        lines += [f"  seeds: {_ranges(trials.seeds)}" + (f"; trials with a NaN: {failed}" if failed else "")]
        if trials.points[0]:
            lines += [f"  swept: {', '.join(trials.points[0])}"]
        lines += [f"  {name}: {_setting(value)}" for name, value in trials.spec.items() if name not in _NOT_SAID]
    info: dict[str, Any] = dict(result.info)
    if "started_unix_s" in info:
        info["started"] = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(info.pop("started_unix_s")))
    lines += [f"{name}: {_setting(value)}" for name, value in info.items()]
    return fold("\n".join(lines))


def _ranges(seeds: np.ndarray) -> str:
    """Describe increasing seeds by ranges of consecutive seeds, such as "0 to 7, 20 to 27"."""
    ends = np.flatnonzero(np.diff(seeds.astype(np.int64)) > 1)  # unsigned differences would wrap
    firsts, lasts = seeds[np.r_[0, ends + 1]].tolist(), seeds[np.r_[ends, len(seeds) - 1]].tolist()
    several = [f"{a} to {b}" if a < b else str(a) for a, b in zip(firsts, lasts, strict=True)]
    rest = [f"and {len(several) - _RANGES:,} more ranges up to {lasts[-1]}"] if len(several) > _RANGES else []
    return ", ".join(several[:_RANGES] + rest)


def _setting(value: object) -> str:
    if isinstance(value, Mapping) and "type" in value:
        fields = ", ".join(f"{k}={_setting(v)}" for k, v in value.items() if k != "type")
        return f"{value['type']}({fields})"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        return ", ".join(dict.fromkeys(value))
    said = value if isinstance(value, str) else json.dumps(value, default=repr)
    return said if len(said) <= _LONGEST else said[: _LONGEST - 3] + "..."


def analysis(result: "Result", metric: str | None, threshold: float | None, level: float) -> str:
    """Describe a result by text tables: best points of swept labels, all pairs, growth exponents and hitting times.

    The best point has the smallest mean, also of a metric such as a reward.

    Hitting times need a threshold. If fields of the environment are swept, each point of the environment is described
    separately; arrays of the same name that differ between labels are different points. A table that cannot be computed
    is replaced by a line with the reason; if this is the table of best points, the other tables have all points.

    Raises:
      InputError: for an unknown metric, a level outside (0, 1), or a threshold that is not a finite number.
    """
    level = intervals.checked_level(level)
    if threshold is not None:
        ranges.real("threshold", threshold, "(-inf, inf)")
    metric, of = result.labels_with_metric(metric)
    settings: dict[Hashable, dict[str, list[int]]] = {}  # points of labels by setting of the environment
    for label, trials in of.items():
        for h in range(len(trials.points)):
            settings.setdefault(_setting_of_environment(trials, h), {}).setdefault(label, []).append(h)
    if len(settings) == 1:
        return _analysis(result, metric, threshold, level)
    digits = {label: table.digits_of_fields(trials.points) for label, trials in of.items()}
    parts = []
    for rows in settings.values():
        label, (h, *_) = next(iter(rows.items()))
        setting = _of_environment(of[label].points[h])
        title = (
            ", ".join(f"{name} = {table.plain(value, digits[label][name])}" for name, value in setting.items())
            or "no field swept"
        )
        parts.append(f"== {title}\n\n{_analysis(result.only(rows), metric, threshold, level)}")
    return "\n\n".join(parts)


def _setting_of_environment(trials: Trials, h: int) -> Hashable:
    """Return a key of the swept fields of the environment at a point, with arrays in place of their names."""
    found = []
    for field, value in _of_environment(trials.points[h]).items():
        array = swept_arrays(trials, field).get(value)
        found.append((field, value, json.dumps(array, sort_keys=True)))
    return tuple(found)


def _of_environment(point: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in point.items() if name.startswith("environment.")}


def _analysis(result: "Result", metric: str, threshold: float | None, level: float) -> str:
    metric, of = result.labels_with_metric(metric)
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tables show failed trials
        swept = {label: trials for label, trials in of.items() if len(trials.points) > 1}
        kept: dict[str, int] = {}
        if swept:
            parts.append(
                _try(
                    "best points, chosen by the smallest mean on half of the seeds and evaluated on the other half",
                    lambda: _best(result, metric, swept, level, kept),
                )
            )
        contestants = _evaluation(result, swept, {label: kept.get(label, 0) for label in of}) if kept else result
        about, note = ("pairs of the best points", f"{_OTHERS}\n") if kept else ("pairs", "")
        if absent := [table.printable(label) for label in of if label not in contestants.trials]:
            names = ", ".join(absent)
            parts.append(f"The following tables leave out {names}, all of whose seeds were used to choose a point.")
        parts.append(_try(about, lambda: f"{note}{contestants.pairs(metric, level=level)}"))
        parts.append(_try("growth", lambda: str(contestants.growth(metric, level=level))))
        if threshold is not None:
            parts.append(
                _try("hitting times of the threshold", lambda: str(contestants.time_to(metric, threshold, level=level)))
            )
    return "\n\n".join(parts)


def _best(result: "Result", metric: str, swept: Mapping[str, Any], level: float, kept: dict[str, int]) -> str:
    rows = []
    for label, found in result.only(dict.fromkeys(swept)).best(metric, select=_SELECT, level=level).items():
        kept[label] = found.index
        digits = table.digits_of_fields(swept[label].points)
        rows.append([point_label(label, found.point, digits), table.number(found.value), *interval(found.estimate)])
    return table.align(["best point", "mean on selection seeds", table.mean_of(metric), f"{100.0 * level:g} %"], rows)


def _evaluation(result: "Result", swept: Mapping[str, Trials], points: Mapping[str, int]) -> "Result":
    """Return one point of each label, on the seeds by which no point was chosen; labels without such seeds are omitted.

    On the other seeds the chosen points look better than they are, so that paired tests would decide too often.
    """
    chosen = {s for label, t in swept.items() for s in t.seeds[: select.n_choosing(label, _SELECT, len(t.seeds))]}
    rest = {label: set(result[label].seeds.tolist()) - chosen for label in points}
    trials = {label: result[label].at([h]).on_seeds(rest[label]) for label, h in points.items() if rest[label]}
    return dataclasses.replace(result, trials=trials)


def _try(title: str, make: Callable[[], object]) -> str:
    try:
        return f"{title}\n{make()}"
    except InputError as error:
        return f"{title}: {error}"
