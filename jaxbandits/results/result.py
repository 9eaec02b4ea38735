"""Result of a run: a mapping from labels to trials, with methods for summaries, comparisons, figures and files."""

import dataclasses
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from jaxbandits.analysis import growth, intervals, pairs
from jaxbandits.analysis import select as select_lib
from jaxbandits.analysis import summary as summary_lib
from jaxbandits.analysis import table as table_lib
from jaxbandits.analysis.growth import Growth, HittingTime
from jaxbandits.analysis.labelled import LabelledTrials
from jaxbandits.analysis.pairs import Pair
from jaxbandits.analysis.result_table import ResultTable, TextTable
from jaxbandits.analysis.select import Best, By
from jaxbandits.analysis.summary import Row
from jaxbandits.analysis.trials import PointSelection, Trials, sizes
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.text import count_of
from jaxbandits.results import export, notebook, store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame as PandasFrame
    from polars import DataFrame as PolarsFrame
    from xarray import Dataset

_SHOWN = 5  # labels in `repr`


@dataclasses.dataclass(frozen=True)
class Result(LabelledTrials):
    """Result of a run: one set of trials per label, each with its points, seeds, record points and metrics.

    Attributes:
      trials: mapping from labels to `Trials`; `result[label]` is short for `result.trials[label]`.
      info: mapping with versions, devices, workers, wall time, start time and base seed.
    """

    def __repr__(self) -> str:
        """Return the labels with their sizes, and the metrics."""
        labels = [
            f"{table_lib.printable(label)}: {sizes(trials)}" for label, trials in list(self.trials.items())[:_SHOWN]
        ]
        if len(self.trials) > _SHOWN:
            labels.append(f"and {len(self.trials) - _SHOWN:,} more labels")
        return f"Result({'; '.join(labels)}; metrics {', '.join(self.metrics)})"

    def _repr_html_(self) -> str:
        """Return small HTML tables, which notebooks show."""
        return notebook.page(self)

    def summary(self, metric: str | None = None, level: float = 0.95, **at: int) -> list[Row]:
        """Return a row per label, hyperparameter point and entry of a metric, at the last record point.

        A warning is issued if trials failed, lack a value or had inadmissible decisions, and if there are fewer than 50
        seeds (t-intervals of skewed regret are then too short). If no value is negative, intervals are cut off at zero.
        Indicators such as `correct` have the exact intervals of Clopper and Pearson.

        Args:
          metric: name of the metric; the first by default.
          level: coverage of the interval of the mean, in (0, 1).
          **at: index on an axis of a vector metric, such as `group=2`; all entries by default.

        Raises:
          InputError: for an unknown name, an index out of range, or a level outside (0, 1).
        """
        level = intervals.checked_level(level)
        metric, of = self.labels_with_metric(metric)
        found = list(summary_lib.rows(metric, of, level, at))
        summary_lib.warn(metric, of, stacklevel=2)
        return found

    def table(self, metric: str | None = None, level: float = 0.95, **at: int) -> TextTable:
        """Return `summary` as aligned text, as on the command line; a notebook shows it as HTML.

        `ns/round` is the wall time that a worker spends on one round of one trial, in nanoseconds, without compilation
        (median over batches). It is longer if workers share cores, so compare it only within one run. The returned
        table has a method `to_latex`.

        Raises:
          InputError: as for `summary`.
        """
        level = intervals.checked_level(level)
        metric, of = self.labels_with_metric(metric)
        rows = list(summary_lib.rows(metric, of, level, at))
        summary_lib.warn(metric, of, stacklevel=2)
        kind = summary_lib.kind_of_interval(metric, of)
        return TextTable(*table_lib.cells(rows, metric, level, kind), {"ns/round": table_lib.NS_PER_ROUND})

    @overload
    def best(
        self,
        metric: str | None = None,
        *,
        by: Literal["environment"],
        minimise: bool = True,
        select: float = 0.5,
        level: float = 0.95,
    ) -> dict[str, ResultTable[Best]]: ...

    @overload
    def best(
        self,
        metric: str | None = None,
        *,
        by: By = "mean",
        minimise: bool = True,
        select: float = 0.5,
        level: float = 0.95,
    ) -> dict[str, Best]: ...

    def best(
        self,
        metric: str | None = None,
        *,
        by: Any = "mean",
        minimise: bool = True,
        select: float = 0.5,
        level: float = 0.95,
    ) -> Any:
        """Choose the best hyperparameter point of every label on the first seeds, and evaluate it on the other seeds.

        A warning is issued if points differ in a field of the environment and `by` is not `"environment"`, since the
        best point may then be the point with the easiest environment.

        Args:
          metric: name of the metric, taken at the horizon; the first by default.
          by: criterion on the selection seeds: `"mean"`, `"median"`, or a function of the values `[seeds, ...]` of one
            point; `"environment"` chooses by the mean, separately for every point of the environment. A trial that
            failed or has no value counts as infinitely bad.
          minimise: True if smaller values are better.
          select: fraction, in (0, 1), or number of the seeds that are used for the choice.
          level: coverage of the interval on the evaluation seeds.

        Returns:
          A dict that maps each label that measured the metric to a `Best` or, with `by="environment"`, to a table with
          a `Best` for each point of the environment.

        Raises:
          InputError: for an unknown name, an invalid criterion, a vector metric if `by` is not a function, too few
            seeds, or if every point has a trial that failed or has no value among the selection seeds.
        """
        select_lib.check_criterion(by, minimise)
        level = intervals.checked_level(level)
        metric, of = self.labels_with_metric(metric)
        if by == select_lib.ENVIRONMENT:
            settings = minimise, select, level
            return {k: select_lib.best_by_environment(k, trials, metric, *settings) for k, trials in of.items()}
        select_lib.warn_of_environments(of, stacklevel=2)
        return {k: select_lib.best(k, trials, metric, by, minimise, select, level) for k, trials in of.items()}

    def paired_difference(
        self, first: str, second: str, metric: str | None = None, level: float = 0.95
    ) -> intervals.Estimate:
        """Estimate the mean of `first - second` at the horizon over the seeds that both labels ran.

        Each label is taken at its own horizon. A seed has the same instance and noise for all labels with the same
        environment. The h-th point of one label is paired with the h-th point of the other. A seed on which a trial of
        any point failed is left out, with a warning.

        Returns:
          An `Estimate` with arrays `[H, ...]`, one entry for each of the H points.

        Raises:
          InputError: for an unknown name, for one label twice, or for labels without common seeds or with different
            numbers of points or shapes of the metric.
        """
        level = intervals.checked_level(level)
        a, b = self.one(first), self.one(second)
        if first == second:
            raise InputError(f"the labels to compare must differ, got {first!r} twice")
        metric = a.metric(metric)
        b.metric(metric)
        if len(a.points) != len(b.points) or a.get(metric).shape[3:] != b.get(metric).shape[3:]:
            raise InputError(
                f"{first} and {second} cannot be paired, because their shapes differ: {_shape(a, metric)} and "
                f"{_shape(b, metric)}"
            )
        common, at_a, at_b = np.intersect1d(a.seeds, b.seeds, assume_unique=True, return_indices=True)
        if not len(common):
            raise InputError(f"{first} and {second} have no seed in common")
        good = (a.usable(metric)[:, at_a] & b.usable(metric)[:, at_b]).all(axis=0)
        failed = int(len(common) - good.sum())
        if failed:
            warnings.warn(
                f"on {failed} of {len(common)} common seeds a trial failed or has no value; these seeds are left out",
                stacklevel=2,
            )
        difference = a.final(metric)[:, at_a[good]] - b.final(metric)[:, at_b[good]]
        return intervals.t_interval(difference, axis=1, level=level)._replace(failed=failed)

    def pairs(
        self,
        metric: str | None = None,
        *,
        points: PointSelection = None,
        level: float | None = None,
        margin: float | None = None,
    ) -> ResultTable[Pair]:
        """Compare all pairs of labels or hyperparameter points at the horizon, on their common seeds.

        If labels have different horizons, each is taken at its own. For each pair, the returned table has the mean
        difference and the share of seeds on which the first ends below the second (the probability of improvement),
        with intervals that hold simultaneously with probability `level` (Bonferroni). Intervals of means are corrected
        for skewness, but need about 50 seeds if the skewness is strong (`jaxbandits.analysis.pairs` has the measured
        errors). After `compare(..., until=...)` the intervals of the metric on which the run stopped take the
        data-dependent stopping into account; those of other metrics do not. A difference that is the same on all seeds
        decides nothing.

        Args:
          metric: name of the metric; the first by default.
          points: points of the swept labels, as for `plot`; at most 20 points of all labels can be compared.
          level: simultaneous coverage of all intervals; the default is the level of `until`, or else 0.95.
          margin: largest irrelevant difference, in units of the metric; a pair is comparable if its interval lies
            between -margin and margin. The default is the margin of `until`, or else 0, with which no pair is
            comparable.

        Raises:
          InputError: for an unknown name, fewer than two or more than 20 contestants, a vector metric, or no common
            seeds.
        """
        metric, of = self.labels_with_metric(metric)
        until = self.info.get("until")
        looks, seeds_per_look, usual_level, usual_margin = 1, None, 0.95, 0.0
        if until is not None and until["metric"] == metric:
            looks, seeds_per_look = until["looks"], until["seeds_per_look"]
            usual_level, usual_margin = until["level"], until["margin"]
        level = usual_level if level is None else level
        margin = usual_margin if margin is None else margin
        return pairs.pairs(pairs.contestants(of, points), metric, level, looks, seeds_per_look, margin)

    def growth(self, metric: str | None = None, *, since: float = 0.1, level: float = 0.95) -> ResultTable[Growth]:
        """Estimate the growth exponent of a mean, its slope on log-log axes over the rounds, for each label and point.

        The exponent is NaN if a trial has no value at one of the record points (`may_be_missing`); a larger `since`
        omits early ones.

        Args:
          metric: name of a metric with positive mean; the first by default.
          since: fraction of the horizon; only record points from round `since * horizon` onwards are used.
          level: coverage of each interval (delete-one jackknife over seeds; infinite if at some record point fewer
            than about five of many trials have a value other than 0).

        Raises:
          InputError: for an unknown name, a vector metric, or too few record points.
        """
        metric, of = self.labels_with_metric(metric)
        return growth.growth(of, metric, since, intervals.checked_level(level))

    def time_to(
        self, metric: str | None, threshold: float, *, above: bool = False, level: float = 0.95
    ) -> ResultTable[HittingTime]:
        """Find the first record point at which a metric is at or below a threshold, for each label and point.

        Args:
          metric: name of the metric; None for the first.
          threshold: the threshold, in units of the metric.
          above: True to find values at or above the threshold instead.
          level: coverage of the intervals for the share of trials that reach the threshold (exact), and for the median
            round (order statistics). The median is infinite if fewer than half of the trials reach the threshold.

        Raises:
          InputError: for an unknown name or a vector metric.
        """
        metric, of = self.labels_with_metric(metric)
        return growth.hitting_times(of, metric, threshold, above, intervals.checked_level(level))

    def only(self, points: Mapping[str, Any]) -> "Result":
        """Return a result with some of the labels, each at some of its points.

        Args:
          points: mapping from the labels to points, as for `plot`; None stands for all points of a label.

        Raises:
          InputError: for an unknown label or point.
        """
        if not isinstance(points, Mapping) or not points:
            raise InputError(f"`only` needs a mapping from labels to points, got {format_value(points)}")
        return Result({label: self.one(label).at(which) for label, which in points.items()}, self.info)

    def plot(
        self,
        metric: str | None = None,
        *,
        x: str = "round",
        algorithms: Sequence[str] | None = None,
        points: PointSelection = None,
        ax: "Axes | None" = None,
        band: str = "mean",
        xscale: str | None = None,
        **settings: Any,
    ) -> "Axes":
        """Draw a curve for each label, hyperparameter point and entry of a vector metric, and return the axes.

        A figure has at most 20 curves. Failed trials are omitted, and the legend counts them. A label has the same
        colour, line style and marker in all figures of a result.

        Args:
          metric: name of the metric; the first by default.
          x: quantity on the x-axis: `"round"`, or the name of a recorded metric, which is averaged over seeds (those on
            which both metrics have a value); this metric must be scalar or have the axes of `metric`.
          algorithms: labels to draw; by default all labels that measured the metric. Colours do not depend on this
            choice.
          points: points of the swept labels: mapping from fields to one or several values, such as `{"ridge": 0.1}`, or
            list of positions; by default all points.
          ax: axes to draw on; a new figure by default.
          band: `"mean"` (mean with t-interval, or exact interval of an indicator) or `"quantile"` (median with a band
            from the 10 % to the 90 % quantile).
          xscale: `"linear"`, `"log"` or `"symlog"`. The default is `"log"` if x is `"round"` and the record points are
            spaced geometrically (`record_points="log"`), and `"linear"` otherwise.
          **settings: indices on the axes of a vector metric, such as `group=2`. All other settings, such as
            `linewidth=2`, are passed to `matplotlib.axes.Axes.plot`.

        Raises:
          InputError: for an unknown name or setting, and for more than 20 curves.
        """
        from jaxbandits.plots import curves

        return curves.draw(
            self, metric, x=x, algorithms=algorithms, points=points, ax=ax, band=band, xscale=xscale, **settings
        )

    def heatmap(
        self,
        metric: str | None = None,
        first: str | None = None,
        second: str | None = None,
        *,
        label: str | None = None,
        points: PointSelection = None,
        ax: "Axes | None" = None,
        scale: str = "auto",
        minimise: bool = True,
        **at: int,
    ) -> "Axes":
        """Draw a heat map of the mean at the horizon over two swept fields, and return the axes.

        Failed trials are omitted, and the title counts them. The best cell is framed. If there are at most 100 cells,
        the means are printed in them.

        Args:
          metric: name of the metric; None for the first.
          first: the field on the x-axis; `first` and `second` may both be omitted if exactly two fields are swept.
          second: the field on the y-axis.
          label: label to draw; may be omitted if there is only one.
          points: selection of points, as for `plot`; required if more than two fields are swept.
          ax: axes to draw on; a new figure by default.
          scale: colour scale: `"linear"`, `"log"`, or `"auto"`, which is logarithmic if all means are positive and the
            largest is at least 100 times the smallest.
          minimise: True if the smallest mean is the best.
          **at: index on each axis of a vector metric, by the name of the axis.

        Raises:
          InputError: for an unknown name, if two points fall into one cell, or if the scale is logarithmic and a mean
            is not positive.
        """
        from jaxbandits.plots import curves

        return curves.heatmap(self.one(label), metric, (first, second), points, ax, scale, minimise, at)

    def sensitivity(
        self,
        metric: str | None,
        field: str,
        *,
        points: PointSelection = None,
        ax: "Axes | None" = None,
        level: float = 0.95,
    ) -> "Axes":
        """Draw the mean at the horizon, with an interval, against one swept field, and return the axes.

        There is a curve for each label that sweeps this field, and for each combination of values of its other swept
        fields; other labels are left out. A field that equals this one at all points, such as the dimension of the
        environment and that of the learner, belongs to the x-axis too. Failed trials are omitted, and the legend counts
        them.

        Args:
          metric: name of the metric; None for the first.
          field: the swept field, whose values must be finite numbers.
          points: selection of points, as for `plot`.
          ax: axes to draw on; a new figure by default.
          level: coverage of each interval.

        Raises:
          InputError: for an unknown name, a field with values that are not finite numbers, a vector metric, or more
            than 20 curves.
        """
        from jaxbandits.plots import contrast

        return contrast.sensitivity(self, metric, field, points, ax, level)

    def contrast(
        self,
        first: str,
        second: str,
        metric: str | None = None,
        *,
        x: str,
        y: str | None = None,
        points: PointSelection = None,
        ax: "Axes | None" = None,
        level: float = 0.95,
    ) -> "Axes":
        """Draw the paired mean difference of two labels over one or two swept fields, and return the axes.

        Intervals hold simultaneously (Bonferroni over the points in the figure). With one field, a question mark means
        that the interval is unbounded, as for a difference that is the same on all seeds. With two fields, the figure
        is a map, in which a question mark means that the interval contains zero. A seed on which a trial failed is left
        out of its point, and the title counts these pairs of trials.

        Args:
          first: the label from which `second` is subtracted.
          second: the label that is subtracted; it must have the same points as `first`, as after `sweep({"a": ..., "b":
            ...}, ...)`.
          metric: name of the metric; the first by default.
          x: the field on the x-axis, such as `environment.noise.df`.
          y: the field on the y-axis, if any.
          points: selection of points, as for `plot`.
          ax: axes to draw on; a new figure by default.
          level: simultaneous coverage of all intervals.

        Raises:
          InputError: for an unknown name, different points, a vector metric, no common seeds, several points at the
            same place in the figure, or values that are not finite numbers on the axis of a single field.
        """
        from jaxbandits.plots import contrast

        return contrast.contrast(self, (first, second), metric, (x, y), points, ax, level)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one compressed npz file with a JSON header, atomically, and return its path.

        `.npz` is appended to the path if it is missing.

        Raises:
          InputError: if the path cannot be written, or has the suffix of another format, such as `.csv` (`to_csv`).
        """
        return store.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Result":
        """Read a result from a file that `save` wrote (`.npz` may be omitted); no code is executed.

        Raises:
          InputError: if the file is missing, is damaged or is not a result; the message names the file.
        """
        return cls(*store.load(path))

    def to_xarray(self) -> "dict[str, Dataset]":
        """Return a dict from labels to `xarray.Dataset`s (needs the extra `xarray`).

        There is a dataset for each label, since labels may differ in points and seeds.

        The first dimensions are the swept fields if the points form a full grid (so that `sel(ridge=0.1)` works);
        otherwise the first dimension is `point`, with the fields as coordinates. The dimensions `seed`, `round` and the
        named axes of a metric follow.
        """
        return {label: export.dataset(trials, self.info) for label, trials in self.trials.items()}

    def to_polars(self) -> "PolarsFrame":
        """Return a tidy `polars.DataFrame` with a row per label, point, seed and round (needs the extra `frames`).

        The columns are label, swept fields, seed, round, healthy, inadmissible, and metrics; a vector metric has one
        column per entry, such as `risk[2]`. The names of a field or scalar metric that are taken have the endings
        " (field)" and " (metric)". Fields and metrics that a label lacks are null.
        """
        return export.polars(self.trials)

    def to_pandas(self) -> "PandasFrame":
        """Return the table of `to_polars` as a `pandas.DataFrame` (needs pandas)."""
        return export.pandas(self.trials)

    def summary_frame(self, metric: str | None = None, level: float = 0.95, **at: int) -> "PolarsFrame":
        """Return `summary` as a `polars.DataFrame` with a row per label, point and entry (needs the extra `frames`).

        Raises:
          InputError: as for `summary`.
        """
        return export.summary(self.summary(metric, level, **at))

    def to_parquet(self, path: str | os.PathLike[str]) -> Path:
        """Write the table of `to_polars` as a parquet file, and return the path (needs the extra `frames`).

        Raises:
          InputError: if the path cannot be written.
        """
        return export.write_parquet(self.trials.items(), path)

    def to_netcdf(self, path: str | os.PathLike[str]) -> Path:
        """Write the datasets of `to_xarray` as one NetCDF file with a group for each label, and return the path.

        This method needs the extra `xarray`.

        `xarray.open_datatree(path, engine="h5netcdf")` reads the file, and `xarray.open_dataset(path,
        engine="h5netcdf", group=label)` reads one label; a slash in a label is written as a hyphen.

        Raises:
          InputError: if the path cannot be written.
        """
        return export.write_netcdf(self.to_xarray(), path)

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the table of `to_polars` as comma-separated text, and return the path.

        An apostrophe precedes labels and other text that a spreadsheet would run as a formula, such as "=x" or "-x".

        Raises:
          InputError: if the path cannot be written.
        """
        return export.write_csv(self.trials, path)


def _shape(trials: Trials, metric: str) -> str:
    return " x ".join(map(str, (count_of(len(trials.points), "point"), *trials.get(metric).shape[3:])))
