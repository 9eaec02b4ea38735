"""SMD_r: weighted group DRO on unequal budgets, by non-uniform sampling (Zhang et al., JMLR, Algorithm 3).

    min_w max_q  sum_i q_i b_i R_i(w),   b_i = n_i / n_1,   R_i(w) = E loss(w; z), z from group i;   n_1 = max n_i
    B_i = 1 with probability b_i, else 0; draw z_i from every group with B_i = 1, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w sum_i B_i q_{t,i} grad loss(w_t; z_i)]          (35), (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta_q B_i loss(w_t; z_i))           (35), (15), (16)
    r = sqrt(8 / (5 T (D^2 G^2 + log m))),   eta_w = w_scale D^2 r,   eta_q = q_scale (log m) r,   T = n_1
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

Notation: n is the field `budgets` with m entries, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The cost
per round and the memory are $O(m d)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.dro.learner import TwoPlayers, check_budgets
from jaxbandits.algorithms.dro.players import Players
from jaxbandits.algorithms.dro.steps import Steps, constant_steps, theorem_1
from jaxbandits.base.pytree import pytree, static
from jaxbandits.numerics import rng, simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class SMDr(TwoPlayers):
    """SMD_r, to be run for `rounds` = $n_1$ rounds; with equal budgets it is SMD(m).

    Guarantee:
      If losses are convex with values in [0, 1] and gradients have norm at most G, then with probability 1 - delta,
      simultaneously for all groups, $R_i(w) - (n_1 / n_i) p* <= (8 + 2 log(2 / delta)) sqrt(10 (D^2 G^2 + log m) n_1) /
      n_i$, where p* is the optimum of the weighted problem (Theorem 9). For groups with a small budget, this bound
      allows risks of about $(n_1 / n_i) p*$.

    Deviations:
      The updates agree with the paper and, as printed, have no importance weights. The number of rows drawn from group
      i is binomial with mean $n_i$: about half of the runs draw more than $n_i$ rows, and an environment with only
      $n_i$ rows must define its feedback for this case. The paper does not state W, G or multipliers for its
      experiments; the defaults (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 3, equations (35), (36),
      Theorem 9.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 3"
    budgets: tuple[int, ...] = static(range="[1, inf)", doc="n_i, number of samples in the budget of each group")

    @classmethod
    def example(cls) -> "SMDr":
        return cls(dim=3, budgets=(200, 150, 100, 50))

    def check(self) -> None:
        """Raise InputError if there are fewer than two budgets, or if a field of `GroupLearner` is invalid."""
        check_budgets(self)
        super().check()

    @property
    def n_groups(self) -> int:
        """Number m of groups."""
        return len(self.budgets)

    @property
    def rounds(self) -> int:
        """Number of rounds, the largest budget n_1; a run then draws n_i samples of group i on average."""
        return max(self.budgets)

    def steps(self) -> Steps:
        """Return `(eta_w, eta_q)` of Theorems 1 and 9 times their multipliers, unless fields override them."""
        return self.resolve_steps(theorem_1(self.n_groups, self.rounds, *self.geometry()))

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del t, obs
        budgets = np.asarray(self.budgets)
        drawn = rng.uniforms(key, self.n_groups) < jnp.asarray(budgets / budgets.max(), float)  # always if n_i = n_1
        return state.sample_every_group()._replace(drawn=drawn)

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        # Groups that are not drawn have loss and gradient 0.
        grad = simplex.combine(decision.weights, feedback.grad)  # (35)
        return state.step(self.domain, decision.weights, grad=grad, gain=feedback.loss, factors=constant_steps(t))
