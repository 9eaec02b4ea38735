"""Linear losses and one time-varying linear constraint, with exact comparators on any domain with a linear oracle.

    f_t(x) = <c_t, x>,          c_t = c + noise_t
    g_t(x) = s_t <a, x> - b_t,  s_t uniform on 1 +- slope_noise,  b_t uniform on [margin, margin + margin_spread]

c and a are drawn once per trial: c has length `cost` and a uniformly random direction, and a has length `slope` and
satisfies `<a, c> = -conflict ||a|| ||c||`, so that with conflict > 0 descent on the loss leads into the constraint
(`half_spaces`). The scale s_t and the offset b_t change in each round, but the direction a does not. The constraints of
all past rounds together are therefore equivalent to one half-space, `<a, x> <= min_t b_t / s_t`, and the best
*feasible* point in hindsight can be computed exactly from one vector and one number in the state.

A learner receives losses and constraint values at the points that it queries, with gradients if it declares
`Constrained` and without them if it declares `ConstrainedValue` (bandit feedback).
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.environments.coco import half_spaces
from jaxbandits.tracing.batching import fori_loop
from jaxbandits.types import Constrained, PointDecision, Recommendation


class LinearConstraintsState(NamedTuple):
    """Problem instance, and sufficient statistics for the comparators."""

    cost: jax.Array  # [d] or [m, n]  c
    normal: jax.Array  # [d]  a
    noise_sum: jax.Array  # [d]  sum of noise_t; sum c_t is computed as rounds c + noise_sum
    rounds: jax.Array  # [] int32, number of rounds
    bound: jax.Array  # []  min_t b_t / s_t


class LinearConstraintsOutcome(NamedTuple):
    """Values of loss and constraint at the decision of the round, from which regret and violation are computed."""

    loss: jax.Array  # []  f_t(x_t)
    violation: jax.Array  # []  max(g_t(x_t), 0); its sum is the cumulative constraint violation
    constraint: jax.Array  # []  g_t(x_t)


@pytree
class LinearConstraints:
    """Linear losses and one linear constraint whose slope and offset vary, on vectors or matrices.

    The domain must contain the origin. All constraints hold for `||x|| <= margin / (slope (1 + slope_noise))`, so that
    Slater's condition holds and a feasible comparator exists. The noise is bounded, so that `lipschitz` is a true
    bound.

    References:
      The problem class is that of Wang, Wan & Zhang (AAAI 2025); the distribution of the instances is ours.
    """

    source: ClassVar[str] = "linear losses, one time-varying linear constraint (ours)"
    dim: int | tuple[int, ...] = static(range="[1, inf)", doc="d, or the shape (m, n) of matrix decisions")
    domain: ConvexSet = param(factory=L2Ball, doc="K, a set that contains the origin; needs `lmo`")
    cost: ArrayLike = param(1.0, "[0, inf)", "||c||, length of the mean loss vector")
    cost_noise: ArrayLike = param(1.0, "[0, inf)", "bound on ||noise_t||, whose coordinates are uniform")
    slope: ArrayLike = param(1.0, "(0, inf)", "||a||, length of the mean constraint normal")
    slope_noise: ArrayLike = param(0.5, "[0, 1)", "half-width of the range of s_t around 1")
    conflict: ArrayLike = param(
        0.8, "[-1, 1]", "-cos of the angle between a and c; if d = 1, the factor by which a is multiplied"
    )
    margin: ArrayLike = param(0.2, "(0, inf)", "smallest value of b_t")
    margin_spread: ArrayLike = param(0.2, "[0, inf)", "length of the range of b_t")

    @classmethod
    def example(cls) -> "LinearConstraints":
        return cls(dim=2)

    @property
    def lipschitz(self) -> ArrayLike:
        """Bound on the norms of the gradients of all losses and constraints."""
        return jnp.maximum(self.cost + self.cost_noise, self.slope * (1.0 + self.slope_noise))

    def check(self) -> None:
        protocol.check(self.domain, "LinearConstraints.domain", "lmo")
        protocol.check_origin(self.domain, self._shape, "LinearConstraints.domain")

    def init(self, key: jax.Array) -> LinearConstraintsState:
        downhill, normal = half_spaces.directions(key, self._shape, self.slope, self.conflict)
        return LinearConstraintsState(
            cost=downhill * -self.cost,
            normal=normal,
            noise_sum=downhill * 0.0,
            rounds=jnp.zeros((), jnp.int32),
            bound=half_spaces.loosest(self.slope_noise, self.margin, self.margin_spread),
        )

    def observe(self, key: jax.Array, t: jax.Array, state: LinearConstraintsState) -> None:
        """Return None, because nothing is observed before the decision."""
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: LinearConstraintsState, obs: None, decision: PointDecision
    ) -> tuple[LinearConstraintsState, Constrained, LinearConstraintsOutcome]:
        del t, obs
        noise = half_spaces.noise(key, self._shape, self.cost_noise)
        constraint = half_spaces.draw(key, state.normal, self.slope_noise, self.margin, self.margin_spread)
        cost = state.cost + noise

        def loss(x: jax.Array) -> jax.Array:
            return jnp.vdot(cost, x)

        asked = [trees.row(decision.query, k) for k in range(len(decision.query))]
        feedback = Constrained(
            loss=trees.stack(*(loss(x) for x in asked)),
            grad=trees.stack(*[cost] * len(asked)),
            con=trees.stack(*(constraint.value(x) for x in asked)),
            con_grad=trees.stack(*[constraint.normal] * len(asked)),
        )
        signed = constraint.value(decision.play)
        outcome = LinearConstraintsOutcome(loss(decision.play), jnp.maximum(signed, 0.0), signed)
        state = state._replace(
            noise_sum=state.noise_sum + noise,
            rounds=state.rounds + 1,
            bound=jnp.minimum(state.bound, constraint.bound),
        )
        return state, feedback, outcome

    def admits(self, state: LinearConstraintsState, obs: None, decision: PointDecision) -> jax.Array:
        """Return True if the play lies in the domain, or if the domain has no method `contains`."""
        del state, obs
        return protocol.contains(self.domain, decision.play)

    def at_record(self, state: LinearConstraintsState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return the cumulative losses of the best fixed points in hindsight.

        Returns:
          `comparator_loss`, for the best point of the domain, and `feasible_comparator_loss`, for the best point of the
          domain that satisfies the constraints of all past rounds. Both are exact if the domain's linear oracle is
          exact.
        """
        del recommendation
        total = state.cost * state.rounds.astype(state.bound.dtype) + state.noise_sum
        best = jnp.vdot(total, self.domain.lmo(total)[0])
        return {"comparator_loss": best, "feasible_comparator_loss": self._feasible_loss(total, best, state)}

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return `regret` (against the best point) and `feasible_regret` (against the best feasible point)."""
        return {
            "regret": values["loss"] - values["comparator_loss"],
            "feasible_regret": values["loss"] - values["feasible_comparator_loss"],
        }

    def _feasible_loss(self, total: jax.Array, best: jax.Array, state: LinearConstraintsState) -> jax.Array:
        """Return `min_{x in K, <a, x> <= bound} <total, x>`, as the maximum of the concave dual function over mu >= 0.

        `dual(mu) = min_K <total + mu a, x> - mu bound` has the derivative `<a, lmo(total + mu a)> - bound`, whose root
        is found by bisection. Since the constraint has slack `bound` at the origin, the maximiser is at most
        `-best / bound`.
        """

        def halve(_: jax.Array, interval: tuple[jax.Array, jax.Array, Any]) -> tuple[jax.Array, jax.Array, Any]:
            low, high, guess = interval
            mu = 0.5 * (low + high)
            vertex, guess = self.domain.lmo(total + state.normal * mu, guess)
            infeasible = jnp.vdot(state.normal, vertex) > state.bound
            return jnp.where(infeasible, mu, low), jnp.where(infeasible, high, mu), guess

        steps = jnp.finfo(state.bound.dtype).nmant + 4
        begin = (jnp.zeros_like(best), -best / state.bound, self.domain.lmo(total)[1])
        low, _, guess = fori_loop(0, steps, halve, begin)  # low stays 0 if the constraint is inactive
        shifted = total + state.normal * low
        return jnp.vdot(shifted, self.domain.lmo(shifted, guess)[0]) - low * state.bound

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.dim if isinstance(self.dim, tuple) else (self.dim,)
