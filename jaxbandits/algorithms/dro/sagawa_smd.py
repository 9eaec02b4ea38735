"""SMD(1): mirror descent for group DRO on one uniformly drawn group per round (Sagawa et al., ICLR 2020; a baseline).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw i_t uniformly and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w m q_{t,i_t} grad loss(w_t; z)]                  (17), (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta_q m loss(w_t; z) 1[i = i_t])    (17), (15), (16)
    r = sqrt(8 / (5 T m^2 (D^2 G^2 + log m))),   eta_w = w_scale D^2 r,   eta_q = q_scale (log m) r
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

Notation: m is the field `n_groups`, T is `horizon`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The
cost per round and the memory are $O(m + d)$.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.dro.learner import TwoPlayers
from jaxbandits.algorithms.dro.players import Players
from jaxbandits.algorithms.dro.steps import Steps, constant_steps, sagawa
from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.numerics import rng, simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class SagawaSMD(TwoPlayers):
    """SMD(1), a baseline of Zhang et al. in which both gradients have the importance weight m.

    Guarantee:
      If losses are convex with values in [0, 1] and gradients have norm at most G, then the expected duality gap of the
      output after T rounds is $O(m sqrt(log m / T))$, which exceeds that of Online(1) by the factor $sqrt(m)$.

    Deviations:
      The updates are (17) of Zhang et al., with both steps from ($w_t$, $q_t$). Algorithm 1 of Sagawa et al. has no
      factor m, updates q first and states no step sizes. The step sizes here are those of Theorem 1 for gradients that
      are m times as large [reconstructed]. The paper does not state W, G or multipliers for its experiments; the
      defaults (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours].

    References:
      S. Sagawa, P. W. Koh, T. B. Hashimoto, P. Liang, "Distributionally Robust Neural Networks for Group Shifts", ICLR
      2020, arXiv:1911.08731, Algorithm 1.
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, equation (17).
    """

    source: ClassVar[str] = "Sagawa, Koh, Hashimoto & Liang, ICLR 2020; SMD(1), a baseline"
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds for which the step sizes are set")

    @classmethod
    def example(cls) -> "SagawaSMD":
        return cls(dim=3, n_groups=4, horizon=200)

    def steps(self) -> Steps:
        """Return `(eta_w, eta_q)` of Theorem 1, divided by m and times multipliers, unless fields override them."""
        return self.resolve_steps(sagawa(self.n_groups, self.horizon, *self.geometry()))

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del t, obs
        index = rng.randint(key, self.n_groups)
        return GroupDecision(play=state.model.w, weights=state.weights.q, group=index[None])

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        sample = feedback.first()
        indicator = simplex.indicator(trees.row(decision.group, 0), self.n_groups)
        grad = points.scale(sample.grad, self.n_groups * points.inner(indicator, decision.weights))
        gain = points.scale(indicator, self.n_groups * sample.loss)
        return state.step(self.domain, decision.weights, grad=grad, gain=gain, factors=constant_steps(t))
