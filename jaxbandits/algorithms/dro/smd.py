"""SMD(m): mirror descent for group DRO, one sample from every group a round (Zhang et al., JMLR, Algorithm 1).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   ||w|| <= B, q in the simplex
    draw z_i from every group i, then at the same point (w_t, q_t)
    w_{t+1} = Proj[w_t - eta_w sum_i q_{t,i} grad loss(w_t; z_i)]             (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta_q loss(w_t; z_i))               (15), (16)
    r = sqrt(8 / (5 T (D^2 G^2 + log m))),   eta_w = w_scale D^2 r,   eta_q = q_scale (log m) r
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

m = n_groups, d = dim, T = horizon, B = radius, G = lipschitz, D^2 = diameter_sq. Time and memory a round O(m d).
"""

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Model, Saddle, Weights
from jaxbandits.core import simplex
from jaxbandits.core.errors import InputError
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains.points import Shape
from jaxbandits.types import Gradient, GroupDecision


class SMDState(NamedTuple):
    """Both players, their averages, and what `init` made of the hyperparameters."""

    model: Model  # [d]
    weights: Weights  # [m]
    step_w: jax.Array  # []  eta_w
    step_q: jax.Array  # []  eta_q


@pytree
class SMD:
    """SMD(m), the fixed-step form: `horizon` enters the steps, and the average may be read at any round.

    Guarantee:
      Losses in [0, 1] and convex, gradients of norm at most G: the duality gap of the output after T rounds is
      at most 2 sqrt(10 (D^2 G^2 + log m) / T) in expectation (Theorem 1; there also with high probability).

    Deviations:
      None in the updates. The paper states no radius, no G and no step multipliers for its experiments: the
      defaults (B = 3, G = sqrt(d), multipliers 1) are ours. Weights are kept as logarithms.

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 1, equations (12)-(16),
      Theorem 1.
    """

    feedback: ClassVar[type] = Gradient
    dim: Shape = static(range="[1, inf)", doc="d, or the shape of the model")
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, the number of rounds that the steps are made for")
    radius: ArrayLike = param(3.0, "(0, inf]", "B, radius of the ball of models; inf: no projection")
    lipschitz: ArrayLike | None = param(None, "(0, inf)", "G, bound on gradient norms; None: sqrt(d)")
    diameter_sq: ArrayLike | None = param(None, "(0, inf)", "D^2, range of ||w||^2 / 2; None: B^2 / 2")
    w_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of w; 1 is the theory")
    q_scale: ArrayLike = param(1.0, "[0, inf)", "multiplies the step of q; 1 is the theory")
    step_w: ArrayLike | None = param(None, "[0, inf)", "eta_w; None: w_scale times Theorem 1")
    step_q: ArrayLike | None = param(None, "[0, inf)", "eta_q; None: q_scale times Theorem 1")

    @classmethod
    def theory(cls, *, dim: int, n_groups: int, horizon: ArrayLike, **changes: Any) -> "SMD":
        """The steps of the theorem, unscaled: the defaults."""
        return cls(**{"dim": dim, "n_groups": n_groups, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: int, n_groups: int, horizon: ArrayLike, **changes: Any) -> "SMD":
        """Three times the theorem's step of w (our choice: the paper states no values for its experiments)."""
        return cls.theory(**{"dim": dim, "n_groups": n_groups, "horizon": horizon, "w_scale": 3.0} | changes)

    def check(self) -> None:
        """The whole space has no D^2 of its own."""
        derived = self.diameter_sq is None and (self.step_w is None or self.step_q is None)
        if derived and np.isinf(np.asarray(self.radius)).any():
            raise InputError("SMD.diameter_sq, or step_w and step_q, must be given when radius is inf")

    def steps(self) -> tuple[jax.Array, jax.Array]:
        """`(eta_w, eta_q)` of Theorem 1 with their multipliers, or those given."""
        lipschitz, diameter_sq = players.geometry(self.dim, self.radius, self.lipschitz, self.diameter_sq)
        log_m = math.log(self.n_groups)
        rate = jnp.sqrt(8.0 / (5.0 * self.horizon * (diameter_sq * jnp.square(lipschitz) + log_m)))
        step_w = self.w_scale * diameter_sq * rate if self.step_w is None else self.step_w
        step_q = self.q_scale * log_m * rate if self.step_q is None else self.step_q
        return jnp.asarray(step_w, float), jnp.asarray(step_q, float)

    def init(self, key: jax.Array) -> SMDState:
        del key  # deterministic: both players start where their mirror maps are least
        return SMDState(Model.start(self.dim), Weights.start(self.n_groups), *self.steps())

    def select(self, key: jax.Array, t: jax.Array, state: SMDState, obs: None) -> GroupDecision:
        del key, t, obs
        groups = np.arange(self.n_groups, dtype=np.int32)
        return GroupDecision(play=state.model.w, weights=state.weights.q, group=groups)

    def update(self, key, t, state: SMDState, obs: None, decision: GroupDecision, feedback: Gradient) -> SMDState:
        del key, obs, decision
        model, weights, fraction = state.model, state.weights, 1.0 / (t + 1)
        grad = simplex.combine(weights.q, feedback.grad)  # (12)
        return state._replace(
            model=model.step(grad, state.step_w, self.radius, fraction),
            weights=weights.step(feedback.loss, state.step_q, fraction),
        )

    def recommend(self, state: SMDState) -> Saddle:
        """The averages of the models and of the weights so far, `[d]` and `[m]`."""
        return players.saddle(state.model, state.weights)
