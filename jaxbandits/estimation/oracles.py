"""Oracles of combinatorial bandits: the set of items with the largest sum of scores, under constraints.

    items = oracle.best(scores, mask)        [m] int32 from scores `[L]`; -1 in empty places
    oracle.admits(items)                     whether a choice satisfies the constraints

An oracle is static: its sizes are part of the compiled program.
"""

from typing import Any

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import pytree, static
from jaxbandits.estimation.items import top_items
from jaxbandits.numerics import first_axis


def require_oracle(owner: str, oracle: Any, n_items: int) -> None:
    """Raise InputError unless a field of `owner` is an oracle for `n_items` items."""
    if not all(hasattr(oracle, method) for method in ("best", "admits", "check_items")):
        raise InputError(
            f"{owner}.oracle must be one of jaxbandits.oracles, such as TopM(size=3), got {format_value(oracle)}"
        )
    oracle.check_items(n_items)


@pytree
class TopM:
    """Oracle without constraints: the m items with the largest scores, in decreasing order."""

    size: int = static(range="[1, inf)", doc="m, number of items that are chosen")

    def check_items(self, n_items: int) -> None:
        """Raise InputError unless the oracle is for `n_items` items."""
        if self.size > n_items:
            raise InputError(f"TopM.size must be at most n_items={n_items}, got {self.size}")

    def best(self, scores: jax.Array, mask: Any) -> jax.Array:
        """Return the items `[m]` with the largest scores `[L]` that a mask `[L]` allows; None: all may be chosen."""
        return top_items(scores, mask, self.size)

    def admits(self, items: jax.Array) -> jax.Array:
        """Return True, since every choice of different items satisfies the constraints."""
        del items
        return jnp.ones((), bool)


@pytree
class Partition:
    """Oracle that chooses one item from each of m blocks of b consecutive items (a partition matroid)."""

    blocks: int = static(range="[1, inf)", doc="m, number of blocks")
    block_size: int = static(range="[1, inf)", doc="b, items of a block")

    @property
    def size(self) -> int:
        """m, number of chosen items."""
        return self.blocks

    def check_items(self, n_items: int) -> None:
        """Raise InputError unless the oracle is for `n_items` items."""
        if self.blocks * self.block_size != n_items:
            raise InputError(
                f"Partition: blocks * block_size must be n_items={n_items}, got {self.blocks} * {self.block_size}"
            )

    def best(self, scores: jax.Array, mask: Any) -> jax.Array:
        """Return the items `[m]` with the largest score in each block, -1 where a mask `[L]` allows none."""
        allowed = jnp.ones(len(scores), bool) if mask is None else jnp.asarray(mask)
        by_block = jnp.where(allowed, scores, -jnp.inf).reshape(self.blocks, self.block_size)
        found = jax.vmap(first_axis.argmax)(by_block)
        is_there = jnp.any(allowed.reshape(self.blocks, self.block_size), axis=1)
        start = jnp.arange(self.blocks, dtype=jnp.int32) * self.block_size
        return jnp.where(is_there, start + found, -1).astype(jnp.int32)

    def admits(self, items: jax.Array) -> jax.Array:
        """Return whether each place holds an item of its block, or no item."""
        block = jnp.arange(self.blocks, dtype=jnp.int32)
        return jnp.all((items < 0) | (items // self.block_size == block))
