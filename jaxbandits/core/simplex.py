"""Entropic mirror descent on the simplex and the capped simplex `{0 <= q_i <= 1/k, sum q = 1}`, in log space.

The state of a weights player is `log q`, never q: a concentrated q underflows in float32, its logarithm does not. All
functions take weights in either form of `core.linalg`: a `Vec` of m scalars (small m) or an array `[m]`.
"""

import functools
import math
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from jaxbandits.core import linalg
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Vec, Vector
from jaxbandits.core.pytree import ArrayLike

T = TypeVar("T")


class Saddle(NamedTuple):
    """A point of `min_w max_q`: what the algorithms for group DRO recommend."""

    w: Vector  # [d] model
    q: Vector  # [m] group weights


def log_uniform(n: int) -> Vector:
    """`log q` of the uniform weights, where mirror descent starts."""
    return linalg.vectors(jnp.full(n, -math.log(n), float))


def exp(log_q: Vector) -> Vector:
    """The weights q from `log q`."""
    return jax.tree.map(jnp.exp, log_q)


def mirror_step(log_q: Vector, gain: Vector, step: ArrayLike, k: int = 1) -> Vector:
    """`log` of `argmax_p step <gain, p> - KL(p, q)` over the weights of at most 1/k each (Hedge for k = 1).

    Args:
      log_q: `[m]`.
      gain: `[m]` what the weights player wants more of (minus its losses).
      step: step size, >= 0.
      k: static, 1 <= k <= m; the cap is 1/k.
    """
    return kl_projection(once(jax.tree.map(lambda a, g: a + step * g, log_q, gain)), k)


def kl_projection(log_p: Vector, k: int = 1) -> Vector:
    """`log` of the nearest weights of at most 1/k each to an unnormalised p, in the Kullback-Leibler sense.

    The solution is `q_i = min(c p_i, 1/k)`. With the j largest entries at the cap, the others share `1 - j/k` in
    proportion to p; the right j is the smallest for which the largest of those others stays below the cap. The test is
    one-sided, so ties and entries below the rounding of others cannot leave it without an answer, and `j = k - 1` needs
    none. Everything is taken relative to that largest uncapped entry, so that float32 sums to one at any scale of p.
    For k = 1 this is plain normalisation.

    Args:
      log_p: `[m]`; adding a constant changes nothing.
      k: static, 1 <= k <= m.
    """
    log_cap = -math.log(k)
    top, rest = _split(log_p, k - 1)
    pivot, log_sum = _log_sum_exp(rest)  # j = k - 1: the sum is exp(pivot + log_sum)
    level, log_share = pivot, log_cap - log_sum  # the largest uncapped entry, and log of its q
    for j in reversed(range(k - 1)):
        log_sum, pivot = jnp.logaddexp(0.0, pivot - top[j] + log_sum), top[j]
        candidate = math.log1p(-j / k) - log_sum
        fits = candidate <= log_cap
        level, log_share = jnp.where(fits, pivot, level), jnp.where(fits, candidate, log_share)
    level, log_share = once((level, log_share))
    return jax.tree.map(lambda a: jnp.minimum((a - level) + log_share, log_cap), log_p)


def inverse_cdf(q: Vector, u: jax.Array) -> jax.Array:
    """The index i with `q_1 + ... + q_{i-1} <= u < q_1 + ... + q_i`, int32: one uniform makes a draw from q.

    The last index where rounding leaves the sum of q below u.
    """
    if not isinstance(q, Vec):
        below = jnp.sum(jnp.cumsum(q)[:-1] <= u)
        return below.astype(jnp.int32)
    total, index = jnp.zeros_like(u), jnp.zeros((), jnp.int32)
    for mass in q.leaves[:-1]:
        total = total + mass
        index = index + (total <= u)
    return index


def indicator(index: jax.Array, n: int) -> Vector:
    """The unit vector `e_index` in R^n: multiplied, it takes or places one entry without gather and scatter."""
    return jax.tree.map(lambda i: (i == index).astype(jnp.zeros(()).dtype), linalg.vectors(jnp.arange(n)))


def combine(q: Vector, rows: Any) -> Any:
    """`sum_i q_i rows_i` over the leading axis of every leaf."""
    if not isinstance(q, Vec):
        return jax.tree.map(lambda leaf: jnp.tensordot(q, leaf, 1), rows)
    return jax.tree.map(lambda leaf: functools.reduce(jnp.add, (a * leaf[i] for i, a in enumerate(q.leaves))), rows)


def average(mean: T, value: T, fraction: ArrayLike) -> T:
    """A running weighted mean of any pytree: `mean + fraction (value - mean)`.

    `fraction = eta_t / (eta_1 + ... + eta_t)` for weights eta: `1/t` for the plain mean. No sum is accumulated, so that
    float32 does not drift.
    """
    return jax.tree.map(lambda a, b: a + fraction * (b - a), mean, value)


def _split(a: Vector, n: int) -> tuple[Any, Any]:
    """The n largest entries in descending order, and the others in any order."""
    if not isinstance(a, Vec):
        ordered = jnp.sort(a, descending=True) if n else a
        return ordered[:n], ordered[n:]
    others, top = list(a.leaves), []
    for _ in range(
        n
    ):  # n passes of a bubble sort: elementwise, where a sort of a tiny axis would run one trial at a time
        largest, rest = others[0], []
        for entry in others[1:]:
            rest.append(jnp.minimum(largest, entry))
            largest = jnp.maximum(largest, entry)
        others = once(rest)
        top.append(largest)
    return top, Vec(others)


def _log_sum_exp(a: Vector) -> tuple[jax.Array, jax.Array]:
    """The largest entry, and the logarithm of the sum of exponentials relative to it."""
    if not isinstance(a, Vec):
        largest = jnp.max(a)
        return largest, jnp.log(jnp.sum(jnp.exp(a - largest)))
    largest = once(functools.reduce(jnp.maximum, a.leaves))
    return largest, jnp.log(functools.reduce(jnp.add, (jnp.exp(entry - largest) for entry in a.leaves)))
