"""Points of a convex set: any pytree of arrays, such as a vector `[d]`, a matrix `[m, n]`, the parameters of a model.

Learners that need no more than an inner product and multiples of points are written with these functions and play
points of any form. The form of the origin is a static `Shape`: `d`, one array's `(m, n)`, or a tuple of shapes for as
many arrays, `((20, 10), (10,))`.
"""

import functools
import math
from typing import Any, TypeAlias, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core import linalg
from jaxbandits.core.batching import trials_last
from jaxbandits.core.errors import InputError
from jaxbandits.core.pytree import ArrayLike

Point: TypeAlias = Any
Shape: TypeAlias = int | tuple["Shape", ...]

T = TypeVar("T")


def _sides(shape: Shape) -> tuple[int, ...] | None:
    """The sides of the one array that a shape is, None for several."""
    if isinstance(shape, int):
        return (shape,)
    sides = tuple(side for side in shape if isinstance(side, int))
    return sides if len(sides) == len(shape) else None


def zeros(shape: Shape) -> Point:
    """The origin: `[d]`, `[m, n]`, or a tuple of such."""
    sides = _sides(shape)
    if sides is not None:
        return jnp.zeros(sides)
    return tuple(zeros(part) for part in shape)  # pyright: ignore[reportGeneralTypeIssues]


def zeros_like(x: T) -> T:
    """The origin, in the form of `x`."""
    return jax.tree.map(jnp.zeros_like, x)


def size(shape: Shape) -> int:
    """How many coordinates a point of this shape has."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(jax.eval_shape(lambda: zeros(shape))))


def inner(x: Point, y: Point) -> jax.Array:
    """`<x, y>`, the sum of the products of all coordinates."""
    return functools.reduce(jnp.add, jax.tree.leaves(jax.tree.map(linalg.inner, x, y)))


def norm(x: Point) -> jax.Array:
    """Euclidean (Frobenius) norm; its gradient at zero is not used anywhere."""
    return jnp.sqrt(inner(x, x))


_average = trials_last(lambda mean, value, fraction: mean + fraction * (value - mean))


def add(x: T, y: T) -> T:
    """`x + y`."""
    return jax.tree.map(linalg.add, x, y)


def subtract(x: T, y: T) -> T:
    """`x - y`."""
    return jax.tree.map(linalg.subtract, x, y)


def scale(x: T, factor: ArrayLike) -> T:
    """`factor x`."""
    return jax.tree.map(lambda a: linalg.scale(a, factor), x)


def add_scaled(x: T, factor: ArrayLike, y: T) -> T:
    """`x + factor y`."""
    return jax.tree.map(lambda a, b: linalg.add_scaled(a, factor, b), x, y)


def average(mean: T, value: T, fraction: ArrayLike) -> T:
    """A running weighted mean: `mean + fraction (value - mean)`.

    `fraction = eta_t / (eta_1 + ... + eta_t)` for weights eta: `1/t` for the plain mean. No sum is accumulated, so that
    float32 does not drift.
    """
    return jax.tree.map(lambda a, b: _average(a, b, fraction), mean, value)


def where(condition: ArrayLike, x: T, y: T) -> T:
    """`x` where the condition holds, else `y`."""
    return linalg.where(condition, x, y)


def check(x: Point, shape: Shape, name: str) -> None:
    """That a point given by the user has the right form; its arrays may have a further leading axis, of a sweep.

    Raises:
      InputError: naming the point and both shapes.
    """
    wanted = zeros(shape)
    same = jax.tree.structure(x) == jax.tree.structure(wanted)
    if not same or any(
        np.shape(a)[-np.ndim(b) :] != np.shape(b)
        for a, b in zip(jax.tree.leaves(x), jax.tree.leaves(wanted), strict=True)
    ):
        raise InputError(f"{name} must have shape {shape}, got {jax.tree.map(np.shape, x)}")
