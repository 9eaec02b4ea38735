"""Plan of a run: jobs, each of which is a sequence of batches of trials.

A trial is a pair of a hyperparameter point and a seed. The trials of a job are numbered by point and then by seed, and
run in batches of one fixed width; the last batch is padded with repeats of its last trial. However the work is split,
the same compiled program runs, and no result depends on the split. The batch is the unit of scheduling, memory,
checkpoint and retry.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.memory import require
from jaxbandits.base.pytree import PyTree, as_numpy, field_kind, map_traced, replace, validate
from jaxbandits.base.ranges import is_whole
from jaxbandits.engine.grid import Arrays
from jaxbandits.engine.meters import Meter
from jaxbandits.types import Environment

# Argument of `resolve_record_points`.
RecordPoints: TypeAlias = int | str | tuple[str, int] | Sequence[int] | np.ndarray

ENVIRONMENT = "environment."  # prefix of swept fields of the environment


@dataclasses.dataclass(frozen=True)
class Job:
    """Trials that one compiled program runs: an algorithm on an environment, at H points and S seeds."""

    label: str
    algorithm: Any  # points replace the values of its swept fields
    environment: Environment
    points: tuple[dict[str, Any], ...]  # [H] values of swept fields; one empty point when nothing is swept
    horizon: int
    record_points: np.ndarray  # [M] rounds at which values are reported, increasing, the last is the horizon
    n_seeds: int
    first_seed: int
    meters: tuple[Meter, ...]
    width: int  # trials in a batch: 1 or a multiple of 16
    compile: str = "full"  # compilation mode of the rounds, as in `Options.compile`
    arrays: Arrays = dataclasses.field(default_factory=dict)  # arrays by field and name in points

    @property
    def n_trials(self) -> int:
        """Number of trials: H S, hyperparameter points times seeds."""
        return len(self.points) * self.n_seeds

    @property
    def seeds(self) -> np.ndarray:
        """`[S]` global seed indices."""
        return np.arange(self.first_seed, self.first_seed + self.n_seeds)

    @functools.cached_property
    def stack(self) -> tuple[Any, Any]:
        """Algorithm and environment at all points, with leaves `[H, ...]` on the host (shared leaves have no axis H).

        Raises:
          InputError: if a swept field is not traced, or if a value is out of range.
        """
        pair = as_numpy(map_traced(_as_number, (self.algorithm, self.environment)))
        repeat = functools.partial(_repeat, n=len(self.points))
        algorithm, environment = (map_traced(repeat, obj) for obj in pair)
        for field in self.points[0]:
            column = self._column(field)
            if field.startswith(ENVIRONMENT):
                environment = _with_column(self.environment, environment, field.removeprefix(ENVIRONMENT), column)
            else:
                algorithm = _with_column(self.algorithm, algorithm, field, column)
        if self.points[0]:
            validate(algorithm)
            validate(environment)
        return as_numpy((algorithm, environment))

    def _column(self, field: str) -> np.ndarray:
        """Return the values `[H, ...]` of a swept field."""
        values = [point[field] for point in self.points]
        if field not in self.arrays:
            # Whole numbers become floats, as they do in a field that is not swept (`as_arrays`).
            are_numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
            return np.asarray(values, np.float64 if are_numbers else None)
        arrays = [self.arrays[field][name] for name in values]
        shapes = list(dict.fromkeys(array.shape for array in arrays))
        if len(shapes) > 1:
            raise InputError(
                f"{self.label}: arrays of {field} have different shapes, {shapes[0]} and {shapes[1]}; also sweep "
                "the static field that sets this size, paired with the arrays by zip_fields"
            )
        return np.stack(arrays)

    def at_point(self, point: int = 0) -> tuple[Any, Any]:
        """Return algorithm and environment at one hyperparameter point, given by its index."""
        return map_traced(lambda leaf: leaf[point], self.stack)

    def at_points(self, points: np.ndarray) -> tuple[Any, Any]:
        """Return algorithm and environment at `[W]` points; traced leaves are `[..., W]`, or `[...]` if W = 1."""
        if self.width == 1:
            return self.at_point(int(points[0]))
        return map_traced(lambda leaf: np.ascontiguousarray(np.moveaxis(leaf[points], 0, -1)), self.stack)

    def slots(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the hyperparameter points `[W]` and the global seed indices `[W]` of a batch, including its padding.

        Args:
          first: index of the first trial.
          count: number of trials; the padding repeats the last trial.
        """
        trial = np.minimum(np.arange(first, first + self.width), first + count - 1)
        points, seeds = np.divmod(trial, self.n_seeds)
        seeds = (seeds + self.first_seed).astype(np.int32)
        return points, seeds if self.width > 1 else seeds[0]

    def batch(self, first: int, count: int) -> tuple[Any, Any, np.ndarray]:
        """Return algorithm, environment and global seed indices of a batch, as from `at_points` and `slots`."""
        points, seeds = self.slots(first, count)
        return *self.at_points(points), seeds


