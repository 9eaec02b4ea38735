"""Exact counts of the words that bring a draw about, by bisection: draws are monotone in their bits."""

import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.numerics import sampling
from jaxbandits.numerics.rng import unit_interval

SMALL = np.array([0.7, 0.5, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 2.0**-40, 1e-14, 2.0**-50])


def least(is_reached, bits, shape):
    """Return for each entry the least number of so many bits at which `is_reached` of (upper, lower 31 bits) holds."""
    low, high = np.zeros(shape, np.uint64), np.full(shape, np.uint64(2**bits))
    for _ in range(bits + 1):
        middle = (low + high) // np.uint64(2)
        upper, lower = (np.uint32(part) for part in (middle >> np.uint64(31), middle & np.uint64(2**31 - 1)))
        reached = np.asarray(is_reached(upper, lower)) | (low == high)
        low, high = np.where(reached, low, middle + np.uint64(1)), np.where(reached, middle, high)
    return high


def probability_of_coin(p):
    """Return P(uniform < p), exactly, for each p of an array."""
    is_above = jax.jit(lambda a, b: unit_interval.uniform_of_words(a << 1, b << 1) >= p)
    return [Fraction(int(count), 2**62) for count in least(is_above, 62, p.shape)]


def probabilities_of_indices(q):
    """Return the exact probability of each index under `categorical`."""
    m = len(q)
    drawn = jax.jit(jax.vmap(lambda a, b: sampling.categorical(q, a << 2, b << 1)))
    ends = [0, *least(lambda a, b: np.asarray(drawn(a, b)) > np.arange(m), 61, (m,))]
    return [Fraction(int(b) - int(a), 2**61) for a, b in itertools.pairwise(ends)]


def check_coins(real):
    """P(u < p) = p to within half a unit of its last place and of its grid, from 1/2 to 2^-50; 0 and 1 are certain."""
    p = jnp.asarray(SMALL, real)
    for found, wanted in zip(probability_of_coin(p), np.asarray(p, float), strict=True):
        assert abs(found / Fraction(wanted) - 1) <= float(jnp.finfo(real).eps) + 2.0**-63 / wanted
    words = jnp.asarray([0, 2**32 - 1], jnp.uint32)
    ends = unit_interval.uniform_of_words(words, words)
    assert ends.dtype == real and (ends > 0.0).all() and (ends < 1.0).all()
    several = unit_interval.uniforms_of_words(words)
    assert several.dtype == real and (several > 0.0).all() and (several < 1.0).all()


def check_indices(weights, real):
    """Every index has its share of the sum, wherever it stands; those of probability 0 have none."""
    q = jnp.asarray(weights, real)
    masses = [Fraction(float(x)) for x in np.asarray(q)]
    for found, mass in zip(probabilities_of_indices(q), masses, strict=True):
        wanted = mass / sum(masses)
        assert abs(found - wanted) <= (2.0**-46 if real == jnp.float32 else len(q) * 2.0**-52), (
            float(found),
            float(wanted),
        )
        assert found == 0 or wanted > 0
