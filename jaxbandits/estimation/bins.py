"""Sums of the rewards of each arm over bins of equal size, for estimators that need more than the total reward.

The n rewards of an arm are divided into at most B bins of N consecutive rewards each, where N is a power of two. Only
the sums of the bins are stored. N is 1 as long as n <= B, so that every reward is stored. If all B bins are full, the
next reward merges neighbouring bins and doubles N; after the first merge, at least B / 2 bins are always complete. The
memory is $O(B K)$ for any number of rounds.

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
        """Number `[K]` of complete bins."""
        return jnp.floor(self.count / self.size)

    @property
    def mean(self) -> jax.Array:
        """Means `[B, K]` of the complete bins; the entries of other bins have no meaning."""
        return self.total * (1.0 / self.size)  # exact: N is a power of two


def empty(n_bins: int, n_arms: int) -> Bins:
    """Return bins without rewards.

    Args:
      n_bins: B, an even number.
      n_arms: number of arms K.
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
