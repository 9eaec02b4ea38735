"""Stochastic linear bandit with heavy-tailed noise (Wang, Zhang, Zhao & Zhou, ICML 2025, Section 5 and Appendix E).

    reward_t = x_t'theta* + a_t eta_t,   nu_t = a_t (E |eta|^{1+eps})^{1/(1+eps)}
    regret_t = max_{x available at t} x'theta* - x_t'theta*       (computed from means)

Unless they are given, the coordinates of arms and theta* are drawn uniformly from [-1, 1] in every trial; arms are then
rescaled into the unit ball, and theta* to norm S. Either $a_t = 1$ in every round, or log10 $a_t$ is drawn uniformly
from (0, noise_decades). In every round, all arms or the arms of a random subset are available.
"""

import warnings
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, require_defaults, static, validate
from jaxbandits.base.ranges import BOOL
from jaxbandits.environments.linear.noise import Noise, StudentT, check_moment, check_noise, sample_with_scale
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.numerics import rng
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, FixedArmObs, Recommendation, ScaledReward

_SUBSET_ARMS = 128  # largest K for which available arms are drawn one by one; for larger K a permutation is drawn


class HeavyTailedState(NamedTuple):
    """Problem instance of a trial, which is constant unless theta* drifts."""

    arms: jax.Array  # [K, d]
    theta: Vector  # [d]  theta*
    best: jax.Array | None  # []  max_k x_k'theta*; None if the available arms change
    means: Any  # [K]  x_k'theta*; None if all arms are always available
    noise_scale: jax.Array  # []  nu, the moment scale of eta


