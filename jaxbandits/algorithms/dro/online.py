"""Online(1): SMD against Exp3-IX for group DRO, one sample a round (Zhang et al., JMLR, Algorithm 2).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   ||w|| <= B, q in the simplex
    draw i_t from q_t and one z from group i_t, then at the same point (w_t, q_t)
    w_{t+1} = Proj[w_t - eta_w grad loss(w_t; z)]                             (24)
    s_i = (1 - loss(w_t; z)) / (q_{t,i} + gamma) 1[i = i_t]                   (25)
    q_{t+1,i} proportional to q_{t,i} exp(-eta_q s_i)                         (26)
    eta_w = w_scale 2 D / (G sqrt(5 T)),   eta_q = q_scale sqrt(log m / (m T)),   gamma = eta_q / 2
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

m = n_groups, d = dim, T = horizon, B = radius, G = lipschitz, D^2 = diameter_sq. Time and memory a round O(m + d).
"""

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Model, Saddle, Weights
from jaxbandits.core import rng, simplex
from jaxbandits.core.errors import InputError
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.core.ranges import BOOL
from jaxbandits.domains.points import Shape
from jaxbandits.types import Gradient, GroupDecision


class OnlineState(NamedTuple):
    """Both players, their averages, and what `init` made of the hyperparameters."""

    model: Model  # [d]
    weights: Weights  # [m]
    step_w: jax.Array  # []  eta_w
    step_q: jax.Array  # []  eta_q
    gamma: jax.Array  # []  gamma


@pytree
class Online:
    """Online(1), the fixed-step form: `horizon` enters the steps, and the average may be read at any round.

    Guarantee:
      Losses in [0, 1] and convex, gradients of norm at most G: the expected duality gap of the output after T
      rounds is at most 2 D G sqrt(5/T) + 3 sqrt(m log m / T) + lower orders (Theorem 5; there also with high
      probability), although q depends on the past samples.

    Deviations:
      None in the updates. The paper states no radius, no G and no step multipliers for its experiments: the
      defaults (B = 3, G = sqrt(d), multipliers 1) are ours; `q_scale` multiplies gamma too, which is eta_q / 2 in the
      proof. The logistic loss of the paper's experiments exceeds 1, where 1 - loss is negative; we leave it so, as the
      paper does; `clip` (ours, off) uses max(1 - loss, 0). i_t is drawn by inverse CDF from one uniform.

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 2, equations (24)-(26),
      Theorems 3-5. Exp3-IX: G. Neu, "Explore no more", NeurIPS 2015.
    """

    feedback: ClassVar[type] = Gradient
    dim: Shape = static(range="[1, inf)", doc="d, or the shape of the model")
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    clip: bool = static(False, BOOL, doc="use max(1 - loss, 0) in the estimate (25)")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, the number of rounds that the steps are made for")
    radius: ArrayLike = param(3.0, "(0, inf]", "B, radius of the ball of models; inf: no projection")
    lipschitz: ArrayLike | None = param(None, "(0, inf)", "G, bound on gradient norms; None: sqrt(d)")
    diameter_sq: ArrayLike | None = param(None, "(0, inf)", "D^2, range of ||w||^2 / 2; None: B^2 / 2")
    w_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of w; 1 is the theory")
    q_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of q; 1 is the theory")
    step_w: ArrayLike | None = param(None, "[0, inf)", "eta_w; None: w_scale times Theorem 5")
    step_q: ArrayLike | None = param(None, "[0, inf)", "eta_q; None: q_scale times Theorem 5")
    gamma: ArrayLike | None = param(None, "[0, inf)", "gamma, implicit exploration; None: step_q / 2")

    @classmethod
    def theory(cls, *, dim: int, n_groups: int, horizon: ArrayLike, **changes: Any) -> "Online":
        """The steps of the theorem, unscaled: the defaults."""
        return cls(**{"dim": dim, "n_groups": n_groups, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: int, n_groups: int, horizon: ArrayLike, **changes: Any) -> "Online":
        """Three times the theorem's step of w (our choice: the paper states no values for its experiments)."""
        return cls.theory(**{"dim": dim, "n_groups": n_groups, "horizon": horizon, "w_scale": 3.0} | changes)

    def check(self) -> None:
        """The whole space has no D^2 of its own."""
        derived = self.diameter_sq is None and self.step_w is None
        if derived and np.isinf(np.asarray(self.radius)).any():
            raise InputError("Online.diameter_sq, or step_w, must be given when radius is inf")

    def steps(self) -> tuple[jax.Array, jax.Array, jax.Array]:
        """`(eta_w, eta_q, gamma)` of Theorem 5 with their multipliers, or those given."""
        lipschitz, diameter_sq = players.geometry(self.dim, self.radius, self.lipschitz, self.diameter_sq)
        step_w = self.w_scale * 2.0 * jnp.sqrt(diameter_sq / (5.0 * self.horizon)) / lipschitz
        step_q = self.q_scale * jnp.sqrt(math.log(self.n_groups) / (self.n_groups * self.horizon))
        step_w = step_w if self.step_w is None else self.step_w
        step_q = step_q if self.step_q is None else self.step_q
        gamma = step_q / 2.0 if self.gamma is None else self.gamma
        return jnp.asarray(step_w, float), jnp.asarray(step_q, float), jnp.asarray(gamma, float)

    def init(self, key: jax.Array) -> OnlineState:
        del key  # deterministic: both players start where their mirror maps are least
        return OnlineState(Model.start(self.dim), Weights.start(self.n_groups), *self.steps())

    def select(self, key: jax.Array, t: jax.Array, state: OnlineState, obs: None) -> GroupDecision:
        del t, obs
        q = state.weights.q
        index = simplex.inverse_cdf(q, rng.uniform(key))
        return GroupDecision(play=state.model.w, weights=q, group=index[None])

    def update(self, key, t, state: OnlineState, obs: None, decision: GroupDecision, feedback: Gradient) -> OnlineState:
        del key, obs
        loss, grad = feedback.first()
        loss = jnp.minimum(loss, 1.0) if self.clip else loss
        model, weights, fraction = state.model, state.weights, 1.0 / (t + 1)
        gain = players.importance(loss, decision.group[0], weights.q, state.gamma)  # (25)
        return state._replace(
            model=model.step(grad, state.step_w, self.radius, fraction),
            weights=weights.step(gain, state.step_q, fraction),
        )

    def recommend(self, state: OnlineState) -> Saddle:
        """The averages of the models and of the weights so far, `[d]` and `[m]`."""
        return players.saddle(state.model, state.weights)
