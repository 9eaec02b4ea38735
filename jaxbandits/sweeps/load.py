"""Results of a sweep, read part by part on request."""

import dataclasses
import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.analysis.info import RunInfo
from jaxbandits.analysis.trials import Trials, checked_name
from jaxbandits.base import files
from jaxbandits.base.errors import InputError
from jaxbandits.base.forms import JsonObject
from jaxbandits.results import export
from jaxbandits.results.merge import join, point_key
from jaxbandits.results.result import Result
from jaxbandits.sweeps.directory import Directory


class Mean(NamedTuple):
    """Mean curves of the points of a label, averaged over seeds; failed trials and missing values are excluded."""

    mean: np.ndarray  # [H, M, ...]
    error: np.ndarray  # [H, M, ...] standard error of the mean; NaN for fewer than two trials
    trials: np.ndarray  # [H] number of trials in the mean at the horizon, of any entry if the metric is a vector
    failed: np.ndarray  # [H] number of failed trials


class SweepResult:
    """Results of a sweep in a directory, complete or not; result files are read only when a method needs them."""

    def __init__(self, path: str | os.PathLike[str]):
        """Read the manifest.

        Args:
          path: the directory of the sweep.

        Raises:
          InputError: if the directory holds no sweep.
        """
        self._directory = Directory(path)
        self._manifest = self._directory.read_manifest()
        self._records = {part["name"]: self._directory.read_record(part["name"]) for part in self._manifest["parts"]}

    def __repr__(self) -> str:
        """Show the labels and the number of finished parts."""
        n_done = sum(record is not None for record in self._records.values())
        return f"SweepResult({self.path}: {n_done:,} of {len(self._records):,} parts done; {', '.join(self.labels)})"

    @property
    def path(self) -> Path:
        """Directory of the sweep."""
        return self._directory.path

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels in the order of the sweep."""
        return tuple(self._manifest["labels"])

    @property
    def failures(self) -> dict[str, str]:
        """Dict from the names of the parts that failed to their error messages."""
        found = {name: self._directory.read_failure(name) for name, record in self._records.items() if record is None}
        return {name: error for name, error in found.items() if error is not None}

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the parts that are not done, including those that failed."""
        return tuple(name for name, record in self._records.items() if record is None)

    def points(self, label: str) -> list[dict[str, Any]]:
        """Return all hyperparameter points of a label, whether computed or not.

        Raises:
          InputError: for an unknown label.
        """
        return self._manifest["labels"][checked_name("label", label, self.labels)]["points"]

    def parts(self, label: str | None = None) -> Iterator[tuple[str, Trials]]:
        """Yield the label and the trials of each finished part, which is read when the iterator reaches it.

        Raises:
          InputError: for an unknown label or a damaged part (running the sweep again replaces it).
        """
        wanted = self.labels if label is None else (checked_name("label", label, self.labels),)
        for part in self._manifest["parts"]:
            if part["label"] in wanted and self._records[part["name"]] is not None:
                yield part["label"], self._read(part)

    def load(self, label: str | None = None) -> Result:
        """Load the results of one label, or of all labels; points that lack seeds are omitted, with a warning.

        Raises:
          InputError: for an unknown label, a damaged part, or if no point is complete.
        """
        return self._join(label, lambda trials: trials)

    def final(self, metric: str | None = None, label: str | None = None) -> Result:
        """Load one metric (by default the first) at the horizon, of one label or of all labels.

        The result has one record point; `table`, `best`, `heatmap` and `paired_difference` work on it.

        Raises:
          InputError: as for `load`, and for an unknown metric.
        """

        def keep_final(trials: Trials) -> Trials:
            name = trials.metric(metric)
            return dataclasses.replace(
                trials,
                values={
                    name: trials.values[name][:, :, -1:].copy()
                },  # copy, since a view would keep the whole part in memory
                record_points=trials.record_points[-1:],
                healthy=~trials.failures(name),  # checked at all record points, although only the last is returned
                axes={k: v for k, v in trials.axes.items() if k == name},
                units={k: v for k, v in trials.units.items() if k == name},
            )

        return self._join(label, keep_final)

    def mean(self, metric: str | None = None, label: str | None = None) -> Mean:
        """Return the mean curves of a metric at the points of a label; the memory needed does not grow with the seeds.

        Raises:
          InputError: for an unknown name, a damaged part, if `label` is None and there are several, or if no point is
            complete.
        """
        if label is None and len(self.labels) > 1:
            raise InputError(f"the sweep has several labels; choose one of {', '.join(self.labels)} with label=")
        label = next(iter(self.labels)) if label is None else checked_name("label", label, self.labels)
        moments: dict[int, _Moments] = {}  # by position of the point
        for part in self._complete(label):
            trials = self._read(part)
            values, failed = trials.get(metric), trials.failures(metric)
            has_value = np.isfinite(values[:, :, -1:])  # [H, S, 1, ...], as in the summary of a result
            has_any = has_value.any(axis=tuple(range(2, has_value.ndim))) & ~failed
            for h, position in enumerate(part["positions"]):
                kept = np.where(has_value[h], values[h], np.nan)[has_any[h]]
                new = _moments(kept, int(failed[h].sum()))
                moments[position] = _pool(moments[position], new) if position in moments else new
        if not moments:
            raise InputError(f"{self.path}: no point of {label} is complete yet")
        rows = [moments[position] for position in sorted(moments)]
        n, means, squares = (np.stack([getattr(row, name) for row in rows]) for name in ("n", "mean", "squares"))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(n > 0, means, np.nan)
            error = np.where(n > 1, np.sqrt(squares / (n - 1) / n), np.nan)
        counts, failed = (np.asarray([getattr(row, name) for row in rows]) for name in ("trials", "failed"))
        return Mean(mean=mean, error=error, trials=counts, failed=failed)

    def to_csv(self, path: str | os.PathLike[str], *, final: bool = False) -> Path:
        """Write the finished parts as comma-separated text with the columns of `Result.to_csv`, and return the path.

        Args:
          path: the file.
          final: write only the last record point; a trial that failed at an earlier one is not `healthy`.

        Raises:
          InputError: if no part is done, a part is damaged, or the path cannot be written.
        """
        path = files.path_of(path)
        header: dict[str, None] = {}
        for part in self._first_parts():
            header |= dict.fromkeys(export.columns(part["label"], self._read(part)))
        if not header:
            raise InputError(f"{self.path}: no part is done yet")
        files.make_directory(path.parent)
        with files.open_atomically(path) as file:
            file.write(export.csv_text([header]).encode())
            for label, trials in self.parts():
                table = export.columns(label, trials.at_horizon() if final else trials)
                n = len(table["label"])
                columns = [table[name].tolist() if name in table else itertools.repeat("", n) for name in header]
                file.write(export.csv_text(zip(*columns, strict=True)).encode())
        return path

    def to_parquet(self, path: str | os.PathLike[str], *, final: bool = False) -> Path:
        """Write the finished parts as one parquet file with the columns of `to_csv`, and return the path.

        Needs the extra `frames`.

        The table is built in memory; it has one row per trial if `final` is True, else one per trial and record point.

        Raises:
          InputError: as for `to_csv`.
        """
        if all(record is None for record in self._records.values()):
            raise InputError(f"{self.path}: no part is done yet")
        parts = ((label, trials.at_horizon() if final else trials) for label, trials in self.parts())
        return export.write_parquet(parts, path)

    def to_netcdf(self, path: str | os.PathLike[str], *, final: bool = False) -> Path:
        """Write `load()` as one NetCDF file with a group per label (`Result.to_netcdf`), and return the path.

        Needs the extra `xarray`. If `final` is True, the file has only the last record point.

        Raises:
          InputError: as for `load`, or if the path cannot be written.
        """
        return self._join(None, Trials.at_horizon if final else lambda trials: trials).to_netcdf(path)

    def _read(self, part: JsonObject) -> Trials:
        record, path = self._records[part["name"]] or {}, self._directory.result_path(part["name"])
        if not self._directory.manifest.exists():  # a path may be relative to another working directory
            raise InputError(f"{self.path} holds no sweep any more: it was moved, or the working directory has changed")
        if not self._directory.is_intact(part["name"], record):
            raise InputError(f"{path} is not the file that the sweep recorded; run the sweep again to replace it")
        result = Result.load(path)
        own = self._manifest["labels"][part["label"]].get("digest")
        if part["label"] not in result or result[part["label"]].spec.get("digest") != own:
            raise InputError(f"{path} is a part of another sweep; run the sweep again to replace it")
        trials = result[part["label"]]
        return dataclasses.replace(trials, timing=record["timing"])

    def _first_parts(self) -> list[JsonObject]:
        """Return the first finished part of every program, since the columns of a part are those of its program."""
        found: dict[str, JsonObject] = {}
        for label in self.labels:
            for part in self._manifest["parts"]:
                if part["label"] == label and self._records[part["name"]] is not None:
                    found.setdefault(part["name"].partition("-")[0], part)
        return list(found.values())

    def _complete(self, label: str) -> list[JsonObject]:
        """Return the finished parts of the points that have all seeds."""
        seeds: dict[tuple[int, ...], int] = {}
        parts = [part for part in self._manifest["parts"] if part["label"] == label]
        done = [part for part in parts if self._records[part["name"]] is not None]
        for part in done:
            key = tuple(part["positions"])
            seeds[key] = seeds.get(key, 0) + part["seeds"]
        complete = [p for p in done if seeds[tuple(p["positions"])] == self._manifest["labels"][label]["seeds"]]
        if len(complete) < len(parts):
            n = len({h for part in complete for h in part["positions"]})
            warnings.warn(
                f"{label}: {n:,} of {len(self.points(label)):,} points are complete; the other points are left out",
                stacklevel=4,
            )
        return complete

    def _join(self, label: str | None, reduce: Callable[[Trials], Trials]) -> Result:
        labels = self.labels if label is None else (checked_name("label", label, self.labels),)
        joined: dict[str, Trials] = {}
        info = RunInfo()
        for name in labels:
            results, keys = [], {}  # keys of points by position
            for part in self._complete(name):
                results.append(Result({name: reduce(self._read(part))}, self._manifest["info"]))
                keys |= dict(zip(part["positions"], map(point_key, results[-1][name].points), strict=True))
            if not results:
                continue
            merged = join(results)
            rows = {key: h for h, key in enumerate(map(point_key, merged[name].points))}
            # Equal points of a grid, which have equal trials, may be one row.
            order = np.array([rows[keys[position]] for position in sorted(keys)])
            joined[name], info = _reorder(merged[name], order), merged.info
        if not joined:
            raise InputError(f"{self.path}: no point of {', '.join(labels)} is complete yet")
        return Result(joined, info)


