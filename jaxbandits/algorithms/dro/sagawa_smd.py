"""SMD(1): mirror descent for group DRO on one uniformly drawn group a round (Sagawa et al., ICLR 2020; a baseline).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw i_t uniformly and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w m q_{t,i_t} grad loss(w_t; z)]                  (17), (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta_q m loss(w_t; z) 1[i = i_t])    (17), (15), (16)
    r = sqrt(8 / (5 T m^2 (D^2 G^2 + log m))),   eta_w = w_scale D^2 r,   eta_q = q_scale (log m) r
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

m = n_groups, T = horizon, W = domain, G = lipschitz, D^2 = diameter_sq. Time and memory a round O(m + d).
"""

from typing import Any, ClassVar

import jax

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Players, Saddle
from jaxbandits.algorithms.dro.steps import Steps, constant, sagawa
from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import rng, sampling, simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class SagawaSMD:
    """SMD(1), the baseline of Zhang et al.: both gradients have importance m.

    Guarantee:
      Losses in [0, 1] and convex, gradients of norm at most G: the expected duality gap of the output after T rounds
      is O(m sqrt(log m / T)), worse than that of Online(1) by sqrt(m).

    Deviations:
      As defined by (17) of Zhang et al.: both steps at (w_t, q_t). Algorithm 1 of Sagawa et al. has no factor m and
      moves q first. No steps are given: those of Theorem 1 for gradients m times as large [reconstructed]. The paper
      states no W, G or multipliers for its experiments: a ball of radius 3, G = sqrt(d) and 1 are [ours].

    References:
      S. Sagawa, P. W. Koh, T. B. Hashimoto, P. Liang, "Distributionally Robust Neural Networks for Group Shifts", ICLR
      2020, arXiv:1911.08731, Algorithm 1.
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, equation (17).
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
    def theory(cls, *, dim: Shape | None = None, n_groups: int, horizon: ArrayLike, **changes: Any) -> "SagawaSMD":
        """The steps of Theorem 1 over m: the defaults."""
        return cls(**{"dim": dim, "n_groups": n_groups, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: Shape | None = None, n_groups: int, horizon: ArrayLike, **changes: Any) -> "SagawaSMD":
        """Three times the theorem's step of w (our choice, as for SMD(m) and Online(1))."""
        return cls.theory(**{"dim": dim, "n_groups": n_groups, "horizon": horizon, "w_scale": 3.0} | changes)

    def check(self) -> None:
        """The whole space has no D^2 of its own."""
        players.check(self, "step_w", "step_q")

    def steps(self) -> Steps:
        """`(eta_w, eta_q)` of Theorem 1 over m with their multipliers, or those given."""
        theory = sagawa(self.n_groups, self.horizon, *players.geometry(self))
        return theory.scaled(self.w_scale, self.q_scale).given(self.step_w, self.step_q)

    def init(self, key: jax.Array) -> Players:
        del key  # deterministic: both players start where their mirror maps are least
        return Players.start(self)

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del t, obs
        index = sampling.uniform_index(self.n_groups, rng.uniform(key))
        return GroupDecision(play=state.model.w, weights=state.weights.q, group=index[None])

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        told = feedback.first()
        drawn = simplex.indicator(trees.row(decision.group, 0), self.n_groups)
        grad = points.scale(told.grad, self.n_groups * points.inner(drawn, state.weights.q))
        return state.move(self.domain, grad, points.scale(drawn, self.n_groups * told.loss), constant(t))

    def recommend(self, state: Players) -> Saddle:
        """The averages of the models and of the weights so far, `[d]` and `[m]`."""
        return state.saddle
