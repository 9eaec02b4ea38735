"""Pseudo-Huber losses around targets with noise (SEA model, smooth and Lipschitz on all of R^d, with G = L = 1).

    f_t(x) = c (sqrt(1 + ||x - theta_t||^2) - 1),   theta_t = a v_t + s * (uniform on the unit sphere)

a: `center`, $v_t$: `sequence`, s: `noise_scale`, c: `loss_scale`. With a fixed centre and no noise $sigma = 0$ and
$Sigma^2_{1:T} = c^2$ exactly, which is its first term (a supremum over $R^d$).
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.domains.ball import L2Ball
from jaxbandits.environments.oco.sequences import Constant, point
from jaxbandits.environments.outcomes import FixedComparatorOutcome
from jaxbandits.numerics import losses, rng
from jaxbandits.types import FullInformation, PointDecision


@pytree
class PseudoHuberLosses:
    """Pseudo-Huber distance to noisy targets that follow `sequence`, against a fixed u.

    The comparator is `comparator` if given, otherwise a $e_1$, the minimiser of the mean loss while $v_t = e_1$ (the
    best point in hindsight has no closed form). If both are swept together, the results show the regret as a function
    of $||u||$.

    Recorded: `loss`, `comparator_loss` and `regret`, each summed round by round. The regret of a round is computed as
    one difference, with full relative accuracy.

    References: S. Wang, A. Barik, P. Zhao, V. Y. F. Tan, "Parameter-free Algorithms for the Stochastically Extended
      Adversarial Model", NeurIPS 2025, arXiv 2510.04685, Section 2 (the quantities). The instances are ours.
    """

    source: ClassVar[str] = "SEA model, smooth Lipschitz losses on R^d"
    dim: int = static(range="[1, inf)", doc="d, dimension of the domain")
    radius: ArrayLike = param(float("inf"), "(0, inf]", "R, radius of the domain; inf: R^d")
    center: ArrayLike = param(1.0, "(-inf, inf)", "a: the targets lie around a v_t")
    noise_scale: ArrayLike = param(0.2, "[0, inf)", "s, distance of the targets from a v_t")
    sequence: FieldValue = param(
        factory=Constant, doc="v_t, the directions of the centres (environments.oco.sequences)"
    )
    comparator: ArrayLike | None = param(None, "(-inf, inf)", "u: [d] coordinates, or U for U e_1; None: a e_1")
    loss_scale: ArrayLike = param(1.0, "(0, inf)", "c multiplies the losses")

    @classmethod
    def example(cls) -> "PseudoHuberLosses":
        return cls(dim=2)

    def init(self, key: jax.Array) -> None:
        del key

    def observe(self, key: jax.Array, t: jax.Array, state: None) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: None, obs: None, decision: PointDecision
    ) -> tuple[None, FullInformation, FixedComparatorOutcome]:
        del state, obs
        center = self.center * self.sequence.at(t, self.dim)
        target = center + self.noise_scale * rng.unit_vector(key, self.dim)
        loss = losses.ScaledLoss(losses.PseudoHuber(target), self.loss_scale)
        values, gradients = losses.evaluate(loss, decision.query)
        u = point(self.center if self.comparator is None else self.comparator, self.dim)
        charged, compared = loss.value(decision.play), loss.value(u)
        # sqrt(1 + p) - sqrt(1 + q) = (p - q) / (their sum), and p - q = <x - u, x + u - 2 theta>
        around = decision.play + u + (-2.0) * target
        difference = (decision.play - u) @ around
        roots = 2.0 + (charged + compared) / self.loss_scale
        outcome = FixedComparatorOutcome(charged, compared, self.loss_scale * difference / roots)
        return None, FullInformation(values, gradients, loss), outcome

    def admits(self, state: None, obs: None, decision: PointDecision) -> jax.Array:
        """Return whether the play lies in the domain."""
        del state, obs
        return L2Ball(radius=self.radius).contains(decision.play)

    @property
    def lipschitz(self) -> ArrayLike:
        """G, a bound on the norm of all gradients; nearly attained far away."""
        return self.loss_scale

    @property
    def smoothness(self) -> ArrayLike:
        """L."""
        return self.loss_scale

    def cumulative_variance(self, horizon: ArrayLike) -> ArrayLike:
        """Return sigma^2_{1:T}, the expected sum of sup_x E ||grad f_t(x) - grad F_t(x)||^2.

        The supremum is attained at the centre, where the gradient is noise of length s / sqrt(1 + s^2) (proved for
        d = 1, checked numerically for larger d); an upper bound when the centre lies outside the domain.
        """
        return horizon * self.loss_scale**2 * self.noise_scale**2 / (1.0 + self.noise_scale**2)

    def cumulative_deviation(self, horizon: ArrayLike) -> ArrayLike:
        """Return sigma_{1:T}, the expected sum of sup_x E ||grad f_t(x) - grad F_t(x)||.

        It is also attained at the centre.
        """
        return horizon * self.loss_scale * self.noise_scale / jnp.sqrt(1.0 + self.noise_scale**2)

    def cumulative_variation(self, horizon: ArrayLike) -> ArrayLike:
        """Return Sigma^2_{1:T}, the sum of sup_x ||grad F_t(x) - grad F_{t-1}(x)||^2 with F_0 = 0.

        The value is exact for a fixed centre on R^d; with noise, or on a ball, it is an upper bound. A move of length r
        changes the gradient by at most r / sqrt(1 + r^2/4), halfway between the two centres, hence its square by r^2 or
        less.
        """
        first = self._slope(self.radius + abs(self.center) * jnp.sqrt(self.sequence.squared_path(1)) + self.noise_scale)
        moves = self.center**2 * (self.sequence.squared_path(horizon) - self.sequence.squared_path(1))
        return self.loss_scale**2 * (first**2 + moves)

    def cumulative_mean_gradients(self, horizon: ArrayLike) -> ArrayLike:
        """Return G_{1:T} (fraktur), the sum of sup_x ||grad F_t(x)||: exact on R^d, an upper bound on a ball."""
        reach = self.radius + abs(self.center) * self.sequence.bound + self.noise_scale
        return self.loss_scale * horizon * self._slope(reach)

    def _slope(self, distance: ArrayLike) -> ArrayLike:
        """Return the norm of the gradient at a distance from the target: 1 at infinity."""
        return 1.0 / jnp.sqrt(1.0 + 1.0 / jnp.asarray(distance) ** 2)
