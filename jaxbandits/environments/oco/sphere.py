"""Uniform draws from the unit sphere: bounded noise whose norm is known exactly."""

import jax
import jax.numpy as jnp

from jaxbandits.core import linalg, rng
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Vec, Vector


def uniform_on_sphere(key: jax.Array, dim: int) -> Vector:
    """`[d]` a uniform unit vector: a sign for d = 1, an angle for d = 2, a normalised Gaussian above."""
    if dim == 1:
        return Vec([jnp.where(rng.tail_and_angle(key)[1] < 0.5, -1.0, 1.0)])
    if dim == 2:
        return Vec(_on_circle(rng.tail_and_angle(key)[1]))
    if dim > linalg.SMALL_DIM:
        direction = jax.random.normal(key, (dim,))
    else:  # Box-Muller in pairs of scalar leaves: 4 times faster under vmap than rows [d] of Gaussians
        entries = []
        for pair in range((dim + 1) // 2):
            tail, angle = rng.tail_and_angle(jax.random.fold_in(key, pair))
            radius = jnp.sqrt(-2.0 * jnp.log(tail))
            entries += [radius * entry for entry in _on_circle(angle)]
        direction = Vec(entries[:dim])
    direction = once(direction)
    return direction / linalg.norm(direction)


def _on_circle(turns: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The point of the unit circle at `turns` in (0, 1), to full accuracy near both axes."""
    quarters = 4.0 * turns - 2.0
    cosine = rng.sin_half_pi(1.0 - jnp.abs(quarters))
    return cosine, jnp.sign(quarters) * rng.sin_half_pi(1.0 - jnp.abs(1.0 - jnp.abs(quarters)))
