"""Directions in which bandit methods perturb what they play: uniform on the unit sphere of all coordinates."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.numerics import rng


def direction(key: jax.Array, shape: Shape) -> Point:
    """A uniform unit vector in the form of a point (Frobenius norm 1 over all its arrays)."""
    vector = rng.unit_vector(key, points.size(shape))
    return vector if isinstance(shape, int) else _shaped(shape, vector)


def _shaped(shape: Shape, vector: jax.Array) -> Point:
    leaves, structure = jax.tree.flatten(jax.eval_shape(lambda: points.zeros(shape)))
    sizes = [math.prod(leaf.shape) for leaf in leaves]
    parts = jnp.split(vector, np.cumsum(sizes)[:-1])
    return jax.tree.unflatten(structure, [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)])


def largest(domain: Any, shape: Shape) -> ArrayLike:
    """The default of c in `delta = c T^-p`: 0.9 r, which leaves room to play for every horizon."""
    return 0.9 * domain.inner_radius(shape)


def check(delta: ArrayLike, domain: Any, shape: Shape, name: str) -> None:
    """That perturbed points stay in the domain.

    Raises:
      InputError: where delta is not below the radius r of the ball inside.
    """
    delta, radius = np.broadcast_arrays(delta, domain.inner_radius(shape))
    wrong = delta >= radius
    if wrong.any():
        raise InputError(f"{name} must lie below the domain's inner radius {radius[wrong][0]}, got {delta[wrong][0]}")
