"""Meters: what is recorded of a run, as block reductions between record points.

Every field of an environment's `Outcome` is summed by default. Further meters look at a whole `Round`. A meter's block
values are combined over blocks on the host in float64, so that memory and rounding do not grow with the horizon.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


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
    """A scalar per round and how it is reduced over rounds.

    Attributes:
      name: key in `Result.values`.
      measure: from a `Round` to a scalar.
      reduce: `"sum"` (cumulative), `"max"` (running maximum) or `"last"` (value of the newest round).
    """

    name: str
    measure: Callable[[Round], jax.Array]
    reduce: Reduce = "sum"


def zero(key: str, like: Any) -> jax.Array:
    """The start value of a block; `key` is `reduce:name`."""
    return jnp.full(like.shape, -jnp.inf if key.startswith("max:") else 0.0, like.dtype)


def add(key: str, total: jax.Array, value: jax.Array) -> jax.Array:
    """One more round in a block."""
    if key.startswith("sum:"):
        return total + value
    return jnp.maximum(total, value) if key.startswith("max:") else value


def over_blocks(key: str, blocks: np.ndarray) -> np.ndarray:
    """Block values `[..., M]` to the value at each record point, in float64."""
    blocks = blocks.astype(np.float64)
    if key.startswith("sum:"):
        return np.cumsum(blocks, axis=-1)
    return np.maximum.accumulate(blocks, axis=-1) if key.startswith("max:") else blocks


def order(key: str) -> tuple[int, str]:
    """Sorts `reduce:name` keys: what the environment charges for first, snapshots last."""
    reduce, _, name = key.partition(":")
    return ("sum", "max", "last", "snapshot").index(reduce), name
