"""MENU: linear bandit on the median of k ridge regressions (Shao, Yu, King & Lyu, NeurIPS 2018).

    every k rounds   z = argmax_x  x'theta_n + beta_scale radius_n ||x||_{V_n^{-1}}, the arm of the epoch
    every round      play the available arm nearest to z (z itself if it is available)
    after k rounds   V_n = lambda I + sum_{i <= n} x_i x_i',   theta_{n,j} = V_n^{-1} sum_{i <= n} y_{i,j} x_i
                     r_j = median_{s != j} ||theta_{n,j} - theta_{n,s}||_{V_n},   theta_n = theta_{n,argmin_j r_j}

    radius_n = 3 ((9 d c)^{1/(1+eps)} n^{(1-eps)/(2(1+eps))} + sqrt(lambda) S),   radius_0 = sqrt(lambda) S

Here $x_i$ is the arm of epoch i, $y_{i,j}$ is the reward of its j-th pull, and n is the number of finished epochs.
Notation: k is the field `reps`, $c = nu^{1+eps}$ with nu = `noise_scale`, S is `norm_bound` and lambda is `ridge`. The
cost per round is $O(K d)$, and $O(K d^2 + k^2 d^2)$ once per epoch. The memory is $O(d^2 + k^2)$.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.base import ranges, trees
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation import history
from jaxbandits.estimation.arms import nearest_arm, optimistic_arm
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.tracing.batching import cond, while_loop
from jaxbandits.types import ArmDecision, ArmObs, FixedArmObs, Reward

_UNROLL = 8  # number of rows per loop iteration when distances are counted


class MENUState(NamedTuple):
    """State of `MENU`: k regressions on the finished epochs, and the arm and rewards of the current epoch."""

    theta: Vector  # [d]  theta_n
    central: jax.Array  # [] int32  index of theta_n among the k estimates
    inverse: InverseFactors  # V_n^{-1}
    moments: jax.Array  # [k, d]  sum_i y_{i,j} x_i in row j
    estimates: jax.Array  # [k, d]  theta_{n,j} in row j
    epoch_arm: Vector  # [d]  z, the arm of this epoch, chosen in its first round
    epoch_index: jax.Array  # [] int32  index of z in the first round of the epoch
    rewards: jax.Array  # [k]  rewards of this epoch; the entries from t mod k on are rewards of the last epoch


@pytree
class MENU:
    """Optimistic linear bandit that pulls every chosen arm k times and uses the most central of k estimates.

    The rewards of an incomplete epoch at the horizon are not used.

    Guarantee:
      If $E[noise | past] = 0$, $E |noise|^{1+eps} <= nu^{1+eps}$, the arms are bounded, $||theta*|| <= S$ and the arm
      set is fixed, then with the preset `theory` the regret is $O~(d T^{1/(1+eps)})$ with high probability, at a cost
      per round of $O(log T)$ (as quoted by Wang et al. 2025, Table 1: "fixed arm set and repeated pulling"). The
      regret matches the lower bound $Omega(d T^{1/(1+eps)})$ of Shao et al. (2018) up to logarithms. Under changing arm
      sets an epoch may contain pulls of several arms, and there is no guarantee.

    Deviations:
      * [ours] Under changing arm sets the available arm nearest to z in Euclidean distance is played, and its reward is
        used as a reward of z.
      * [printed] The paper does not define the median of an even number of distances. As in the authors' code, it is
        the mean of the two middle distances, without the distance 0 of an estimate to itself.
      * [ours] Before the first epoch ends, the radius is $sqrt(lambda) S$, so that the confidence set is ${||theta|| <=
        S}$.
      * [ours] The confidence set is not intersected with the ball of radius S. `beta_scale` multiplies the radius. Ties
        between arms go to the first arm, and ties between estimates go to the first estimate.

    Numerics:
      Float32 suffices: a reward of 1e9 rounds away the digits of small rewards only in the regression that receives it,
      and this regression is not the most central one
      (float32/test_menu_tofu.py::test_one_enormous_reward_costs_no_digits_of_the_others). The error of the estimate
      stays below 1e-4 of the largest value of the estimate over 18000 rounds, except in epochs (at most one in twenty)
      in which two estimates are equally central up to rounding
      (float32/test_menu_tofu.py::test_estimates_over_a_long_run). After 10^6 rounds of one arm, the relative error of
      the width is below 1e-4, and those of all k estimates are below 1e-3
      (float32/test_one_arm.py::test_one_arm_for_as_long_as_it_can_be).

    References:
      Han Shao, Xiaotian Yu, Irwin King, Michael R. Lyu. Almost Optimal Algorithms for Linear Stochastic Bandits with
      Heavy-Tailed Payoffs. NeurIPS 2018, arXiv:1810.10895, MENU.
      Jing Wang, Yu-Jie Zhang, Peng Zhao, Zhi-Hua Zhou. Heavy-Tailed Linear Bandits: Huber Regression with One-Pass
      Update. ICML 2025, arXiv:2503.00419, Table 1.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Shao et al., NeurIPS 2018"
    environments: ClassVar[tuple[str, ...]] = ("linear/heavy_tailed",)
    needs_immediate_feedback: ClassVar[bool] = True  # t mod reps is the number of the pull in its epoch
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    reps: int = static(51, "[2, inf)", "k, number of pulls per epoch; `theory` uses ceil(24 log(e T / delta))")
    eps: ArrayLike = param(1.0, "(0, 1]", "eps, where 1 + eps is the order of the bounded moment of the noise")
    noise_scale: ArrayLike = param(1.0, "[0, inf)", "nu, bound on (E |noise|^{1+eps})^{1/(1+eps)}")
    norm_bound: ArrayLike = param(1.0, "(0, inf)", "S, bound on ||theta*||")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, ridge parameter")
    beta_scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the confidence radius; the theory uses 1")

    @classmethod
    def theory(
        cls, *, dim: int, horizon: float, eps: ArrayLike = 1.0, delta: float | None = None, **changes: FieldValue
    ) -> "MENU":
        """Use ridge lambda = 1 and k = ceil(24 log(e T / delta)) pulls per epoch, with delta = 1/T by default."""
        rounds = ranges.real("horizon", horizon, "[1, 1e18]")
        failure = 1.0 / rounds if delta is None else ranges.real("delta", delta, "(0, 1)")
        reps = math.ceil(24.0 * math.log(math.e * rounds / failure))
        return cls(**{"dim": dim, "eps": eps, "reps": reps} | changes)

    @classmethod
    def practical(cls, *, dim: int, horizon: ArrayLike, eps: ArrayLike = 1.0, **changes: FieldValue) -> "MENU":
        """Use ridge lambda = d, 51 pulls per epoch and the tuned multiplier (`jaxbandits tune linear`)."""
        ranges.numbers("horizon", horizon, "[1, 1e18]")  # checked, though only `theory` uses the horizon
        ridge = float(ranges.integer("dim", dim))
        return cls(**{"dim": dim, "eps": eps, "reps": 51, "ridge": ridge, **MULTIPLIERS["menu"]} | changes)

    @classmethod
    def example(cls) -> "MENU":
        return cls.practical(dim=2, horizon=200, eps=0.99, reps=5)

    def init(self, key: jax.Array) -> MENUState:
        del key  # deterministic
        return MENUState(
            theta=jnp.zeros(self.dim),
            central=jnp.zeros((), jnp.int32),
            inverse=inverse_factors.init(self.dim, self.ridge),
            moments=jnp.zeros((self.reps, self.dim)),
            estimates=jnp.zeros((self.reps, self.dim)),
            epoch_arm=jnp.zeros(self.dim),
            epoch_index=jnp.zeros((), jnp.int32),
            rewards=jnp.zeros(self.reps),
        )

    def select(self, key: jax.Array, t: jax.Array, state: MENUState, obs: ArmObs) -> ArmDecision:
        del key

        def choose() -> ArmDecision:
            radius = self.radius(t, state)
            return optimistic_arm(obs.arms, obs.mask, state.theta, state.inverse, radius)

        def repeat() -> ArmDecision:
            if isinstance(obs, FixedArmObs) and obs.mask is None:
                return ArmDecision(index=state.epoch_index, x=state.epoch_arm)  # at distance 0
            return nearest_arm(obs.arms, obs.mask, state.epoch_arm)

        return cond(t % self.reps == 0, choose, repeat)  # all trials share t, so that a branch is possible

    def update(
        self, key: jax.Array, t: jax.Array, state: MENUState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> MENUState:
        del key, obs
        pull = t % self.reps
        first = ArmDecision(index=state.epoch_index, x=state.epoch_arm)
        held = trees.where(pull == 0, decision, first)
        rewards = history.append(state.rewards, pull, feedback.reward)
        state = state._replace(epoch_arm=held.x, epoch_index=held.index, rewards=rewards)
        return cond(pull == self.reps - 1, lambda: _finish_epoch(state), lambda: state)

    def recommend(self, state: MENUState) -> Vector:
        """Return the estimate `[d]` of theta*."""
        return state.theta

    def radius(self, t: ArrayLike, state: MENUState) -> jax.Array:
        """Return the confidence radius `[]` in the V_n norm after t rounds (n = t // k epochs), times `beta_scale`."""
        del state  # the radius depends on the number of epochs only
        real = jnp.result_type(float)
        epochs, order = jnp.asarray(t // self.reps, real), 1.0 + self.eps
        drift = jnp.sqrt(self.ridge) * self.norm_bound
        growth = jnp.maximum(epochs, 1.0) ** ((1.0 - self.eps) / (2.0 * order))
        later = 3.0 * ((9.0 * self.dim) ** (1.0 / order) * self.noise_scale * growth + drift)
        return jnp.where(epochs == 0.0, drift, later) * self.beta_scale


def _finish_epoch(state: MENUState) -> MENUState:
    """Update the k regressions with the rewards of this epoch, and choose the most central estimate."""
    image = inverse_factors.image(state.inverse, state.epoch_arm)
    inverse = inverse_factors.add(state.inverse, 1.0, image)
    moments = state.moments + jnp.outer(state.rewards, state.epoch_arm)  # adds y_j x to row j
    # The update is incremental, since V^{-1} times a moment would have large errors, in float32, in the components of
    # theta that no reward determines.
    gain, residual = image.u / (1.0 + image.width_sq), state.rewards - state.estimates @ state.epoch_arm
    estimates = state.estimates + jnp.outer(residual, gain)
    central = _most_central(inverse, moments, state.central)
    theta = estimates[central]
    return state._replace(theta=theta, central=central, inverse=inverse, moments=moments, estimates=estimates)


def _most_central(inverse: InverseFactors, moments: jax.Array, guess: jax.Array) -> jax.Array:
    """Return the index of the estimate with the smallest median distance to the others, without computing all medians.

    The smallest median found excludes every estimate that has too few neighbours within this distance. The first
    candidate is `guess`; each later candidate is the remaining estimate with the most neighbours. A few medians are
    enough, while sorting all rows would cost 20 times as much. Neighbours are counted in float32, in which k^2 numbers
    stay in the cache; medians are computed in full precision.
    """
    coarse = _squared_distances(inverse, moments)
    k = moments.shape[0]
    enough, indices = (k - 2) // 2 + 1, jnp.arange(k, dtype=jnp.int32)

    def cond_fun(carry):
        return carry[-1] >= 0

    def body_fun(carry):
        least, best, untried, choice = carry
        candidate = choice % k
        squares = inverse_factors.quadratic_forms(inverse, moments - moments[candidate])
        median = _median_of_others(squares, candidate)
        better = (median < least) | ((median == least) & (candidate < best))
        least, best = jnp.where(better, median, least), jnp.where(better, candidate, best)
        near = _count_within(coarse, _rounded_up(least * least))
        untried = untried & (indices != candidate) & (near >= enough)
        return (
            least,
            best,
            untried,
            jnp.max(jnp.where(untried, near * k + indices, -1)),
        )  # the most neighbours, then the largest index

    start = (jnp.full((), jnp.inf, moments.dtype), jnp.int32(k), jnp.ones(k, bool), guess)
    return while_loop(cond_fun, body_fun, start, k)[1]


def _rounded_up(bound: jax.Array) -> jax.Array:
    """Return the bound in float32, enlarged by more than the rounding error of the squared distances."""
    return bound.astype(jnp.float32) * jnp.float32(1.0 + 2.0**-19)


def _squared_distances(inverse: InverseFactors, moments: jax.Array) -> jax.Array:
    """Return ||theta_j - theta_s||^2_V = ||moments_j - moments_s||^2_{V^{-1}} `[k, k]`, float32; diagonal inf."""
    squares = inverse_factors.quadratic_forms(inverse, moments[:, None] - moments)
    return jnp.where(jnp.eye(len(moments), dtype=bool), jnp.float32(jnp.inf), squares.astype(jnp.float32))


def _median_of_others(squares: jax.Array, candidate: jax.Array) -> jax.Array:
    """Return the median of the square roots of k values without the value at `candidate`, by counting, not sorting."""
    k = squares.shape[0]
    row = jnp.where(jnp.arange(k) == candidate, jnp.inf, squares)
    rank = _count_within(row[:, None], row)
    low, high = (jnp.min(jnp.where(rank > position, row, jnp.inf), axis=0) for position in ((k - 2) // 2, (k - 1) // 2))
    return 0.5 * (jnp.sqrt(low) + jnp.sqrt(high))


def _count_within(rows: jax.Array, bound: jax.Array) -> jax.Array:
    """Count, for every entry, the rows `rows[0], ..., rows[k-1]` that are at most `bound`.

    The loop reads both sides of the comparison from memory. In a fused comparison, XLA would compute each side
    separately with different roundings, so that a value might compare as larger than itself.
    """
    zero = jnp.zeros(jnp.broadcast_shapes(rows.shape[1:], bound.shape), jnp.int32)
    return lax.fori_loop(0, len(rows), lambda s, count: count + (rows[s] <= bound), zero, unroll=_UNROLL)
