"""Random directions, uniform on the unit sphere, in which bandit methods perturb their plays."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.domains import points
from jaxbandits.domains.points import Point, Shape
from jaxbandits.numerics import rng


def direction(key: jax.Array, shape: Shape) -> Point:
    """Return a uniform unit vector with the structure of a point (the Frobenius norm over all its arrays is 1)."""
    vector = rng.unit_vector(key, points.size(shape))
    return vector if isinstance(shape, int) else _as_point(shape, vector)


def _as_point(shape: Shape, vector: jax.Array) -> Point:
    leaves, structure = jax.tree.flatten(jax.eval_shape(lambda: points.zeros(shape)))
    sizes = [math.prod(leaf.shape) for leaf in leaves]
    parts = jnp.split(vector, np.cumsum(sizes)[:-1])
    return jax.tree.unflatten(structure, [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)])
