"""Contextual bandit with a linear model for each arm and, optionally, shared coefficients.

    reward_t = x_t'theta_k + z_{t,k}'beta + noise   for the arm k played
    regret_t = max_j (x_t'theta_j + z_{t,j}'beta) - (x_t'theta_k + z_{t,k}'beta)

$x_t$ is the context, and $z_{t,k}$ are the features of arm k. Both are drawn from the unit sphere in every round;
$theta_k$ and beta are drawn from the unit sphere in every trial.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.environments.linear.noise import Gaussian, Noise, check_noise, draw
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ContextObs, Reward


class LinearContextsState(NamedTuple):
    """Problem instance of a trial, which does not change over rounds."""

    theta: jax.Array  # [K, p]
    beta: Vector  # [k]


@pytree
class LinearContexts:
    """K arms whose mean rewards are linear in a context that is drawn anew in every round."""

    source: ClassVar[str] = "linear models of the arms on a common context, as in Li et al., WWW 2010"
    units: ClassVar = {"regret": "reward"}
    n_arms: int = static(5, "[1, inf)", "K, number of arms")
    dim: int = static(2, "[1, inf)", "p, dimension of the context")
    shared_dim: int = static(0, "[0, inf)", "k, dimension of the features of an arm; 0 for arms without features")
    noise: Noise = param(factory=lambda: Gaussian(spread=0.1), doc="distribution of the noise")

    @classmethod
    def example(cls) -> "LinearContexts":
        return cls(n_arms=3, dim=2, shared_dim=2)

    def check(self) -> None:
        """Raise InputError if `noise` is not a noise distribution."""
        check_noise(self.noise, "LinearContexts.noise")

    def init(self, key: jax.Array) -> LinearContextsState:
        theta_key, beta_key = jax.random.split(key)
        theta = rng.unit_vectors(theta_key, self.n_arms, self.dim)
        beta = rng.unit_vector(beta_key, self.shared_dim) if self.shared_dim else jnp.zeros(0)
        return LinearContextsState(theta, beta)

    def observe(self, key: jax.Array, t: jax.Array, state: LinearContextsState) -> ContextObs:
        del t, state
        if not self.shared_dim:
            return ContextObs.of(rng.unit_vector(key, self.dim), self.n_arms)
        context_key, arms_key = jax.random.split(key)
        arms = rng.unit_vectors(arms_key, self.n_arms, self.shared_dim)
        return ContextObs(rng.unit_vector(context_key, self.dim), arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: LinearContextsState, obs: ContextObs, decision: ArmDecision
    ) -> tuple[LinearContextsState, Reward, RegretOutcome]:
        del t
        means = state.theta @ obs.context
        if self.shared_dim:
            means = means + obs.arms @ state.beta
        mean = means[decision.index]
        return state, Reward(mean + draw(self.noise, key)), RegretOutcome(largest(means, obs.mask) - mean)

    def admits(self, state: LinearContextsState, obs: ContextObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)
