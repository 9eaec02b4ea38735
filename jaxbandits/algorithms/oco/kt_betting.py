"""KT coin betting for online linear optimisation (Orabona & Pal, NeurIPS 2016).

    c_t = -g_t / G,     beta_t = sum_{s<t} c_s / t,     x_t = beta_t W_{t-1}
    W_t = W_{t-1} + <c_t, x_t> = W_{t-1} (1 + <c_t, beta_t>),     W_0 = eps

Here G is the field `lipschitz`, and eps is `initial_wealth`. The cost per round and the memory are $O(d)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.learner import GradientLearner
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.domains.reductions import surrogate_gradient
from jaxbandits.domains.whole_space import WholeSpace


class KTBettingState(NamedTuple):
    """State of `KTBetting` at the start of round t."""

    coin_sum: Point  # [d]  sum_{s<t} c_s
    wealth: jax.Array  # []  W_{t-1}


@pytree
class KTBetting(GradientLearner):
    """Learner without a step size that bets a Krichevsky-Trofimov fraction of its wealth on the next gradient.

    Guarantee: for convex losses on $R^d$ with gradients of norm at most G, for every u and every T the regret is at
      most G ||u|| sqrt(T ln(1 + 24 T^2 ||u||^2 / eps^2)) + G eps (Corollary 5). This bound is optimal up to logarithms
      among learners that do not know $||u||$.
    Deviations:
      * [ours] The wealth is updated by the product form above, in which rounding errors are relative and not absolute.
        It is capped at `wealth_cap`, since on linear losses the wealth grows exponentially, by design, and would
        overflow.
      * [ours] With a `domain` the bet is projected and the learner receives the surrogate gradient of `reductions`,
        which keeps the guarantee for every u in the domain. The paper's domain is $R^d$.
      * [printed] Gradients with norm above G are not clipped, so that the wealth can become negative.
    Numerics: float32 and float64 are tested (float32/test_oco_baselines.py::test_plays_are_close_to_the_reference). If
      gradients with norms far above G make the wealth or the square of a bet overflow, the state is NaN and the trial
      counts as failed (float32/test_oco_baselines.py::test_what_overflows_is_counted_as_failed).
    References: F. Orabona, D. Pal, "Coin Betting and Parameter-Free Online Learning", NeurIPS 2016, arXiv:1602.04128,
      Algorithm 1, Corollary 5.
    """

    source: ClassVar[str] = "Orabona & Pal, NeurIPS 2016"
    domain: ConvexSet = param(factory=WholeSpace, doc="X, a set with project that contains the origin")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the norm of the gradients")
    initial_wealth: ArrayLike = param(1.0, "(0, inf)", "eps, largest loss against the origin, in units of G")
    wealth_cap: ArrayLike | None = param(None, "(0, inf]", "bound on the wealth; None: (largest float)^0.45")

    @property
    def needs_immediate_feedback(self) -> bool:
        """True unless X is R^d: the surrogate gradient needs the play of the current state, not an earlier one."""
        return not isinstance(self.domain, WholeSpace)

    def init(self, key: jax.Array) -> KTBettingState:
        del key  # deterministic
        return KTBettingState(coin_sum=points.zeros(self.dim), wealth=jnp.zeros(()) + self.initial_wealth)

    def point(self, t: jax.Array, state: KTBettingState) -> Point:
        return self.domain.project(self._bet(t, state))

    def advance(self, t: jax.Array, state: KTBettingState, x: Point, grad: Point) -> KTBettingState:
        bet = self._bet(t, state)
        grad = surrogate_gradient(self.domain, grad, bet, x)
        coin = points.scale(grad, -1.0 / self.lipschitz)
        growth = 1.0 + points.inner(coin, state.coin_sum) / (t + 1.0)  # t counts from 0
        # The default cap is such that squares and sums of plays stay finite.
        cap = float(jnp.finfo(growth.dtype).max) ** 0.45 if self.wealth_cap is None else self.wealth_cap
        wealth = jnp.minimum(points.nan_if_infinite(state.wealth * growth), cap)
        finite = points.inner(bet, bet) < jnp.inf  # always true if the gradients have norms of at most G
        return KTBettingState(coin_sum=points.add(state.coin_sum, coin), wealth=jnp.where(finite, wealth, jnp.nan))

    def _bet(self, t: jax.Array, state: KTBettingState) -> Point:
        return points.scale(state.coin_sum, state.wealth / (t + 1.0))
