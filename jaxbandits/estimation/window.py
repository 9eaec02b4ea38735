"""Sums over the last tau rounds without subtraction, for summands that are too large to store one per round.

If a huge summand is added and later subtracted, its rounding error remains in the sum. Here every sum contains only
rounds of the window. The rounds are divided into blocks of tau rounds, and blocks into parts of about sqrt(tau) rounds.
The window consists of the end of one block and the beginning of the next block.

    beginning   sum over the current block, which grows by addition
    ends        for every part of the previous block, the sum over its later parts; computed when that block was full
    inner       for every round of one part of the previous block, the sum over the later rounds of that block; computed
                when the current block enters the same part

A round computes three summands on average; the memory holds tau rows and about 2 sqrt(tau) summands.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.pytree import PyTree
from jaxbandits.estimation import history
from jaxbandits.tracing import batching, target

Term = Callable[[Any], Any]  # function that maps a row to its summand, and a row of zeros to 0


class Window(NamedTuple):
    """The rows of the last tau rounds and the sum of their summands."""

    rows: Any  # [tau, ...]  the row of round t has index t mod tau
    ends: Any  # [number of parts, ...]
    inner: PyTree  # [size of a part, ...]
    ending: Any  # [...]  sum over those rounds of the previous block that are in the window
    beginning: Any  # [...]  sum over the rounds of the current block

    @property
    def total(self) -> Any:
        """Sum over the window."""
        return jax.tree.map(jnp.add, self.ending, self.beginning)


def empty(size: int, row: PyTree, term: Term) -> Window:
    """Return a window without rounds.

    Args:
      size: tau, number of rounds of the window; static.
      row: a pytree of arrays with the shapes and types of a row.
      term: function that maps a row to its summand.
    """
    zero = jax.tree.map(jnp.zeros_like, term(row))
    part = _part(size)
    rows, ends, inner = history.empty(size, row), history.empty(-(-size // part), zero), history.empty(part, zero)
    return Window(rows, ends, inner, zero, zero)


def append(window: Window, t: jax.Array, row: PyTree, term: Term) -> Window:
    """Return the window after round t = 0, 1, ...

    Args:
      window: the window after the previous round.
      t: `[]` index of the round; if it differs between trials under `vmap`, every round computes tau summands.
      row: row of this round.
      term: function that maps a row to its summand.
    """
    size = jax.tree.leaves(window.rows)[0].shape[0]
    part, slot = _part(size), t % size
    n_parts = -(-size // part)
    zero = jax.tree.map(jnp.zeros_like, window.beginning)
    _, rows = history.exchange(window.rows, slot, row)

    def add(total: Any, i: jax.Array) -> Any:
        """Return the total plus the summand of row i; rows after the last row contribute 0."""
        summand = term(_at(rows, jnp.minimum(i, size - 1)))
        return jax.tree.map(lambda x, y: x + jnp.where(i < size, y, 0), total, summand)

    def enter_part() -> Any:
        def step(j: jax.Array, carry: PyTree) -> Any:
            i, (total, inner) = part - 1 - j, carry
            return add(total, slot + i), _put(inner, i, total)

        return batching.fori_loop(0, part, step, (_at(window.ends, slot // part), window.inner))[1]

    def end_block() -> tuple[PyTree, PyTree, PyTree]:
        def step(j: jax.Array, carry: PyTree) -> Any:
            i, (total, ends) = n_parts - 1 - j, carry
            ends = _put(ends, i, total)
            return batching.fori_loop(0, part, lambda k, total: add(total, i * part + k), total), ends

        total, ends = batching.fori_loop(0, n_parts, step, (zero, window.ends))
        return ends, total, zero

    inner = batching.cond(slot % part == 0, enter_part, lambda: window.inner)
    beginning = jax.tree.map(jnp.add, window.beginning, term(row))
    ends, ending, beginning = batching.cond(
        slot == size - 1, end_block, lambda: (window.ends, _at(inner, slot % part), beginning)
    )
    return Window(rows, ends, inner, ending, beginning)


def _part(size: int) -> int:
    return math.isqrt(size - 1) + 1


def _put(sums: Any, i: jax.Array, total: Any) -> Any:
    """Write a sum at index i of a loop.

    XLA compiles a plain write to a copy whose address the loop computes. Such a copy cannot be part of a CUDA graph,
    and the host would start every step of the loop. On an accelerator, a selection with a condition that is always true
    makes the write a kernel.
    """
    if target.targets_accelerator():
        total = jax.tree.map(lambda x: jnp.where(i >= 0, x, 0), total)
    return history.append(sums, i, total)


def _at(rows: Any, i: jax.Array) -> Any:
    return jax.tree.map(lambda leaf: lax.dynamic_index_in_dim(leaf, i, 0, keepdims=False), rows)
