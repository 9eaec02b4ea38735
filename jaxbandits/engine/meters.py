"""Meters, which measure metrics in every round and reduce them over the block of rounds between two record points.

Every field of an environment's `Outcome` is summed; further meters are functions of a `Round`. Only the values of
blocks are stored, so that memory does not grow with the horizon, and they are combined on the host in float64. Within a
block, plain sums over up to `STRETCH` rounds are added by a compensated sum. In float32 a block of any length then has
a relative error of about 1e-6 (float32/test_sums.py::test_sums_between_record_points).
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.types import Decision, Feedback, Obs, Outcome, State

STRETCH = 256  # number of rounds in a plain sum


class Round(NamedTuple):
    """One round of one trial, which a meter receives as its argument."""

    t: jax.Array  # [] number of rounds finished before this one
    algorithm: Any  # hyperparameters
    environment: Any
    env_state: State  # state of the environment before the round
    state: State  # state of the learner before the round
    next_state: State  # state of the learner after its update
    obs: Obs
    decision: Decision
    feedback: Feedback  # complete feedback of the environment
    outcome: Outcome


Reduction: TypeAlias = Literal["sum", "max", "last", "snapshot"]  # over the rounds between two record points
Reduce: TypeAlias = Literal["sum", "max", "last"]  # reductions of a meter, which is measured in every round


class Metric(NamedTuple):
    """Name of a metric, with the reduction of its values over a block of rounds.

    `sum`, `max` and `last` reduce values that are measured in every round; a `snapshot` is taken only at record points.
    """

    reduction: Reduction
    name: str

    def __str__(self) -> str:
        """Return the text `reduction:name` that files use."""
        return f"{self.reduction}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> "Metric":
        """Return the metric that a text `reduction:name` of a file denotes.

        Raises:
          InputError: if the text has no known reduction or no name.
        """
        spelled, _, name = text.partition(":")
        for reduction in get_args(Reduction):
            if spelled == reduction and name:
                return cls(reduction, name)
        raise InputError(f"a metric must be written as reduction:name, got {format_value(text)}")

    @property
    def rank(self) -> tuple[int, str]:
        """Sort key for the metrics of a run; sums (such as regret) come first and snapshots last."""
        return get_args(Reduction).index(self.reduction), self.name

    @property
    def initial(self) -> float:
        """Value of a block without rounds."""
        return -np.inf if self.reduction == "max" else 0.0

    def is_compensated(self, x: Any) -> bool:
        """Return True if values `x` of the metric are floats that are summed, which is done with compensation."""
        return self.reduction == "sum" and bool(jnp.issubdtype(x.dtype, jnp.floating))

    def add(self, total: jax.Array, value: jax.Array) -> jax.Array:
        """Return the reduction of `total` and the value of one further round."""
        if self.reduction == "sum":
            return total + value
        return jnp.maximum(total, value) if self.reduction == "max" else value

    def accumulate(self, block_values: np.ndarray) -> np.ndarray:
        """Return the float64 values at M record points, from values `[trials, M, ...]` of the blocks that end there."""
        block_values = block_values.astype(np.float64)
        if self.reduction == "sum":
            return np.cumsum(block_values, axis=1)
        return np.maximum.accumulate(block_values, axis=1) if self.reduction == "max" else block_values


@dataclasses.dataclass(frozen=True)
class Meter:
    """Metric that is measured in every round, a number or an array, with its entrywise reduction over rounds.

    Attributes:
      name: name of the metric.
      measure: function from a `Round` to a number, or to an array of the same shape in every round.
      reduce: `"sum"` (cumulative), `"max"` (running maximum) or `"last"` (value of the latest round).
      axes: names of the axes, if the metric is an array.
      unit: unit of the metric, for tables and figures.
    """

    name: str
    measure: Callable[[Round], Any]
    reduce: Reduce = "sum"
    axes: tuple[str, ...] = ()
    unit: str = ""

    @property
    def metric(self) -> Metric:
        """Name and reduction of this meter, as a `Metric`."""
        return Metric(self.reduce, self.name)


def check_meters(meters: object) -> tuple[Meter, ...]:
    """Check a list of meters and return it as a tuple.

    Raises:
      InputError: unless `meters` is a list of meters with different names and known reductions.
    """
    if not isinstance(meters, (list, tuple)) or not all(isinstance(meter, Meter) for meter in meters):
        raise InputError(f"meters must be a list of Meter objects, got {format_value(meters)}")
    for meter in meters:
        if (
            not isinstance(meter.name, str)
            or not meter.name.strip()
            or ":" in meter.name
            or not meter.name.isprintable()
        ):
            raise InputError(
                f"the name of a meter must be one line of text without a colon, got {format_value(meter.name)}"
            )
        if not callable(meter.measure):
            raise InputError(
                f"meter {meter.name!r}: measure must be a function of a Round, got {format_value(meter.measure)}"
            )
        if not isinstance(meter.reduce, str) or meter.reduce not in get_args(Reduce):
            allowed = ", ".join(get_args(Reduce))
            raise InputError(f"meter {meter.name!r}: reduce must be one of {allowed}, got {format_value(meter.reduce)}")
        if not isinstance(meter.axes, tuple) or not all(isinstance(axis, str) for axis in meter.axes):
            raise InputError(f"meter {meter.name!r}: axes must be a tuple of names, got {format_value(meter.axes)}")
        if not isinstance(meter.unit, str):
            raise InputError(f"meter {meter.name!r}: unit must be text, got {format_value(meter.unit)}")
    names = [meter.name for meter in meters]
    if len(set(names)) < len(names):
        raise InputError(f"meters must have different names, got {', '.join(names)}")
    return tuple(meters)


class Totals(NamedTuple):
    """Running values of the metrics over the rounds since the last record point."""

    recent: dict[Metric, jax.Array]  # values of the rounds since the last multiple of `STRETCH`
    earlier: dict[Metric, CompensatedSum]  # sums of floats over the rounds up to that multiple

    @classmethod
    def init(cls, shapes: Mapping[Metric, Any], full: Callable[..., Any] = jnp.full) -> "Totals":
        """Return the totals before any round.

        Args:
          shapes: mapping from metrics to shapes and types of their values.
          full: function that creates arrays; `np.full` creates them on the host.
        """
        recent = {metric: full(x.shape, metric.initial, x.dtype) for metric, x in shapes.items()}
        zeros = {metric: full(x.shape, 0.0, x.dtype) for metric, x in shapes.items() if metric.is_compensated(x)}
        return cls(recent, {metric: CompensatedSum(x, x) for metric, x in zeros.items()})

    def add(self, metrics: Mapping[Metric, jax.Array]) -> "Totals":
        """Return the totals after one further round with the given metrics."""
        return self._replace(recent={metric: metric.add(self.recent[metric], x) for metric, x in metrics.items()})

    def fold(self) -> "Totals":
        """Return the totals with the recent sums added to the earlier sums, and the recent sums set to zero."""
        earlier = {metric: total.add(self.recent[metric]) for metric, total in self.earlier.items()}
        return Totals(self.recent | {metric: jnp.zeros_like(self.recent[metric]) for metric in earlier}, earlier)

    def values(self) -> dict[Metric, jax.Array]:
        """Return the value of every metric; the totals must be folded."""
        return self.recent | {metric: total.total for metric, total in self.earlier.items()}


NO_TOTALS = Totals({}, {})  # totals of no metrics
