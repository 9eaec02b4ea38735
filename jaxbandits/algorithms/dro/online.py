"""Online(1): SMD against Exp3-IX for group DRO, one sample per round (Zhang et al., JMLR, Algorithm 2).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw i_t from q_t and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w grad loss(w_t; z)]                              (24)
    s_i = (1 - loss(w_t; z)) / (q_{t,i} + gamma) 1[i = i_t]                   (25)
    q_{t+1,i} proportional to q_{t,i} exp(-eta_q s_i)                         (26)
    eta_w = w_scale 2 D / (G sqrt(5 T)),   eta_q = q_scale sqrt(log m / (m T)),   gamma = eta_q / 2
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

Notation: m is the field `n_groups`, T is `horizon`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The
cost per round and the memory are $O(m + d)$.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.dro.learner import TwoPlayers
from jaxbandits.algorithms.dro.players import Players, clip_losses, importance_weighted_gains
from jaxbandits.algorithms.dro.steps import Steps, constant_steps, theorem_5
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.types import Gradient, GroupDecision


@pytree
class Online(TwoPlayers):
    """Online(1) with fixed steps, which depend on `horizon`; the averages are available after every round.

    Guarantee:
      If losses are convex with values in [0, 1] and gradients have norm at most G, then the expected duality gap of the
      output after T rounds is at most $2 D G sqrt(5/T) + 3 sqrt(m log m / T)$ + lower-order terms (Theorem 5, which
      also has a bound with high probability), although q depends on the past samples.

    Deviations:
      The updates agree with the paper. The paper does not state W, G or multipliers for its experiments; the defaults
      (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours]. `q_scale` also multiplies gamma, which is
      $eta_q / 2$ in the proofs of the paper. Logistic losses may exceed 1, and then 1 - loss is negative, as in the
      paper's experiments. With `clip` (False by default), max(1 - loss, 0) replaces 1 - loss [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 2, equations (24)-(26),
      Theorems 3-5. Exp3-IX: G. Neu, "Explore no more", NeurIPS 2015.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 2"
    environments: ClassVar[tuple[str, ...]] = ("dro/synthetic_groups", "dro/group_data")
    steps_from_diameter: ClassVar[tuple[str, ...]] = ("step_w",)
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    clip: bool = static(False, BOOL, "True: use max(1 - loss, 0) in the estimate")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds for which the step sizes are set")
    gamma: ArrayLike | None = param(None, "[0, inf)", "gamma, the implicit exploration; None: step_q / 2")

    @classmethod
    def example(cls) -> "Online":
        return cls(dim=3, n_groups=4, horizon=200)

    def steps(self) -> Steps:
        """Return `(eta_w, eta_q, gamma)` of Theorem 5 times their multipliers, unless fields override them."""
        return self.resolve_steps(theorem_5(self.n_groups, self.horizon, *self.geometry()), self.gamma)

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del t, obs
        return state.sample_one_group(key)

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        factors = constant_steps(t)
        loss, gamma = clip_losses(feedback.loss, self.clip), factors.step * state.steps.gamma
        gain = importance_weighted_gains(loss, decision.group, decision.weights, gamma)  # (25)
        return state.step(self.domain, decision.weights, grad=feedback.first().grad, gain=gain, factors=factors)
