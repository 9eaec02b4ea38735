"""Meters: what is recorded of a run, as block reductions between record points.

Every field of an environment's `Outcome` is summed by default. Further meters look at a whole `Round`. A meter's block
values are combined over blocks on the host in float64, so that memory does not grow with the horizon.

Within a block a sum is a plain one in the precision of the run. In float32 a block of 10^4 rounds that add 0.1 each is
off by 1e-4 of itself, one of 10^6 by 1e-2, and a count ends at 2^24: record more often, or run in float64.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, shown


class Round(NamedTuple):
    """One round of one trial, as a meter sees it."""

    t: jax.Array  # [] rounds finished before this one
    algorithm: Any  # hyperparameters
    environment: Any
    env_state: Any  # before the round
    state: Any  # before the round
    next_state: Any  # after the update
    obs: Any
    decision: Any
    feedback: Any  # everything the environment offered
    outcome: Any


Reduce = Literal["sum", "max", "last"]


@dataclasses.dataclass(frozen=True)
class Meter:
    """A number or an array per round and how it is reduced over rounds, entry by entry.

    Attributes:
      name: of the metric.
      measure: from a `Round` to a number, or to an array of the same shape in every round.
      reduce: `"sum"` (cumulative), `"max"` (running maximum) or `"last"` (value of the newest round).
      axes: names of the axes of an array.
      unit: for tables and figures.
    """

    name: str
    measure: Callable[[Round], Any]
    reduce: Reduce = "sum"
    axes: tuple[str, ...] = ()
    unit: str = ""


def checked(meters: Any) -> tuple[Meter, ...]:
    """Meters as a tuple.

    Raises:
      InputError: for anything that is no list of meters with names and reductions that exist.
    """
    if not isinstance(meters, (list, tuple)) or not all(isinstance(meter, Meter) for meter in meters):
        raise InputError(f"meters must be Meter objects in a list, got {shown(meters)}")
    for meter in meters:
        if (
            not isinstance(meter.name, str)
            or not meter.name.strip()
            or ":" in meter.name
            or not meter.name.isprintable()
        ):
            raise InputError(f"the name of a meter must be one line of text without a colon, got {shown(meter.name)}")
        if not callable(meter.measure):
            raise InputError(f"meter {meter.name!r}: measure must be a function of a Round, got {shown(meter.measure)}")
        if not isinstance(meter.reduce, str) or meter.reduce not in get_args(Reduce):
            allowed = ", ".join(get_args(Reduce))
            raise InputError(f"meter {meter.name!r}: reduce must be one of {allowed}, got {shown(meter.reduce)}")
        if not isinstance(meter.axes, tuple) or not all(isinstance(axis, str) for axis in meter.axes):
            raise InputError(f"meter {meter.name!r}: axes must be a tuple of names, got {shown(meter.axes)}")
        if not isinstance(meter.unit, str):
            raise InputError(f"meter {meter.name!r}: unit must be text, got {shown(meter.unit)}")
    names = [meter.name for meter in meters]
    if len(set(names)) < len(names):
        raise InputError(f"meters must have different names, got {', '.join(names)}")
    return tuple(meters)


def zero_of(key: str) -> float:
    """What an empty block holds; `key` is `reduce:name`."""
    return -np.inf if key.startswith("max:") else 0.0


def zero(key: str, like: Any) -> jax.Array:
    """An empty block of the shape and dtype of `like`."""
    return jnp.full(like.shape, zero_of(key), like.dtype)


def add(key: str, total: jax.Array, value: jax.Array) -> jax.Array:
    """One more round in a block."""
    if key.startswith("sum:"):
        return total + value
    return jnp.maximum(total, value) if key.startswith("max:") else value


def over_blocks(key: str, blocks: np.ndarray) -> np.ndarray:
    """Block values `[trials, M, ...]` to the value at each record point, in float64."""
    blocks = blocks.astype(np.float64)
    if key.startswith("sum:"):
        return np.cumsum(blocks, axis=1)
    return np.maximum.accumulate(blocks, axis=1) if key.startswith("max:") else blocks


def order(key: str) -> tuple[int, str]:
    """Sorts `reduce:name` keys: what the environment charges for first, snapshots last."""
    reduce, _, name = key.partition(":")
    return ("sum", "max", "last", "snapshot").index(reduce), name