def _as_number(leaf: Any) -> Any:
    """Return an array of integers without axes as a number, which becomes a float, as it does in a grid."""
    is_whole_number = np.ndim(leaf) == 0 and np.issubdtype(getattr(leaf, "dtype", bool), np.integer)
    return leaf.item() if is_whole_number else leaf


def _repeat(leaf: Any, n: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(leaf), (n, *leaf.shape))


def _with_column(obj: object, stacked: PyTree, field: str, column: np.ndarray) -> Any:
    """Return `stacked` with values `[H]` of a traced field; static fields already have their value."""
    return stacked if field_kind(obj, field) == "static" else replace(stacked, field, column)


@dataclasses.dataclass(frozen=True)
class Batch:
    """Trials `first` to `first + count - 1` of a job, which run as one batch."""

    job: int
    index: int
    first: int
    count: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """Plan of a run: its jobs and base seed, which determine the results for a given precision and kind of device."""

    jobs: tuple[Job, ...]
    base_seed: int

    @property
    def batches(self) -> list[Batch]:
        """List of all batches, in the order of the jobs."""
        return [
            Batch(j, i, first, min(job.width, job.n_trials - first))
            for j, job in enumerate(self.jobs)
            for i, first in enumerate(range(0, job.n_trials, job.width))
        ]

    @property
    def total_rounds(self) -> int:
        """Number of rounds of all jobs, summed over trials, without padding."""
        return sum(job.n_trials * job.horizon for job in self.jobs)


def resolve_record_points(record_points: RecordPoints, horizon: int) -> np.ndarray:
    """Return `[M]` rounds at which values are reported, increasing; the last is the horizon.

    Args:
      record_points: number of evenly spaced points; or `"log"` (about 20 points per decade, so that consecutive points
        have the ratio 1.12) or `("log", n)` for n logarithmically spaced points, without those that coincide after
        rounding; or the rounds themselves, in increasing order.
      horizon: number of rounds.

    Raises:
      InputError: if `record_points` has none of these forms, or has rounds outside `1 .. horizon`.
    """
    count: Any
    if isinstance(record_points, str) and record_points == "log":
        record_points = ("log", max(2, int(np.ceil(20 * np.log10(max(horizon, 10))))))
    if isinstance(record_points, tuple) and len(record_points) == 2 and record_points[0] == "log":
        count = record_points[1]
        if not is_whole(count) or count < 1:
            raise InputError(f'record_points=("log", n) needs a whole number of at least 1, got {format_value(count)}')
        _check_number(min(int(count), 2**62))
        rounds = np.geomspace(1, horizon, num=int(count)) if count > 1 else np.asarray([horizon])
    elif is_whole(record_points):
        count = record_points
        count = min(count, horizon)
        if count < 1:
            raise InputError(f"record_points must be at least 1, got {record_points}")
        _check_number(count)
        rounds = np.linspace(0, horizon, num=int(count) + 1)[1:]
    elif isinstance(record_points, str):
        raise InputError(
            'record_points must be a number of points, "log", ("log", n) or increasing rounds, '
            f"got {format_value(record_points)}"
        )
    else:
        rounds = _given_rounds(record_points, horizon)
    rounds = np.unique(np.rint(rounds).astype(np.int64))
    return rounds if rounds[-1] == horizon else np.append(rounds, horizon)


def _check_number(count: int) -> None:
    require(4 * 8 * count, f"{count:,} record points", "request fewer")


def _given_rounds(record_points: RecordPoints, horizon: int) -> np.ndarray:
    try:
        rounds = np.asarray(record_points)
    except (TypeError, ValueError):
        rounds = np.asarray(np.nan)
    if np.ma.isMaskedArray(record_points) or (rounds.size and rounds.dtype.kind not in "iu"):
        raise InputError(f"record_points must be whole numbers of rounds, got {format_value(record_points)}")
    if (
        rounds.ndim != 1
        or not len(rounds)
        or not np.all(rounds[1:] > rounds[:-1])
        or not 1 <= rounds[0] <= rounds[-1] <= horizon
    ):
        raise InputError(
            f"record_points must increase strictly within 1 .. {horizon}, got {format_value(record_points)}"
        )
    return rounds
