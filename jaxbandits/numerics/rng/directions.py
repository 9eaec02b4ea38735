"""Uniform points on the unit sphere and in the unit ball."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxbandits.numerics import elementary
from jaxbandits.numerics.elementary import sin_half_pi
from jaxbandits.numerics.rng.continuous import normals
from jaxbandits.numerics.rng.generator import random_words, word_array
from jaxbandits.numerics.rng.unit_interval import tail_and_angle
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.batching import trials_last
from jaxbandits.tracing.short_axes import Rows


def unit_vector(key: jax.Array, dim: int) -> jax.Array:
    """Draw a uniform unit vector `[d]`: for d = 1 by its sign, for d = 2 by its angle, else by normal variates."""
    if dim == 1:
        return jnp.where(tail_and_angle(key)[1] < 0.5, -1.0, 1.0)[None]
    if dim == 2:
        return _on_circle(tail_and_angle(key)[1])
    direction = normals(key, 1, dim)[0]
    return (1.0 / jnp.linalg.norm(direction)) * direction


def unit_vectors(key: jax.Array, count: int, dim: int) -> jax.Array:
    """Draw independent uniform unit vectors `[count, d]`, each as in `unit_vector`.

    The draw uses at most the first `count ceil(dim / 2)` blocks of 64 random bits of the key.
    """
    if dim > 2:
        directions = normals(key, count, dim)
        return directions / jnp.linalg.norm(directions, axis=1, keepdims=True)
    angles = ((word_array(key, count) >> 8).astype(jnp.result_type(float)) + 0.5) * 2.0**-24
    return _on_circles(angles) if dim == 2 else jnp.where(angles < 0.5, -1.0, 1.0)[:, None]


@trials_last
def _on_circle(turns: jax.Array) -> jax.Array:
    """Return the point `[2]` of the unit circle at an angle in turns in (0, 1), accurate near both axes."""
    return Rows(tuple(barrier(_cosine_and_sine(turns))), 0).array()


@trials_last
def _on_circles(turns: jax.Array) -> jax.Array:
    """Return the points `[n, 2]` of the unit circle at angles in turns `[n]`."""
    return jnp.stack(barrier(_cosine_and_sine(turns)), axis=1)


def _cosine_and_sine(turns: jax.Array) -> list[jax.Array]:
    quarters = 4.0 * turns - 2.0
    cosine = sin_half_pi(1.0 - jnp.abs(quarters))
    return [cosine, jnp.sign(quarters) * sin_half_pi(1.0 - jnp.abs(1.0 - jnp.abs(quarters)))]


def uniform_ball(key: jax.Array, count: int, dim: int) -> jax.Array:
    """Draw independent uniform points `[count, d]` in the unit ball, from d uniform variates of 24 bits per point.

    The squared length is divided by stick breaking: a pair of coordinates that is followed by n others receives a
    `Beta(1, n/2 + 1)` share of the remaining squared length, at a uniform angle. For odd d, the last coordinate is
    uniform between plus and minus the root of the remaining squared length.
    """
    n_blocks = -(-3 * dim // 8)  # a block of 64 bits gives 8/3 uniform variates of 24 bits
    return _into_ball(count, dim)(*random_words(key, jnp.arange(n_blocks * count)))


@functools.cache
def _into_ball(count: int, dim: int) -> Callable[[jax.Array, jax.Array], jax.Array]:
    @trials_last
    def points(first: jax.Array, second: jax.Array) -> jax.Array:
        blocks = range(0, first.shape[0], count)
        uniforms = iter(_uniforms24([word[i : i + count] for i in blocks for word in (first, second)]))
        coordinates, left = [], None
        for i in range(dim // 2):
            stick, angle = next(uniforms), next(uniforms)
            after = dim - 2 * i - 2
            # 1 - Beta(1, after/2 + 1)
            remaining = stick if after == 0 else jnp.exp(elementary.log_positive(stick) * (2.0 / (after + 2)))
            length = jnp.sqrt((1.0 - remaining) if left is None else (1.0 - remaining) * left)
            left = remaining if left is None else left * remaining
            half = sin_half_pi(2.0 * angle - 1.0)  # the sine of half the angle
            coordinates.append(length * (1.0 - 2.0 * half * half))
            coordinates.append(length * 2.0 * half * jnp.sqrt(jnp.maximum(1.0 - half * half, 0.0)))
        if dim % 2:
            single = 2.0 * next(uniforms) - 1.0
            coordinates.append(single if left is None else single * jnp.sqrt(left))
        return jnp.stack(barrier(coordinates), axis=1)

    return points


def _uniforms24(words: list[jax.Array]) -> list[jax.Array]:
    """Return uniforms on (0, 1) of 24 bits: one from the top of each word, one from the low bytes of three words."""
    tops = [word >> 8 for word in words]
    low = [word & 0xFF for word in words]
    spare = [(low[i] << 16) | (low[i + 1] << 8) | low[i + 2] for i in range(0, len(words) - 2, 3)]
    return [(bits.astype(jnp.result_type(float)) + 0.5) * 2.0**-24 for bits in tops + spare]
