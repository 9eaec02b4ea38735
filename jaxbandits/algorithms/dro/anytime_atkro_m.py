"""ATkRO(m)_a: ATkRO(m) with falling steps, for any number of rounds (Zhang et al., JMLR, Theorem 13).

    min_w max_q  sum_i q_i R_i(w) = min_w (mean of the k largest R_i(w));   w in W,
    q in S = {q >= 0, sum q = 1, q_i <= 1/k}
    draw z_i from every group i, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta^w_t sum_i q_{t,i} grad loss(w_t; z_i)]            (14)
    q_{t+1} = the point of S nearest to q_{t,i} exp(eta^q_t loss(w_t; z_i)) in KL divergence                  (51)
    r_t = sqrt(2 / (t (D^2 G^2 + log(m/k)))),   eta^w_t = w_scale D^2 r_t,   eta^q_t = q_scale log(m/k) r_t   (52)
    output after any round: the means of w_1, ..., w_t and of q_1, ..., q_t weighted by their steps           (20)

m = n_groups, W = domain, G = lipschitz, D^2 = diameter_sq. Time a round O(m d + m k), memory O(m d).
"""

from typing import Any, ClassVar

import jax
import numpy as np

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Players, Saddle
from jaxbandits.algorithms.dro.steps import Steps, equation_19, falling
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class AnytimeATkROm:
    """ATkRO(m)_a, the anytime form of ATkRO(m); with k = 1 it is SMD(m)_a.

    Guarantee:
      Losses in [0, 1] and convex, gradients of norm at most G: the duality gap of the output after any t rounds is at
      most sqrt(D^2 G^2 + log(m/k)) (5 + 3 log t) / (sqrt(2) (sqrt(t + 1) - 1)) in expectation (Theorem 13; there also
      with high probability).

    Deviations:
      None in the updates. The paper states no W, G or multipliers for its experiments: a ball of radius 3, G = sqrt(d)
      and 1 are [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, equation (52), Theorem 13.
    """

    feedback: ClassVar[type] = Gradient
    dim: Shape | None = static(None, "[1, inf)", "d, or the shape of the model; None: the form of `start`")
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    k: int = static(range="[1, inf)", doc="k <= m: the average of the k largest risks")
    domain: Any = param(factory=players.ball, doc="W, convex; needs zero, project and diameter")
    start: Any = param(None, doc="w_1, any pytree of arrays; None: domain.zero, the centre of a ball")
    lipschitz: ArrayLike | None = param(None, "(0, inf)", "G, bound on gradient norms; None: sqrt(d)")
    diameter_sq: ArrayLike | None = param(None, "(0, inf)", "D^2, range of ||w - w_1||^2 / 2; None: B^2 / 2 on a ball")
    w_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of w; 1 is the theory")
    q_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of q; 1 is the theory")
    step_w: ArrayLike | None = param(None, "[0, inf)", "eta^w_1, over sqrt(t); None: w_scale times the theory")
    step_q: ArrayLike | None = param(None, "[0, inf)", "eta^q_1, over sqrt(t); None: q_scale times the theory")

    @classmethod
    def theory(cls, *, dim: Shape | None = None, n_groups: int, k: int, **changes: Any) -> "AnytimeATkROm":
        """The steps of the theorem, unscaled: the defaults."""
        return cls(**{"dim": dim, "n_groups": n_groups, "k": k} | changes)

    @classmethod
    def practical(cls, *, dim: Shape | None = None, n_groups: int, k: int, **changes: Any) -> "AnytimeATkROm":
        """0.6 and 6 times the steps of the theorem (our choice: the paper states no values for its experiments)."""
        return cls.theory(**{"dim": dim, "n_groups": n_groups, "k": k, "w_scale": 0.6, "q_scale": 6.0} | changes)

    def check(self) -> None:
        """There are k groups; the whole space has no D^2 of its own."""
        players.check_k(self)
        players.check(self, "step_w", "step_q")

    def steps(self) -> Steps:
        """`(eta^w_1, eta^q_1)` of (52) with their multipliers, or those given."""
        theory = equation_19(self.n_groups, *players.geometry(self), k=self.k)
        return theory.scaled(self.w_scale, self.q_scale).given(self.step_w, self.step_q)

    def init(self, key: jax.Array) -> Players:
        del key  # deterministic: both players start where their mirror maps are least
        return Players.start(self)

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del key, t, obs
        groups = np.arange(self.n_groups, dtype=np.int32)
        return GroupDecision(play=state.model.w, weights=state.weights.q, group=groups)

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs, decision
        grad = simplex.combine(state.weights.q, feedback.grad)  # (12)
        return state.move(self.domain, grad, feedback.loss, falling(t), self.k)

    def recommend(self, state: Players) -> Saddle:
        """The averages (20) of the models and of the weights so far, `[d]` and `[m]`."""
        return state.saddle
