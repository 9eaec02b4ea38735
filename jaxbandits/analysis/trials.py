"""Trials of one label: an array per metric over (hyperparameter point, seed, record point), and which trials failed."""

import dataclasses
import itertools
import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jaxbandits.analysis.info import TimingInfo
from jaxbandits.base.deprecation import alias
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.ranges import check_concrete, is_whole
from jaxbandits.base.text import count_of

RESERVED = ("label", "point", "seed", "round")  # no axis of a metric may have these names
_FIRST = "regret"  # the metric that comes first, and is the default

# Mapping from fields to one or several values, or list of positions; None: all points.
PointSelection: TypeAlias = Mapping[str, Any] | Sequence[int] | None


@dataclasses.dataclass(frozen=True)
class Trials:
    """Trials of one label: H hyperparameter points times S seeds, measured at M record points.

    Attributes:
      values: for each metric a float64 array `[H, S, M, ...]`: cumulative sums, running maxima or snapshots.
      points: `[H]` hyperparameter points, mappings from fields to values; one empty point if nothing was swept.
      seeds: `[S]` global seed indices, increasing.
      record_points: `[M]` rounds at which values are recorded, increasing; the last is the horizon.
      healthy: `[H, S]` False if the state of a trial held a NaN at some record point, even if its metrics are finite.
      inadmissible: `[H, S]` number of rounds whose decision was inadmissible, for example an index of an arm or group
        out of range, or a point outside the domain.
      axes: for each metric the names of its axes beyond `[H, S, M]`; scalars may be omitted.
      units: for each metric its unit, "" for a metric without a unit.
      timing: cost of the trials.
      may_be_missing: metrics for which a NaN means that there is no value (such as a mean over no counted rounds),
        not that the trial failed.
      indicators: metrics that are 0 or 1 in every trial, such as `correct`, so that their mean is a share of trials.
      spec: specification of the job: algorithm, environment, horizon, record points, meters, width, and the digest of
        everything that determines the numbers.

    Raises:
      InputError: if shapes or dtypes differ from these, or if seeds or record points do not increase.
    """

    values: dict[str, np.ndarray]
    points: tuple[dict[str, Any], ...]
    seeds: np.ndarray
    record_points: np.ndarray
    healthy: np.ndarray
    inadmissible: np.ndarray
    axes: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    units: dict[str, str] = dataclasses.field(default_factory=dict)
    timing: TimingInfo = dataclasses.field(default_factory=TimingInfo)
    spec: dict[str, Any] = dataclasses.field(default_factory=dict)
    may_be_missing: tuple[str, ...] = ()
    indicators: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check shapes, dtypes and order."""
        if not self.points or any(point.keys() != self.points[0].keys() for point in self.points):
            raise InputError("there must be at least one point, and all points must have the same fields")
        for name, least in (("seeds", 0), ("record_points", 1)):
            numbers_of = getattr(self, name)
            if numbers_of.ndim != 1 or numbers_of.dtype.kind not in "iu" or not len(numbers_of):
                raise InputError(
                    f"{name} must be an array [n] of whole numbers, n >= 1, got {numbers_of.dtype} {numbers_of.shape}"
                )
            if numbers_of[0] < least or (numbers_of[1:] <= numbers_of[:-1]).any():  # unsigned differences would wrap
                raise InputError(f"{name} must be at least {least} and strictly increasing")
        shape = (len(self.points), len(self.seeds))
        for name, kinds in (("healthy", "b"), ("inadmissible", "iu")):
            counts = getattr(self, name)
            if counts.shape != shape or counts.dtype.kind not in kinds:
                raise InputError(
                    f"{name} must be an array of {'bools' if kinds == 'b' else 'whole numbers'} of shape {shape}, "
                    f"got {counts.dtype} {counts.shape}"
                )
        sizes: dict[str, int] = {}
        for metric, values in self.values.items():
            if values.dtype != np.float64 or values.shape[:3] != (*shape, len(self.record_points)):
                need = f"a float64 array of shape {[*shape, len(self.record_points)]}"
                raise InputError(
                    f"values of {metric!r} must be {need}, with further axes for a vector, got {values.dtype} "
                    f"{values.shape}"
                )
            names, more = self.axis_names(metric), values.shape[3:]
            if len(names) != len(more) or len({*names, *RESERVED}) < len(names) + len(RESERVED):
                raise InputError(
                    f"{metric!r} needs {len(more)} different names for its axes beyond point, seed and round, and "
                    f"none of them may be {', '.join(RESERVED)}; got {names}"
                )
            for name, size in zip(names, more, strict=True):
                if sizes.setdefault(name, size) != size:
                    raise InputError(
                        f"axis {name!r} of {metric!r} has {size} entries, but {sizes[name]} in another metric"
                    )

    def __repr__(self) -> str:
        """Return the sizes and the names of the metrics, without values."""
        return f"Trials({sizes(self)}; {', '.join(self.metrics)})"

    def __getitem__(self, metric: str) -> np.ndarray:
        """Return the values `[H, S, M, ...]` of a metric.

        Raises:
          InputError: for an unknown name.
        """
        return self.get(metric)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of all metrics: `regret` first if it exists, then other derived metrics, then all others."""
        return in_order(self.values)

    @property
    def horizon(self) -> int:
        """Number of rounds of every trial."""
        return int(self.record_points[-1])

    def metric(self, metric: str | None = None) -> str:
        """Check the name of a metric and return it; return the first metric by default.

        Raises:
          InputError: for an unknown name.
        """
        if not self.values:
            raise InputError("the result has no metrics")
        return self.metrics[0] if metric is None else checked_name("metric", metric, self.values)

    def axis_names(self, metric: str) -> tuple[str, ...]:
        """Return the names of a metric's axes beyond `[H, S, M]`; by default `metric_0`, `metric_1`, ..."""
        return tuple(self.axes.get(metric, ())) or tuple(f"{metric}_{i}" for i in range(self.values[metric].ndim - 3))

    def get(self, metric: str | None = None) -> np.ndarray:
        """Return the values `[H, S, M, ...]` of a metric, by default the first.

        Raises:
          InputError: for an unknown name.
        """
        return self.values[self.metric(metric)]

    def final(self, metric: str | None = None) -> np.ndarray:
        """Return the values `[H, S, ...]` of a metric, by default the first, at the last record point."""
        return self.get(metric)[:, :, -1]

    def at(self, points: PointSelection) -> "Trials":
        """Return the trials of some points, which are given as for `indices`."""
        rows = self.indices(points)
        return dataclasses.replace(
            self,
            values={name: values[rows] for name, values in self.values.items()},
            points=tuple(self.points[h] for h in rows),
            healthy=self.healthy[rows],
            inadmissible=self.inadmissible[rows],
        )

    def on_seeds(self, seeds: Collection[int]) -> "Trials":
        """Return the trials on those of the given seeds that were run.

        Raises:
          InputError: if a seed is not a whole number, or if none of them was run.
        """
        for seed in seeds:
            if not is_whole(seed):
                raise InputError(f"seeds must be whole numbers, got {format_value(seed)}")
        wanted = set(map(int, seeds))
        is_kept = np.array([seed in wanted for seed in self.seeds.tolist()], bool)
        if not is_kept.any():
            raise InputError(f"none of the given seeds was run; the trials have seeds up to {self.seeds[-1]}")
        return dataclasses.replace(
            self,
            values={name: values[:, is_kept] for name, values in self.values.items()},
            seeds=self.seeds[is_kept],
            healthy=self.healthy[:, is_kept],
            inadmissible=self.inadmissible[:, is_kept],
        )

    def at_horizon(self) -> "Trials":
        """Return the trials at the last record point only; trials that failed at an earlier one stay failed."""
        return dataclasses.replace(
            self,
            values={name: values[:, :, -1:].copy() for name, values in self.values.items()},
            record_points=self.record_points[-1:],
            healthy=~np.logical_or.reduce([~self.healthy, *(self.failures(name) for name in self.values)]),
        )

    def usable(self, metric: str | None = None) -> np.ndarray:
        """Return a mask `[H, S]` of the trials that did not fail and have a value at the last record point.

        In a vector metric, every entry must have a value.
        """
        values = self.get(metric)[:, :, -1]
        return np.isfinite(values).all(axis=tuple(range(2, values.ndim))) & ~self.failures(metric)

    def failures(self, metric: str | None = None) -> np.ndarray:
        """Return a mask `[H, S]` of the trials with a NaN or an infinity in the metric, or a NaN in their state.

        Regret is computed from true means, so it can stay finite although the state of the learner is NaN. A NaN of a
        metric in `may_be_missing` is not a failure.
        """
        unsound = unsound_values(self, self.metric(metric))
        return unsound.any(axis=tuple(range(2, unsound.ndim))) | ~self.healthy

    failed = alias(failures, "failed")

    def entries(self, metric: str, at: Mapping[str, int]) -> list[tuple[dict[str, int], np.ndarray]]:
        """Split a metric into scalars: all entries of a vector metric, or the entries at given indices of its axes.

        Args:
          metric: name of the metric.
          at: mapping from names of axes to indices, such as `{"group": 2}`; negative indices count from the end.

        Returns:
          Pairs of an entry (mapping from names of axes to indices; empty for scalars) and its values `[H, S, M]`.

        Raises:
          InputError: for an unknown axis or an index out of range.
        """
        names, values = self.axis_names(metric), self.values[metric]
        for name in at:
            if name not in names:
                has = f"its axes are {', '.join(names)}" if names else "it is a scalar"
                raise InputError(f"metric {metric!r} has no axis {name!r}; {has}")
        ranges = [
            [_index(name, at[name], n)] if name in at else range(n)
            for name, n in zip(names, values.shape[3:], strict=True)
        ]
        return [
            (dict(zip(names, entry, strict=True)), values[(slice(None), slice(None), slice(None), *entry)])
            for entry in itertools.product(*ranges)
        ]

    def index(self, point: Mapping[str, Any]) -> int:
        """Return the position of the only point that has the given values.

        Raises:
          InputError: if no point or several points have these values.
        """
        if not isinstance(point, Mapping):
            raise InputError(f"a point must map fields to values, got {format_value(point)}")
        found = self.indices(point)
        if len(found) > 1:
            which = f"{len(found)} points have {_text(point)}"
            raise InputError(f"{which}; choose one of them by the values of its fields: {', '.join(self.points[0])}")
        return found[0]

    def indices(self, points: PointSelection) -> list[int]:
        """Return the positions of some points.

        Args:
          points: mapping from fields to one or several values, or list of positions; by default all points. If no
            point has exactly the given number, numbers that differ from it only by rounding count as equal.

        Raises:
          InputError: for an unknown field, a value that no point has, or a position out of range.
        """
        if points is None:
            return list(range(len(self.points)))
        if not isinstance(points, Mapping):
            listed = isinstance(points, (list, tuple, range)) or (isinstance(points, np.ndarray) and points.ndim)
            if not listed or not len(points):
                raise InputError(
                    f"points must be a mapping from fields to values or a list of positions, got {format_value(points)}"
                )
            positions = [_index("points", position, len(self.points)) for position in points]
            if len(set(positions)) < len(positions):
                raise InputError(f"the positions in points must be different, got {format_value(points)}")
            return positions
        kept = list(range(len(self.points)))
        for field, wanted in points.items():
            checked_name("field", field, self.points[0])
            check_concrete(f"the value of {field}", wanted)
            several = _entries(wanted) if isinstance(wanted, (list, tuple, range, np.ndarray)) else [wanted]
            if not several:
                raise InputError(f"the list of values of {field} is empty")
            chosen: set[int] = set()
            for value in several:
                found = _positions([point[field] for point in self.points], value)
                if not found:
                    has = ", ".join(map(str, dict.fromkeys(point[field] for point in self.points)))
                    raise InputError(f"no point has {field}={format_value(value)}; its values are {has[:200]}")
                chosen.update(found)
            kept = [i for i in kept if i in chosen]
        if not kept:
            raise InputError(f"no point has all of {_text(points)}")
        return kept


