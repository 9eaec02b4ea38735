"""Counts, means and variances of the rewards of K arms, by Welford's recursion."""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Moments(NamedTuple):
    """Counts and first two moments of every arm."""

    count: jax.Array  # [K]  T_i
    mean: jax.Array  # [K]  m_i
    squares: jax.Array  # [K]  T_i V_i, sum of squared distances from the mean

    @classmethod
    def init(cls, n_arms: int) -> "Moments":
        """Return the moments of no rewards."""
        return cls(jnp.zeros(n_arms), jnp.zeros(n_arms), jnp.zeros(n_arms))

    @property
    def variance(self) -> jax.Array:
        """`[K]` V_i; 0 where the arm was not played."""
        return self.squares / jnp.maximum(self.count, 1.0)

    def add(self, index: jax.Array, reward: jax.Array) -> "Moments":
        """Count a reward of one arm."""
        off = reward - self.mean[index]
        step = off / (self.count[index] + 1.0)
        return Moments(
            self.count.at[index].add(1.0), self.mean.at[index].add(step), self.squares.at[index].add(off * (off - step))
        )
