"""Strongly convex losses and one time-varying linear constraint, with exact comparators.

    f_t(x) = alpha / 2 ||x - theta_t||^2,   theta_t = theta + noise_t
    g_t(x) = s_t <a, x> - b_t               (`half_spaces`)

theta and a are drawn once per trial: theta has length `center` and a uniformly random direction, and a has length
`slope` and satisfies `<a, theta> = conflict ||a|| ||theta||`. The sum of the losses is a quadratic around the mean of
the $theta_t$, and the constraints of all past rounds together are equivalent to one half-space. The best feasible point
in hindsight is therefore the projection of the mean on the intersection of K and this half-space; it is computed from
one vector and one number in the state.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.environments.coco import half_spaces
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.tracing.batching import fori_loop
from jaxbandits.types import Constrained, PointDecision, Recommendation


class QuadraticConstraintsState(NamedTuple):
    """Problem instance, and sufficient statistics for the comparators."""

    target: jax.Array  # [d] or [m, n]  theta
    normal: jax.Array  # [d]  a
    noise_sum: CompensatedSum  # [d]  sum of noise_t
    rounds: jax.Array  # [] int32
    bound: jax.Array  # []  min_t b_t / s_t


class QuadraticConstraintsOutcome(NamedTuple):
    """Values of loss and constraint at the decision of the round, and the loss at the origin."""

    loss: jax.Array  # []  f_t(x_t)
    violation: jax.Array  # []  max(g_t(x_t), 0); its sum is the cumulative constraint violation
    constraint: jax.Array  # []  g_t(x_t)
    origin_loss: jax.Array  # []  f_t(0)


@pytree
class QuadraticConstraints:
    """Squared distances to noisy targets, and one linear constraint whose slope and offset vary.

    The domain must contain the origin. All constraints hold for `||x|| <= margin / (slope (1 + slope_noise))`. The
    noise is bounded, so that `lipschitz` and `value_bound` are true bounds. The feedback is that of
    `LinearConstraints`.

    References:
      The problem class is that of Wang, Wan & Zhang (AAAI 2025) with strongly convex losses; the distribution of the
      instances is ours.
    """

    source: ClassVar[str] = "quadratic losses, one time-varying linear constraint (ours)"
    dim: int | tuple[int, ...] = static(range="[1, inf)", doc="d, or the shape (m, n) of matrix decisions")
    domain: ConvexSet = param(
        factory=L2Ball, doc="K, a set that contains the origin; needs `project`, and `outer_radius` for the bounds"
    )
    curvature: ArrayLike = param(1.0, "(0, inf)", "alpha, modulus of strong convexity of the losses")
    center: ArrayLike = param(0.8, "[0, inf)", "||theta||, distance of the mean target from the origin")
    target_noise: ArrayLike = param(0.3, "[0, inf)", "bound on ||noise_t||, whose coordinates are uniform")
    slope: ArrayLike = param(1.0, "(0, inf)", "||a||, length of the mean constraint normal")
    slope_noise: ArrayLike = param(0.5, "[0, 1)", "half-width of the range of s_t around 1")
    conflict: ArrayLike = param(
        0.8, "[-1, 1]", "cosine of the angle between a and theta; if d = 1, the factor by which a is multiplied"
    )
    margin: ArrayLike = param(0.2, "(0, inf)", "smallest value of b_t")
    margin_spread: ArrayLike = param(0.2, "[0, inf)", "length of the range of b_t")

    @classmethod
    def example(cls) -> "QuadraticConstraints":
        return cls(dim=2)

    @property
    def lipschitz(self) -> ArrayLike:
        """Bound on the norms of the gradients of all losses and constraints on the domain."""
        return jnp.maximum(self.curvature * self._reach, self.slope * (1.0 + self.slope_noise))

    @property
    def value_bound(self) -> ArrayLike:
        """Bound on the values of all losses on the domain."""
        return 0.5 * self.curvature * self._reach**2

    def check(self) -> None:
        protocol.check(self.domain, "QuadraticConstraints.domain", "project")
        protocol.check_origin(self.domain, self._shape, "QuadraticConstraints.domain")

    def init(self, key: jax.Array) -> QuadraticConstraintsState:
        downhill, normal = half_spaces.directions(key, self._shape, self.slope, self.conflict)
        return QuadraticConstraintsState(
            target=downhill * self.center,
            normal=normal,
            noise_sum=CompensatedSum.init(downhill * 0.0),
            rounds=jnp.zeros((), jnp.int32),
            bound=half_spaces.loosest(self.slope_noise, self.margin, self.margin_spread),
        )

    def observe(self, key: jax.Array, t: jax.Array, state: QuadraticConstraintsState) -> None:
        """Return None, because nothing is observed before the decision."""
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: QuadraticConstraintsState, obs: None, decision: PointDecision
    ) -> tuple[QuadraticConstraintsState, Constrained, QuadraticConstraintsOutcome]:
        del t, obs
        noise = half_spaces.noise(key, self._shape, self.target_noise)
        constraint = half_spaces.draw(key, state.normal, self.slope_noise, self.margin, self.margin_spread)
        target = state.target + noise

        def offset(x: jax.Array) -> jax.Array:
            return x - target

        def loss(x: jax.Array) -> jax.Array:
            return 0.5 * self.curvature * jnp.vdot(offset(x), offset(x))

        asked = [trees.row(decision.query, k) for k in range(len(decision.query))]
        feedback = Constrained(
            loss=trees.stack(*(loss(x) for x in asked)),
            grad=trees.stack(*(self.curvature * offset(x) for x in asked)),
            con=trees.stack(*(constraint.value(x) for x in asked)),
            con_grad=trees.stack(*[constraint.normal] * len(asked)),
        )
        signed = constraint.value(decision.play)
        outcome = QuadraticConstraintsOutcome(
            loss=loss(decision.play),
            violation=jnp.maximum(signed, 0.0),
            constraint=signed,
            origin_loss=0.5 * self.curvature * jnp.vdot(target, target),
        )
        state = state._replace(
            noise_sum=state.noise_sum.add(noise),
            rounds=state.rounds + 1,
            bound=jnp.minimum(state.bound, constraint.bound),
        )
        return state, feedback, outcome

    def admits(self, state: QuadraticConstraintsState, obs: None, decision: PointDecision) -> jax.Array:
        """Return True if the play lies in the domain, or if the domain has no method `contains`."""
        del state, obs
        return protocol.contains(self.domain, decision.play)

    def at_record(self, state: QuadraticConstraintsState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return the cumulative losses of the best fixed points in hindsight, minus the cumulative loss of the origin.

        Returns:
          `comparator_excess`, for the best point of the domain, and `feasible_comparator_excess`, for the best point
          that satisfies the constraints of all past rounds. Both are exact if the domain's projection is exact.
        """
        del recommendation
        rounds = state.rounds.astype(state.bound.dtype)
        mean = state.target + state.noise_sum.total / jnp.maximum(rounds, 1.0)
        scale = self.curvature * rounds
        return {
            "comparator_excess": scale * _excess(self.domain.project(mean), mean),
            "feasible_comparator_excess": scale * self._feasible_excess(mean, state),
        }

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the losses of both comparators, and the regrets against them."""
        comparator = values["origin_loss"] + values["comparator_excess"]
        feasible = values["origin_loss"] + values["feasible_comparator_excess"]
        return {
            "comparator_loss": comparator,
            "feasible_comparator_loss": feasible,
            "regret": values["loss"] - comparator,
            "feasible_regret": values["loss"] - feasible,
        }

    def _feasible_excess(self, mean: jax.Array, state: QuadraticConstraintsState) -> jax.Array:
        """Compute `min ||x||^2 / 2 - <x, mean>` over K and the half-space, as the maximum of the dual over mu >= 0.

        The minimum in `dual(mu)` is attained at `P_K(mean - mu a)`, so that the derivative of the dual is
        `<a, P_K(mean - mu a)> - bound`, whose root is found by bisection. The dual is at least `-||mean||^2 / 2`, and
        the constraint has slack `bound` at the origin, so that the maximiser is at most `||mean||^2 / (2 bound)`.
        """

        def at(mu: jax.Array) -> jax.Array:
            return self.domain.project(mean - state.normal * mu)

        def slope(mu: jax.Array) -> jax.Array:
            return jnp.vdot(state.normal, at(mu)) - state.bound

        def halve(_: jax.Array, interval: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            low, high = interval
            mu = 0.5 * (low + high)
            infeasible = slope(mu) > 0.0
            return jnp.where(infeasible, mu, low), jnp.where(infeasible, high, mu)

        begin = (jnp.zeros_like(state.bound), 0.5 * jnp.vdot(mean, mean) / state.bound)
        # `low` stays 0 if the constraint is inactive.
        low, _ = fori_loop(0, jnp.finfo(state.bound.dtype).nmant + 4, halve, begin)
        return _excess(at(low), mean) + low * slope(low)

    @property
    def _reach(self) -> ArrayLike:
        """Upper bound on the distance between a point of K and a target."""
        return self.domain.outer_radius(self._shape) + self.center + self.target_noise

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.dim if isinstance(self.dim, tuple) else (self.dim,)


def _excess(x: jax.Array, mean: jax.Array) -> jax.Array:
    """Return `(||x - mean||^2 - ||mean||^2) / 2`."""
    return 0.5 * jnp.vdot(x, x) - jnp.vdot(x, mean)
