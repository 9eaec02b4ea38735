"""Abstract rule for information-directed sampling from posterior draws (Russo & Van Roy, 2018, Algorithm 6).

    for n draws theta of all means:   D_a = mean of (max_k theta_k - theta_a)
    alpha_i = fraction of draws with best arm i,   m_ia = mean of theta_a over these draws,   m_a = mean of theta_a
    play    an arm drawn from the p that minimises (p'D)^2 / p'g (`numerics.information_ratio`)

A concrete subclass defines the information g `[K]`. The cost per round is $O(n K^2)$.
"""

import abc
from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.contextual.rules.rule import WeightRule, finite
from jaxbandits.base.pytree import ArrayLike, pytree, static
from jaxbandits.estimation.models import protocol
from jaxbandits.numerics.information_ratio import minimize_information_ratio
from jaxbandits.types import Obs, State

_LARGEST = 1e15  # bound on draws and noise, so that sums of their squares are finite in float32


@pytree
class PosteriorDraws(WeightRule):
    """Abstract rule that computes the information ratio from draws of the posterior."""

    needs: ClassVar[tuple[str, ...]] = ("sample",)
    n_draws: int = static(128, "[2, inf)", "n, number of posterior draws per round")

    @abc.abstractmethod
    def gain(self, alpha: jax.Array, shift: jax.Array, square: jax.Array, noise: ArrayLike) -> jax.Array:
        """Return g `[K]`, the information about the best arm that a reward of each arm carries.

        Args:
          alpha: `[K]` alpha_i, probability that arm i is the best.
          shift: `[K, K]` m_ia - m_a; 0 where alpha_i is 0.
          square: `[K, K]` mean of (theta_a - m_a)^2 over the draws whose best arm is i; 0 where alpha_i is 0.
          noise: `[]` or `[K]` standard deviation of a reward; None for a rule that does not use it.
        """

    def weights(self, key: jax.Array, t: jax.Array, model: State, state: State, obs: Obs, mask: jax.Array) -> jax.Array:
        del t
        draws = finite(protocol.samples(model, key, state, obs, self.n_draws))  # [n, K]
        draws = jnp.clip(draws, -_LARGEST, _LARGEST)
        available = jnp.where(mask, draws, jnp.finfo(draws.dtype).min)
        best = jnp.max(available, axis=1)  # [n]
        first = jnp.cumsum(available == best[:, None], axis=1) == 1
        is_best = ((available == best[:, None]) & first).astype(draws.dtype)  # [n, K]  one arm per draw
        mean, count = jnp.mean(draws, axis=0), jnp.sum(is_best, axis=0)
        centred, share = draws - mean, 1.0 / jnp.maximum(count, 1.0)
        shift = (is_best.T @ centred) * share[:, None]  # [K, K]
        square = (is_best.T @ (centred * centred)) * share[:, None]
        noise = None
        if "noise" in self.needs:
            noise = model.noise(state)
            noise = jnp.where(noise < _LARGEST, noise, _LARGEST)  # also if it is NaN
        gain = self.gain(count / self.n_draws, shift, square, noise)
        return minimize_information_ratio(jnp.mean(best) - mean, gain, mask)
