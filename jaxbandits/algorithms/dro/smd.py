"""SMD(m): mirror descent for group DRO, one sample from every group a round (Zhang et al., JMLR, Algorithm 1).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw z_i from every group i, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w sum_i q_{t,i} grad loss(w_t; z_i)]              (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta_q loss(w_t; z_i))               (15), (16)
    r = sqrt(8 / (5 T (D^2 G^2 + log m))),   eta_w = w_scale D^2 r,   eta_q = q_scale (log m) r
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

m = n_groups, T = horizon, W = domain, G = lipschitz, D^2 = diameter_sq. Time and memory a round O(m d).
"""

from typing import Any, ClassVar

import jax
import numpy as np

from jaxbandits.algorithms.dro import players
from jaxbandits.algorithms.dro.players import Players, Saddle
from jaxbandits.algorithms.dro.steps import Steps, constant, theorem_1
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains.points import Shape
from jaxbandits.numerics import simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class SMD:
    """SMD(m), the fixed-step form: `horizon` enters the steps, and the average may be read at any round.

    Guarantee:
      Losses in [0, 1] and convex, gradients of norm at most G: the duality gap of the output after T rounds is
      at most 2 sqrt(10 (D^2 G^2 + log m) / T) in expectation (Theorem 1; there also with high probability).

    Deviations:
      None in the updates. The paper states no W, G or multipliers for its experiments: a ball of radius 3, G = sqrt(d)
      and 1 are [ours].

    Example:
      A network with one hidden layer, trained on two groups of rows: the model is any pytree of arrays, the loss any
      function of it.

      >>> import jax.numpy as jnp, numpy as np
      >>> from jaxbandits import simulate
      >>> from jaxbandits.domains import WholeSpace
      >>> from jaxbandits.dro import SMD, GroupData
      >>> from jaxbandits.environments.datasets.groups import GroupTable
      >>> from jaxbandits.environments.dro.group_losses import Custom
      >>> rng = np.random.default_rng(0)
      >>> x, group = rng.choice([-1.0, 1.0], size=(100, 2)), np.arange(100) % 2
      >>> table = GroupTable(x, x[:, 0] * x[:, 1], group, ("even", "odd"))  # exclusive or: no linear model fits
      >>> def network(params, x, y):
      ...     return jnp.logaddexp(0.0, -y * (params["out"] @ jnp.tanh(params["hidden"] @ x + params["bias"])))
      >>> start = {"hidden": rng.normal(size=(8, 2)), "bias": rng.normal(size=8), "out": np.zeros(8)}
      >>> told = {"n_groups": 2, "horizon": 1000, "step_w": 0.3, "step_q": 0.01, "domain": WholeSpace()}
      >>> environment = GroupData.from_table(table, loss=Custom(function=network))
      >>> result = simulate(SMD(start=start, **told), environment, 1000, 2, record=1, progress=False)
      >>> bool(result.final("max_risk").max() < 0.2)  # of the averaged parameters, for either group; at first log 2
      True

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 1, equations (12)-(16),
      Theorem 1.
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
    def theory(cls, *, dim: Shape | None = None, n_groups: int, horizon: ArrayLike, **changes: Any) -> "SMD":
        """The steps of the theorem, unscaled: the defaults."""
        return cls(**{"dim": dim, "n_groups": n_groups, "horizon": horizon} | changes)

    @classmethod
    def practical(cls, *, dim: Shape | None = None, n_groups: int, horizon: ArrayLike, **changes: Any) -> "SMD":
        """Three times the theorem's step of w (our choice: the paper states no values for its experiments)."""
        return cls.theory(**{"dim": dim, "n_groups": n_groups, "horizon": horizon, "w_scale": 3.0} | changes)

    def check(self) -> None:
        """The whole space has no D^2 of its own."""
        players.check(self, "step_w", "step_q")

    def steps(self) -> Steps:
        """`(eta_w, eta_q)` of Theorem 1 with their multipliers, or those given."""
        theory = theorem_1(self.n_groups, self.horizon, *players.geometry(self))
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
        return state.move(self.domain, grad, feedback.loss, constant(t))

    def recommend(self, state: Players) -> Saddle:
        """The averages of the models and of the weights so far, `[d]` and `[m]`."""
        return state.saddle
