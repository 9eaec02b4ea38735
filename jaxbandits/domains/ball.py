"""The Euclidean ball `{||x|| <= radius}` (Frobenius norm for matrices)."""

from typing import Any

import jax.numpy as jnp

from jaxbandits.core import linalg
from jaxbandits.core.pytree import ArrayLike, param, pytree


@pytree
class L2Ball:
    """`{||x|| <= radius}`, centred at the origin; points are vectors or arrays of any shape."""

    radius: ArrayLike = param(1.0, "(0, inf)", "radius")

    @property
    def diameter(self) -> ArrayLike:
        return 2.0 * self.radius

    def project(self, x: Any) -> Any:
        """The nearest point of the ball (Euclidean)."""
        return x * jnp.minimum(1.0, self.radius / _positive(linalg.norm(x)))

    def lmo(self, direction: Any) -> Any:
        """`argmin_{||v|| <= radius} <direction, v>`; the origin when the direction is zero."""
        return -(direction / _positive(linalg.norm(direction))) * self.radius


def _positive(norm: Any) -> Any:
    # sqrt(tiny), below which squares underflow: a direction that small gives a point inside the ball, never outside.
    return jnp.maximum(norm, jnp.finfo(norm.dtype).tiny ** 0.5)
