"""Counts, means and variances of the rewards of K arms, by Welford's recursion."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.numerics.compensated import CompensatedSum


class Moments(NamedTuple):
    """Number of rewards, mean and sum of squared deviations of every arm.

    The sums are compensated. The steps of Welford's recursion decrease with the number of plays: plain sums in float32
    would lose most of their digits, so that a mean of 0.3 could be wrong by 3 % after 10^7 plays.
    """

    count: jax.Array  # [K]  T_i
    means: CompensatedSum  # leaves [K]  m_i, the sum of the steps of the mean
    squares: CompensatedSum  # leaves [K]  T_i V_i, sum of squared distances from the mean

    @classmethod
    def init(cls, n_arms: int) -> "Moments":
        """Return the moments before the first reward, which are all 0."""
        zero = jnp.zeros(n_arms)
        return cls(zero, CompensatedSum.init(zero), CompensatedSum.init(zero))

    @property
    def mean(self) -> jax.Array:
        """Mean rewards m_i `[K]`; 0 for arms that were not played."""
        return self.means.total

    @property
    def variance(self) -> jax.Array:
        """Empirical variances V_i `[K]`; 0 for arms that were not played."""
        return self.squares.total / jnp.maximum(self.count, 1.0)

    def add(self, index: jax.Array, reward: jax.Array) -> "Moments":
        """Return the moments after one more reward of one arm."""
        off = reward - self.mean[index]
        step = off / (self.count[index] + 1.0)
        is_played = jnp.arange(len(self.count)) == index
        return Moments(
            self.count.at[index].add(1.0),
            self.means.add(jnp.where(is_played, step, 0.0)),
            self.squares.add(jnp.where(is_played, off * (off - step), 0.0)),
        )
