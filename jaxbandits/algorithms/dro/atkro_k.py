"""ATkRO(k): average top-k risk optimisation, k samples per round (Zhang et al., JMLR, Algorithm 6).

    min_w max_q  sum_i q_i R_i(w) = min_w (mean of the k largest R_i(w));   w in W,
    q in S = {q >= 0, sum q = 1, q_i <= 1/k}
    draw k groups I_t, i among them with probability k q_{t,i}, one z_i from each, then at the same point (w_t, q_t)
    w_{t+1} = P_W[w_t - eta_w (1/k) sum_{i in I_t} grad loss(w_t; z_i)]       (54)
    s_i = (1 - loss(w_t; z_i)) / (k q_{t,i} + gamma) 1[i in I_t]              (55)
    q_{t+1} = the point of S nearest to q_{t,i} exp(-eta_q s_i) in KL divergence                              (57)
    eta_w = w_scale 2 D / (G sqrt(5 T)),   eta_q = q_scale sqrt(k log m / (m T)),   gamma = eta_q / 2
    output: the means of w_1, ..., w_T and of q_1, ..., q_T

Notation: m is the field `n_groups`, T is `horizon`, W is `domain`, G is `lipschitz` and $D^2$ is `diameter_sq`. The
cost per round is $O(k d + m k)$, and the memory is $O(m + k d)$.
"""

from typing import ClassVar

import jax

from jaxbandits.algorithms.dro.learner import TwoPlayers, check_k
from jaxbandits.algorithms.dro.players import Players, clip_losses, importance_weighted_gains
from jaxbandits.algorithms.dro.steps import Steps, constant_steps, theorem_5
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.numerics import rng, sampling, simplex
from jaxbandits.types import Gradient, GroupDecision

SAMPLERS = ("dep_round", "systematic")


@pytree
class ATkROk(TwoPlayers):
    """ATkRO(k) with fixed steps; with $k = 1$ it is Online(1), and with $k = m$ it minimises the mean of the risks.

    Guarantee:
      If losses are convex with values in [0, 1] and gradients have norm at most G, then the expected duality gap of the
      output after T rounds is at most $2 D G sqrt(5/T) + 3 sqrt(m log m / (k T))$ + lower-order terms (Theorems 14 and
      15, which also have bounds with high probability). There is no guarantee for anytime steps. The step of q contains
      log m instead of log(m/k).

    Deviations:
      The updates agree with the paper. The paper does not state W, G or multipliers for its experiments; the defaults
      (the ball of radius 3, $G = sqrt(d)$ and multipliers of 1) are [ours]. `q_scale` also multiplies gamma, which is
      $eta_q / 2$ in the proofs of the paper. Logistic losses may exceed 1, and then 1 - loss is negative, as in the
      paper's experiments. With `clip` (False by default), max(1 - loss, 0) replaces 1 - loss [ours]. Groups are drawn
      by dependent rounding, as in the paper, or by systematic sampling (`sampler`) [ours]: the proofs use only the
      number of groups and the probability with which each group is drawn.

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithms 6 and 9, equations (53)-(57),
      Theorems 14 and 15. Exp3-IX: G. Neu, "Explore no more", NeurIPS 2015.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 6"
    steps_from_diameter: ClassVar[tuple[str, ...]] = ("step_w",)
    n_groups: int = static(range="[2, inf)", doc="m, number of groups")
    k: int = static(range="[1, inf)", doc="k <= m, number of largest risks that are averaged")
    sampler: str = static("dep_round", doc="method that draws k groups: dep_round, or systematic (one uniform draw)")
    clip: bool = static(False, BOOL, "True: use max(1 - loss, 0) in the estimate")
    horizon: ArrayLike = param(range="[1, inf)", doc="T, number of rounds for which the step sizes are set")
    gamma: ArrayLike | None = param(None, "[0, inf)", "gamma, the implicit exploration; None: step_q / 2")

    @classmethod
    def example(cls) -> "ATkROk":
        return cls(dim=3, n_groups=4, k=2, horizon=200)

    def check(self) -> None:
        """Raise InputError if k > m, the sampler is unknown, or a field of `GroupLearner` is invalid."""
        check_k(self)
        super().check()
        if self.sampler not in SAMPLERS:
            raise InputError(f"ATkROk.sampler must be one of {', '.join(SAMPLERS)}, got {format_value(self.sampler)}")

    def steps(self) -> Steps:
        """Return `(eta_w, eta_q, gamma)` of Theorem 15 times their multipliers, unless fields override them."""
        return self.resolve_steps(theorem_5(self.n_groups, self.horizon, *self.geometry(), k=self.k), self.gamma)

    def select(self, key: jax.Array, t: jax.Array, state: Players, obs: None) -> GroupDecision:
        del t, obs
        q = state.weights.q
        if self.sampler == "systematic":
            groups = sampling.systematic_sampling(q, self.k, rng.uniform(key))
        else:
            groups = sampling.dep_round(q, self.k, rng.uniforms(key, self.n_groups - 1))
        return GroupDecision(play=state.model.w, weights=q, group=groups)

    def update(self, key, t, state: Players, obs: None, decision: GroupDecision, feedback: Gradient) -> Players:
        del key, obs
        factors = constant_steps(t)
        loss, gamma = clip_losses(feedback.loss, self.clip), factors.step * state.steps.gamma
        gain = importance_weighted_gains(loss, decision.group, decision.weights, gamma)  # (55)
        return state.step(
            self.domain, decision.weights, grad=simplex.mean(feedback.grad), gain=gain, factors=factors, k=self.k
        )
