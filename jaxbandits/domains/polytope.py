"""The convex hull of given points, with a linear oracle but no projection."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, pytree, shared
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import first_axis
from jaxbandits.numerics.simplex import combine, indicator


@pytree
class Polytope:
    """`conv{v_1, ..., v_n}` of vectors; the linear oracle compares all n of them. Learners start from their mean.

    Projections are not offered, because they need a quadratic program; nor is an inner ball, because the facets are not
    known.
    """

    vertices: Any = shared(range="(-inf, inf)", doc="[n, d] v_1, ..., v_n")

    def check(self) -> None:
        if np.ndim(self.vertices) != 2:
            raise InputError(f"Polytope.vertices must have shape [n, d], got {np.shape(self.vertices)}")

    @property
    def diameter(self) -> ArrayLike:
        """The largest distance of two vertices, O(n^2 d)."""
        v = self.vertices
        return jnp.sqrt(jnp.max(jnp.sum((v[:, None] - v[None]) ** 2, axis=2)))

    def zero(self, shape: Shape) -> jax.Array:
        """Return the mean `[d]` of the vertices."""
        del shape
        return jnp.mean(jnp.asarray(self.vertices), axis=0)

    def outer_radius(self, shape: Shape) -> ArrayLike:
        del shape
        return jnp.sqrt(jnp.max(jnp.sum(jnp.asarray(self.vertices) ** 2, axis=1)))

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """Return the first vertex `[d]` among those with the smallest inner product."""
        del guess
        best = first_axis.argmin(self.vertices @ direction)
        return combine(indicator(best, len(self.vertices)), self.vertices), None
