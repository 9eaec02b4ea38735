"""Entropic mirror descent on the simplex and the capped simplex `{0 <= q_i <= 1/k, sum q = 1}`, in log space.

The state of mirror descent is `log q`: small entries of q underflow in float32, but their logarithms do not.
"""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import elementary, linalg
from jaxbandits.numerics.linalg import UNROLLED
from jaxbandits.tracing import target
from jaxbandits.tracing.barrier import barrier, materialize
from jaxbandits.tracing.batching import trials_last, while_loop

_SORTED = 60  # largest m k for which the KL projection sorts with unrolled code
_TESTED = 8  # number of terms of a chain of sums between two barriers
_MAX_STEPS = 64  # a safeguard: at most 5 steps were observed in 2 10^5 random calls of `tsallis_step`


def log_uniform(n: int) -> jax.Array:
    """Return `log q` `[n]` for uniform weights, the starting point of mirror descent."""
    return jnp.full(n, -math.log(n), float)


def mirror_step(log_q: jax.Array, gain: jax.Array, step: ArrayLike, k: int = 1) -> jax.Array:
    """Return the logarithm of `argmax_p step <gain, p> - KL(p, q)` over weights of at most 1/k each (k = 1: Hedge).

    Args:
      log_q: `[m]` logarithms of the weights q.
      gain: `[m]` gains, that is, negative losses.
      step: step size, >= 0.
      k: inverse of the cap 1/k on the weights (static), 1 <= k <= m.
    """
    return kl_projection(log_q + step * gain, k)


def kl_projection(log_p: jax.Array, k: int = 1) -> jax.Array:
    """Return the logarithm of the Kullback-Leibler projection of an unnormalised p onto weights of at most 1/k each.

    The solution is `q_i = min(c p_i, 1/k)`. If the j largest entries are at the cap, the others share the weight
    `1 - j/k` in proportion to p. The correct j is the smallest j for which the largest of the other entries is at most
    the cap: `S_j >= k - j` with `S_j = sum of the other entries / largest of the other entries`. Because `S_j >= 1`,
    `j = k - 1` always satisfies this condition, even in the presence of ties and rounding errors. All entries are
    computed relative to the largest uncapped entry, so that weights sum to one in float32 at any scale of p. For k = 1
    the projection is a normalisation; for k = m the result is the uniform weights.

    If m k is small, or if loops must have a fixed length, the largest entries are sorted and all j are tested.
    Otherwise a search starts from j = 0 and repeatedly caps all entries that exceed the cap, until no entry exceeds it.
    The search usually takes a few passes over the entries, and at most k, in a loop whose compile time does not depend
    on k.

    Args:
      log_p: `[m]` logarithms of p; adding a constant to all entries does not change the result.
      k: inverse of the cap 1/k on the weights (static), 1 <= k <= m.
    """
    if k == log_p.shape[-1]:
        return jnp.full_like(log_p, -math.log(k))
    is_searched = k > 1 and not _is_sorted(log_p.shape[-1], k) and target.has_open_loops()
    level, excess = _search(log_p, k) if is_searched else _test_all(k)(log_p)
    log_cap = -math.log(k)
    return jnp.minimum((log_p - level) + (excess + log_cap), log_cap)


def _is_sorted(m: int, k: int) -> bool:
    """Return True if partial sorting of the k largest of m entries is unrolled."""
    return m * k <= _SORTED


