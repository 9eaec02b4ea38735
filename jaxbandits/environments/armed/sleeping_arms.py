"""Sleeping bandit: in every round only some Bernoulli arms are awake (Kleinberg, Niculescu-Mizil & Sharma, 2010).

    arm i is awake with probability q_i, independently;   reward_t ~ Bernoulli(mu_i) for the arm i played
    regret_t = (largest mu_k of the arms that are awake) - mu_i

The mask of the observation is True for the arms that are awake.
"""

from typing import ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, lists_to_arrays, param, pytree
from jaxbandits.environments.armed.arms import Arms, ArmsState
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, IndexObs, Reward


@pytree
class SleepingArms(Arms):
    """K Bernoulli arms with stochastic availability.

    `UCB1(exploration=8.0)` on this environment is the algorithm AUER of the reference, which plays the awake arm with
    the largest upper confidence bound.

    Deviations:
      * [ours] If no arm is awake, a uniformly drawn arm is made available.

    References:
      Robert Kleinberg, Alexandru Niculescu-Mizil, Yogeshwer Sharma. Regret Bounds for Sleeping Experts and Bandits.
      Machine Learning 80, 2010. It defines the setting with stochastic rewards, and AUER.

    Example:
      >>> SleepingArms.from_means([0.9, 0.8, 0.2], awake=[0.3, 0.5, 1.0]).n_arms
      3
    """

    source: ClassVar[str] = "Kleinberg, Niculescu-Mizil & Sharma, Machine Learning 2010, stochastic rewards"
    means: ArrayLike | None = param(
        None, "[0, 1]", "[K] probabilities; None to draw them in every trial, uniformly from [0, 1]"
    )
    awake: ArrayLike = param(0.5, "[0, 1]", "q, probability that an arm is awake: one number, or [K]")

    def __post_init__(self) -> None:
        super().__post_init__()
        lists_to_arrays(self, "awake")

    @classmethod
    def from_means(cls, means: object, **settings: FieldValue) -> Self:
        made = super().from_means(means, **settings)
        made._check_awake(np.shape(made.awake))
        return made

    def check(self) -> None:
        """Raise InputError if the number of means or of probabilities is not `n_arms`."""
        super().check()
        if np.ndim(self.awake) > 1:  # one axis may be that of a sweep over numbers, which `observe` can tell
            self._check_awake(np.shape(self.awake)[-1:])

    def _check_awake(self, shape: tuple[int, ...]) -> None:
        if shape not in ((), (1,), (self.n_arms,)):
            raise InputError(f"SleepingArms.awake must have shape [] or [{self.n_arms}], got {shape}")

    @property
    def reward_range(self) -> tuple[float, float]:
        """Interval [0, 1] that contains all rewards."""
        return 0.0, 1.0

    def observe(self, key: jax.Array, t: jax.Array, state: ArmsState) -> IndexObs:
        del t, state
        self._check_awake(jnp.shape(self.awake))
        drawn = rng.uniforms(key, self.n_arms + 1)
        awake = drawn[: self.n_arms] < self.awake
        last = jnp.minimum((drawn[self.n_arms] * self.n_arms).astype(jnp.int32), self.n_arms - 1)
        return IndexObs.of(self.n_arms, jnp.where(jnp.any(awake), awake, jnp.arange(self.n_arms) == last))

    def step(
        self, key: jax.Array, t: jax.Array, state: ArmsState, obs: IndexObs, decision: ArmDecision
    ) -> tuple[ArmsState, Reward, RegretOutcome]:
        del t
        mean = state.theta[decision.index]
        return state, Reward(self.pay(key, mean)), RegretOutcome(largest(state.theta, obs.mask) - mean)

    def moved(self, state: ArmsState, theta: jax.Array) -> ArmsState:
        return super().moved(state, jnp.clip(theta, 0.0, 1.0))

    def pay(self, key: jax.Array, mean: jax.Array) -> jax.Array:
        return jnp.where(rng.bernoulli(key, mean), 1.0, 0.0)

    def admits(self, state: ArmsState, obs: IndexObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range and the arm is awake."""
        is_arm = super().admits(state, obs, decision)
        return is_arm if obs.mask is None else is_arm & obs.mask[jnp.clip(decision.index, 0, self.n_arms - 1)]
