"""ATkRO(m)_a: ATkRO(m) with decreasing steps, for any number of rounds (Zhang et al., JMLR, Theorem 13).

    min_w max_q  sum_i q_i R_i(w) = min_w (mean of the k largest R_i(w));   w in W,
    q in S = {q >= 0, sum q = 1, q_i <= 1/k}
    draw z_i from every group i, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta^w_t sum_i q_{t,i} grad loss(w_t; z_i)]            (14)
    q_{t+1} = the point of S nearest to q_{t,i} exp(eta^q_t loss(w_t; z_i)) in KL divergence                  (51)
    r_t = sqrt(2 / (t (D^2 G^2 + log(m/k)))),   eta^w_t = w_scale D^2 r_t,   eta^q_t = q_scale log(m/k) r_t   (52)
    output after any round: the means of w_1, ..., w_t and of q_1, ..., q_t weighted by their steps           (20)

Notation: m is the field `n_groups`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The cost per round is
$O(m d + m k)$, and the memory is $O(m d)$.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.dro.learner import TwoPlayers, check_k
from jaxbandits.algorithms.dro.players import Players
from jaxbandits.algorithms.dro.steps import Steps, equation_19, inverse_root_steps
from jaxbandits.base.pytree import pytree, static
from jaxbandits.numerics import simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class AnytimeATkROm(TwoPlayers):
    """ATkRO(m)_a, the anytime form of ATkRO(m); with $k = 1$ it is SMD(m)_a.

    Guarantee:
      If losses are convex with values in [0, 1] and gradients have norm at most G, then the expected duality gap of the
      output after any t rounds is at most $sqrt(D^2 G^2 + log(m/k)) (5 + 3 log t) / (sqrt(2) (sqrt(t + 1) - 1))$
      (Theorem 13, which also has a bound with high probability).

    Deviations:
      The updates agree with the paper. The paper does not state W, G or multipliers for its experiments; the defaults
      (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, equation (52), Theorem 13.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Theorem 13"
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    k: int = static(range="[1, inf)", doc="k <= m, number of largest risks that are averaged")

    @classmethod
    def example(cls) -> "AnytimeATkROm":
        return cls(dim=3, n_groups=4, k=2)

    def check(self) -> None:
        """Raise InputError if k > m or a field of `GroupLearner` is invalid."""
        check_k(self)
        super().check()

    def steps(self) -> Steps:
        """Return `(eta^w_1, eta^q_1)` of (52) times their multipliers, unless fields override them."""
        return self.resolve_steps(equation_19(self.n_groups, *self.geometry(), k=self.k))

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del key, t, obs
        return state.sample_every_group()

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        grad = simplex.combine(decision.weights, feedback.grad)  # (12)
        return state.step(
            self.domain, decision.weights, grad=grad, gain=feedback.loss, factors=inverse_root_steps(t), k=self.k
        )