def swept_arrays(trials: Trials, field: str) -> dict[Any, Any]:
    """Return the arrays of a swept field, as specifications by name; {} for a field of numbers or names.

    Points hold only the names of arrays, so that equal points of two labels may have different arrays.
    """
    return dict(trials.spec.get("arrays", {}).get(field, ()))


def usable_entry(values: np.ndarray, failed: np.ndarray) -> np.ndarray:
    """Return a mask `[H, S]` of the trials that did not fail and in which one entry of a metric has a final value.

    Another entry of the trial may have no value: to leave out such trials would select those in which, for example,
    every arm was played.

    Args:
      values: `[H, S, M]` values of the entry, as `Trials.entries` returns them.
      failed: `[H, S]` failures in the metric, as `Trials.failures` returns them.
    """
    return np.isfinite(values[:, :, -1]) & ~failed


def unsound_values(trials: Trials, metric: str) -> np.ndarray:
    """Return a mask `[H, S, M, ...]` of values that make a trial fail: infinities, and NaN if it is unexpected."""
    values = trials.values[metric]
    return np.isinf(values) if metric in trials.may_be_missing else ~np.isfinite(values)


def checked_name(kind: str, name: object, names: Iterable[str]) -> str:
    """Return a name if it is one of `names`.

    Raises:
      InputError: if the name is unknown; the message suggests the closest names.
    """
    names = list(names)
    if not isinstance(name, str) or name not in names:
        raise unknown_name(kind, name, names)
    return name


