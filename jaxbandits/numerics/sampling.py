"""Sampling of one index from weights, or of k different ones with prescribed marginals, from given random bits.

Shapes are static, and every result is a function of random words or uniforms, so that a reference can replay a run step
by step.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import first_axis

LEAST_PROBABILITY = 2.0**-40  # of an index that `categorical` draws

_UNROLLED = 48  # weights up to which a loop over them is written out


def categorical(q: jax.Array, high: jax.Array, low: jax.Array) -> jax.Array:
    """Draw an index from probabilities q `[m]` by the bits of two random words, int32.

    An index is drawn with its probability to within m 2^-55 (float32) or 2^-61 (float64), wherever it stands in the
    list. One of a probability below `LEAST_PROBABILITY` is not drawn, so that importance weights 1/q_i are of bounded
    size. The largest takes what the others leave: rounding in the sum of q changes no small probability.

    Sums of probabilities are kept in two parts: whole multiples of 2^-30, added as integers, and fractions of them.
    """
    real = q.dtype
    place = (high >> 2).astype(jnp.int32)  # 30 bits
    fraction = ((low >> 1).astype(real) + 0.5) * 2.0**-31
    largest = first_axis.argmax(q)

    def parts(mass: jax.Array, is_largest: jax.Array) -> tuple[jax.Array, jax.Array]:
        scaled = jnp.where(is_largest | (mass < LEAST_PROBABILITY), 0.0, mass * 2.0**30)
        whole = scaled.astype(jnp.int32)
        return whole, scaled - whole.astype(real)

    def is_behind(whole: jax.Array, part: jax.Array) -> jax.Array:
        return (place - whole).astype(real) >= part - fraction

    if len(q) > _UNROLLED:
        whole, part = parts(q, jnp.arange(len(q)) == largest)
        index = jnp.sum(is_behind(jnp.cumsum(whole), jnp.cumsum(part)), dtype=jnp.int32)
    else:
        index, end, part_of_end = jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32), jnp.zeros((), real)
        for i in range(len(q)):
            whole, part = parts(q[i], largest == i)
            end, part_of_end = end + whole, part_of_end + part
            index = index + is_behind(end, part_of_end)
    return jnp.where(index < len(q), index, largest)


def uniform_index(n: ArrayLike, word: jax.Array) -> jax.Array:
    """Draw one of 0, ..., n - 1 by a random word, int32: each with probability 1/n to within 2^-32.

    It is the upper half of the product of n and the word, by products of their halves.
    """
    n = jnp.asarray(n).astype(jnp.uint32)
    lower = (word & 0xFFFF) * (n & 0xFFFF)
    middle = (word >> 16) * (n & 0xFFFF) + (lower >> 16)
    carried = (word & 0xFFFF) * (n >> 16) + (middle & 0xFFFF)
    return ((word >> 16) * (n >> 16) + (middle >> 16) + (carried >> 16)).astype(jnp.int32)


def uniform_available(word: jax.Array, n: int, mask: jax.Array | None) -> jax.Array:
    """Draw one of the indices where `mask` `[n]` is True (None: of all n) by a random word, int32."""
    if mask is None:
        return uniform_index(n, word)
    rank = jnp.cumsum(mask)  # [n] available indices up to and including i
    return jnp.sum(rank <= uniform_index(rank[-1], word), dtype=jnp.int32)


def dep_round(q: jax.Array, k: int, u: jax.Array) -> jax.Array:
    """Draw k different indices `[k]`, int32, in no particular order, index i with probability `k q_i`.

    Dependent rounding: the probabilities `p = k q` become 0 or 1 pair by pair. A coin changes the two of a pair, one of
    them to 0 or 1, and preserves their means and their sum. The first pair is (0, 1); the one of them that is still
    undecided and index 2 are the next pair; and so on.

    Args:
      q: `[m]` weights of at most 1/k each, with sum 1.
      k: static, 1 <= k <= m.
      u: `[m - 1]` uniforms in [0, 1]; `u[b - 1]` is the coin of the pair with index b, unused where there is no pair.

    References: R. Gandhi, S. Khuller, S. Parthasarathy, A. Srinivasan, "Dependent rounding and its applications to
      approximation algorithms", JACM 2006; Zhang et al., JMLR, Algorithm 9.
    """
    m, p, slots = len(q), k * q, jnp.arange(k)

    def round_pair(b: Any, carry: Any) -> Any:
        index, p_index, count, chosen = carry
        p_index, p_b = _flip_coin(p_index, p[b], u[b - 1])
        is_open = _is_undecided(p_index)
        decided, value = jnp.where(is_open, b, index), jnp.where(is_open, p_b, p_index)
        is_drawn = value > 0.5  # 0 or 1 up to rounding
        chosen = jnp.where(is_drawn & (slots == count), decided, chosen)
        return jnp.where(is_open, index, b), jnp.where(is_open, p_index, p_b), count + is_drawn, chosen

    zero = jnp.zeros((), jnp.int32)
    index, _, count, chosen = lax.fori_loop(
        1, m, round_pair, (zero, p[0], zero, jnp.zeros(k, jnp.int32)), unroll=m <= _UNROLLED
    )
    return jnp.where(slots == count, index, chosen)  # the last probability is 0 or 1, because the sum is k


def _flip_coin(p: jax.Array, other: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return two probabilities after their coin, one of them 0 or 1; unchanged unless both were undecided."""
    both = _is_undecided(p) & _is_undecided(other)
    up, down = jnp.minimum(1.0 - p, other), jnp.minimum(p, 1.0 - other)
    shift = jnp.where(u < down / jnp.where(both, up + down, 1.0), up, -down)
    return jnp.where(both, p + shift, p), jnp.where(both, other - shift, other)


def _is_undecided(p: jax.Array) -> jax.Array:
    margin = 1e-12 if p.dtype == jnp.float64 else 1e-6  # above the rounding of m additions
    return (p > margin) & (p < 1.0 - margin)


def systematic_sampling(q: jax.Array, k: int, u: jax.Array) -> jax.Array:
    """Draw k different indices `[k]` in ascending order, int32, from one uniform, index i with probability `k q_i`.

    A line of length k consists of one interval for each index, of length `k q_i <= 1`; the intervals that hold the
    points u, u + 1, ..., u + k - 1 are drawn. Marginals are those of `dep_round`, but joint probabilities differ: some
    pairs of indices are never drawn together.

    Args:
      q: `[m]` weights of at most 1/k each, with sum 1.
      k: static, 1 <= k <= m.
      u: a uniform in [0, 1).
    """
    ends, places = jnp.cumsum(k * q)[:-1], jnp.arange(k)
    drawn = jnp.sum(ends <= u + places[:, None], axis=1, dtype=jnp.int32)
    # Rounding could put two points into an interval of length 1, or the last points behind all intervals.
    return jnp.minimum(lax.cummax(drawn - places) + places, len(q) - k + places)
