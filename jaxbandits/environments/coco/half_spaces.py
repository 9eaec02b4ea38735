"""Linear constraint whose slope and offset change every round, shared by several environments.

    g_t(x) = s_t <a, x> - b_t,   s_t uniform on 1 +- slope_noise,   b_t uniform on [margin, margin + margin_spread]

The direction a is fixed, so that the constraints of all past rounds together are equivalent to the half-space
`<a, x> <= min_t b_t / s_t`, which a single number determines. Points are arrays of shape `d` or `(m, n)`.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import rng


class HalfSpace(NamedTuple):
    """The constraint of one round."""

    normal: jax.Array  # [d]  s_t a
    offset: jax.Array  # []  b_t
    bound: jax.Array  # []  b_t / s_t

    def value(self, x: jax.Array) -> jax.Array:
        """Return the value g_t(x) `[]` of the constraint."""
        return jnp.vdot(self.normal, x) - self.offset


def directions(key: jax.Array, shape: tuple[int, ...], slope: ArrayLike, conflict: ArrayLike) -> tuple[jax.Array, ...]:
    """Draw a uniform unit vector, along which the loss decreases, and the constraint direction a of length `slope`.

    Args:
      key: random key.
      shape: shape of the points.
      slope: ||a||.
      conflict: cosine of the angle between both directions; with 1, descent on the loss leads straight into the
        constraint. In one dimension, where no direction is orthogonal, a is scaled by the cosine instead.
    """
    size = math.prod(shape)
    drawn = rng.normals(key, 2, size)
    first, second = tuple(trees.row(drawn, k).reshape(shape) for k in range(2))
    downhill = first / jnp.linalg.norm(first)
    across = second - downhill * jnp.vdot(downhill, second)
    # In one dimension, `across` consists of rounding errors only.
    across = across * 0.0 if size == 1 else across / jnp.linalg.norm(across)
    return downhill, (across * jnp.sqrt(1.0 - conflict * conflict) + downhill * conflict) * slope


def loosest(slope_noise: ArrayLike, margin: ArrayLike, spread: ArrayLike) -> jax.Array:
    """Return the largest possible value `[]` of b_t / s_t, which initialises the minimum over rounds."""
    return jnp.asarray((margin + spread) / (1.0 - slope_noise), jnp.result_type(float))


def draw(key: jax.Array, normal: jax.Array, slope_noise: ArrayLike, margin: ArrayLike, spread: ArrayLike) -> HalfSpace:
    """Draw the constraint of a round, from block 0 of the key."""
    first, second = (symmetric_uniform(word) for word in rng.random_words(key, 0))
    steepness = 1.0 + slope_noise * first
    offset = margin + spread * 0.5 * (1.0 + second)
    return HalfSpace(steepness * normal, offset, offset / steepness)


def noise(key: jax.Array, shape: tuple[int, ...], bound: ArrayLike) -> jax.Array:
    """Draw independent uniform coordinates with mean 0 and norm at most `bound`, from blocks 1, 2, ... of the key."""
    size = math.prod(shape)
    first, second = rng.random_words(key, 1 + jnp.arange((size + 1) // 2))  # two words per block
    words = jnp.concatenate((first, second))[:size].reshape(shape)
    return bound / math.sqrt(size) * symmetric_uniform(words)


def symmetric_uniform(word: jax.Array) -> jax.Array:
    """Convert random words to numbers that are uniform on [-1, 1] with mean 0, from 24 of their 32 bits."""
    return ((word >> 8).astype(jnp.result_type(float)) + 0.5) * 2.0**-23 - 1.0
