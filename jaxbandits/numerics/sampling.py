"""Sample an index from probabilities, or k different indices with prescribed marginal probabilities, from random bits.

Every result is a function of random words or uniform variates that the caller passes, so that a reference
implementation can replay a run step by step.
"""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.pytree import ArrayLike, PyTree

RESOLUTION = 2.0**-40  # smallest probability that `categorical` reproduces accurately

_UNROLLED = 48  # largest number of weights for which a loop over them is unrolled


def categorical(q: jax.Array, high: jax.Array, low: jax.Array) -> jax.Array:
    """Draw an index, int32, from probabilities q `[m]` with the bits of two random words.

    The sum of q is 1 up to rounding. Index i is drawn with probability q_i / sum(q) to within 2^-46 (float32) or m
    2^-52 (float64); an index of probability 0 is never drawn. If q_i is below `RESOLUTION`, the frequency of index i
    may differ much from q_i in relative terms, so that importance weights should use `max(q_i, RESOLUTION)`.

    The draw inverts the distribution function at a uniform variate u of 61 bits: the result is the first index for
    which the partial sum of q exceeds u sum(q).
    """
    place = (high >> 2).astype(jnp.int32)
    fraction = ((low >> 1).astype(q.dtype) + 0.5) * 2.0**-31  # u = (place + fraction) 2^-30
    if q.dtype == jnp.float32:
        return _invert_float32(q, place, fraction)
    ends = _cumulate(q)
    # Rounding must not make the point equal to the full sum: the last index would be drawn even with probability 0.
    point = jnp.minimum((place.astype(q.dtype) + fraction) * 2.0**-30, 1.0 - 2.0**-50) * ends[-1]
    return _count(lambda end: end <= point, ends)


def _invert_float32(q: jax.Array, place: jax.Array, fraction: jax.Array) -> jax.Array:
    """Return the index of `categorical`, with partial sums split into integer multiples and fractions of 2^-30.

    Sums in float32 would lose probabilities of 1e-8, or double them.
    """
    scaled = q * 2.0**30 if len(q) > _UNROLLED else [mass * 2.0**30 for mass in q]
    whole = jax.tree.map(lambda x: x.astype(jnp.int32), scaled)
    ends, rests = _cumulate(whole), _cumulate(jax.tree.map(lambda x, n: x - n.astype(x.dtype), scaled, whole))
    excess = (ends[-1] - 2**30).astype(q.dtype) + rests[-1]
    left = (ends[-1] - place).astype(q.dtype) + rests[-1]
    shifted = fraction + (place.astype(q.dtype) + fraction) * (excess * 2.0**-30)
    offset = jnp.minimum(shifted, left - jnp.abs(left) * 2.0**-20)  # less than the full sum, as in `categorical`
    return _count(lambda end, rest: (place - end).astype(q.dtype) >= rest - offset, ends, rests)


def _cumulate(x: ArrayLike) -> Any:
    """Return the cumulative sums of an array `[m]`; for short arrays as an unrolled list."""
    return jnp.cumsum(x) if len(x) > _UNROLLED else list(itertools.accumulate(x))


def _count(is_behind: Callable[..., jax.Array], *ends: Any) -> jax.Array:
    """Return the number of partial sums, without the last one, that satisfy `is_behind`."""
    if isinstance(ends[0], jax.Array):
        return jnp.sum(is_behind(*(end[:-1] for end in ends)), dtype=jnp.int32)
    index = jnp.zeros((), jnp.int32)
    for end in zip(*(end[:-1] for end in ends), strict=True):
        index = index + is_behind(*end)
    return index


def uniform_index(n: ArrayLike, word: jax.Array) -> jax.Array:
    """Map a uint32 random word to an int32 index from 0 to n - 1, each with probability 1/n to within 2^-32.

    The result is the upper half of the 64-bit product of n and the word, computed from products of their halves.
    """
    n = jnp.asarray(n).astype(jnp.uint32)
    lower = (word & 0xFFFF) * (n & 0xFFFF)
    middle = (word >> 16) * (n & 0xFFFF) + (lower >> 16)
    carried = (word & 0xFFFF) * (n >> 16) + (middle & 0xFFFF)
    return ((word >> 16) * (n >> 16) + (middle >> 16) + (carried >> 16)).astype(jnp.int32)


def uniform_available(word: jax.Array, n: int, mask: jax.Array | None) -> jax.Array:
    """Map a random word to one of the int32 indices where `mask` `[n]` is True, with equal probabilities.

    If the mask is None, all n indices are available.
    """
    if mask is None:
        return uniform_index(n, word)
    rank = jnp.cumsum(mask)  # [n] number of available indices up to and including i
    return jnp.sum(rank <= uniform_index(rank[-1], word), dtype=jnp.int32)


def dep_round(q: jax.Array, k: int, u: jax.Array) -> jax.Array:
    """Draw k different int32 indices `[k]`, in no particular order; index i is drawn with probability `k q_i`.

    Dependent rounding turns the probabilities `p = k q` into 0 or 1, pair by pair. A random step changes both
    probabilities of a pair, makes one of them 0 or 1, and preserves their sum and each expectation. The first pair is
    (0, 1); the next pair consists of the index that is still undecided and index 2; and so on.

    Args:
      q: `[m]` weights of at most 1/k each, with sum 1.
      k: number of indices (static), 1 <= k <= m.
      u: `[m - 1]` uniform variates in [0, 1]; `u[b - 1]` decides the pair with index b, and is not used if no earlier
        index is undecided.

    References: R. Gandhi, S. Khuller, S. Parthasarathy, A. Srinivasan, "Dependent rounding and its applications to
      approximation algorithms", JACM 2006; Zhang et al., JMLR, Algorithm 9.
    """
    m, p, slots = len(q), k * q, jnp.arange(k)

    def round_pair(b: ArrayLike, carry: PyTree) -> Any:
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
    """Return two probabilities after the random step of dependent rounding; unchanged unless both are undecided."""
    both = _is_undecided(p) & _is_undecided(other)
    up, down = jnp.minimum(1.0 - p, other), jnp.minimum(p, 1.0 - other)
    shift = jnp.where(u < down / jnp.where(both, up + down, 1.0), up, -down)
    return jnp.where(both, p + shift, p), jnp.where(both, other - shift, other)


def _is_undecided(p: jax.Array) -> jax.Array:
    margin = 1e-12 if p.dtype == jnp.float64 else 1e-6  # above the rounding of m additions
    return (p > margin) & (p < 1.0 - margin)


def systematic_sampling(q: jax.Array, k: int, u: jax.Array) -> jax.Array:
    """Draw k different int32 indices `[k]`, in ascending order; index i is drawn with probability `k q_i`.

    A single uniform variate u determines the draw. The interval [0, k] is divided into consecutive intervals of length
    `k q_i <= 1`, one for each index, and the indices whose intervals contain the points u, u + 1, ..., u + k - 1 are
    drawn. The marginals are those of `dep_round`, but joint probabilities differ: some pairs of indices are never drawn
    together.

    Args:
      q: `[m]` weights of at most 1/k each, with sum 1.
      k: number of indices (static), 1 <= k <= m.
      u: `[]` a uniform variate in [0, 1).
    """
    ends, places = jnp.cumsum(k * q)[:-1], jnp.arange(k)
    drawn = jnp.sum(ends <= u + places[:, None], axis=1, dtype=jnp.int32)
    # Rounding errors could put two points into the same interval, or the last points after all intervals.
    return jnp.minimum(lax.cummax(drawn - places) + places, len(q) - k + places)
