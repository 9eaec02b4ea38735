"""Operations on all leaves of pytrees of arrays."""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")


def row(tree: T, k: int) -> T:
    """Return entry k of the first axis of every leaf."""
    return jax.tree.map(lambda leaf: leaf[k], tree)


def stack(*trees: T) -> T:
    """Stack trees along a new first axis of every leaf."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def where(condition: Any, a: T, b: T) -> T:
    """Select between the leaves of two trees with the same structure by one scalar condition."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)