def in_order(metrics: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names in order of first appearance, but with `regret` first."""
    return tuple(sorted(dict.fromkeys(metrics), key=lambda name: name != _FIRST))


def sizes(trials: Trials) -> str:
    """Return text with the numbers of points, seeds and rounds of trials."""
    points = f"{len(trials.points):,} points x " if len(trials.points) > 1 else ""
    seeds = count_of(len(trials.seeds), "seed")
    rounds = f"{count_of(trials.horizon, 'round')} at {count_of(len(trials.record_points), 'record point')}"
    return f"{points}{seeds}, {rounds}"


def _text(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={format_value(value)}" for name, value in point.items())


def _entries(values: Sequence[Any] | np.ndarray) -> list[Any]:
    """Return entries of a sequence, or rows of an array; an array without axes has one entry."""
    return [values.item()] if isinstance(values, np.ndarray) and not values.ndim else list(values)


def _index(name: str, index: object, n: int) -> int:
    if isinstance(index, bool) or not isinstance(index, numbers.Integral) or not -n <= int(index) < n:
        raise InputError(f"{name} must be an index below {n}, got {format_value(index)}")
    return int(index) % n


def _positions(values: Sequence[Any], wanted: object) -> list[int]:
    """Return the positions of the values that equal the wanted value, exactly or, if none does, up to rounding."""
    found = [i for i, value in enumerate(values) if _same(value, wanted)]
    return [i for i in found if values[i] == wanted] or found


def _same(a: object, b: object) -> bool:
    a, b = (x.item() if isinstance(x, np.generic) else x for x in (a, b))  # NumPy's bools and texts are of own types
    if isinstance(a, numbers.Integral) and isinstance(b, numbers.Integral):  # not rounded, however large
        return a == b
    if isinstance(a, numbers.Real) and isinstance(b, numbers.Real):
        return bool(np.isclose(float(a), float(b), rtol=1e-9, atol=0.0))
    return type(a) is type(b) and bool(a == b)
