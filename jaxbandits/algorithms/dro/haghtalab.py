"""Haghtalab et al.: SMD for group DRO that reuses samples (NeurIPS 2022, first version; a comparator, biased).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    in rounds t = 1, m + 1, 2 m + 1, ...: draw z'_i from every group i, and keep them for m rounds
    draw i_t from q_t and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w grad loss(w_t; z)]                              (13), (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta_q loss(w_t; z'_i))              (18), (15), (16)
    r = sqrt(8 / (5 T (D^2 G^2 + log m))),   eta_w = w_scale D^2 r,   eta_q = q_scale (log m) r
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

m = n_groups, T = horizon, W = domain, G = lipschitz, D^2 = diameter_sq. Time and memory a round O(m d).
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Model, Players, Saddle, Weights
from jaxbandits.algorithms.dro.steps import Steps, constant, theorem_1
from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.numerics import losses, rng, sampling
from jaxbandits.types import GroupDecision, SampledRows


class HaghtalabState(NamedTuple):
    """Both players, their averages, what `init` made of the hyperparameters, and the rows in use."""

    model: Model  # [d]
    weights: Weights  # [m]
    steps: Steps  # []
    x: jax.Array  # [m, d]  features of z'_i
    y: jax.Array  # [m]  labels


@pytree
class Haghtalab:
    """A comparator that Zhang et al. discuss and do not run: two samples a round on average.

    Guarantee:
      None. From the third round of a block on, w_t depends on the rows of the block through q: their losses at w_t are
      biased estimates of the risks, which the authors' analysis does not see (Zhang et al., after (18)).

    Deviations:
      Needs the rows themselves, and knows one loss, the logistic one of a linear model [ours]. No steps are given:
      those of Theorem 1, whose bounds on both gradients hold here [ours]. A ball of radius 3, G = sqrt(d) and
      multipliers 1 are [ours].

    References:
      N. Haghtalab, M. I. Jordan, E. Zhao, "On-demand sampling: Learning optimally from multiple distributions", NeurIPS
      2022. L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, equation (18).
    """

    feedback: ClassVar[type] = SampledRows
    dim: int = static(range="[1, inf)", doc="d, of features and model")
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, the number of rounds that the steps are made for")
    domain: Any = param(factory=players.ball, doc="W, convex; needs zero, project and diameter")
    start: Any = param(None, doc="w_1 [d]; None: domain.zero, the centre of a ball")
    lipschitz: ArrayLike | None = param(None, "(0, inf)", "G, bound on gradient norms; None: sqrt(d)")
    diameter_sq: ArrayLike | None = param(None, "(0, inf)", "D^2, range of ||w - w_1||^2 / 2; None: B^2 / 2 on a ball")
    w_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of w; 1 is the theory")
    q_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of q; 1 is the theory")
    step_w: ArrayLike | None = param(None, "[0, inf)", "eta_w; None: w_scale times the theory")
    step_q: ArrayLike | None = param(None, "[0, inf)", "eta_q; None: q_scale times the theory")

    @classmethod
    def theory(cls, *, dim: int, n_groups: int, horizon: ArrayLike, **changes: Any) -> "Haghtalab":
        """The steps of Theorem 1, unscaled: the defaults."""
        return cls(**{"dim": dim, "n_groups": n_groups, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: int, n_groups: int, horizon: ArrayLike, **changes: Any) -> "Haghtalab":
        """Three times the step of w (our choice, as for SMD(m))."""
        return cls.theory(**{"dim": dim, "n_groups": n_groups, "horizon": horizon, "w_scale": 3.0} | changes)

    def check(self) -> None:
        """The whole space has no D^2 of its own."""
        players.check(self, "step_w", "step_q")

    def steps(self) -> Steps:
        """`(eta_w, eta_q)` of Theorem 1 with their multipliers, or those given."""
        theory = theorem_1(self.n_groups, self.horizon, *players.geometry(self))
        return theory.scaled(self.w_scale, self.q_scale).given(self.step_w, self.step_q)

    def init(self, key: jax.Array) -> HaghtalabState:
        del key  # deterministic: both players start where their mirror maps are least
        rows = jnp.zeros((self.n_groups, self.dim)), jnp.ones(self.n_groups)  # round 0 draws the first
        return HaghtalabState(*Players.start(self), *rows)

    def select(self, key: jax.Array, t: jax.Array, state: HaghtalabState, obs: None) -> GroupDecision:
        del obs
        q, m = state.weights.q, self.n_groups
        index = sampling.inverse_cdf(q, rng.uniform(key))
        group = jnp.concatenate([index[None], jnp.arange(m, dtype=jnp.int32)])
        drawn = (jnp.arange(m + 1) == 0) | (t % m == 0)
        return GroupDecision(play=state.model.w, weights=q, group=group, drawn=drawn)

    def update(
        self, key, t, state: HaghtalabState, obs: None, decision: GroupDecision, feedback: SampledRows
    ) -> HaghtalabState:
        del key, obs
        fresh, kept = (feedback.x[1:], feedback.y[1:]), (state.x, state.y)
        x, y = trees.where(t % self.n_groups == 0, fresh, kept)
        loss, _ = losses.log_loss(y * (x @ decision.play))  # (18): at w_t, of rows that may be old
        grad = trees.row(feedback.grad, 0)
        both = Players(state.model, state.weights, state.steps).move(self.domain, grad, loss, constant(t))
        return HaghtalabState(*both, x, y)

    def recommend(self, state: HaghtalabState) -> Saddle:
        """The averages of the models and of the weights so far, `[d]` and `[m]`."""
        return Saddle(state.model.mean, state.weights.mean)
