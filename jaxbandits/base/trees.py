"""Pytrees of arrays, leaf by leaf."""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")


def row(tree: T, k: int) -> T:
    """Entry k of the first axis of every leaf."""
    return jax.tree.map(lambda leaf: leaf[k], tree)


def stack(*trees: T) -> T:
    """The trees, one after the other along a new first axis of every leaf."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def where(condition: Any, a: T, b: T) -> T:
    """Leafwise `jnp.where` on two equal pytrees; the condition is one for all their entries."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)
