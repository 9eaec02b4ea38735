"""Results: labelled curves over (algorithm, hyperparameter point, seed, record), saved as npz with a JSON header."""

import dataclasses
import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxbandits.core import files
from jaxbandits.core.errors import InputError, unknown
from jaxbandits.results import intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FORMAT = "jaxbandits result 3"
_QUANTILES = (0.1, 0.25, 0.75, 0.9)


class Row(NamedTuple):
    """One line of a summary table."""

    algorithm: str
    point: dict[str, Any]
    mean: float
    low: float
    high: float
    median: float
    q10: float
    q25: float
    q75: float
    q90: float
    trials: int
    failed: int  # trials with a NaN or an infinity in this metric, left out of the numbers beside it
    ns_per_round: float


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run measured.

    Attributes:
      values: per metric a float64 array `[A, H, S, M]`: cumulative sums, running maxima or snapshots.
      algorithms: `[A]` labels.
      points: `[H]` hyperparameter points (one empty point when nothing was swept).
      seeds: `[S]` global seed indices.
      trials: `[A]` how many of the seeds each algorithm ran: the first ones. Values of the others are NaN.
      records: `[M]` rounds finished at each record point.
      healthy: `[A, H, S]` False where a trial's state held a NaN at some record point, whatever its metrics say.
      units: per metric its unit ("" where it has none).
      timing: per algorithm `compile_s`, `run_s` (summed over workers), `rounds` and `ns_per_round` of every piece.
      info: configuration, versions, device, wall time: everything needed to repeat the run.
    """

    values: dict[str, np.ndarray]
    algorithms: tuple[str, ...]
    points: tuple[dict[str, Any], ...]
    seeds: np.ndarray
    trials: np.ndarray
    records: np.ndarray
    healthy: np.ndarray
    units: dict[str, str]
    timing: dict[str, dict[str, Any]]
    info: dict[str, Any]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of what was measured: sums first, snapshots last."""
        return tuple(self.values)

    def get(self, metric: str | None = None, algorithm: str | None = None) -> np.ndarray:
        """`[A, H, S, M]` of a metric (the first one by default), or `[H, S, M]` of one algorithm.

        Raises:
          InputError: for unknown names.
        """
        metric = self.metrics[0] if metric is None else metric
        if metric not in self.values:
            raise unknown("metric", metric, self.values)
        if algorithm is None:
            return self.values[metric]
        if algorithm not in self.algorithms:
            raise unknown("algorithm", algorithm, self.algorithms)
        return self.values[metric][self.algorithms.index(algorithm)]

    def final(self, metric: str | None = None, algorithm: str | None = None) -> np.ndarray:
        """The last record point: `[A, H, S]` or `[H, S]`."""
        return self.get(metric, algorithm)[..., -1]

    @property
    def ran(self) -> np.ndarray:
        """`[A, 1, S]` True for the seeds that an algorithm ran."""
        return np.arange(len(self.seeds)) < self.trials[:, None, None]

    def usable(self, metric: str | None = None) -> np.ndarray:
        """`[A, H, S]` True for trials that ran and did not fail."""
        return self.ran & intervals.finite_trials(self.get(metric)) & self.healthy

    def failed(self, metric: str | None = None) -> np.ndarray:
        """`[A, H, S]` True for trials with a NaN or an infinity in the metric, or a NaN in their state.

        Regret is made of means: it can stay finite while the learner behind it is lost.
        """
        return self.ran & ~self.usable(metric)

    def summary(self, metric: str | None = None, level: float = 0.95) -> list[Row]:
        """One row per algorithm and hyperparameter point, at the last record point.

        Warns when trials failed, and under 50 trials (t-intervals of skewed regret are then too short).
        """
        values, usable, failed = self.final(metric), self.usable(metric), self.failed(metric)
        # NaN from the first record point on: an algorithm without this metric, not one that failed.
        absent = np.isnan(self.get(metric)).all(axis=(1, 2, 3))
        failed = failed & ~absent[:, None, None]
        if failed.any():
            warnings.warn(
                f"{int(failed.sum())} of {failed.size} trials are not finite; they are left out, counted in "
                "the column 'failed'",
                stacklevel=2,
            )
        for few in dict.fromkeys(self.trials[(self.trials < 50) & ~absent].tolist()):
            names = ", ".join(name for name, n in zip(self.algorithms, self.trials, strict=True) if n == few)
            who = "" if (self.trials == few).all() else f" of {names}"
            warnings.warn(f"{few} seeds{who}: intervals of skewed quantities need about 50", stacklevel=2)
        rows = []
        for a, name in enumerate(self.algorithms):
            if absent[a]:
                continue
            pieces = self.timing[name]["ns_per_round"]
            per_round = np.median(pieces) if len(pieces) else np.nan
            for h, point in enumerate(self.points):
                good = values[a, h][usable[a, h]]
                mean = intervals.t_interval(good, level=level)
                quantiles = np.quantile(good, (0.5, *_QUANTILES)) if len(good) else np.full(5, np.nan)
                rows.append(
                    Row(
                        name,
                        point,
                        *map(float, (mean.mean, mean.low, mean.high)),
                        *map(float, quantiles),
                        trials=len(good),
                        failed=int(failed[a, h].sum()),
                        ns_per_round=float(per_round),
                    )
                )
        return rows

    def paired_difference(
        self, first: str, second: str, metric: str | None = None, level: float = 0.95
    ) -> intervals.Estimate:
        """`[H]` mean of `first - second` at the horizon over the same instances and noise, with its interval."""
        difference = self.final(metric, first) - self.final(metric, second)
        pair = [self.algorithms.index(name) for name in (first, second)]
        both, good = self.ran[pair].all(axis=(0, 1)), self.usable(metric)[pair].all(axis=(0, 1))
        failed = int(both.sum() - good.sum())
        if failed:
            warnings.warn(f"{failed} of {both.sum()} pairs have a failed trial; they are left out", stacklevel=2)
        return intervals.t_interval(difference[:, good], axis=1, level=level)._replace(failed=failed)

    def plot(self, metric: str | None = None, ax: "Axes | None" = None, band: str = "mean") -> "Axes":
        """Curves against rounds with a band: `"mean"` (t-interval) or `"quantile"` (median, 10 to 90 %)."""
        from jaxbandits.results import curves

        return curves.draw(self, metric, ax, band)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes one compressed npz file, atomically (`.npz` is appended if missing).

        Raises:
          InputError: when the path cannot be written.
        """
        path = Path(path)
        path = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
        files.make_directory(path.parent)
        header = {
            "format": _FORMAT, "metrics": list(self.values), "algorithms": self.algorithms, "points": self.points,
            "units": self.units, "timing": self.timing, "info": self.info,
        }  # fmt: skip
        arrays = {f"values:{name}": array for name, array in self.values.items()}
        text = np.frombuffer(json.dumps(header, default=_jsonable).encode(), np.uint8)
        arrays |= {"seeds": self.seeds, "trials": self.trials, "records": self.records, "healthy": self.healthy}
        files.write_npz(path, {"header": text, **arrays}, compress=True)
        return path

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Result":
        """Reads what `save` wrote (`.npz` may be left out); never executes code.

        Raises:
          InputError: one line when the file is missing, damaged or of another kind.
        """
        path = Path(path)
        path = path if path.exists() or path.suffix == ".npz" else path.with_name(path.name + ".npz")
        arrays = files.read_npz(path)
        try:
            header = json.loads(arrays["header"].tobytes().decode())
            if header["format"] != _FORMAT:
                raise InputError(f"{path} has format {header['format']!r}, this version reads {_FORMAT!r}")
            return cls(
                values={name: arrays[f"values:{name}"] for name in header["metrics"]},
                algorithms=tuple(header["algorithms"]), points=tuple(header["points"]), seeds=arrays["seeds"],
                trials=arrays["trials"],
                records=arrays["records"], healthy=arrays["healthy"], units=header["units"],
                timing=header["timing"], info=header["info"],
            )  # fmt: skip
        except (KeyError, ValueError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} is damaged or not a jaxbandits result") from None

    def to_xarray(self) -> Any:
        """An `xarray.Dataset` with dimensions (algorithm, point, seed, round). Needs the extra `xarray`."""
        xarray = _optional("xarray")
        dims = ("algorithm", "point", "seed", "round")
        coords: dict[str, Any] = {"algorithm": list(self.algorithms), "seed": self.seeds, "round": self.records}
        for name in self.points[0]:
            coords[name] = ("point", [point[name] for point in self.points])
        data = {k: (dims, v, {"units": self.units.get(k, "")}) for k, v in self.values.items()}
        return xarray.Dataset(data, coords=coords, attrs={"info": json.dumps(self.info, default=_jsonable)})

    def to_polars(self) -> Any:
        """A tidy `polars.DataFrame`, one row per (algorithm, point, seed, round). Needs the extra `frames`."""
        return _optional("polars", "frames").DataFrame(self._columns())

    def to_pandas(self) -> Any:
        """The same as a `pandas.DataFrame`. Needs pandas."""
        return _optional("pandas", "frames").DataFrame(self._columns())

    def _columns(self) -> dict[str, np.ndarray]:
        shape = self.get().shape
        a, h, s, m = (axis.ravel() for axis in np.indices(shape))
        columns = {"algorithm": np.asarray(self.algorithms)[a], "seed": self.seeds[s], "round": self.records[m]}
        columns |= {name: np.asarray([point[name] for point in self.points])[h] for name in self.points[0]}
        columns |= {name: values.ravel() for name, values in self.values.items()}
        rows = np.broadcast_to(self.ran[..., None], shape).ravel()
        return {name: values[rows] for name, values in columns.items()}


def _optional(package: str, extra: str | None = None) -> Any:
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError:
        raise InputError(f"this needs {package}: pip install 'jaxbandits[{extra or package}]'") from None


def _jsonable(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return repr(value)
