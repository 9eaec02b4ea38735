"""Logistic losses with labels from a logistic model that may move (SEA model, smooth and Lipschitz).

    f_t(x) = c ln(1 + exp(-y_t <a_t, x>)),   a_t = s * (uniform on the unit sphere)
    y_t = 1 with probability 1 / (1 + exp(-<a_t, b v_t>)), else -1

s is the field `feature_norm`, b is `center`, $v_t$ is `sequence` and c is `loss_scale`. The mean loss $F_t$ has its
minimum at $b v_t$. The module `linear_losses` describes the SEA model.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.environments.oco.sequences import Constant, point
from jaxbandits.environments.outcomes import FixedComparatorOutcome
from jaxbandits.numerics import losses, rng
from jaxbandits.types import FullInformation, PointDecision


@pytree
class LogisticLosses:
    """Online logistic regression, where the parameter of the labels follows `sequence`.

    If no comparator is given, it is $b e_1$, the minimiser of the mean loss in rounds with $v_t = e_1$. The metrics
    `loss`, `comparator_loss` and `regret` are summed over rounds.
    """

    source: ClassVar[str] = "SEA model, logistic losses on R^d"
    dim: int = static(range="[1, inf)", doc="d, dimension of the domain")
    center: ArrayLike = param(2.0, "(-inf, inf)", "b; the parameter of the labels is b v_t")
    feature_norm: ArrayLike = param(1.0, "[0, inf)", "s, norm of the features")
    sequence: FieldValue = param(factory=Constant, doc="v_t, directions of the parameter (environments.oco.sequences)")
    comparator: ArrayLike | None = param(
        None, "(-inf, inf)", "comparator u [d], or a number U for U e_1; None for b e_1"
    )
    loss_scale: ArrayLike = param(1.0, "(0, inf)", "c, factor of the losses")

    @classmethod
    def example(cls) -> "LogisticLosses":
        return cls(dim=2)

    def init(self, key: jax.Array) -> None:
        del key

    def observe(self, key: jax.Array, t: jax.Array, state: None) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: None, obs: None, decision: PointDecision
    ) -> tuple[None, FullInformation, FixedComparatorOutcome]:
        del state, obs
        for_features, for_label = jax.random.split(key)
        features = self.feature_norm * rng.unit_vector(for_features, self.dim)
        model = self.center * self.sequence.at(t, self.dim)
        positive = jax.nn.sigmoid(features @ model)
        label = jnp.where(rng.bernoulli(for_label, positive), 1.0, -1.0).astype(positive.dtype)
        loss = losses.ScaledLoss(losses.Logistic(features, label), self.loss_scale)
        values, gradients = losses.evaluate(loss, decision.query)
        u = point(self.center if self.comparator is None else self.comparator, self.dim)
        charged, compared = loss.value(decision.play), loss.value(u)
        return (
            None,
            FullInformation(values, gradients, loss),
            FixedComparatorOutcome(charged, compared, charged - compared),
        )

    @property
    def lipschitz(self) -> ArrayLike:
        """G, a bound on the norms of all gradients."""
        return self.loss_scale * self.feature_norm

    @property
    def smoothness(self) -> ArrayLike:
        """L, a bound on the largest eigenvalue of the Hessian of every loss."""
        return 0.25 * self.loss_scale * self.feature_norm**2

    def cumulative_variance(self, horizon: ArrayLike) -> ArrayLike:
        """Return an upper bound on sigma^2_{1:T}, the expected sum of sup_x E ||grad f_t(x) - grad F_t(x)||^2.

        The bound holds because the norm of every gradient is at most c s.
        """
        return horizon * (self.loss_scale * self.feature_norm) ** 2

    def cumulative_deviation(self, horizon: ArrayLike) -> ArrayLike:
        """Return an upper bound on sigma_{1:T}, the expected sum of sup_x E ||grad f_t(x) - grad F_t(x)||."""
        return horizon * self.loss_scale * self.feature_norm

    def cumulative_variation(self, horizon: ArrayLike) -> ArrayLike:
        """Return an upper bound on Sigma^2_{1:T}, the sum of sup_x ||grad F_t(x) - grad F_{t-1}(x)||^2 with F_0 = 0.

        The bound depends on the path length of the parameter. If the parameter b v_t moves by a distance r, grad F_t(x)
        changes by at most r c s^2 / 4; the norm of the first gradient is at most c s.
        """
        moves = self.center**2 * (self.sequence.squared_path(horizon) - self.sequence.squared_path(1))
        return (self.loss_scale * self.feature_norm) ** 2 * (1.0 + self.feature_norm**2 / 16.0 * moves)

    def cumulative_mean_gradients(self, horizon: ArrayLike) -> ArrayLike:
        """Return an upper bound on G_{1:T} (fraktur), the sum of sup_x ||grad F_t(x)||."""
        return self.cumulative_deviation(horizon)
