"""The plan of a run: jobs cut into pieces. The piece is the unit of scheduling, memory, checkpoint and retry.

A trial is (hyperparameter point, seed). The trials of a job are numbered point by point, seed by seed, and run in
pieces of one fixed width; the last piece is padded with repeats of its last trial. So every split of the work executes
the same compiled program, and no result depends on the split.
"""

import contextlib
import dataclasses
import hashlib
import inspect
import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core.errors import InputError
from jaxbandits.core.pytree import as_arrays, field_table
from jaxbandits.simulation.meters import Meter


@dataclasses.dataclass(frozen=True)
class Job:
    """One algorithm on one environment, over H hyperparameter points; leaves are NumPy arrays (indexed per piece)."""

    name: str
    algorithm: Any  # leaves [H, ...]
    environment: Any  # leaves [H, ...]
    n_seeds: int


@dataclasses.dataclass(frozen=True)
class Piece:
    """Trials `first .. first + count` of a job."""

    job: int
    index: int
    first: int
    count: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything that determines the numbers of a run."""

    jobs: tuple[Job, ...]
    points: tuple[dict[str, Any], ...]  # H hyperparameter points (one empty point when nothing is swept)
    horizon: int
    stops: np.ndarray  # [M] record points, increasing, the last is the horizon
    first_seed: int
    base_seed: int
    width: int
    meters: tuple[Meter, ...]

    @property
    def n_seeds(self) -> int:
        """The largest number of seeds of any job."""
        return max(job.n_seeds for job in self.jobs)

    def trials_of_job(self, job: int) -> int:
        """Hyperparameter points times seeds."""
        return len(self.points) * self.jobs[job].n_seeds

    @property
    def pieces(self) -> list[Piece]:
        """All pieces, job after job."""
        return [
            Piece(j, i, first, min(self.width, trials - first))
            for j, trials in enumerate(map(self.trials_of_job, range(len(self.jobs))))
            for i, first in enumerate(range(0, trials, self.width))
        ]

    @property
    def total_rounds(self) -> int:
        """Trial-rounds of all jobs, padding not counted."""
        return sum(map(self.trials_of_job, range(len(self.jobs)))) * self.horizon

    def trials_of(self, piece: Piece) -> tuple[Any, Any, np.ndarray]:
        """Hyperparameters, environments and global seed indices `[width]` of a piece, padding included."""
        trial = np.minimum(np.arange(piece.first, piece.first + self.width), piece.first + piece.count - 1)
        job = self.jobs[piece.job]
        point, seed = np.divmod(trial, job.n_seeds)
        algorithm, environment = jax.tree.map(lambda leaf: leaf[point], (job.algorithm, job.environment))
        return algorithm, environment, (seed + self.first_seed).astype(np.int32)

    def spec(self) -> dict[str, Any]:
        """A JSON description of everything that determines the numbers; its hash guards a resume."""
        seeds = {job.name: job.n_seeds for job in self.jobs}
        return {
            "format": 3,
            "algorithms": {job.name: describe(job.algorithm) for job in self.jobs},
            "environments": {job.name: describe(job.environment) for job in self.jobs},
            "points": len(self.points),
            "horizon": self.horizon,
            "record": hashlib.sha256(np.asarray(self.stops, np.int64).tobytes()).hexdigest()[:16],
            "seeds": self.n_seeds if len(set(seeds.values())) == 1 else seeds,
            "first_seed": self.first_seed,
            "base_seed": self.base_seed,
            "width": self.width,
            "meters": {meter.name: meter.reduce for meter in self.meters},
            "float": str(jnp.zeros(()).dtype),
        }


def describe(obj: Any) -> dict[str, Any]:
    """Class and every field of a pytree dataclass as JSON values; long arrays as a digest."""
    fields = {row.name: _plain(row.value) for row in field_table(obj)}
    return {"class": f"{type(obj).__module__}.{type(obj).__qualname__}", "source": _source_digest(type(obj)), **fields}


def _source_digest(cls: type) -> str:
    """A digest of the module that defines a class: an edited algorithm must not resume an older one's run."""
    for obj in (sys.modules[cls.__module__], cls):
        with contextlib.suppress(OSError, TypeError):  # typed at a prompt
            return hashlib.sha256(inspect.getsource(obj).encode()).hexdigest()[:16]
    return "unknown"


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (jax.Array, np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.size <= 8:
            return array.tolist()
        return f"{array.dtype}{list(array.shape)} sha256 {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"
    return repr(value)


def spec_hash(spec: dict[str, Any]) -> str:
    """A digest of a spec, independent of the order of its keys."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()


def broadcast_points(obj: Any, n_points: int) -> Any:
    """A pytree of scalars and arrays to NumPy arrays with a leading axis of `n_points` equal entries."""
    return jax.tree.map(lambda leaf: np.broadcast_to(np.asarray(leaf), (n_points, *leaf.shape)), as_arrays(obj))


def record_points(record: Any, horizon: int) -> np.ndarray:
    """The rounds at which values are reported.

    Args:
      record: a number of evenly spaced points; `"log"` (about 20 per decade, ratio 1.12) or `("log", n)` for n
        log-spaced points; or the increasing rounds themselves.
      horizon: number of rounds; always the last record point.

    Raises:
      InputError: for anything else, or rounds outside `1 .. horizon`.
    """
    if isinstance(record, str) and record == "log":
        record = ("log", max(2, int(np.ceil(20 * np.log10(max(horizon, 10))))))
    if isinstance(record, tuple) and len(record) == 2 and record[0] == "log":
        if not isinstance(record[1], (int, np.integer)) or record[1] < 1:
            raise InputError(f'record=("log", n) needs a whole number of at least 1, got {record[1]!r}')
        points = np.geomspace(1, horizon, num=int(record[1]))
    elif isinstance(record, (int, np.integer)) and not isinstance(record, bool):
        if record < 1:
            raise InputError(f"record must be at least 1 point, got {record}")
        points = np.linspace(0, horizon, num=min(int(record), horizon) + 1)[1:]
    elif isinstance(record, str):
        raise InputError(f'record must be a number of points, "log", ("log", n) or increasing rounds, got {record!r}')
    else:
        try:
            points = np.asarray(record, dtype=float)
        except (TypeError, ValueError):
            points = np.asarray(np.nan)
        fits = (
            points.ndim == 1
            and len(points)
            and np.all(np.diff(points) > 0)
            and points[0] >= 1
            and points[-1] <= horizon
        )
        if not fits:
            raise InputError(f"record rounds must increase strictly within 1 .. {horizon}")
    stops = np.unique(np.rint(points).astype(np.int64))
    return stops if stops[-1] == horizon else np.append(stops, horizon)
