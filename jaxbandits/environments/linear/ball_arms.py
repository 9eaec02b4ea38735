"""Linear bandit with new arms in the unit ball in every round (Russac, Vernade & Cappe, NeurIPS 2019, experiments).

    arms of a round   K vectors with coordinates uniform on (-1, 1), divided by their norm if it exceeds 1
    reward_t          x_t'theta + eta_t
    regret_t          max_{x available at t} x'theta - x_t'theta       (computed from means)

theta is given, or drawn for every trial; it may drift (`operators.with_drift`).
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, static
from jaxbandits.environments.linear.noise import Gaussian, Noise, check_noise, draw
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, Recommendation, Reward


class BallArmsState(NamedTuple):
    """Problem instance of a trial, which is constant unless theta drifts."""

    theta: Vector  # [d]


@pytree
class BallArms:
    """Linear bandit with K new arms per round, drawn from the cube and rescaled into the unit ball."""

    source: ClassVar[str] = "Russac, Vernade & Cappe, NeurIPS 2019, their experiments"
    dim: int = static(2, "[1, inf)", "d, dimension of the arms")
    n_arms: int = static(50, "[1, inf)", "K, number of arms in a round")
    noise: Noise = param(factory=Gaussian, doc="distribution of eta")
    theta: ArrayLike | None = param(
        None, "(-inf, inf)", "[d] parameter; None to draw it in every trial, uniformly from the unit sphere"
    )

    def __post_init__(self) -> None:
        lists_to_arrays(self, "theta")

    @classmethod
    def example(cls) -> "BallArms":
        return cls(dim=2, n_arms=5)

    def check(self) -> None:
        """Raise InputError if `noise` is not a noise distribution, or if `theta` does not have dimension d."""
        check_noise(self.noise, "BallArms.noise")
        if self.theta is not None and np.shape(self.theta)[-1:] != (self.dim,):
            raise InputError(f"BallArms.theta must have shape [{self.dim}], got {np.shape(self.theta)}")

    def init(self, key: jax.Array) -> BallArmsState:
        if self.theta is None:
            return BallArmsState(rng.unit_vector(key, self.dim))
        return BallArmsState(jnp.asarray(self.theta, jnp.result_type(float)))

    def moved(self, state: BallArmsState, theta: Vector) -> BallArmsState:
        """Return the instance with its parameter replaced by theta `[d]`."""
        del state
        return BallArmsState(theta)

    def observe(self, key: jax.Array, t: jax.Array, state: BallArmsState) -> ArmObs:
        del t, state
        rows = 2.0 * rng.uniforms(key, self.n_arms * self.dim).reshape(self.n_arms, self.dim) - 1.0
        return ArmObs(rows / jnp.maximum(jnp.linalg.norm(rows, axis=1, keepdims=True), 1.0))

    def step(
        self, key: jax.Array, t: jax.Array, state: BallArmsState, obs: ArmObs, decision: ArmDecision
    ) -> tuple[BallArmsState, Reward, RegretOutcome]:
        del t
        mean = decision.x @ state.theta
        best = largest(obs.arms @ state.theta)
        return state, Reward(mean + draw(self.noise, key)), RegretOutcome(regret=best - mean)

    def admits(self, state: BallArmsState, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)

    def at_record(self, state: BallArmsState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return `estimation_error`, the Euclidean distance between the recommended parameter `[d]` and theta."""
        if recommendation is None or jnp.shape(recommendation) != state.theta.shape:  # the recommendation may be an arm
            return {}
        return {"estimation_error": jnp.linalg.norm(recommendation - state.theta)}
