"""Online(1): SMD against Exp3-IX for group DRO, one sample a round (Zhang et al., JMLR, Algorithm 2).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw i_t from q_t and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w grad loss(w_t; z)]                              (24)
    s_i = (1 - loss(w_t; z)) / (q_{t,i} + gamma) 1[i = i_t]                   (25)
    q_{t+1,i} proportional to q_{t,i} exp(-eta_q s_i)                         (26)
    eta_w = w_scale 2 D / (G sqrt(5 T)),   eta_q = q_scale sqrt(log m / (m T)),   gamma = eta_q / 2
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

m = n_groups, T = horizon, W = domain, G = lipschitz, D^2 = diameter_sq. Time and memory a round O(m + d).
"""

from typing import Any, ClassVar

import jax

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Players, Saddle
from jaxbandits.algorithms.dro.steps import Steps, constant, theorem_5
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import rng, sampling
from jaxbandits.types import Gradient, GroupDecision


@pytree
class Online:
    """Online(1), the fixed-step form: `horizon` enters the steps, and the average may be read at any round.

    Guarantee:
      Losses in [0, 1] and convex, gradients of norm at most G: the expected duality gap of the output after T
      rounds is at most 2 D G sqrt(5/T) + 3 sqrt(m log m / T) + lower orders (Theorem 5; there also with high
      probability), although q depends on the past samples.

    Deviations:
      None in the updates. The paper states no W, G or multipliers for its experiments: a ball of radius 3, G = sqrt(d)
      and 1 are [ours].
      `q_scale` multiplies gamma too, which is eta_q / 2 in the proofs. Logistic losses exceed 1, where 1 - loss is
      negative: left so, as in the paper's experiments; `clip` (off) uses max(1 - loss, 0) [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 2, equations (24)-(26),
      Theorems 3-5. Exp3-IX: G. Neu, "Explore no more", NeurIPS 2015.
    """

    feedback: ClassVar[type] = Gradient
    dim: Shape | None = static(None, "[1, inf)", "d, or the shape of the model; None: the form of `start`")
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    clip: bool = static(False, BOOL, "use max(1 - loss, 0) in the estimate")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, the number of rounds that the steps are made for")
    domain: Any = param(factory=players.ball, doc="W, convex; needs zero, project and diameter")
    start: Any = param(None, doc="w_1, any pytree of arrays; None: domain.zero, the centre of a ball")
    lipschitz: ArrayLike | None = param(None, "(0, inf)", "G, bound on gradient norms; None: sqrt(d)")
    diameter_sq: ArrayLike | None = param(None, "(0, inf)", "D^2, range of ||w - w_1||^2 / 2; None: B^2 / 2 on a ball")
    w_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of w; 1 is the theory")
    q_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of q and gamma; 1 is the theory")
    step_w: ArrayLike | None = param(None, "[0, inf)", "eta_w; None: w_scale times the theory")
    step_q: ArrayLike | None = param(None, "[0, inf)", "eta_q; None: q_scale times the theory")
    gamma: ArrayLike | None = param(None, "[0, inf)", "gamma, implicit exploration; None: step_q / 2")

    @classmethod
    def theory(cls, *, dim: Shape | None = None, n_groups: int, horizon: ArrayLike, **changes: Any) -> "Online":
        """The steps of the theorem, unscaled: the defaults."""
        return cls(**{"dim": dim, "n_groups": n_groups, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: Shape | None = None, n_groups: int, horizon: ArrayLike, **changes: Any) -> "Online":
        """Three times the theorem's step of w (our choice: the paper states no values for its experiments)."""
        return cls.theory(**{"dim": dim, "n_groups": n_groups, "horizon": horizon, "w_scale": 3.0} | changes)

    def check(self) -> None:
        """The whole space has no D^2 of its own."""
        players.check(self, "step_w")

    def steps(self) -> Steps:
        """`(eta_w, eta_q, gamma)` of Theorem 5 with their multipliers, or those given."""
        theory = theorem_5(self.n_groups, self.horizon, *players.geometry(self))
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
        told = feedback.first()
        loss = players.clipped(feedback.loss, self.clip)
        gain = players.importance(loss, decision.group, state.weights.q, state.steps.gamma)  # (25)
        return state.move(self.domain, told.grad, gain, constant(t))

    def recommend(self, state: Players) -> Saddle:
        """The averages of the models and of the weights so far, `[d]` and `[m]`."""
        return state.saddle