@functools.cache
def _test_all(k: int) -> Any:
    @trials_last
    def split(log_p: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the largest uncapped entry, and the logarithm of k times its weight."""
        top, others = _split(log_p, k - 1)
        pivot, total = _sum_exp(others)
        level, scaled = pivot, total  # S_j / (k - j) for the correct j
        for j in reversed(range(k - 1)):
            total, pivot = 1.0 + elementary.exp(pivot - top[j]) * total, top[j]
            fits = total >= k - j
            level, scaled = jnp.where(fits, pivot, level), jnp.where(fits, total * (1.0 / (k - j)), scaled)
            if (k - j) % _TESTED == 0:  # otherwise XLA recomputes the whole chain in many kernels
                total, level, scaled = materialize((total, level, scaled))
        return barrier((level, -elementary.log(scaled)))

    return split


def _search(log_p: jax.Array, k: int) -> tuple[jax.Array, jax.Array]:
    """Return the largest uncapped entry, and the logarithm of k times its weight."""

    def exceeds(carry: tuple[jax.Array, jax.Array]) -> jax.Array:
        return carry[1] > 0.0

    def cap_those_above(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        level, excess = carry
        distance = log_p - level
        # The entry at the level counts as above the cap even if its excess rounds to 0. NaN is propagated.
        lower = jnp.max(jnp.where((distance >= 0.0) | (distance > -excess), -jnp.inf, log_p))
        capped = log_p > lower
        count = jnp.sum(capped.astype(log_p.dtype))
        total = jnp.sum(jnp.where(capped, 0.0, elementary.exp(log_p - lower)))
        # Only rounding errors can make k entries exceed the cap; all k entries are then at the cap.
        fits = count < k
        return jnp.where(fits, lower, level), jnp.where(fits, elementary.log((k - count) / total), 0.0)

    infinite = jnp.full((), jnp.inf, log_p.dtype)
    return while_loop(exceeds, cap_those_above, (infinite, infinite), k + 1)


def tsallis_step(log_q: jax.Array, loss: jax.Array, step: ArrayLike) -> jax.Array:
    """Return `log p` for `p = argmin_p step <p, loss> + D(p, q)` over the simplex, by Newton's method.

    D is the Bregman divergence of the 1/2-Tsallis entropy `-2 sum sqrt(q_i)`, for which
    `1 / sqrt(p_i) = 1 / sqrt(q_i) + step loss_i + nu`. With z = 1 / sqrt(p), the multiplier nu is the root of
    `F = (sum z_i^-2)^{-1/2} - 1`, a concave and increasing function. Newton's method approaches the root monotonically
    from the left; if all z_i are equal, it takes one step.

    Args:
      log_q: `[m]` logarithms of the weights q, finite.
      loss: `[m]` loss vector, finite.
      step: step size, >= 0.
    """
    root = _above_least(log_q, loss, jnp.asarray(step, loss.dtype))

    def is_unsolved(carry):
        _, excess, _, count = carry
        return (excess > 8.0 * jnp.finfo(loss.dtype).eps) & (count < _MAX_STEPS)

    def newton(carry):
        nu, _, move, count = carry
        nu = nu + move
        return nu, *_tsallis_move(root, nu), count + 1

    # At nu = 1 the largest p_i is 1, so that nu is at most the root; the first step has length 0 and only evaluates F.
    one = jnp.ones_like(root[0])
    nu, *_ = while_loop(is_unsolved, newton, (one, one, jnp.zeros_like(one), -1), _MAX_STEPS + 1)
    return _tsallis_weights(root, nu)


def _above_least(log_q: jax.Array, loss: jax.Array, step: jax.Array) -> jax.Array:
    root = elementary.exp(-0.5 * log_q) + step * loss
    return root - jnp.min(root)


def _tsallis_move(root: jax.Array, nu: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return `sqrt(sum p) - 1`, and the Newton step from nu."""
    inverse = 1.0 / (root + nu)
    square = inverse * inverse
    total, cubes = jnp.sum(square), jnp.sum(square * inverse)
    excess = jnp.sqrt(total) - 1.0
    return excess, total * excess / cubes


def _tsallis_weights(root: jax.Array, nu: jax.Array) -> jax.Array:
    z = root + nu
    return -2.0 * elementary.log(z) - elementary.log(jnp.sum(1.0 / (z * z)))


def indicator(index: jax.Array, n: int) -> jax.Array:
    """Return the unit vector `e_index` `[n]`, with which an entry can be read or written without gather or scatter."""
    return (jnp.arange(n, dtype=jnp.int32) == index).astype(jnp.result_type(float))


def combine(q: jax.Array, rows: Any) -> Any:
    """Return the tree `sum_i q_i rows_i`, the combination over the leading axis of every leaf of `rows`."""
    return jax.tree.map(lambda leaf: jnp.tensordot(q, leaf, 1), rows)


def mean(rows: Any) -> Any:
    """Return the tree `sum_i rows_i / n`, the mean over the leading axis of every leaf of `rows`."""
    n = len(jax.tree.leaves(rows)[0])
    return combine(jnp.full(n, 1.0 / n), rows)


def repeat(q: jax.Array, counts: tuple[int, ...]) -> jax.Array:
    """Return an array `[sum counts]` in which entry i of q `[m]` is repeated `counts[i]` times."""
    return q[np.repeat(np.arange(len(counts)), counts)]


def block_sums(values: jax.Array, counts: tuple[int, ...]) -> jax.Array:
    """Return the sums `[m]` of consecutive blocks of values, where block i has `counts[i]` values."""
    ends = np.cumsum(counts)
    return jnp.stack([jnp.sum(values[end - n : end]) for n, end in zip(counts, ends, strict=True)])


def _split(a: jax.Array, n: int) -> tuple[Any, jax.Array]:
    """Return the n largest entries along the first axis in descending order, and the others in any order."""
    if not _is_sorted(a.shape[0], n + 1):
        ordered = jnp.sort(a, axis=0, descending=True) if n else a
        return ordered[:n], ordered[n:]
    others, top = list(a), []
    for _ in range(n):  # n passes of a bubble sort, vectorised over trials; `jnp.sort` would not be
        largest, smaller = others[0], []
        for entry in others[1:]:
            smaller.append(jnp.minimum(largest, entry))
            largest = jnp.maximum(largest, entry)
        others = barrier(smaller)  # otherwise XLA:CPU recomputes the earlier passes in each later pass
        top.append(largest)
    return top, jnp.stack(others)


def _sum_exp(a: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the largest entry along the first axis, and the sum of exponentials relative to it."""
    if a.shape[0] > UNROLLED:
        largest = jnp.max(a, axis=0)
        return largest, jnp.sum(jnp.exp(a - largest), axis=0)
    largest = barrier(functools.reduce(jnp.maximum, list(a)))
    # Without the barrier, XLA computes the sum twice: for the exponent and for the mantissa of its logarithm.
    return largest, barrier(linalg.sum_terms(elementary.exp(a - largest)))
