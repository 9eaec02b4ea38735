"""SMD(m)_a: SMD(m) with decreasing steps, for any number of rounds (Zhang et al., JMLR, Section 3.2.1).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw z_i from every group i, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta^w_t sum_i q_{t,i} grad loss(w_t; z_i)]            (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta^q_t loss(w_t; z_i))             (15), (16)
    r_t = sqrt(2 / (t (D^2 G^2 + log m))),   eta^w_t = w_scale D^2 r_t,   eta^q_t = q_scale (log m) r_t       (19)
    output after any round: the means of w_1, ..., w_t and of q_1, ..., q_t weighted by their steps           (20)

Notation: m is the field `n_groups`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The cost per round and
the memory are $O(m d)$.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.dro.learner import TwoPlayers
from jaxbandits.algorithms.dro.players import Players
from jaxbandits.algorithms.dro.steps import Steps, equation_19, inverse_root_steps
from jaxbandits.base.pytree import pytree, static
from jaxbandits.numerics import simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class AnytimeSMD(TwoPlayers):
    """SMD(m)_a, the anytime form of SMD(m) with steps proportional to 1 / sqrt(t).

    Guarantee:
      If losses are convex with values in [0, 1] and gradients have norm at most G, then the expected duality gap of the
      output after any t rounds is at most $sqrt(D^2 G^2 + log m) (5 + 3 log t) / (sqrt(2) (sqrt(t + 1) - 1))$ (Theorem
      2, which also has a bound with high probability). The theorem requires the same ratio $eta^w_t / eta^q_t$ in all
      rounds, which holds for any `step_w` and `step_q`.

    Deviations:
      The updates agree with the paper. The paper does not state W, G or multipliers for its experiments; the defaults
      (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Section 3.2.1, equations (19) and
      (20), Theorem 2.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 3.2.1"
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")

    @classmethod
    def example(cls) -> "AnytimeSMD":
        return cls(dim=3, n_groups=4)

    def steps(self) -> Steps:
        """Return `(eta^w_1, eta^q_1)` of (19) times their multipliers, unless fields override them."""
        return self.resolve_steps(equation_19(self.n_groups, *self.geometry()))

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del key, t, obs
        return state.sample_every_group()

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        grad = simplex.combine(decision.weights, feedback.grad)  # (12)
        return state.step(self.domain, decision.weights, grad=grad, gain=feedback.loss, factors=inverse_root_steps(t))
