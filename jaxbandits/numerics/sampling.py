"""Indices drawn from weights by given uniforms: one of them, or k different ones with prescribed marginals.

Everything has a static shape and is a function of its uniforms, so that a run can be replayed elsewhere step by step.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

_UNROLLED = 48  # weights up to which a loop over them is written out


def inverse_cdf(q: jax.Array, u: jax.Array) -> jax.Array:
    """The index i with `q_1 + ... + q_{i-1} <= u < q_1 + ... + q_i`, int32: one uniform makes a draw from q `[m]`.

    The last index where rounding leaves the sum of q below u.
    """
    if len(q) > _UNROLLED:
        return jnp.sum(jnp.cumsum(q)[:-1] <= u, dtype=jnp.int32)
    index, end = jnp.zeros((), jnp.int32), 0.0
    for mass in q[:-1]:
        end = end + mass
        index = index + (end <= u)
    return index


def uniform_index(n: int, u: jax.Array) -> jax.Array:
    """One of 0, ..., n - 1 from one uniform in [0, 1), int32."""
    return jnp.minimum((u * n).astype(jnp.int32), n - 1)


def dep_round(q: jax.Array, k: int, u: jax.Array) -> jax.Array:
    """`[k]` different indices, int32, in no particular order: index i is among them with probability `k q_i`.

    Dependent rounding: the probabilities `p = k q` are made 0 or 1 pair by pair, each pair by a coin that leaves both
    their means and their sum as they were. Index 0 meets 1; whichever of the two is still undecided meets 2; and so on.

    Args:
      q: `[m]` weights of at most 1/k each, with sum 1.
      k: static, 1 <= k <= m.
      u: `[m - 1]` uniforms in [0, 1); `u[b - 1]` is the coin of the pair with index b, unused where there is no pair.

    References: R. Gandhi, S. Khuller, S. Parthasarathy, A. Srinivasan, "Dependent rounding and its applications to
      approximation algorithms", JACM 2006; Zhang et al., JMLR, Algorithm 9.
    """
    m, p, slots = len(q), k * q, jnp.arange(k)

    def meet(b: Any, now: Any) -> Any:
        index, carried, count, chosen = now
        carried, other = _pair(carried, p[b], u[b - 1])
        stays = _undecided(carried)
        decided, value = jnp.where(stays, b, index), jnp.where(stays, other, carried)
        taken = value > 0.5  # 0 or 1 up to rounding
        chosen = jnp.where(taken & (slots == count), decided, chosen)
        return jnp.where(stays, index, b), jnp.where(stays, carried, other), count + taken, chosen

    zero = jnp.zeros((), jnp.int32)
    index, _, count, chosen = lax.fori_loop(
        1, m, meet, (zero, p[0], zero, jnp.zeros(k, jnp.int32)), unroll=m <= _UNROLLED
    )
    return jnp.where(slots == count, index, chosen)  # the last one decided: what is left is 0 or 1


def _pair(p: jax.Array, other: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Two probabilities after their coin: one of them 0 or 1, if both were undecided."""
    both = _undecided(p) & _undecided(other)
    up, down = jnp.minimum(1.0 - p, other), jnp.minimum(p, 1.0 - other)
    shift = jnp.where(u < down / jnp.where(both, up + down, 1.0), up, -down)
    return jnp.where(both, p + shift, p), jnp.where(both, other - shift, other)


def _undecided(p: jax.Array) -> jax.Array:
    margin = 1e-12 if p.dtype == jnp.float64 else 1e-6  # above the rounding of m additions
    return (p > margin) & (p < 1.0 - margin)


def systematic_sampling(q: jax.Array, k: int, u: jax.Array) -> jax.Array:
    """`[k]` different indices in ascending order, int32, from one uniform: index i with probability `k q_i`.

    The points u, u + 1, ..., u + k - 1 on a line of length k, of which index i owns a piece of length `k q_i <= 1`.
    Marginals are those of `dep_round`, pairs are not: indices far enough apart may never be drawn together.

    Args:
      q: `[m]` weights of at most 1/k each, with sum 1.
      k: static, 1 <= k <= m.
      u: a uniform in [0, 1).
    """
    ends, places = jnp.cumsum(k * q)[:-1], jnp.arange(k)
    reached = jnp.sum(ends <= u + places[:, None], axis=1, dtype=jnp.int32)
    # Rounding could give a piece of length 1 two points, or the last ones no piece.
    return jnp.minimum(lax.cummax(reached - places) + places, len(q) - k + places)
