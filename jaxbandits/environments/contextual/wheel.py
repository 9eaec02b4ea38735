"""Wheel bandit: the larger delta is, the more rarely the context matters (Riquelme et al., ICLR 2018).

    context   x uniform in the unit disc
    arms 0-3  mean low = 1, but high = 50 for the arm of the quadrant of x if ||x|| >= delta:
              (+, +) 0, (+, -) 1, (-, +) 2, (-, -) 3
    arm 4     mean safe = 1.2
    reward    mean + Gaussian noise, of standard deviation 0.05 (0.01 for the mean `high`)

These numbers are defaults. The regret of a round is the largest mean minus the mean of the arm played. If
`low <= safe <= high`, arm 4 is the best arm with probability $delta^2$. If ||x|| >= delta, uniformly random play has a
mean reward of (high + 3 low + safe) / 5, whereas the best mean is `high`; see `uniform_regret`.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, ContextObs, Reward

_ARMS = 5


@pytree
class Wheel:
    """Wheel bandit, by default with the authors' rewards; trials differ only in contexts and noise.

    Deviations:
      * [printed] Arms are numbered from 0; the safe arm is the last arm as in the authors' code, whereas it is the
        first arm in the paper. Regret is computed from means; the code uses realised rewards.

    References:
      Carlos Riquelme, George Tucker, Jasper Snoek. Deep Bayesian Bandits Showdown. ICLR 2018, Section 5.4, and the
      authors' code.
    """

    source: ClassVar[str] = "Riquelme, Tucker & Snoek, ICLR 2018, Section 5.4"
    units: ClassVar = {"regret": "reward"}
    delta: ArrayLike = param(0.5, "[0, 1]", "radius within which the safe arm is the best")
    low: ArrayLike = param(1.0, "(-inf, inf)", "mean of arms 0 to 3")
    safe: ArrayLike = param(1.2, "(-inf, inf)", "mean of arm 4")
    high: ArrayLike = param(50.0, "(-inf, inf)", "mean of the arm of the quadrant of x, if ||x|| >= delta")
    noise_scale: ArrayLike = param(0.05, "[0, inf)", "standard deviation of the noise")
    high_noise_scale: ArrayLike = param(0.01, "[0, inf)", "standard deviation of the noise of rewards with mean `high`")

    @classmethod
    def example(cls) -> "Wheel":
        return cls()

    @property
    def dim(self) -> int:
        """Dimension p = 2 of the context."""
        return 2

    @property
    def n_arms(self) -> int:
        """Number K = 5 of arms."""
        return _ARMS

    @property
    def uniform_regret(self) -> ArrayLike:
        """Expected regret per round of uniformly random play, if low <= safe <= high."""
        inside = self.safe - (4.0 * self.low + self.safe) / 5.0
        outside = self.high - (self.high + 3.0 * self.low + self.safe) / 5.0
        return self.delta**2 * inside + (1.0 - self.delta**2) * outside

    @property
    def safe_regret(self) -> ArrayLike:
        """Expected regret per round of arm 4, if low <= safe <= high."""
        return (1.0 - self.delta**2) * (self.high - self.safe)

    def init(self, key: jax.Array) -> jax.Array:
        del key  # all trials have the same instance
        return jnp.zeros(())

    def observe(self, key: jax.Array, t: jax.Array, state: jax.Array) -> ContextObs:
        del t, state
        return ContextObs.of(rng.uniform_ball(key, 1, 2)[0], _ARMS)

    def step(
        self, key: jax.Array, t: jax.Array, state: jax.Array, obs: ContextObs, decision: ArmDecision
    ) -> tuple[jax.Array, Reward, RegretOutcome]:
        del t
        means, is_high = self._means(obs.context)
        played = jnp.arange(_ARMS) == decision.index
        mean = jnp.sum(jnp.where(played, means, 0.0))
        scale = jnp.where(jnp.any(played & is_high), self.high_noise_scale, self.noise_scale)
        return state, Reward(mean + scale * rng.normal(key)), RegretOutcome(largest(means, obs.mask) - mean)

    def _means(self, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return the means `[5]` for a context, and a mask `[5]` of the arm whose mean is `high`."""
        quadrant = jnp.where(x[0] > 0.0, 0, 2) + jnp.where(x[1] > 0.0, 0, 1)
        arms = jnp.arange(_ARMS)
        is_high = (arms == quadrant) & (x[0] * x[0] + x[1] * x[1] >= self.delta * self.delta)
        means = jnp.where(is_high, self.high, jnp.where(arms == _ARMS - 1, self.safe, self.low))
        return means, is_high

    def admits(self, state: jax.Array, obs: ContextObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < _ARMS)