@pytree
class HeavyTailed:
    """Linear bandit whose noise may have infinite variance; by default, every trial draws a separate instance.

    The feedback is the reward and $nu_t$ (`ScaledReward`); a learner that declares `Reward` does not receive $nu_t$.
    """

    source: ClassVar[str] = "Wang, Zhang, Zhao & Zhou, ICML 2025, Section 5"
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    n_arms: int = static(range="[1, inf)", doc="K, number of arms")
    noise: Noise = param(factory=StudentT, doc="distribution of eta")
    eps: ArrayLike = param(0.99, "(0, 1]", "eps; nu_t is the scale of the moment of order 1 + eps")
    moment_scale: ArrayLike | None = param(
        None, "(0, inf)", "moment scale in the feedback; None for the exact scale of eta"
    )
    noise_decades: ArrayLike | None = param(None, "[0, inf)", "upper end of the range of log10 a_t; None for a_t = 1")
    theta_norm: ArrayLike = param(1.0, "(0, inf)", "S = ||theta*|| if theta* is drawn")
    unit_arms: ArrayLike = param(
        False, BOOL, "whether each drawn arm is divided by its own norm instead of by the largest norm"
    )
    available: int | None = static(
        None, "[1, inf)", "number of arms in the random subset that is available in a round; None for all arms"
    )
    arms: ArrayLike | None = param(
        None, "(-inf, inf)", "[K, d] fixed arms for all trials; None to draw them in every trial"
    )
    theta: ArrayLike | None = param(
        None, "(-inf, inf)", "[d] fixed theta* for all trials; None to draw it in every trial"
    )

    @classmethod
    def from_arms(cls, arms: Any, theta: Any, **settings: FieldValue) -> "HeavyTailed":
        """Return an environment with given arms `[K, d]` and parameter `[d]`, which are the same in all trials.

        Args:
          arms: K arms, one per row; a warning is issued if an arm lies outside the unit ball, which learners assume by
            default.
          theta: theta*; a warning is issued if its norm exceeds 1, the bound that learners assume by default.
          **settings: values of other fields, such as `noise=Gaussian(spread=0.1)`.

        Raises:
          InputError: if the shape is wrong or an entry is not a finite number.
        """
        arms, theta = ranges.floats("arms", arms, "(K, d)"), ranges.floats("theta", theta, "(d,)")
        n_arms, dim = arms.shape
        env = cls(dim=dim, n_arms=n_arms, arms=arms, theta=theta, **settings)
        validate(env)
        for name, bound, norm in [("arm_bound", "an arm", _norms(arms).max()), ("norm_bound", "theta", _norms(theta))]:
            if norm > 1.0 + 1e-6:
                warnings.warn(
                    f"{bound} has norm {norm:.6g}, outside the unit ball that learners assume: rescale it, or pass "
                    f"{name}={norm:.6g} to the learner",
                    stacklevel=2,
                )
        return env

    @classmethod
    def example(cls) -> "HeavyTailed":
        return cls(dim=2, n_arms=5)

    def check(self) -> None:
        """Raise InputError if fields are inconsistent."""
        if self.available is not None and self.available > self.n_arms:
            raise InputError(f"HeavyTailed.available must lie in [1, n_arms = {self.n_arms}], got {self.available}")
        for name, value, shape in (("arms", self.arms, (self.n_arms, self.dim)), ("theta", self.theta, (self.dim,))):
            if value is None:
                continue
            value = ranges.floats(f"HeavyTailed.{name}", value)
            if value.shape[-len(shape) :] != shape:
                raise InputError(f"HeavyTailed.{name} must have shape {shape}, got {value.shape}")
        if self.arms is not None:
            require_defaults(self, ["unit_arms"], "arms are given")
        if self.theta is not None:
            require_defaults(self, ["theta_norm"], "theta is given")
        check_noise(self.noise, "HeavyTailed.noise")
        if self.moment_scale is None:
            check_moment(self.noise, self.eps, "HeavyTailed.eps", " (or set moment_scale)")

    def init(self, key: jax.Array) -> HeavyTailedState:
        for_arms, for_theta = jax.random.split(key)
        arms, theta = self._draw_arms(for_arms), self._draw_theta(for_theta)
        means = arms @ theta  # [K], rounded as in `step`
        all_arms = self._all_available
        return HeavyTailedState(
            arms=arms,
            theta=theta,
            best=jnp.max(means) if all_arms else None,
            means=None if all_arms else means,
            noise_scale=self._noise_scale(),
        )

    def moved(self, state: HeavyTailedState, theta: Vector) -> HeavyTailedState:
        """Return the instance with theta* replaced by theta `[d]`."""
        means, all_arms = state.arms @ theta, self._all_available
        return state._replace(theta=theta, best=largest(means) if all_arms else None, means=None if all_arms else means)

    def observe(self, key: jax.Array, t: jax.Array, state: HeavyTailedState) -> ArmObs:
        del t
        if self.available is None or self._all_available:
            return FixedArmObs(state.arms)
        if self.n_arms <= _SUBSET_ARMS:
            return FixedArmObs(state.arms, rng.subset(key, self.n_arms, self.available))
        return FixedArmObs(state.arms, jax.random.permutation(key, self.n_arms) < self.available)

    def step(
        self, key: jax.Array, t: jax.Array, state: HeavyTailedState, obs: ArmObs, decision: ArmDecision
    ) -> tuple[HeavyTailedState, ScaledReward, RegretOutcome]:
        del t
        noise, scale = sample_with_scale(self.noise, key, state.noise_scale, self.noise_decades)
        mean = decision.x @ state.theta
        best = largest(state.means, obs.mask) if state.best is None else state.best
        return state, ScaledReward(reward=mean + noise, noise_scale=scale), RegretOutcome(regret=best - mean)

    def admits(self, state: HeavyTailedState, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range and the arm is available."""
        del state
        is_arm = (decision.index >= 0) & (decision.index < self.n_arms)
        return is_arm if obs.mask is None else is_arm & obs.mask[jnp.clip(decision.index, 0, self.n_arms - 1)]

    def at_record(self, state: HeavyTailedState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return `estimation_error`, the Euclidean distance between the recommended parameter `[d]` and theta*."""
        if recommendation is None or jnp.shape(recommendation) != state.theta.shape:  # the recommendation may be an arm
            return {}
        return {"estimation_error": jnp.linalg.norm(recommendation - state.theta)}

    @property
    def _all_available(self) -> bool:
        return self.available is None or self.available == self.n_arms

    def _draw_arms(self, key: jax.Array) -> jax.Array:
        if self.arms is not None:
            return jnp.asarray(self.arms, jnp.result_type(float))
        arms = rng.uniform_between(key, (self.n_arms, self.dim), -1.0, 1.0)
        norms = jnp.sqrt(jnp.sum(arms * arms, axis=1, keepdims=True))
        return arms / jnp.maximum(jnp.where(self.unit_arms, norms, jnp.max(norms)), _tiny())

    def _draw_theta(self, key: jax.Array) -> jax.Array:
        if self.theta is not None:
            return jnp.asarray(self.theta, jnp.result_type(float))
        theta = rng.uniform_between(key, (self.dim,), -1.0, 1.0)
        return theta / jnp.maximum(jnp.sqrt(jnp.sum(theta * theta)), _tiny()) * self.theta_norm

    def _noise_scale(self) -> jax.Array:
        scale = self.noise.scale(self.eps) if self.moment_scale is None else self.moment_scale
        return jnp.asarray(scale, dtype=jnp.result_type(float))


def _tiny() -> Any:
    return jnp.finfo(jnp.result_type(float)).tiny


def _norms(x: np.ndarray) -> np.ndarray:
    return np.sqrt(np.sum(x * x, axis=-1))
