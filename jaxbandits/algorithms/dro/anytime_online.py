"""Online(1)_a: Online(1) with falling steps, for any number of rounds (Zhang et al., JMLR, Section 3.3.1).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw i_t from q_t and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta^w_t grad loss(w_t; z)]                            (24)
    s_i = (1 - loss(w_t; z)) / (q_{t,i} + gamma_t) 1[i = i_t]                 (25)
    q_{t+1,i} proportional to q_{t,i} exp(-eta^q_t s_i)                       (26)
    eta^w_t = w_scale D / (G sqrt(t)),   eta^q_t = q_scale sqrt(log m / (m t)),   gamma_t = eta^q_t / 2       (30)
    output after any round: the means of w_1, ..., w_t and of q_1, ..., q_t weighted by their steps           (20)

m = n_groups, W = domain, G = lipschitz, D^2 = diameter_sq. Time and memory a round O(m + d).
"""

from typing import Any, ClassVar

import jax

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Players, Saddle
from jaxbandits.algorithms.dro.steps import Steps, equation_30, falling
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import rng, sampling
from jaxbandits.types import Gradient, GroupDecision


@pytree
class AnytimeOnline:
    """Online(1)_a, the anytime form of Online(1): mirror descent from q_t with its own step, not a regularised leader.

    Guarantee:
      Losses in [0, 1] and convex, gradients of norm at most G: the expected duality gap of the output after any t
      rounds is at most ((3 + log t) sqrt(m log m) + D G (5 + 3 log t)) / (2 (sqrt(t + 1) - 1)) + lower orders
      (Theorem 8; there also with high probability).

    Deviations:
      None in the updates. The paper states no W, G or multipliers for its experiments: a ball of radius 3, G = sqrt(d)
      and 1 are [ours].
      `q_scale` multiplies gamma too, which is eta_q / 2 in the proofs. Logistic losses exceed 1, where 1 - loss is
      negative: left so, as in the paper's experiments; `clip` (off) uses max(1 - loss, 0) [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Section 3.3.1, equations (20) and
      (30), Theorem 8. Exp3-IX: G. Neu, "Explore no more", NeurIPS 2015.
    """

    feedback: ClassVar[type] = Gradient
    dim: Shape | None = static(None, "[1, inf)", "d, or the shape of the model; None: the form of `start`")
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    clip: bool = static(False, BOOL, "use max(1 - loss, 0) in the estimate")
    domain: Any = param(factory=players.ball, doc="W, convex; needs zero, project and diameter")
    start: Any = param(None, doc="w_1, any pytree of arrays; None: domain.zero, the centre of a ball")
    lipschitz: ArrayLike | None = param(None, "(0, inf)", "G, bound on gradient norms; None: sqrt(d)")
    diameter_sq: ArrayLike | None = param(None, "(0, inf)", "D^2, range of ||w - w_1||^2 / 2; None: B^2 / 2 on a ball")
    w_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of w; 1 is the theory")
    q_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of q and gamma; 1 is the theory")
    step_w: ArrayLike | None = param(None, "[0, inf)", "eta^w_1, over sqrt(t); None: w_scale times the theory")
    step_q: ArrayLike | None = param(None, "[0, inf)", "eta^q_1, over sqrt(t); None: q_scale times the theory")
    gamma: ArrayLike | None = param(None, "[0, inf)", "gamma_1, over sqrt(t), implicit exploration; None: step_q / 2")

    @classmethod
    def theory(cls, *, dim: Shape | None = None, n_groups: int, **changes: Any) -> "AnytimeOnline":
        """The steps of the theorem, unscaled: the defaults."""
        return cls(**{"dim": dim, "n_groups": n_groups} | changes)

    @classmethod
    def practical(cls, *, dim: Shape | None = None, n_groups: int, **changes: Any) -> "AnytimeOnline":
        """0.3 times the theorem's step of w (our choice: the paper states no values for its experiments)."""
        return cls.theory(**{"dim": dim, "n_groups": n_groups, "w_scale": 0.3} | changes)

    def check(self) -> None:
        """The whole space has no D^2 of its own."""
        players.check(self, "step_w")

    def steps(self) -> Steps:
        """`(eta^w_1, eta^q_1, gamma_1)` of (30) with their multipliers, or those given."""
        theory = equation_30(self.n_groups, *players.geometry(self))
        return theory.scaled(self.w_scale, self.q_scale).given(self.step_w, self.step_q, self.gamma)

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
        pace = falling(t)
        told = feedback.first()
        loss = players.clipped(feedback.loss, self.clip)
        gain = players.importance(loss, decision.group, state.weights.q, pace.factor * state.steps.gamma)  # (25)
        return state.move(self.domain, told.grad, gain, pace)

    def recommend(self, state: Players) -> Saddle:
        """The averages (20) of the models and of the weights so far, `[d]` and `[m]`."""
        return state.saddle
