"""Sums of the rewards of each arm over bins of equal size, for estimators that need more than the total reward.

The n rewards of an arm are divided into bins of N consecutive rewards, N a power of two; only the sums of the bins are
stored. When all B bins are full, neighbouring bins are merged and N doubles; from then on at least B / 2 bins are
complete. As long as n <= B, N is 1 and every reward is stored. The memory is $O(B K)$ for any number of rounds.

If rewards are independent and identically distributed with variance s^2, so are the means of complete bins, with
variance s^2 / N.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Bins(NamedTuple):
    """Binned rewards of K arms; the arm axis is the last axis, and is absent for a single arm."""

    count: jax.Array  # [K]  n, number of rewards
    size: jax.Array  # [K]  N, number of rewards in a bin
    total: jax.Array  # [B, K]  sum of the rewards in each bin; the last bins may be incomplete or empty

    @property
    def complete(self) -> jax.Array:
        """`[K]` number of complete bins."""
        return jnp.floor(self.count / self.size)

    @property
    def mean(self) -> jax.Array:
        """`[B, K]` means of the complete bins."""
        return self.total * (1.0 / self.size)  # exact: N is a power of two


def empty(n_bins: int, n_arms: int) -> Bins:
    """Return bins without rewards.

    Args:
      n_bins: B, even.
      n_arms: K.
    """
    return Bins(jnp.zeros(n_arms), jnp.ones(n_arms), jnp.zeros((n_bins, n_arms)))


def add(bins: Bins, reward: jax.Array) -> Bins:
    """Return the bins `[B]` of one arm after adding a reward `[]`."""
    n_bins = bins.total.shape[0]
    is_full = bins.count >= n_bins * bins.size
    pairs = bins.total.reshape(n_bins // 2, 2).sum(axis=1)
    total = jnp.where(is_full, jnp.concatenate([pairs, jnp.zeros_like(pairs)]), bins.total)
    size = jnp.where(is_full, 2.0 * bins.size, bins.size)
    is_open = jnp.arange(n_bins) == jnp.floor(bins.count / size)
    return Bins(bins.count + 1.0, size, jnp.where(is_open, total + reward, total))


def is_complete(bins: Bins) -> jax.Array:
    """Return a mask `[B, K]` of the complete bins."""
    ranks = jnp.arange(bins.total.shape[0]).reshape(-1, *[1] * bins.count.ndim)
    return ranks < bins.complete
