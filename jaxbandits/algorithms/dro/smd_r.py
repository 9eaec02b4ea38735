"""SMD_r: weighted group DRO on unequal budgets, by non-uniform sampling (Zhang et al., JMLR, Algorithm 3).

    min_w max_q  sum_i q_i b_i R_i(w),   b_i = n_i / n_1,   R_i(w) = E loss(w; z), z from group i;   n_1 = max n_i
    B_i = 1 with probability b_i, else 0; draw z_i from every group with B_i = 1, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w sum_i B_i q_{t,i} grad loss(w_t; z_i)]          (35), (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta_q B_i loss(w_t; z_i))           (35), (15), (16)
    r = sqrt(8 / (5 T (D^2 G^2 + log m))),   eta_w = w_scale D^2 r,   eta_q = q_scale (log m) r,   T = n_1
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

n = budgets, m of them; W = domain, G = lipschitz, D^2 = diameter_sq. Time and memory a round O(m d).
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Players, Saddle
from jaxbandits.algorithms.dro.steps import Steps, constant, theorem_1
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import rng, simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class SMDr:
    """SMD_r, for `rounds` = n_1 rounds; with equal budgets it is SMD(m).

    Guarantee:
      Losses in [0, 1] and convex, gradients of norm at most G: with probability 1 - delta, for every group at once,
      R_i(w) - (n_1 / n_i) p* <= (8 + 2 log(2 / delta)) sqrt(10 (D^2 G^2 + log m) n_1) / n_i, where p* is the optimum of
      the weighted problem (Theorem 9). Groups of small budget are not protected from risks of the size n_1 / n_i p*.

    Deviations:
      None in the updates; no importance weights, as printed. The number of rows drawn from group i is binomial with
      mean n_i: about half of the runs draw more than n_i, and whoever has no more must say what happens then. The paper
      states no W, G or multipliers for its experiments: a ball of radius 3, G = sqrt(d) and 1 are [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 3, equations (35), (36),
      Theorem 9.
    """

    feedback: ClassVar[type] = Gradient
    dim: Shape | None = static(None, "[1, inf)", "d, or the shape of the model; None: the form of `start`")
    budgets: tuple[int, ...] = static(range="[1, inf)", doc="n_i, how many samples of each group there are")
    domain: Any = param(factory=players.ball, doc="W, convex; needs zero, project and diameter")
    start: Any = param(None, doc="w_1, any pytree of arrays; None: domain.zero, the centre of a ball")
    lipschitz: ArrayLike | None = param(None, "(0, inf)", "G, bound on gradient norms; None: sqrt(d)")
    diameter_sq: ArrayLike | None = param(None, "(0, inf)", "D^2, range of ||w - w_1||^2 / 2; None: B^2 / 2 on a ball")
    w_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of w; 1 is the theory")
    q_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of q; 1 is the theory")
    step_w: ArrayLike | None = param(None, "[0, inf)", "eta_w; None: w_scale times the theory")
    step_q: ArrayLike | None = param(None, "[0, inf)", "eta_q; None: q_scale times the theory")

    @classmethod
    def theory(cls, *, dim: Shape | None = None, budgets: tuple[int, ...], **changes: Any) -> "SMDr":
        """The steps of the theorem, unscaled: the defaults."""
        return cls(**{"dim": dim, "budgets": budgets} | changes)

    @classmethod
    def practical(cls, *, dim: Shape | None = None, budgets: tuple[int, ...], **changes: Any) -> "SMDr":
        """Three times the theorem's step of w (our choice: the paper states no values for its experiments)."""
        return cls.theory(**{"dim": dim, "budgets": budgets, "w_scale": 3.0} | changes)

    def check(self) -> None:
        """Every group has a budget; the whole space has no D^2 of its own."""
        players.check_budgets(self)
        players.check(self, "step_w", "step_q")

    @property
    def n_groups(self) -> int:
        """The number m of groups."""
        return len(self.budgets)

    @property
    def rounds(self) -> int:
        """The number of rounds, the largest budget n_1: a run draws n_i samples of group i on average."""
        return max(self.budgets)

    def steps(self) -> Steps:
        """`(eta_w, eta_q)` of Theorem 9, which are those of Theorem 1, with their multipliers, or those given."""
        theory = theorem_1(self.n_groups, self.rounds, *players.geometry(self))
        return theory.scaled(self.w_scale, self.q_scale).given(self.step_w, self.step_q)

    def init(self, key: jax.Array) -> Players:
        del key  # deterministic: both players start where their mirror maps are least
        return Players.start(self)

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del t, obs
        groups, n = np.arange(self.n_groups, dtype=np.int32), np.asarray(self.budgets)
        drawn = rng.uniforms(key, self.n_groups) < jnp.asarray(n / n.max(), float)  # always, where n_i = n_1
        return GroupDecision(play=state.model.w, weights=state.weights.q, group=groups, drawn=drawn)

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs, decision  # what was not drawn reads 0
        grad = simplex.combine(state.weights.q, feedback.grad)  # (35)
        return state.move(self.domain, grad, feedback.loss, constant(t))

    def recommend(self, state: Players) -> Saddle:
        """The averages of the models and of the weights so far, `[d]` and `[m]`."""
        return state.saddle
