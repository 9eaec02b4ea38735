"""ATkRO(1)_a: average top-k risk optimisation, one sample per round (Zhang et al., JMLR, Algorithm 7).

    min_w max_q  sum_i q_i R_i(w) = min_w (mean of the k largest R_i(w));   w in W,
    q in S = {q >= 0, sum q = 1, q_i <= 1/k}
    draw i_t from q_t and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta^w_t grad loss(w_t; z)]
    s_i = (1 - loss(w_t; z)) / (q_{t,i} + gamma_t) 1[i = i_t]
    q_{t+1} = the point of S nearest to q_{t,i} exp(-eta^q_t s_i) in KL divergence                            (60)
    eta^w_t = w_scale D / (G sqrt(t)),   eta^q_t = q_scale sqrt(log m / (m t)),   gamma_t = eta^q_t / 2       (30)
    output after any round: the means of w_1, ..., w_t and of q_1, ..., q_t weighted by their steps           (20)

Notation: m is the field `n_groups`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The cost per round is
$O(m k + d)$, and the memory is $O(m + d)$.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.dro.learner import TwoPlayers, check_k
from jaxbandits.algorithms.dro.players import Players, clip_losses, importance_weighted_gains
from jaxbandits.algorithms.dro.steps import Steps, equation_30, inverse_root_steps
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.types import Gradient, GroupDecision


@pytree
class AnytimeATkRO1(TwoPlayers):
    """ATkRO(1)_a, an anytime learner with one sample per round; with k = 1 it is Online(1)_a.

    The step sizes contain log m instead of log(m/k), and group i is drawn with probability q_i.

    Guarantee:
      If losses are convex with values in [0, 1] and gradients have norm at most G, then the bound of Theorem 8 for
      Online(1)_a holds (Theorem 16).

    Deviations:
      The updates agree with the paper. The paper does not state W, G or multipliers for its experiments; the defaults
      (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours]. `q_scale` also multiplies gamma, which is
      $eta_q / 2$ in the proofs of the paper. Logistic losses may exceed 1, and then 1 - loss is negative, as in the
      paper's experiments. With `clip` (False by default), max(1 - loss, 0) replaces 1 - loss [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 7, equation (60), Theorem 16.
      Exp3-IX: G. Neu, "Explore no more", NeurIPS 2015.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 7"
    steps_from_diameter: ClassVar[tuple[str, ...]] = ("step_w",)
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    k: int = static(range="[1, inf)", doc="k <= m, number of largest risks that are averaged")
    clip: bool = static(False, BOOL, "True: use max(1 - loss, 0) in the estimate")
    gamma: ArrayLike | None = param(
        None,
        "[0, inf)",
        "gamma_1, implicit exploration in round 1 (gamma_1 / sqrt(t) in round t); None: step_q / 2",
    )

    @classmethod
    def example(cls) -> "AnytimeATkRO1":
        return cls(dim=3, n_groups=4, k=2)

    def check(self) -> None:
        """Raise InputError if k > m or a field of `GroupLearner` is invalid."""
        check_k(self)
        super().check()

    def steps(self) -> Steps:
        """Return `(eta^w_1, eta^q_1, gamma_1)` of (30) times their multipliers, unless fields override them."""
        return self.resolve_steps(equation_30(self.n_groups, *self.geometry()), self.gamma)

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del t, obs
        return state.sample_one_group(key)

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        factors = inverse_root_steps(t)
        loss, gamma = clip_losses(feedback.loss, self.clip), factors.step * state.steps.gamma
        gain = importance_weighted_gains(loss, decision.group, decision.weights, gamma)  # (25)
        return state.step(
            self.domain, decision.weights, grad=feedback.first().grad, gain=gain, factors=factors, k=self.k
        )
