"""Blocks of K rounds, for methods that update their point only at the end of a block.

Rounds are counted from 0: block $m = 1$, 2, ... consists of the rounds (m - 1) K, ..., m K - 1. The rounds after the
last full block are played without a further update.
"""

from collections.abc import Callable
from typing import TypeVar

import jax

from jaxbandits.tracing.batching import cond

T = TypeVar("T")


def length(horizon: int, power: float, scale: float = 1.0) -> int:
    """Return the block length K = `scale T^power`, rounded to an integer and clipped to [1, T]."""
    return min(max(round(scale * horizon**power), 1), horizon)


def ends(t: jax.Array, block: int) -> jax.Array:
    """Return whether round t >= 0 is the last round of a block of `block` rounds."""
    return (t + 1) % block == 0


def at_end(t: jax.Array, block: int, update: Callable[[T], T], state: T) -> T:
    """Return `update(state)` if t is the last round of a block, else `state`.

    All trials of a batch share t, so that only one of the two branches runs.
    """
    return cond(ends(t, block), lambda: update(state), lambda: state)
