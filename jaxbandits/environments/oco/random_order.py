"""Finite pool of linear losses, drawn in a new uniformly random order in every pass (SEA model).

    pool: v_i = m e_1 + s * (uniform on the unit sphere), i = 1..n, drawn once per trial
    f_t(x) = c <v, x>, v drawn from the vectors that remain in this pass,   F_t(x) = c <mean of these vectors, x>

Let $S^2 = sum_i ||v_i - vbar||^2 / (n - 1)$ and $H_n = 1 + 1/2 + ... + 1/n$, and let $P = T / n$ be the number of
passes. In expectation over the order,

    sigma^2_{1:T} = c^2 P S^2 (n - H_n),   Sigma^2_{1:T} = c^2 (||vbar||^2 + (2 P - 1) (n - 1)/n S^2)

In expectation over the pool as well, $S^2$ becomes $s^2$ and ||vbar||^2 becomes $m^2 + s^2/n$. The module
`linear_losses` describes the SEA model.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import protocol
from jaxbandits.domains.ball import L2Ball
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.environments.oco.sequences import along_first, point
from jaxbandits.numerics import losses, rng
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.linalg import Vector
from jaxbandits.tracing.batching import fori_loop
from jaxbandits.types import FullInformation, PointDecision, Recommendation

_LARGEST_ERROR = 4e-3  # estimate eps n^1.5 of the error of the last mean of a pass above which sums are compensated


class RandomOrderState(NamedTuple):
    """Pool, order of the current pass, and sufficient statistics for the comparators."""

    pool: jax.Array  # [n, d]  c v_1, ..., c v_n
    order: jax.Array  # [n] int32, losses drawn in this pass, followed by the remaining losses
    pool_sum: Any  # [d]  sum of the pool; a `CompensatedSum` if rounding errors of a plain sum would matter
    left_sum: Any  # [d]  sum of the remaining losses of this pass, of the same type
    gradients: CompensatedSum  # [d]  sum of the gradients
    mean_gradients: CompensatedSum  # [d]  sum of grad F_t


class RandomOrderOutcome(NamedTuple):
    """Losses of the decision in one round."""

    loss: jax.Array  # []  f_t(x_t)
    mean_loss: jax.Array  # []  F_t(x_t)


@pytree
class RandomOrder:
    """Linear losses drawn without replacement, in every pass, from a pool of `pool_size` vectors.

    The metrics are those of `LinearLosses`: `loss`, `mean_loss`, `comparator_loss`, `mean_comparator_loss`, `regret`
    and `pseudo_regret`. $F_t$ depends on the losses that were drawn in earlier rounds, as in the random-order model.

    Each round takes one step of a Fisher-Yates shuffle, which moves one of the remaining vectors to the front. A round
    therefore costs $O(1)$, and no permutation is drawn at the start of a pass. The order of a pass is uniformly random
    and independent of the previous order.

    Numerics: the sum of the remaining vectors, which gives $F_t$, is reduced by one vector per round. For large pools
      (above about 1,000 vectors in float32) it is a Kahan sum, since at the end of a pass the rounding errors of a
      plain sum would exceed what remains: with 10^6 vectors in float32, the last mean would be wrong by 20
      (float32/test_sea_environments.py::test_the_mean_of_what_a_large_pool_has_left).

    References: S. Sachs, H. Hadiji, T. van Erven, C. Guzman, "Between Stochastic and Adversarial Online Convex
      Optimization: Improved Regret Bounds via Smoothness", NeurIPS 2022, random order model. The instance is ours.
    """

    source: ClassVar[str] = "Sachs et al., NeurIPS 2022: a pool of losses in random order"
    dim: int = static(range="[1, inf)", doc="d, dimension of the domain")
    pool_size: int = static(64, "[1, 16777216)", "n, number of losses in the pool; a pass has n rounds")
    domain: ConvexSet = param(factory=L2Ball, doc="X, the set of the comparator if none is given; it then needs `lmo`")
    mean: ArrayLike = param(0.1, "(-inf, inf)", "m; the vectors of the pool lie around m e_1")
    noise_scale: ArrayLike = param(0.9, "[0, inf)", "s, distance of the vectors of the pool from m e_1")
    comparator: ArrayLike | None = param(
        None, "(-inf, inf)", "comparator u [d], or a number U for U e_1; None for the best fixed point of the domain"
    )
    loss_scale: ArrayLike = param(1.0, "(0, inf)", "c, factor of the losses")

    @classmethod
    def example(cls) -> "RandomOrder":
        return cls(dim=2, pool_size=8)

    def init(self, key: jax.Array) -> RandomOrderState:
        directions = rng.unit_vectors(key, self.pool_size, self.dim)
        center = along_first(self.mean, self.dim)
        pool = (center + self.noise_scale * directions) * self.loss_scale
        total = self._sum(pool)
        order = jnp.arange(self.pool_size, dtype=jnp.int32)
        nothing = CompensatedSum.init(jnp.zeros(self.dim))
        return RandomOrderState(pool, order, total, total, nothing, nothing)

    def observe(self, key: jax.Array, t: jax.Array, state: RandomOrderState) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: RandomOrderState, obs: None, decision: PointDecision
    ) -> tuple[RandomOrderState, FullInformation, RandomOrderOutcome]:
        del obs
        order, drawn, position = draw_without_replacement(key, t, state.order)
        slope = state.pool[drawn]
        left_sum = trees.where(position == 0, state.pool_sum, state.left_sum)
        remaining = left_sum.total if isinstance(left_sum, CompensatedSum) else left_sum
        mean = (1.0 / (self.pool_size - position).astype(jnp.result_type(float))) * remaining
        loss = losses.Linear(slope)
        values, gradients = losses.evaluate(loss, decision.query)
        outcome = RandomOrderOutcome(loss.value(decision.play), losses.Linear(mean).value(decision.play))
        state = state._replace(
            order=order,
            left_sum=left_sum.add(-slope) if isinstance(left_sum, CompensatedSum) else left_sum - slope,
            gradients=state.gradients.add(slope),
            mean_gradients=state.mean_gradients.add(mean),
        )
        return state, FullInformation(values, gradients, loss), outcome

    def admits(self, state: RandomOrderState, obs: None, decision: PointDecision) -> jax.Array:
        """Return True if the play lies in the domain, or if a comparator is given."""
        del state, obs
        return protocol.contains(self.domain, decision.play) | (self.comparator is not None)

    def at_record(self, state: RandomOrderState, recommendation: Recommendation) -> dict[str, jax.Array]:
        del recommendation
        return {
            "comparator_loss": self._comparator_loss(state.gradients.total),
            "mean_comparator_loss": self._comparator_loss(state.mean_gradients.total),
        }

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return `regret` and `pseudo_regret` at record points, subtracted in float64."""
        return {
            "regret": values["loss"] - values["comparator_loss"],
            "pseudo_regret": values["mean_loss"] - values["mean_comparator_loss"],
        }

    @property
    def lipschitz(self) -> ArrayLike:
        """G, a bound on the norms of all gradients."""
        return self.loss_scale * (abs(self.mean) + self.noise_scale)

    def cumulative_variance(self, horizon: int, pool: Any = None) -> ArrayLike:
        """Return the expectation of sigma^2_{1:T} over the order, and over the pool unless a pool `[n, d]` is given."""
        spread, _ = self._moments(pool)
        passes, rest = divmod(horizon, self.pool_size)
        return spread * (passes * self._variances(self.pool_size) + self._variances(rest))

    def cumulative_variation(self, horizon: int, pool: Any = None) -> ArrayLike:
        """Return the expectation of Sigma^2_{1:T} over the order, and over the pool unless a pool `[n, d]` is given."""
        spread, first = self._moments(pool)
        n = self.pool_size
        passes, rest = divmod(horizon - 1, n)  # full passes, and rounds after the first round of the last pass
        within = (1.0 - 1.0 / n) * passes + (1.0 / (n - rest) - 1.0 / n)
        return first + spread * (within + passes * (n - 1.0) / n)

    def cumulative_deviation(self, horizon: int, pool: Any = None) -> ArrayLike:
        """Return an upper bound on the expectation of sigma_{1:T} over the order.

        sigma_{1:T} is the sum of the standard deviations (not of the variances) of the gradients. The bound follows
        from Jensen's inequality in every round.
        """
        spread, _ = self._moments(pool)
        passes, rest = divmod(horizon, self.pool_size)
        return spread**0.5 * (passes * self._deviations(self.pool_size) + self._deviations(rest))

    def cumulative_mean_gradients(self, horizon: int, pool: Any = None) -> ArrayLike:
        """Return an upper bound on the expectation over the order of G_{1:T} (fraktur), the sum of ||grad F_t||.

        The bound follows from Jensen's inequality.
        """
        spread, first = self._moments(pool)
        n = self.pool_size
        passes, rest = divmod(horizon, n)
        left = np.arange(n, 0.0, -1.0)  # the mean of r remaining vectors has variance S^2 (1/r - 1/n)
        length = (first + spread * (1.0 / left - 1.0 / n)) ** 0.5
        return passes * length.sum() + length[:rest].sum()

    def _sum(self, pool: jax.Array) -> Vector | CompensatedSum:
        """Return the sum `[d]` of the pool, from which the vectors of a pass are subtracted one by one."""
        if jnp.finfo(pool.dtype).eps * self.pool_size**1.5 < _LARGEST_ERROR:
            return jnp.sum(pool, axis=0)
        zero = CompensatedSum.init(jnp.zeros(self.dim, pool.dtype))
        return fori_loop(0, self.pool_size, lambda i, total: total.add(pool[i]), zero)

    def _deviations(self, rounds: int) -> float:
        """Return an upper bound on the sum of sigma_t / S over the first `rounds` rounds of a pass."""
        return float(np.sum(np.sqrt(1.0 - 1.0 / np.arange(self.pool_size, self.pool_size - rounds, -1.0))))

    def _variances(self, rounds: int) -> float:
        """Return the sum of sigma_t^2 / S^2 over the first `rounds` rounds of a pass.

        If r vectors remain, the expectation of their variance is S^2 (r - 1) / r.
        """
        return float(np.sum(1.0 - 1.0 / np.arange(self.pool_size, self.pool_size - rounds, -1.0)))

    def _moments(self, pool: Any) -> tuple[ArrayLike, ArrayLike]:
        """Return c^2 S^2 and c^2 ||vbar||^2; a given pool already contains the factor c."""
        n = self.pool_size
        if pool is None:
            scale = self.loss_scale**2
            return scale * self.noise_scale**2 * (n > 1), scale * (self.mean**2 + self.noise_scale**2 / n)
        center = jnp.mean(pool, axis=0)
        return jnp.sum((pool - center) ** 2) / max(n - 1, 1), center @ center

    def _comparator_loss(self, gradient_sum: Vector) -> jax.Array:
        best = self.domain.lmo(gradient_sum)[0] if self.comparator is None else point(self.comparator, self.dim)
        return gradient_sum @ best


def draw_without_replacement(key: jax.Array, t: jax.Array, order: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Take the step of a Fisher-Yates shuffle of `order` `[n]` at position t mod n.

    Returns:
      The new order, the element that was drawn, and the position.
    """
    n = order.shape[0]
    position = lax.rem(t, jnp.asarray(n, t.dtype))
    chosen = position + rng.randint(key, n - position)
    drawn, front = order[chosen], order[position]
    order = order.at[chosen].set(front)
    return lax.dynamic_update_index_in_dim(order, drawn, position, 0), drawn, position
