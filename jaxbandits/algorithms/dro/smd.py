"""SMD(m): mirror descent for group DRO, one sample from every group per round (Zhang et al., JMLR, Algorithm 1).

    min_w max_q  sum_i q_i R_i(w),   R_i(w) = E loss(w; z), z from group i;   w in W, q in the simplex
    draw z_i from every group i, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w sum_i q_{t,i} grad loss(w_t; z_i)]              (14)
    q_{t+1,i} proportional to q_{t,i} exp(eta_q loss(w_t; z_i))               (15), (16)
    r = sqrt(8 / (5 T (D^2 G^2 + log m))),   eta_w = w_scale D^2 r,   eta_q = q_scale (log m) r
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

Notation: m is the field `n_groups`, T is `horizon`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The
cost per round and the memory are $O(m d)$.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.dro.learner import TwoPlayers
from jaxbandits.algorithms.dro.players import Players
from jaxbandits.algorithms.dro.steps import Steps, constant_steps, theorem_1
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.numerics import simplex
from jaxbandits.types import Gradient, GroupDecision


@pytree
class SMD(TwoPlayers):
    """SMD(m) with fixed steps, which depend on `horizon`; the averages are available after every round.

    Guarantee:
      If losses are convex with values in [0, 1] and gradients have norm at most G, then the expected duality gap of the
      output after T rounds is at most $2 sqrt(10 (D^2 G^2 + log m) / T)$ (Theorem 1, which also has a bound with high
      probability).

    Deviations:
      The updates agree with the paper. The paper does not state W, G or multipliers for its experiments; the defaults
      (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours].

    Example:
      This example trains a network with one hidden layer on two groups of rows. The model can be any pytree of arrays,
      and the loss any function of the model.

      >>> import jax.numpy as jnp, numpy as np
      >>> from jaxbandits import simulate
      >>> from jaxbandits.domains import WholeSpace
      >>> from jaxbandits.dro import SMD, GroupData
      >>> from jaxbandits.environments.datasets.groups import Groups
      >>> from jaxbandits.environments.dro.group_losses import Custom
      >>> rng = np.random.default_rng(0)
      >>> x, group = rng.choice([-1.0, 1.0], size=(100, 2)), np.arange(100) % 2
      >>> table = Groups(x, x[:, 0] * x[:, 1], group, ("even", "odd"))  # exclusive or: no linear model fits
      >>> def network(params, x, y):
      ...     return jnp.logaddexp(0.0, -y * (params["out"] @ jnp.tanh(params["hidden"] @ x + params["bias"])))
      >>> start = {"hidden": rng.normal(size=(8, 2)), "bias": rng.normal(size=8), "out": np.zeros(8)}
      >>> settings = {"n_groups": 2, "horizon": 1000, "step_w": 0.3, "step_q": 0.01, "domain": WholeSpace()}
      >>> environment = GroupData.from_table(table, loss=Custom(function=network))
      >>> result = simulate(SMD(start=start, **settings), environment, 1000, 2, record_points=1, progress=False)
      >>> bool(result.final("max_risk").max() < 0.2)  # largest risk of the averaged parameters; at first log 2
      True

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 1, equations (12)-(16),
      Theorem 1.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 1"
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds for which the step sizes are set")

    @classmethod
    def example(cls) -> "SMD":
        return cls(dim=3, n_groups=4, horizon=200)

    def steps(self) -> Steps:
        """Return `(eta_w, eta_q)` of Theorem 1 times their multipliers, unless fields override them."""
        return self.resolve_steps(theorem_1(self.n_groups, self.horizon, *self.geometry()))

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del key, t, obs
        return state.sample_every_group()

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        grad = simplex.combine(decision.weights, feedback.grad)  # (12)
        return state.step(self.domain, decision.weights, grad=grad, gain=feedback.loss, factors=constant_steps(t))
