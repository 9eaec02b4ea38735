"""Points of a convex set: any pytree of arrays, such as a vector `[d]`, a matrix `[m, n]` or the parameters of a model.

Learners that need only inner products, sums and multiples of points use these functions, and so can play points of any
form. The form is given by a static `Shape`: `d`, `(m, n)` for one array, or a tuple of shapes for several
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
    """Return the sides of the array if the shape describes one array, None if it describes several."""
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
    """Return the origin, with the tree structure and shapes of `x`."""
    return jax.tree.map(jnp.zeros_like, x)


def shape_of(x: Point) -> Shape:
    """Return the shape of a point that is one array or a tuple of arrays."""
    return jax.tree.map(jnp.shape, x)


def size(shape: Shape) -> int:
    """Return the number of coordinates of a point of this shape."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(jax.eval_shape(lambda: zeros(shape))))


def as_floats(numbers: Any) -> Any:
    """Return arrays of other types than float32 and float64 in the default float type, and numbers as floats.

    Sums, differences and squares of integers of small types and of float16 may overflow.
    """
    dtype = getattr(numbers, "dtype", None)
    if dtype is None:
        return 1.0 * numbers
    return numbers if dtype in (np.float32, np.float64) else numbers.astype(float)


def inner(x: Point, y: Point) -> jax.Array:
    """Return `<x, y>`, the sum of the products of all coordinates."""
    return functools.reduce(jnp.add, jax.tree.leaves(_leaf_by_leaf(_inner, x, y)))


def norm(x: Point) -> jax.Array:
    """Return the Euclidean (Frobenius) norm.

    If a square would overflow or underflow, the coordinates are first scaled by a power of two. Otherwise the result is
    the square root of `inner(x, x)`, bit for bit.
    """
    square = inner(x, x)
    power = 2.0 ** (3 * jnp.finfo(square.dtype).maxexp // 4)
    is_large, is_small = ~(square <= power), square < 1.0 / power  # also large if the sum is infinite or NaN

    def choose(large: Any, small: Any, usual: Any) -> jax.Array:
        return jnp.where(is_large, large, jnp.where(is_small, small, usual)).astype(square.dtype)

    # All three sums are computed at once: choosing a scale first would end the kernel and cost more than two additional
    # sums. Sums that are not chosen must not overflow either, because their derivatives would be NaN.
    large, small = scale(x, 1.0 / power), scale(_clip(x, 1.0 / power**0.5), power)
    total = choose(inner(large, large), inner(small, small), square)
    return jnp.sqrt(total) * choose(power, 1.0 / power, 1.0)  # exact; a division costs as much as ten products


def _clip(x: T, bound: float) -> T:
    """Return `x` with its coordinates clipped to [-bound, bound]."""

    def clip(a: jax.Array) -> jax.Array:
        # With `jnp.clip`, jax 0.11.2 makes the norm of a constant zero NaN, because XLA multiplies the powers first.
        return jnp.minimum(jnp.maximum(a, -bound), bound) if jnp.issubdtype(a.dtype, jnp.inexact) else a

    return jax.tree.map(clip, x)


def nan_if_infinite(value: jax.Array) -> jax.Array:
    """Return `value`, or NaN where it is infinite.

    It is used mainly for sums of squares by which step sizes are divided. If such a sum overflowed, every later step
    would be zero and the error would go unnoticed, whereas a NaN in the state makes the trial count as failed.
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

    With weights eta, `fraction = eta_t / (eta_1 + ... + eta_t)`; for the unweighted mean, `fraction = 1/t`. Because no
    sum is accumulated, rounding errors do not build up in float32.
    """
    return jax.tree.map(lambda a, b: a + fraction * (b - a), mean, value)


def where(condition: ArrayLike, x: T, y: T) -> T:
    """Return `x` where the condition holds, else `y`."""
    return trees.where(condition, x, y)


def check(x: Point, shape: Shape, name: str) -> None:
    """Check that a point given by the user has the expected shape; further leading axes, as in a sweep, are accepted.

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
