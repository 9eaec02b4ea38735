"""Soma et al.: SMD against a bandit of 1/2-Tsallis entropy for group DRO (arXiv:2212.13669; a comparator).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw i_t from q_t and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w grad loss(w_t; z)]
    s_i = (1 - loss(w_t; z)) / q_{t,i} 1[i = i_t]
    1 / sqrt(q_{t+1,i}) = 1 / sqrt(q_{t,i}) + eta_q s_i + nu,   nu such that q_{t+1} sums to one
    eta_w = w_scale 2 D / (G sqrt(5 T)),   eta_q = q_scale sqrt(2 / T)
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

m = n_groups, T = horizon, W = domain, G = lipschitz, D^2 = diameter_sq. Time a round O(m + d), Newton's steps included.
"""

from typing import Any, ClassVar

import jax

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Players, Saddle
from jaxbandits.algorithms.dro.steps import Steps, constant, soma
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import rng, sampling, simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class Soma:
    """A comparator that Zhang et al. discuss and do not run: Online(1) with another bandit.

    Guarantee:
      In expectation, against a model and weights that do not depend on what was drawn: not for the duality gap.

    Deviations:
      Tsallis-INF in its general form (Audibert & Bubeck), not the authors' code [reconstructed]. eta_q is where its
      bound 2 sqrt(m) / eta_q + eta_q sqrt(m) T is least, eta_w that of Online(1) [ours]; a ball of radius 3,
      G = sqrt(d) and multipliers 1 are [ours]. Losses above 1 are left as they are.

    References:
      T. Soma, K. Gatmiry, S. Jegelka, "Optimal algorithms for group distributionally robust optimization and beyond",
      arXiv:2212.13669. J.-Y. Audibert, S. Bubeck, "Regret bounds and minimax policies under partial monitoring", JMLR
      2010. L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, JMLR, arXiv:2302.09267, Section 3.3.
    """

    feedback: ClassVar[type] = Gradient
    dim: Shape | None = static(None, "[1, inf)", "d, or the shape of the model; None: the form of `start`")
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, the number of rounds that the steps are made for")
    domain: Any = param(factory=players.ball, doc="W, convex; needs zero, project and diameter")
    start: Any = param(None, doc="w_1, any pytree of arrays; None: domain.zero, the centre of a ball")
    lipschitz: ArrayLike | None = param(None, "(0, inf)", "G, bound on gradient norms; None: sqrt(d)")
    diameter_sq: ArrayLike | None = param(None, "(0, inf)", "D^2, range of ||w - w_1||^2 / 2; None: B^2 / 2 on a ball")
    w_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of w; 1 is the theory")
    q_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of q; 1 is the theory")
    step_w: ArrayLike | None = param(None, "[0, inf)", "eta_w; None: w_scale times the theory")
    step_q: ArrayLike | None = param(None, "[0, inf)", "eta_q; None: q_scale times the theory")

    @classmethod
    def theory(cls, *, dim: Shape | None = None, n_groups: int, horizon: ArrayLike, **changes: Any) -> "Soma":
        """The steps above, unscaled: the defaults."""
        return cls(**{"dim": dim, "n_groups": n_groups, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: Shape | None = None, n_groups: int, horizon: ArrayLike, **changes: Any) -> "Soma":
        """Three times the step of w (our choice, as for Online(1))."""
        return cls.theory(**{"dim": dim, "n_groups": n_groups, "horizon": horizon, "w_scale": 3.0} | changes)

    def check(self) -> None:
        """The whole space has no D^2 of its own."""
        players.check(self, "step_w")

    def steps(self) -> Steps:
        """`(eta_w, eta_q)` with their multipliers, or those given."""
        theory = soma(self.horizon, *players.geometry(self))
        return theory.scaled(self.w_scale, self.q_scale).given(self.step_w, self.step_q)

    def init(self, key: jax.Array) -> Players:
        del key  # deterministic: both players start where their mirror maps are least
        return Players.start(self)

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del t, obs
        q = state.weights.q
        index = sampling.inverse_cdf(q, rng.uniform(key))
        return GroupDecision(play=state.model.w, weights=q, group=index[None])

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        told, pace, steps = feedback.first(), constant(t), state.steps
        gain = players.importance(feedback.loss, decision.group, state.weights.q, 0.0)
        log_q = simplex.tsallis_step(state.weights.log_q, -gain, steps.q)
        return Players(
            model=state.model.step(told.grad, steps.w, self.domain, pace.fraction),
            weights=state.weights.at(log_q, pace.fraction),
            steps=steps,
        )

    def recommend(self, state: Players) -> Saddle:
        """The averages of the models and of the weights so far, `[d]` and `[m]`."""
        return state.saddle
