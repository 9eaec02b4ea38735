"""ATkRO(m): average top-k risk optimisation, one sample of each group per round (Zhang et al., JMLR, Algorithm 5).

    min_w max_q  sum_i q_i R_i(w) = min_w (mean of the k largest R_i(w));   w in W,
    q in S = {q >= 0, sum q = 1, q_i <= 1/k}
    draw z_i from every group i, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w sum_i q_{t,i} grad loss(w_t; z_i)]              (14)
    q_{t+1} = the point of S nearest to q_{t,i} exp(eta_q loss(w_t; z_i)) in KL divergence                    (51)
    r = sqrt(8 / (5 T (D^2 G^2 + log(m/k)))),   eta_w = w_scale D^2 r,   eta_q = q_scale log(m/k) r
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

Notation: m is the field `n_groups`, T is `horizon`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The
cost per round is $O(m d + m k)$, and the memory is $O(m d)$.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.dro.learner import TwoPlayers, check_k
from jaxbandits.algorithms.dro.players import Players
from jaxbandits.algorithms.dro.steps import Steps, constant_steps, theorem_1
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.numerics import simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class ATkROm(TwoPlayers):
    """ATkRO(m) with fixed steps; with k = 1 it is SMD(m), and with k = m it minimises the mean of the group risks.

    Guarantee:
      If losses are convex with values in [0, 1] and gradients have norm at most G, then the expected duality gap of the
      output after T rounds is at most $2 sqrt(10 (D^2 G^2 + log(m/k)) / T)$ (Theorem 12, which also has a bound with
      high probability).

    Deviations:
      The updates agree with the paper. The paper does not state W, G or multipliers for its experiments; the defaults
      (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 5, equations (47)-(51),
      Theorem 12.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 5"
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    k: int = static(range="[1, inf)", doc="k <= m, number of largest risks that are averaged")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds for which the step sizes are set")

    @classmethod
    def example(cls) -> "ATkROm":
        return cls(dim=3, n_groups=4, k=2, horizon=200)

    def check(self) -> None:
        """Raise InputError if k > m or a field of `GroupLearner` is invalid."""
        check_k(self)
        super().check()

    def steps(self) -> Steps:
        """Return `(eta_w, eta_q)` of Theorem 12 times their multipliers, unless fields override them."""
        return self.resolve_steps(theorem_1(self.n_groups, self.horizon, *self.geometry(), k=self.k))

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del key, t, obs
        return state.sample_every_group()

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        grad = simplex.combine(decision.weights, feedback.grad)  # (12)
        return state.step(
            self.domain, decision.weights, grad=grad, gain=feedback.loss, factors=constant_steps(t), k=self.k
        )
