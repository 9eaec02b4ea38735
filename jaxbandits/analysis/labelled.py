"""Trials by label: the data of a result and their accessors, without summaries, figures or files."""

import dataclasses
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any

import numpy as np

from jaxbandits.analysis.info import RunInfo
from jaxbandits.analysis.trials import Trials, checked_name, in_order
from jaxbandits.base.deprecation import alias
from jaxbandits.base.errors import InputError


@dataclasses.dataclass(frozen=True)
class LabelledTrials:
    """Base class of `Result`, for functions that draw, compare and store results.

    In the shapes of arrays, H is the number of hyperparameter points, S of seeds and M of record points.

    Attributes:
      trials: mapping from labels to `Trials`.
      info: versions, devices, workers, wall time, start, base seed.
    """

    trials: dict[str, Trials]
    info: RunInfo = dataclasses.field(default_factory=RunInfo)

    def __getitem__(self, label: str) -> Any:  # noqa: ANN401 (a union would need a check at every use)
        """Return the trials of a label, or with only one label the values `[H, S, M, ...]` of a metric.

        Raises:
          InputError: for any other name.
        """
        if isinstance(label, str) and label not in self.trials and label in self.metrics:
            if len(self.trials) == 1:
                return self.get(label)
            first = next(name for name, trials in self.trials.items() if label in trials.values)
            raise InputError(
                f"{label!r} is a metric, but the result has several labels; choose a label, for example "
                f"result[{first!r}][{label!r}]"
            )
        return self.trials[checked_name("label", label, self.trials)]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the labels."""
        return iter(self.trials)

    def __len__(self) -> int:
        """Return the number of labels."""
        return len(self.trials)

    def keys(self) -> KeysView[str]:
        """Return the labels."""
        return self.trials.keys()

    def values(self) -> ValuesView[Trials]:
        """Return the trials of every label."""
        return self.trials.values()

    def items(self) -> ItemsView[str, Trials]:
        """Return pairs of label and trials."""
        return self.trials.items()

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels, in the order in which they were given."""
        return tuple(self.trials)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of all metrics that at least one label measured, `regret` first."""
        return in_order(name for trials in self.trials.values() for name in trials.metrics)

    def one(self, label: str | None) -> Trials:
        """Return the trials of a label, which may be omitted if there is only one.

        Raises:
          InputError: for an unknown label, or if no label is given although there are several.
        """
        if label is None and len(self.trials) != 1:
            raise InputError(f"the result has several labels; choose one of {', '.join(self.trials)} with label=")
        return (
            next(iter(self.trials.values()))
            if label is None
            else self.trials[checked_name("label", label, self.trials)]
        )

    def get(self, metric: str | None = None, label: str | None = None) -> np.ndarray:
        """Return the values `[H, S, M, ...]` of a metric (by default the first) and a label.

        The label is optional if there is only one.

        Raises:
          InputError: for unknown names, or if no label is given although there are several.
        """
        return self.one(label).get(metric)

    def final(self, metric: str | None = None, label: str | None = None) -> np.ndarray:
        """Return the values `[H, S, ...]` of a metric and a label, as for `get`, at the last record point."""
        return self.one(label).final(metric)

    def usable(self, metric: str | None = None, label: str | None = None) -> np.ndarray:
        """Return a mask `[H, S]` of the trials that did not fail and have a value at the last record point."""
        return self.one(label).usable(metric)

    def failures(self, metric: str | None = None, label: str | None = None) -> np.ndarray:
        """Return a mask `[H, S]` of the trials with a NaN or an infinity in the metric, or a NaN in their state."""
        return self.one(label).failures(metric)

    failed = alias(failures, "failed")

    def labels_with_metric(self, metric: str | None = None) -> tuple[str, dict[str, Trials]]:
        """Return the name of a metric (by default the first), and the labels that measured it with their trials.

        Raises:
          InputError: if no label measured it.
        """
        if not self.metrics:
            raise InputError("the result has no metrics")
        name = self.metrics[0] if metric is None else checked_name("metric", metric, self.metrics)
        return name, {label: trials for label, trials in self.trials.items() if name in trials.values}
