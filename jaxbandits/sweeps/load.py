"""The results of a sweep, read part by part when they are asked for."""

import csv
import dataclasses
import io
import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.base import files
from jaxbandits.base.errors import InputError
from jaxbandits.results import export
from jaxbandits.results.merge import merge
from jaxbandits.results.result import Result
from jaxbandits.results.trials import Trials, known
from jaxbandits.sweeps.directory import Directory


class Mean(NamedTuple):
    """Means over the seeds of every point, failed trials left out."""

    mean: np.ndarray  # [H, M, ...]
    error: np.ndarray  # [H, M, ...] standard error of the mean; NaN where fewer than two trials count
    trials: np.ndarray  # [H] that count
    failed: np.ndarray  # [H] left out


class SweepResult:
    """Results of a sweep in a directory, complete or not; files are read on request."""

    def __init__(self, path: str | os.PathLike[str]):
        """Reads the manifest.

        Args:
          path: the directory of the sweep.

        Raises:
          InputError: when it holds none.
        """
        self._directory = Directory(path)
        self._manifest = self._directory.read_manifest()
        self._records = {part["name"]: self._directory.record(part["name"]) for part in self._manifest["parts"]}

    def __repr__(self) -> str:
        """Labels and what is done."""
        done = sum(record is not None for record in self._records.values())
        return f"SweepResult({self.path}: {done:,} of {len(self._records):,} parts done; {', '.join(self.labels)})"

    @property
    def path(self) -> Path:
        """The directory."""
        return self._directory.path

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels in the order they were given."""
        return tuple(self._manifest["labels"])

    @property
    def failures(self) -> dict[str, str]:
        """Why parts failed, by name."""
        found = {name: self._directory.failure(name) for name, record in self._records.items() if record is None}
        return {name: error for name, error in found.items() if error is not None}

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the parts that are not done, the failed ones included."""
        return tuple(name for name, record in self._records.items() if record is None)

    def points(self, label: str) -> list[dict[str, Any]]:
        """The hyperparameter points of a label, computed or not.

        Raises:
          InputError: for an unknown label.
        """
        return self._manifest["labels"][known("label", label, self.labels)]["points"]

    def parts(self, label: str | None = None) -> Iterator[tuple[str, Trials]]:
        """Label and trials of one finished part after the other, each read when its turn comes.

        Raises:
          InputError: for an unknown label, or a part that is damaged (the same sweep computes it again).
        """
        wanted = self.labels if label is None else (known("label", label, self.labels),)
        for part in self._manifest["parts"]:
            if part["label"] in wanted and self._records[part["name"]] is not None:
                yield part["label"], self._read(part)

    def load(self, label: str | None = None) -> Result:
        """Everything of one label or all, in memory: points that lack seeds are left out, with a warning.

        Raises:
          InputError: for an unknown label, a damaged part, or when no point is complete.
        """
        return self._joined(label, lambda trials: trials)

    def final(self, metric: str | None = None, label: str | None = None) -> Result:
        """The value at the horizon of every trial: of one metric (the first by default), of one label or all.

        The result has one record point; `table`, `best`, `heatmap` and `paired_difference` work on it.

        Raises:
          InputError: as for `load`, and for an unknown metric.
        """

        def last(trials: Trials) -> Trials:
            name = trials.metric(metric)
            return dataclasses.replace(
                trials,
                values={name: trials.values[name][:, :, -1:].copy()},  # a view would keep the whole part in memory
                record_points=trials.record_points[-1:],
                healthy=trials.usable(name),  # at all record points, though only the last one is kept
                axes={k: v for k, v in trials.axes.items() if k == name},
                units={k: v for k, v in trials.units.items() if k == name},
            )

        return self._joined(label, last)

    def mean(self, metric: str | None = None, label: str | None = None) -> Mean:
        """Mean curves of a metric over the seeds of every point, in memory that does not grow with the seeds.

        Raises:
          InputError: for unknown names, no label among several, a damaged part, or when no point is complete.
        """
        if label is None and len(self.labels) > 1:
            raise InputError(f"name one of the labels: {', '.join(self.labels)}")
        label = next(iter(self.labels)) if label is None else known("label", label, self.labels)
        of_point: dict[int, tuple[int, int, np.ndarray, np.ndarray]] = {}
        for part in self._complete(label):
            trials = self._read(part)
            values, usable = trials.get(metric), trials.usable(metric)
            for h, position in enumerate(part["positions"]):
                good = values[h][usable[h]]
                n, mean = len(good), good.mean(axis=0) if len(good) else np.zeros(values.shape[2:])
                square = ((good - mean) ** 2).sum(axis=0)
                new = (n, int((~usable[h]).sum()), mean, square)
                of_point[position] = _pooled(of_point[position], new) if position in of_point else new
        if not of_point:
            raise InputError(f"{self.path}: no point of {label} is complete yet")
        rows = [of_point[position] for position in sorted(of_point)]
        shape = rows[0][2].shape
        count = np.asarray([row[0] for row in rows])
        wide = count.reshape(-1, *[1] * len(shape))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(wide > 0, np.stack([row[2] for row in rows]), np.nan)
            error = np.where(wide > 1, np.sqrt(np.stack([row[3] for row in rows]) / (wide - 1) / wide), np.nan)
        return Mean(mean, error, count, np.asarray([row[1] for row in rows]))

    def to_csv(self, path: str | os.PathLike[str], *, final: bool = False) -> Path:
        """Every finished part as comma-separated text, as `Result.to_csv` has it, part after part.

        Args:
          path: the file.
          final: the last record point only.

        Raises:
          InputError: when nothing is done, a part is damaged, or the path cannot be written.
        """
        path = export.file_of(path)
        header: dict[str, None] = {}
        for label in self.labels:
            for _, trials in itertools.islice(self.parts(label), 1):
                header |= dict.fromkeys(export.columns(label, trials))
        if not header:
            raise InputError(f"{self.path}: no part is done yet")
        files.make_directory(path.parent)
        with files.open_atomically(path) as file:
            file.write(_csv([list(header)]))
            for label, trials in self.parts():
                table = export.columns(label, trials)
                n = len(table["label"])
                kept = table["round"] == trials.horizon if final else np.ones(n, bool)
                lists = [
                    table[name][kept].tolist() if name in table else itertools.repeat("", int(kept.sum()))
                    for name in header
                ]
                file.write(_csv(zip(*lists, strict=True)))
        return path

    def to_parquet(self, path: str | os.PathLike[str], *, final: bool = False) -> Path:
        """Every finished part as one parquet file, in the columns of `to_csv`. Needs the extra `frames`.

        The table is in memory while it is written: a row per trial with `final`, one per record point without.

        Raises:
          InputError: as for `to_csv`.
        """
        if all(record is None for record in self._records.values()):
            raise InputError(f"{self.path}: no part is done yet")
        parts = ((label, trials.at_horizon() if final else trials) for label, trials in self.parts())
        return export.write_parquet(parts, path)

    def to_netcdf(self, path: str | os.PathLike[str], *, final: bool = False) -> Path:
        """`load()` as one NetCDF file, a group per label (`Result.to_netcdf`). Needs the extra `xarray`.

        Raises:
          InputError: as for `load`, or when the path cannot be written.
        """
        return self._joined(None, Trials.at_horizon if final else lambda trials: trials).to_netcdf(path)

    def _read(self, part: dict[str, Any]) -> Trials:
        record = self._records[part["name"]] or {}
        trials = Result.load(self._directory.result(part["name"]))[part["label"]]
        return dataclasses.replace(trials, timing=record["timing"])

    def _complete(self, label: str) -> list[dict[str, Any]]:
        """The finished parts of the points of which no seed is missing."""
        seeds: dict[tuple[int, ...], int] = {}
        parts = [part for part in self._manifest["parts"] if part["label"] == label]
        done = [part for part in parts if self._records[part["name"]] is not None]
        for part in done:
            key = tuple(part["positions"])
            seeds[key] = seeds.get(key, 0) + part["seeds"]
        whole = [p for p in done if seeds[tuple(p["positions"])] == self._manifest["labels"][label]["seeds"]]
        if len(whole) < len(parts):
            n = len({h for part in whole for h in part["positions"]})
            warnings.warn(
                f"{label}: {n:,} of {len(self.points(label)):,} points are complete; the others are left out",
                stacklevel=4,
            )
        return whole

    def _joined(self, label: str | None, reduced: Callable[[Trials], Trials]) -> Result:
        wanted = self.labels if label is None else (known("label", label, self.labels),)
        joined: dict[str, Trials] = {}
        info: dict[str, Any] = {}
        for name in wanted:
            results, order = [], {}
            for part in self._complete(name):
                results.append(Result({name: reduced(self._read(part))}, self._manifest["info"]))
                order |= dict.fromkeys(part["positions"])
            if not results:
                continue
            whole = merge(results)
            joined[name], info = _in_order(whole[name], np.argsort(list(order))), whole.info
        if not joined:
            raise InputError(f"{self.path}: no point of {', '.join(wanted)} is complete yet")
        return Result(joined, info)


def load_sweep(path: str | os.PathLike[str]) -> SweepResult:
    """The results of a sweep, by its directory; they are read when they are asked for.

    Raises:
      InputError: when the directory holds no sweep.
    """
    return SweepResult(path)


def _in_order(trials: Trials, order: np.ndarray) -> Trials:
    """The points in the order in which they were asked for."""
    return dataclasses.replace(
        trials,
        values={name: values[order] for name, values in trials.values.items()},
        points=tuple(trials.points[h] for h in order),
        healthy=trials.healthy[order],
        inadmissible=trials.inadmissible[order],
    )


def _pooled(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """Number, failures, mean and sum of squared deviations of two sets together."""
    n = a[0] + b[0]
    shift = b[2] - a[2]
    weight = b[0] / n if n else 0.0
    return n, a[1] + b[1], a[2] + weight * shift, a[3] + b[3] + shift**2 * (a[0] * weight)


def _csv(rows: Any) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()
