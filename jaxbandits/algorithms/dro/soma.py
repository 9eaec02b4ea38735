"""Soma et al.: group DRO with SMD for w and Tsallis-INF for q (arXiv:2212.13669; a baseline).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw i_t from q_t and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w grad loss(w_t; z)]
    s_i = (1 - loss(w_t; z)) / q_{t,i} 1[i = i_t]
    1 / sqrt(q_{t+1,i}) = 1 / sqrt(q_{t,i}) + eta_q s_i + nu,   nu such that q_{t+1} sums to one
    eta_w = w_scale 2 D / (G sqrt(5 T)),   eta_q = q_scale sqrt(2 / T)
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

Notation: m is the field `n_groups`, T is `horizon`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The
cost per round is $O(m + d)$, including the Newton steps for nu.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.dro.learner import TwoPlayers
from jaxbandits.algorithms.dro.players import Players, importance_weighted_gains
from jaxbandits.algorithms.dro.steps import Steps, constant_steps, soma
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.numerics import simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class Soma(TwoPlayers):
    """Online(1) with a different bandit algorithm for q, a baseline that Zhang et al. discuss but do not run.

    Guarantee:
      A bound on the expected regret holds against any model and weights that do not depend on the samples. It does not
      bound the duality gap.

    Deviations:
      The updates are Tsallis-INF in its general form (Audibert & Bubeck), not the authors' code [reconstructed].
      $eta_q$ minimises the bound $2 sqrt(m) / eta_q + eta_q sqrt(m) T$, and $eta_w$ is taken from Online(1) [ours]. The
      defaults (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours]. Losses above 1 are not clipped.

    References:
      T. Soma, K. Gatmiry, S. Jegelka, "Optimal algorithms for group distributionally robust optimization and beyond",
      arXiv:2212.13669. J.-Y. Audibert, S. Bubeck, "Regret bounds and minimax policies under partial monitoring", JMLR
      2010. L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, JMLR, arXiv:2302.09267, Section 3.3.
    """

    source: ClassVar[str] = "Soma, Gatmiry & Jegelka, 2022; a baseline"
    steps_from_diameter: ClassVar[tuple[str, ...]] = ("step_w",)
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds for which the step sizes are set")

    @classmethod
    def example(cls) -> "Soma":
        return cls(dim=3, n_groups=4, horizon=200)

    def steps(self) -> Steps:
        """Return `(eta_w, eta_q)` times their multipliers, unless fields override them."""
        return self.resolve_steps(soma(self.horizon, *self.geometry()))

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del t, obs
        return state.sample_one_group(key)

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        average, steps = constant_steps(t).average, state.steps
        gain = importance_weighted_gains(feedback.loss, decision.group, decision.weights, 0.0)
        log_q = simplex.tsallis_step(state.weights.log_q, -gain, steps.q)
        return state._replace(
            model=state.model.step(feedback.first().grad, steps.w, self.domain, average),
            weights=state.weights.move_to(log_q, decision.weights, average),
        )
