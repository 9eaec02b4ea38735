"""Counts, means and variances of the rewards of K arms, by Welford's recursion."""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Moments(NamedTuple):
    """Number of rewards, mean and sum of squared deviations of every arm."""

    count: jax.Array  # [K]  T_i
    mean: jax.Array  # [K]  m_i
    squares: jax.Array  # [K]  T_i V_i, sum of squared distances from the mean

    @classmethod
    def init(cls, n_arms: int) -> "Moments":
        """Return the moments before the first reward, which are all 0."""
        return cls(jnp.zeros(n_arms), jnp.zeros(n_arms), jnp.zeros(n_arms))

    @property
    def variance(self) -> jax.Array:
        """Empirical variances V_i `[K]`; 0 for arms that were not played."""
        return self.squares / jnp.maximum(self.count, 1.0)

    def add(self, index: jax.Array, reward: jax.Array) -> "Moments":
        """Return the moments after one more reward of one arm."""
        off = reward - self.mean[index]
        step = off / (self.count[index] + 1.0)
        return Moments(
            self.count.at[index].add(1.0), self.mean.at[index].add(step), self.squares.at[index].add(off * (off - step))
        )
