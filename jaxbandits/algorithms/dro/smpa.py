"""SMPA_m: weighted group DRO on unequal budgets, by mirror-prox with mini-batches (Zhang et al., JMLR, Algorithm 4).

    min_w max_q  sum_i q_i b_i R_i(w),   b_i = (1/sqrt(n_m) + 1) / (1/sqrt(n_m) + sqrt(n_m / n_i)),   n_m = min n_i
    F(w, q) = (sum_i q_i b_i grad l_i(w), -[b_i l_i(w)]_i),   l_i the mean loss of n_i / n_m fresh rows; b of (45)
    (w_{t+1}, q_{t+1}) = the mirror step from the anchor (w'_t, q'_t) along F(w'_t, q'_t)                     (37)-(39)
    (w'_{t+1}, q'_{t+1}) = the mirror step from the anchor (w'_t, q'_t) along F(w_{t+1}, q_{t+1})             (40)-(42)
    output: the means of w_2, ..., w_{N+1} and of q_2, ..., q_{N+1},   N = n_m / 2
    e = min(1 / (sqrt(3) L~), 2 / sqrt(7 sigma^2 n_m)),   eta_w = w_scale 2 D^2 e,   eta_q = q_scale 2 e log m
    L~ = 2 sqrt(2) max b_i (D^2 L + D^2 G sqrt(log m)),   sigma^2 = 2 c max(b_i^2 n_m / n_i) (kappa D^2 G^2 + log^2 m)

A step of the paper takes two rounds of the loop: rounds with even t sample at the anchor, and rounds with odd t sample
at the extrapolated point. Notation: n is the field `budgets`, W is `domain`, G is `lipschitz`, $D^2$ is `diameter_sq`,
L is `smoothness`, kappa is `regularity` and c is `constant`. The cost per round and the memory are $O(d sum_i n_i /
n_m)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.dro.learner import GroupLearner, check_budgets
from jaxbandits.algorithms.dro.players import Saddle, descend
from jaxbandits.algorithms.dro.steps import Steps, batch_sizes, budget_weights, theorem_10
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.numerics import simplex
from jaxbandits.types import Gradient, GroupDecision


class Pair(NamedTuple):
    """Point (w, q) of the two players, with the logarithms of the group weights q."""

    w: Point  # [d]
    log_q: jax.Array  # [m]

    def step(self, grad: Point, gain: jax.Array, steps: Steps, domain: ConvexSet) -> "Pair":
        """Return the point after the mirror step from this point along (-grad, gain)."""
        w = descend(self.w, grad, steps.w, domain)
        return Pair(w=w, log_q=simplex.mirror_step(self.log_q, gain, steps.q))


class SMPAState(NamedTuple):
    """State of `SMPA`: the anchor, the point extrapolated from it, and the mean of the extrapolated points."""

    anchor: Pair  # (w'_t, q'_t)
    point: Pair  # (w_{t+1}, q_{t+1}) after rounds with even t; the anchor before the first round
    mean: Saddle  # mean of the extrapolated points
    steps: Steps  # []


@pytree
class SMPA(GroupLearner):
    """SMPA_m, to be run for `rounds` rounds; each of the $N = n_m / 2$ steps of the paper takes two rounds.

    Guarantee:
      If losses are convex with values in [0, 1], gradients have norm at most G and risks are L-smooth, then with
      probability 1 - delta, simultaneously for all groups, $R_i(w) - p* / b_i = O((1 / n_m + 1 / sqrt(n_i)) sqrt(kappa
      + log^2 m))$, where p* is the optimum of the weighted problem (Theorem 10).

    Deviations:
      The theorem does not specify the absolute constant c, which is 1 here [ours]. $n_i / n_m$ and $n_m / 2$ are
      rounded down [ours], so that rows that do not fill a batch are not used. The paper does not state W, G, L or
      multipliers for its experiments; the defaults (the ball of radius 3, $G = sqrt(d)$, L = 1/4 for logistic losses of
      features with unit variance, and multipliers of 1) are [ours].

    References:
      L. Zhang, H. Bai, P. Zhao, T. Yang, Z.-H. Zhou, "Stochastic Approximation Approaches to Group
      Distributionally Robust Optimization and Beyond", JMLR, arXiv:2302.09267, Algorithm 4, equations (37)-(45),
      Theorem 10. Mirror-prox: A. Juditsky, A. Nemirovski, C. Tauvel, Stochastic Systems 2011.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Algorithm 4"
    needs_immediate_feedback: ClassVar[bool] = True  # in rounds with odd t the point depends on round t - 1
    budgets: tuple[int, ...] = static(range="[1, inf)", doc="n_i, number of samples in the budget of each group")
    smoothness: ArrayLike = param(0.25, "(0, inf)", "L, smoothness of the risks")
    regularity: ArrayLike = param(1.0, "(0, inf)", "kappa, regularity of the dual norm; 1 for Euclidean norms")
    constant: ArrayLike = param(1.0, "(0, inf)", "c, the constant that Theorem 10 does not specify")

    @classmethod
    def example(cls) -> "SMPA":
        return cls(dim=3, budgets=(200, 150, 100, 50))

    def check(self) -> None:
        """Raise InputError if there are fewer than two budgets, or if a field of `GroupLearner` is invalid."""
        check_budgets(self)
        super().check()

    @property
    def n_groups(self) -> int:
        """Number m of groups."""
        return len(self.budgets)

    @property
    def rounds(self) -> int:
        """Number of rounds of the loop, the smallest budget n_m rounded down to an even number."""
        return 2 * (min(self.budgets) // 2)

    def steps(self) -> Steps:
        """Return `(eta_w, eta_q)` of Theorem 10 times their multipliers, unless fields override them."""
        smoothness = self.smoothness, self.regularity, self.constant
        return self.resolve_steps(theorem_10(self.budgets, *self.geometry(), *smoothness))

    def init(self, key: jax.Array) -> SMPAState:
        del key  # deterministic: both players start at the minimisers of their mirror maps
        anchor = Pair(w=self.first_model(), log_q=simplex.log_uniform(self.n_groups))
        mean = Saddle(w=anchor.w, q=jnp.exp(anchor.log_q))
        return SMPAState(anchor=anchor, point=anchor, mean=mean, steps=self.steps())

    def select(self, key: jax.Array, t: jax.Array, state: SMPAState, obs: None) -> GroupDecision:
        del key, obs
        play = points.where(t % 2 == 0, state.anchor, state.point)
        groups = np.repeat(np.arange(self.n_groups, dtype=np.int32), batch_sizes(self.budgets))
        return GroupDecision(play=play.w, weights=jnp.exp(play.log_q), group=groups)

    def update(self, key, t, state: SMPAState, obs: None, decision: GroupDecision, feedback: Gradient) -> SMPAState:
        del key, obs
        sizes = batch_sizes(self.budgets)
        share = budget_weights(self.budgets) / np.asarray(sizes)  # share of b_i for each row
        grad = simplex.combine(simplex.repeat(decision.weights * share, sizes), feedback.grad)
        gain = simplex.block_sums(feedback.loss, sizes) * share
        pair = state.anchor.step(grad, gain, state.steps, self.domain)
        even = t % 2 == 0
        mean = points.average(state.mean, Saddle(w=pair.w, q=jnp.exp(pair.log_q)), 1.0 / (t // 2 + 1))
        return SMPAState(
            anchor=points.where(even, state.anchor, pair),
            point=points.where(even, pair, state.point),
            mean=points.where(even, mean, state.mean),
            steps=state.steps,
        )

    def recommend(self, state: SMPAState) -> Saddle:
        """Return the means of the extrapolated models `[d]` and weights `[m]`."""
        return state.mean
