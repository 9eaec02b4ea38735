"""Points of a convex set: any pytree of arrays, such as a vector `[d]`, a matrix `[m, n]` or the parameters of a model.

Learners that need only inner products, sums and multiples of points are written with these functions, and play points
of any form. The form is given by a static `Shape`: `d`, `(m, n)` for one array, or a tuple of shapes for several
arrays, such as `((20, 10), (10,))`.

A matrix gradient with few nonzero entries is given as `Entries`; `add`, `add_scaled`, `scale` and `inner` combine it
with a dense matrix at a cost proportional to the number of entries.
"""

import functools
import math
from typing import Any, NamedTuple, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import trees
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike

Point: TypeAlias = Any
Shape: TypeAlias = int | tuple["Shape", ...]

T = TypeVar("T")


class Entries(NamedTuple):
    """A matrix that is zero except at some entries; values listed for the same entry are added."""

    rows: jax.Array  # [B] int32
    cols: jax.Array  # [B] int32
    values: jax.Array  # [B]


def _sides(shape: Shape) -> tuple[int, ...] | None:
    """Return the sides of the array if a shape is that of one array, None if it is that of several."""
    if isinstance(shape, int):
        return (shape,)
    sides = tuple(side for side in shape if isinstance(side, int))
    return sides if len(sides) == len(shape) else None


def zeros(shape: Shape) -> Point:
    """Return the origin: `[d]`, `[m, n]`, or a tuple of such arrays."""
    sides = _sides(shape)
    if sides is not None:
        return jnp.zeros(sides)
    return tuple(zeros(part) for part in shape)  # pyright: ignore[reportGeneralTypeIssues]


def zeros_like(x: T) -> T:
    """Return the origin, in the form of `x`."""
    return jax.tree.map(jnp.zeros_like, x)


def shape_of(x: Point) -> Shape:
    """Return the shape of a point that is one array or a tuple of arrays."""
    return jax.tree.map(jnp.shape, x)


def size(shape: Shape) -> int:
    """Return the number of coordinates of a point of this shape."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(jax.eval_shape(lambda: zeros(shape))))


def inner(x: Point, y: Point) -> jax.Array:
    """Return `<x, y>`, the sum of the products of all coordinates."""
    return functools.reduce(jnp.add, jax.tree.leaves(_leaf_by_leaf(_inner, x, y)))


def norm(x: Point) -> jax.Array:
    """Euclidean (Frobenius) norm; its gradient at zero is not used anywhere.

    No square overflows or underflows: where it would, the coordinates are scaled by a power of two first. Otherwise the
    result is the root of `inner(x, x)`, bit for bit.
    """
    square = inner(x, x)
    power = 2.0 ** (3 * jnp.finfo(square.dtype).maxexp // 4)
    is_large, is_small = ~(square <= power), square < 1.0 / power  # also large if the sum is infinite or NaN

    def choose(large: Any, small: Any, usual: Any) -> jax.Array:
        return jnp.where(is_large, large, jnp.where(is_small, small, usual)).astype(square.dtype)

    # All three sums are computed at once: choosing a scale first would end the kernel, and cost more than two further
    # sums. None may overflow where it is not chosen, because its derivative would be NaN.
    large, small = scale(x, 1.0 / power), scale(_clip(x, 1.0 / power**0.5), power)
    total = choose(inner(large, large), inner(small, small), square)
    return jnp.sqrt(total) * choose(power, 1.0 / power, 1.0)  # an exact product, because a division costs ten products


def _clip(x: T, bound: float) -> T:
    """Return the coordinates clipped to [-bound, bound]."""

    def clip(a: jax.Array) -> jax.Array:
        # Of `jnp.clip` jax 0.11.2 makes the norm of a constant zero NaN: XLA multiplies the powers of `norm` first.
        return jnp.minimum(jnp.maximum(a, -bound), bound) if jnp.issubdtype(a.dtype, jnp.inexact) else a

    return jax.tree.map(clip, x)


def nan_if_infinite(value: jax.Array) -> jax.Array:
    """Return `value`, or NaN where it is infinite.

    This is for sums of squares that step sizes are divided by: if one overflowed, the learner would stop for good, at
    the origin or at its current point, without any sign of it. NaN in the state makes the trial count as failed.
    """
    return jnp.where(jnp.isinf(value), jnp.nan, value)


def add(x: T, y: T) -> T:
    """Return `x + y`."""
    return _leaf_by_leaf(_add, x, y)


def subtract(x: T, y: T) -> T:
    """Return `x - y`."""
    return jax.tree.map(jnp.subtract, x, y)


def scale(x: T, factor: ArrayLike) -> T:
    """Return `factor x`."""
    return jax.tree.map(lambda a: _scale(a, factor), x, is_leaf=_is_entries)


def add_scaled(x: T, factor: ArrayLike, y: T) -> T:
    """Return `x + factor y`."""
    return _leaf_by_leaf(lambda a, b: _add_scaled(a, factor, b), x, y)


def average(mean: T, value: T, fraction: ArrayLike) -> T:
    """Return a running weighted mean: `mean + fraction (value - mean)`.

    For weights eta, `fraction = eta_t / (eta_1 + ... + eta_t)`; for the plain mean it is `1/t`. No sum is accumulated,
    so that there is no drift in float32.
    """
    return jax.tree.map(lambda a, b: a + fraction * (b - a), mean, value)


def where(condition: ArrayLike, x: T, y: T) -> T:
    """Return `x` where the condition holds, else `y`."""
    return trees.where(condition, x, y)


def check(x: Point, shape: Shape, name: str) -> None:
    """Check that a point given by the user has the right form; a sweep may add a leading axis to its arrays.

    Raises:
      InputError: if the shapes differ; the message names the point and both shapes.
    """
    wanted = zeros(shape)
    same = jax.tree.structure(x) == jax.tree.structure(wanted)
    if not same or any(
        np.shape(a)[-np.ndim(b) :] != np.shape(b)
        for a, b in zip(jax.tree.leaves(x), jax.tree.leaves(wanted), strict=True)
    ):
        raise InputError(f"{name} must have shape {shape}, got {jax.tree.map(np.shape, x)}")


def _is_entries(a: Any) -> bool:
    return isinstance(a, Entries)


def _leaf_by_leaf(f: Any, x: Point, y: Point) -> Any:
    """Return `f` applied to corresponding arrays (or `Entries`) of two points of the same form."""
    return jax.tree.map(f, x, y, is_leaf=_is_entries)


def _scale(a: Any, factor: ArrayLike) -> Any:
    return a._replace(values=factor * a.values) if _is_entries(a) else factor * a


def _add(a: Any, b: Any) -> Any:
    if _is_entries(a) or _is_entries(b):
        return _add_entries(b, a) if _is_entries(a) else _add_entries(a, b)
    return a + b


def _add_scaled(a: Any, factor: ArrayLike, b: Any) -> Any:
    if _is_entries(a) or _is_entries(b):
        return _add(a, _scale(b, factor))
    return a + factor * b


def _add_entries(a: Any, entries: Entries) -> Any:
    if _is_entries(a):
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), a, entries)
    return a.at[entries.rows, entries.cols].add(entries.values)


def _inner(a: Any, b: Any) -> jax.Array:
    if _is_entries(b):
        a, b = b, a
    if not _is_entries(a):
        return jnp.vdot(a, b)
    if not _is_entries(b):
        return jnp.vdot(a.values, b[a.rows, a.cols])
    met = (a.rows[:, None] == b.rows) & (a.cols[:, None] == b.cols)
    return jnp.sum(jnp.where(met, a.values[:, None] * b.values, 0.0))