def load_sweep(path: str | os.PathLike[str]) -> SweepResult:
    """Return the results of the sweep in a directory; result files are read only when they are needed.

    Raises:
      InputError: if the directory holds no sweep.
    """
    return SweepResult(path)


def _reorder(trials: Trials, order: np.ndarray) -> Trials:
    """Return the trials with the points in another order."""
    return dataclasses.replace(
        trials,
        values={name: values[order] for name, values in trials.values.items()},
        points=tuple(trials.points[h] for h in order),
        healthy=trials.healthy[order],
        inadmissible=trials.inadmissible[order],
    )


class _Moments(NamedTuple):
    """Sums over a set of trials of one point."""

    trials: int  # number of trials
    failed: int  # number of failed trials, which are not among them
    n: np.ndarray  # [M, ...] number of values, without missing ones
    mean: np.ndarray  # [M, ...] mean of the values; 0 without values
    squares: np.ndarray  # [M, ...] sum of squared deviations from the mean


def _moments(values: np.ndarray, failed: int) -> _Moments:
    """Return the moments of values `[trials, M, ...]`, in which NaN stands for a missing value."""
    is_present = ~np.isnan(values)
    n = is_present.sum(axis=0)
    mean = np.where(is_present, values, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = (np.where(is_present, values - mean, 0.0) ** 2).sum(axis=0)
    return _Moments(trials=len(values), failed=failed, n=n, mean=mean, squares=squares)


def _pool(a: _Moments, b: _Moments) -> _Moments:
    """Return the moments of the union of two sets of trials."""
    n, shift = a.n + b.n, b.mean - a.mean
    weight = b.n / np.maximum(n, 1)
    return _Moments(
        trials=a.trials + b.trials,
        failed=a.failed + b.failed,
        n=n,
        mean=a.mean + weight * shift,
        squares=a.squares + b.squares + shift**2 * (a.n * weight),
    )
