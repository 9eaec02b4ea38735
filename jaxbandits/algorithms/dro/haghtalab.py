"""Haghtalab et al.: SMD for group DRO that reuses samples (NeurIPS 2022, first version; a biased baseline).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    in rounds t = 1, m + 1, 2 m + 1, ...: draw z'_i from every group i, and keep them for m rounds
    draw i_t from q_t and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w grad loss(w_t; z)]                              (13), (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta_q loss(w_t; z'_i))              (18), (15), (16)
    r = sqrt(8 / (5 T (D^2 G^2 + log m))),   eta_w = w_scale D^2 r,   eta_q = q_scale (log m) r
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

Notation: m is the field `n_groups`, T is `horizon`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The
cost per round and the memory are $O(m d)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.dro.learner import GroupLearner, first_players
from jaxbandits.algorithms.dro.players import Players, Saddle
from jaxbandits.algorithms.dro.steps import Steps, constant_steps, theorem_1
from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.numerics import losses
from jaxbandits.types import GroupDecision, SampledRows


class HaghtalabState(NamedTuple):
    """State of both players, and the stored rows z'_i, one per group."""

    players: Players
    x: jax.Array  # [m, d]  features of z'_i
    y: jax.Array  # [m]  labels of z'_i


@pytree
class Haghtalab(GroupLearner):
    """Stochastic mirror descent (SMD) with reused samples: on average, a round draws two new samples.

    Zhang et al. discuss this method but do not run it.

    Guarantee:
      None. From the third round of a block on, $w_t$ depends on the rows of the block through q. The losses of these
      rows at $w_t$ are therefore biased estimates of the risks, a fact that the analysis of Haghtalab et al. overlooks
      (Zhang et al., after (18)).

    Deviations:
      The learner receives rows of data and computes the logistic losses of a linear model [ours]. Haghtalab et al.
      state no step sizes; this class uses the step sizes of Theorem 1 of Zhang et al., whose bounds on both gradients
      hold [ours]. The defaults (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours].

    References:
      N. Haghtalab, M. I. Jordan, E. Zhao, "On-demand sampling: Learning optimally from multiple distributions", NeurIPS
      2022. L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, equation (18).
    """

    feedback: ClassVar[type] = SampledRows
    source: ClassVar[str] = "Haghtalab, Jordan & Zhao, NeurIPS 2022, first version; a baseline"
    dim: int = static(range="[1, inf)", doc="d, dimension of the features and of the model")
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds for which the step sizes are set")

    @classmethod
    def example(cls) -> "Haghtalab":
        return cls(dim=3, n_groups=4, horizon=200)

    def steps(self) -> Steps:
        """Return `(eta_w, eta_q)` of Theorem 1 times their multipliers, unless fields override them."""
        return self.resolve_steps(theorem_1(self.n_groups, self.horizon, *self.geometry()))

    def init(self, key: jax.Array) -> HaghtalabState:
        del key  # deterministic: both players start at the minimisers of their mirror maps
        x, y = jnp.zeros((self.n_groups, self.dim)), jnp.ones(self.n_groups)  # replaced in round 0
        return HaghtalabState(players=first_players(self), x=x, y=y)

    def select(self, key: jax.Array, t: jax.Array, state: HaghtalabState, obs: None) -> GroupDecision:
        del obs
        decision, m = state.players.sample_one_group(key), self.n_groups
        group = jnp.concatenate([decision.group, jnp.arange(m, dtype=jnp.int32)])
        drawn = (jnp.arange(m + 1) == 0) | (t % m == 0)
        return decision._replace(group=group, drawn=drawn)

    def update(
        self, key, t, state: HaghtalabState, obs: None, decision: GroupDecision, feedback: SampledRows
    ) -> HaghtalabState:
        del key, obs
        drawn_rows, stored_rows = (feedback.x[1:], feedback.y[1:]), (state.x, state.y)
        x, y = trees.where(t % self.n_groups == 0, drawn_rows, stored_rows)
        loss, _ = losses.log_loss(y * (x @ decision.play))  # (18): losses at w_t of the stored rows
        grad = trees.row(feedback.grad, 0)
        players = state.players.step(self.domain, decision.weights, grad=grad, gain=loss, factors=constant_steps(t))
        return HaghtalabState(players=players, x=x, y=y)

    def recommend(self, state: HaghtalabState) -> Saddle:
        """Return the averages of the models `[d]` and of the weights `[m]`."""
        return state.players.saddle
