"""The convex hull of given points, with a linear oracle but no projection."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, pytree, shared
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import first_axis
from jaxbandits.numerics.simplex import combine, indicator


@pytree
class Polytope:
    """`conv{v_1, ..., v_n}` of n vectors. Learners start from the mean of the vertices.

    The linear oracle compares the inner products with all n vertices. The class has no projection, because a projection
    needs a quadratic program, and no inner radius, because the facets are not known.
    """

    vertices: Any = shared(range="(-inf, inf)", doc="[n, d] the vertices v_1, ..., v_n")

    def check(self) -> None:
        if np.ndim(self.vertices) != 2:
            raise InputError(f"Polytope.vertices must have shape [n, d], got {np.shape(self.vertices)}")

    @property
    def diameter(self) -> ArrayLike:
        """The largest distance between two vertices, in O(n^2 d) operations."""
        v = self._floats
        return jnp.sqrt(jnp.max(jnp.sum((v[:, None] - v[None]) ** 2, axis=2)))

    def zero(self, shape: Shape) -> jax.Array:
        """Return the mean `[d]` of the vertices."""
        del shape
        return jnp.mean(jnp.asarray(self._floats), axis=0)

    def outer_radius(self, shape: Shape) -> ArrayLike:
        del shape
        return jnp.sqrt(jnp.max(jnp.sum(jnp.asarray(self._floats) ** 2, axis=1)))

    def lmo(self, direction: jax.Array, guess: None = None) -> tuple[jax.Array, None]:
        """Return the vertex `[d]` whose inner product with the direction is smallest; ties go to the first vertex."""
        del guess
        best = first_axis.argmin(self._floats @ direction)
        return combine(indicator(best, len(self.vertices)), self._floats), None

    @property
    def _floats(self) -> Any:
        """Vertices `[n, d]`, as float32 or float64."""
        return points.as_floats(self.vertices)
