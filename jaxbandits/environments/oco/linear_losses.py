"""Linear losses of the stochastically extended adversarial (SEA) model, with adversarial mean and random noise.

    f_t(x) = c <mu_t + xi_t, x>,   F_t(x) = E f_t(x) = c <mu_t, x>
    mu_t = m v_t,   xi_t = s * (uniform on the unit sphere)

m is the field `mean`, $v_t$ is `sequence`, s is `noise_scale` and c is `loss_scale`. With `noise_rank` r the noise lies
on the unit sphere of the first r axes. For unit vectors $v_t$ the norms of gradients are at most $G = c$ (|m| + s).
Exactly, $sigma^2_{1:T} = c^2 T s^2$ and $Sigma^2_{1:T} = c^2 m^2$ $(||v_1||^2 + sum_{t>=2} ||v_t - v_{t-1}||^2)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.domains import protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.environments.oco.sequences import Constant, pad, point
from jaxbandits.numerics import losses, rng
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import FullInformation, PointDecision, Recommendation


class LinearLossesState(NamedTuple):
    """Sufficient statistics for the comparators."""

    rounds: jax.Array  # [] int32, number of rounds played
    gradients: CompensatedSum  # [d]  sum of the gradients


class LinearLossesOutcome(NamedTuple):
    """Losses of the decision in one round."""

    loss: jax.Array  # []  f_t(x_t)
    mean_loss: jax.Array  # []  F_t(x_t)


@pytree
class LinearLosses:
    """Online linear optimisation with noisy gradients around a mean that follows `sequence`.

    The default sequence gives i.i.d. losses, and `sequence=Alternating(period=8)` with `noise_scale=0` gives
    adversarial losses. Further sequences are `IsolatedFlips`, `Drift` and `Piecewise`. `RandomOrder` is an environment
    with a finite pool of losses in random order.

    The metrics `loss` and `mean_loss` are summed over rounds. At record points, `comparator_loss` is the sum of the
    drawn losses at the comparator, and `mean_comparator_loss` the sum of their means at the comparator. Two further
    metrics follow:

        regret        = loss - comparator_loss              (realised)
        pseudo_regret = mean_loss - mean_comparator_loss    (in expectation, hence less noisy)

    If a comparator u is given, it need not lie in the domain (for learners on $R^d$). If none is given, the comparator
    is the best fixed point of the domain in hindsight, for the drawn losses or, in `mean_comparator_loss`, for their
    means. If the mean moves, a learner that tracks it may be better than every fixed point, so that regret can be
    negative.

    Numerics: the sum of the gradients is a Kahan sum, so that in float32 `comparator_loss` has a relative error of
      3e-7 after 10^5 rounds, whereas the error with a plain sum is 20 times as large
      (float32/test_oco.py::test_comparator_does_not_drift).

    References: S. Sachs, H. Hadiji, T. van Erven, C. Guzman, "Between Stochastic and Adversarial Online Convex
      Optimization: Improved Regret Bounds via Smoothness", NeurIPS 2022 (the model); S. Wang, A. Barik, P. Zhao,
      V. Y. F. Tan, "Parameter-free Algorithms for the Stochastically Extended Adversarial Model", NeurIPS 2025,
      arXiv 2510.04685, Section 2 (the quantities). The instances are ours.
    """

    source: ClassVar[str] = "stochastically extended adversarial (SEA) model, linear losses"
    dim: int = static(range="[1, inf)", doc="d, dimension of the domain")
    domain: ConvexSet = param(factory=L2Ball, doc="X, the set of the comparator if none is given; it then needs `lmo`")
    mean: ArrayLike = param(0.1, "(-inf, inf)", "m; the mean gradient is c m v_t")
    noise_scale: ArrayLike = param(0.3, "[0, inf)", "s, norm of the noise in every round")
    sequence: FieldValue = param(factory=Constant, doc="v_t, directions of the mean (environments.oco.sequences)")
    comparator: ArrayLike | None = param(
        None, "(-inf, inf)", "comparator u [d], or a number U for U e_1; None for the best fixed point of the domain"
    )
    loss_scale: ArrayLike = param(1.0, "(0, inf)", "c, factor of the losses")
    noise_rank: int | None = static(
        None, range="[1, inf)", doc="r <= d; the noise lies on the first r axes; None for r = d"
    )

    @classmethod
    def example(cls) -> "LinearLosses":
        return cls(dim=2)

    def check(self) -> None:
        """Raise InputError if the noise has more dimensions than the points."""
        if self.noise_rank is not None and self.noise_rank > self.dim:
            raise InputError(f"LinearLosses.noise_rank must be at most dim = {self.dim}, got {self.noise_rank}")

    def init(self, key: jax.Array) -> LinearLossesState:
        del key
        return LinearLossesState(jnp.zeros((), jnp.int32), CompensatedSum.init(jnp.zeros(self.dim)))

    def observe(self, key: jax.Array, t: jax.Array, state: LinearLossesState) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: LinearLossesState, obs: None, decision: PointDecision
    ) -> tuple[LinearLossesState, FullInformation, LinearLossesOutcome]:
        del obs
        mean = self.mean_gradient(t)
        slope = mean + (self.loss_scale * self.noise_scale) * self._direction(key)
        loss = losses.Linear(slope)
        values, gradients = losses.evaluate(loss, decision.query)
        outcome = LinearLossesOutcome(loss.value(decision.play), losses.Linear(mean).value(decision.play))
        state = LinearLossesState(jnp.asarray(t + 1, jnp.int32), state.gradients.add(slope))
        return state, FullInformation(values, gradients, loss), outcome

    def admits(self, state: LinearLossesState, obs: None, decision: PointDecision) -> jax.Array:
        """Return True if the play lies in the domain, or if a comparator is given."""
        del state, obs
        return protocol.contains(self.domain, decision.play) | (self.comparator is not None)

    def at_record(self, state: LinearLossesState, recommendation: Recommendation) -> dict[str, jax.Array]:
        del recommendation
        return {
            "comparator_loss": self._comparator_loss(state.gradients.total),
            "mean_comparator_loss": self._comparator_loss(self.mean_gradient_sum(state.rounds)),
        }

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return `regret` and `pseudo_regret` at record points, subtracted in float64."""
        return {
            "regret": values["loss"] - values["comparator_loss"],
            "pseudo_regret": values["mean_loss"] - values["mean_comparator_loss"],
        }

    def mean_gradient(self, t: jax.Array) -> Vector:
        """Return the mean gradient `[d]` of round t = 0, 1, ..."""
        return (self.loss_scale * self.mean) * self.sequence.at(t, self.dim)

    def mean_gradient_sum(self, rounds: jax.Array) -> Vector:
        """Return the sum `[d]` of the mean gradients of the first `rounds` rounds."""
        return (self.loss_scale * self.mean) * self.sequence.sum(rounds, self.dim)

    @property
    def lipschitz(self) -> ArrayLike:
        """G, a bound on the norms of all gradients."""
        return self.loss_scale * (abs(self.mean) * self.sequence.bound + self.noise_scale)

    def cumulative_variance(self, horizon: ArrayLike) -> ArrayLike:
        """Return sigma^2_{1:T}, the expected sum of sup_x E ||grad f_t(x) - grad F_t(x)||^2."""
        return horizon * (self.loss_scale * self.noise_scale) ** 2

    def cumulative_deviation(self, horizon: ArrayLike) -> ArrayLike:
        """Return sigma_{1:T}, the expected sum of sup_x E ||grad f_t(x) - grad F_t(x)|| (not squared)."""
        return horizon * (self.loss_scale * self.noise_scale)

    def cumulative_variation(self, horizon: ArrayLike) -> ArrayLike:
        """Return Sigma^2_{1:T}, the sum of sup_x ||grad F_t(x) - grad F_{t-1}(x)||^2 with F_0 = 0."""
        return (self.loss_scale * self.mean) ** 2 * self.sequence.squared_path(horizon)

    def cumulative_mean_gradients(self, horizon: ArrayLike) -> ArrayLike:
        """Return G_{1:T} (fraktur), the sum of sup_x ||grad F_t(x)||."""
        return self.loss_scale * abs(self.mean) * self.sequence.length_sum(horizon)

    def _direction(self, key: jax.Array) -> Vector:
        if self.noise_rank is None:
            return rng.unit_vector(key, self.dim)
        return pad(rng.unit_vector(key, self.noise_rank), self.dim)

    def _comparator_loss(self, gradient_sum: Vector) -> jax.Array:
        best = self.domain.lmo(gradient_sum)[0] if self.comparator is None else point(self.comparator, self.dim)
        return gradient_sum @ best
