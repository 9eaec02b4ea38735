"""Quadratic losses around noisy targets, on a ball (SEA model, strongly convex and smooth with L = 1 for c = 1).

    f_t(x) = c/2 ||x - theta_t||^2,   F_t(x) = c/2 (||x - a v_t||^2 + s^2)
    theta_t = a v_t + s * (uniform on the unit sphere)

a is the field `center`, $v_t$ is `sequence`, s is `noise_scale` and c is `loss_scale`. At every point the noise of the
gradient is c s times a uniformly random unit vector. The module `linear_losses` describes the SEA model.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.domains.ball import L2Ball
from jaxbandits.environments.oco.sequences import Constant, point
from jaxbandits.numerics import losses, rng
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import FullInformation, PointDecision, Recommendation


class QuadraticLossesState(NamedTuple):
    """Sufficient statistics for the comparators."""

    rounds: jax.Array  # [] int32, number of rounds played
    targets: CompensatedSum  # [d]  sum of theta_t


class QuadraticLossesOutcome(NamedTuple):
    """Losses of one round, at the decision and at the origin."""

    loss: jax.Array  # []  f_t(x_t)
    mean_loss: jax.Array  # []  F_t(x_t)
    origin_loss: jax.Array  # []  f_t(0)
    mean_origin_loss: jax.Array  # []  F_t(0)


@pytree
class QuadraticLosses:
    """Squared distances to noisy targets that follow `sequence`.

    The metrics are those of `LinearLosses`: `loss`, `mean_loss`, `comparator_loss`, `mean_comparator_loss`, `regret`
    and `pseudo_regret`. If no comparator u is given, it is the best fixed point of the ball in hindsight, for the
    losses that were drawn or for their means; this is the projection of the mean target.

    References: S. Wang, A. Barik, P. Zhao, V. Y. F. Tan, "Parameter-free Algorithms for the Stochastically Extended
      Adversarial Model", NeurIPS 2025, arXiv 2510.04685, Section 2 (the quantities). The instances are ours.
    """

    source: ClassVar[str] = "SEA model, quadratic losses on a ball"
    dim: int = static(range="[1, inf)", doc="d, dimension of the domain")
    radius: ArrayLike = param(1.0, "(0, inf]", "R, radius of the domain; inf for R^d, where gradients are unbounded")
    center: ArrayLike = param(0.5, "(-inf, inf)", "a; the targets lie around a v_t")
    noise_scale: ArrayLike = param(0.3, "[0, inf)", "s, distance of the targets from a v_t")
    sequence: FieldValue = param(factory=Constant, doc="v_t, directions of the centres (environments.oco.sequences)")
    comparator: ArrayLike | None = param(
        None, "(-inf, inf)", "comparator u [d], or a number U for U e_1; None for the best fixed point of the ball"
    )
    loss_scale: ArrayLike = param(1.0, "(0, inf)", "c, factor of the losses")

    @classmethod
    def example(cls) -> "QuadraticLosses":
        return cls(dim=2)

    def init(self, key: jax.Array) -> QuadraticLossesState:
        del key
        return QuadraticLossesState(jnp.zeros((), jnp.int32), CompensatedSum.init(jnp.zeros(self.dim)))

    def observe(self, key: jax.Array, t: jax.Array, state: QuadraticLossesState) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: QuadraticLossesState, obs: None, decision: PointDecision
    ) -> tuple[QuadraticLossesState, FullInformation, QuadraticLossesOutcome]:
        del obs
        center = self.center * self.sequence.at(t, self.dim)
        target = center + self.noise_scale * rng.unit_vector(key, self.dim)
        loss = losses.ScaledLoss(losses.Quadratic(target), self.loss_scale)
        mean, spread = losses.ScaledLoss(losses.Quadratic(center), self.loss_scale), self._spread
        values, gradients = losses.evaluate(loss, decision.query)
        origin = jnp.zeros(self.dim)
        outcome = QuadraticLossesOutcome(
            loss=loss.value(decision.play),
            mean_loss=mean.value(decision.play) + spread,
            origin_loss=loss.value(origin),
            mean_origin_loss=mean.value(origin) + spread,
        )
        state = QuadraticLossesState(jnp.asarray(t + 1, jnp.int32), state.targets.add(target))
        return state, FullInformation(values, gradients, loss), outcome

    def admits(self, state: QuadraticLossesState, obs: None, decision: PointDecision) -> jax.Array:
        """Return True if the play lies in the domain."""
        del state, obs
        return L2Ball(radius=self.radius).contains(decision.play)

    def at_record(self, state: QuadraticLossesState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return the cumulative losses of the comparators minus the cumulative losses at the origin."""
        del recommendation
        centers = self.sequence.sum(state.rounds, self.dim) * self.center
        return {
            "comparator_excess": self._excess(state.targets.total, state.rounds),
            "mean_comparator_excess": self._excess(centers, state.rounds),
        }

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the comparator losses, `regret` and `pseudo_regret` at record points, in float64."""
        comparator = values["origin_loss"] + values["comparator_excess"]
        mean_comparator = values["mean_origin_loss"] + values["mean_comparator_excess"]
        return {
            "comparator_loss": comparator,
            "mean_comparator_loss": mean_comparator,
            "regret": values["loss"] - comparator,
            "pseudo_regret": values["mean_loss"] - mean_comparator,
        }

    @property
    def lipschitz(self) -> ArrayLike:
        """G, a bound on the norms of all gradients on the ball."""
        return self.loss_scale * (self.radius + abs(self.center) * self.sequence.bound + self.noise_scale)

    @property
    def smoothness(self) -> ArrayLike:
        """L, the smoothness constant of the losses."""
        return self.loss_scale

    def cumulative_variance(self, horizon: ArrayLike) -> ArrayLike:
        """Return sigma^2_{1:T}, the expected sum of sup_x E ||grad f_t(x) - grad F_t(x)||^2."""
        return horizon * (self.loss_scale * self.noise_scale) ** 2

    def cumulative_deviation(self, horizon: ArrayLike) -> ArrayLike:
        """Return sigma_{1:T}, the expected sum of sup_x E ||grad f_t(x) - grad F_t(x)|| (not squared)."""
        return horizon * (self.loss_scale * self.noise_scale)

    def cumulative_variation(self, horizon: ArrayLike) -> ArrayLike:
        """Return Sigma^2_{1:T}, the sum of sup_x ||grad F_t(x) - grad F_{t-1}(x)||^2 with F_0 = 0."""
        first = self.sequence.squared_path(1)  # ||v_1||^2
        moves = self.center**2 * (self.sequence.squared_path(horizon) - first)
        return self.loss_scale**2 * ((self.radius + abs(self.center) * jnp.sqrt(first)) ** 2 + moves)

    def cumulative_mean_gradients(self, horizon: ArrayLike) -> ArrayLike:
        """Return G_{1:T} (fraktur), the sum of sup_x ||grad F_t(x)||."""
        return self.loss_scale * (horizon * self.radius + abs(self.center) * self.sequence.length_sum(horizon))

    @property
    def _spread(self) -> ArrayLike:
        return 0.5 * self.loss_scale * self.noise_scale**2

    def _excess(self, target_sum: Vector, rounds: jax.Array) -> jax.Array:
        """Return `sum f_t(u) - f_t(0) = c (rounds ||u||^2 / 2 - <u, target_sum>)`."""
        rounds = rounds.astype(jnp.result_type(float))
        if self.comparator is None:
            u = L2Ball(radius=self.radius).project(target_sum / jnp.maximum(rounds, 1.0))
        else:
            u = point(self.comparator, self.dim)
        return self.loss_scale * (0.5 * rounds * (u @ u) - u @ target_sum)
