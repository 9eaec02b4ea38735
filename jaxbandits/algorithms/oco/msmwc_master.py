"""MsMwC-Master: MsMwC over MsMwC learners, for experts of unknown scale (Chen, Luo & Wei, COLT 2021).

The loss of expert j = first..last in a round is at most $G 2^j$ in absolute value. Middle learner k plays weights $w^k$
on the experts Z(k) = {j : G 2^j <= 2^(k-2)}. The top learner, MsMwC with the rates $beta_k = 1 / (c 2^k)$, mixes the
middle learners of the set S of equation (7):

    S     = {k : G 2^j <= 2^(k-2) <= G 2^j sqrt(T) for some j},       p'_{1,k} proportional to beta_k^2
    H_t^k = <w_t^k, h_t>,   p_t = argmin_p <p, H_t> + D_phi(p, p'_t),   w_t = sum_k p_{t,k} w_t^k
    L_t^k = <w_t^k, l_t>,   b_t^k = c beta_k (L_t^k - H_t^k)^2,   p'_{t+1} = argmin_p <p, L_t + b_t> + D_phi(p, p'_t)

Middle learner k is MsMwC with hints $h_t$, losses $l_t$ and the single rate $2 beta_k$. Notation: $c = 32$ is the field
`c_meta`, and D_phi is defined in `msmwc`.

The steps of MsMwC have a closed form (`numerics.entropy`). The weights of a middle learner with a single rate are
therefore a softmax over Z(k) of `-2 beta_k (sum_s l_s + h_t + 2 c beta_k sum_s (l_s - h_s)^2)`. The two sums `[N]` are
the same for all middle learners, so that the state needs $O(N + K)$ numbers instead of K weights on N experts. A round
costs N K exponentials and the solution of one equation for the multiplier of $p_t$.

The functions of this module implement the meta algorithm of CA-OONS; the class `MsMwCMaster` is this algorithm as a
learner.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.numerics import elementary
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.entropy import entropic_step
from jaxbandits.types import Gradient, Obs, PointDecision


class Middle(NamedTuple):
    """Middle learners, padded to K entries; learners outside the set S have prior weight 0."""

    rate: jax.Array  # [K]  beta_k
    log_prior: jax.Array  # [K]  ln p'_{1,k}; -inf outside S
    count: jax.Array  # [K] int32  size of Z(k): middle learner k mixes the first `count` experts


class MasterPlay(NamedTuple):
    """Weights of round t, and the hint $h_t$ from which they are computed."""

    hint: jax.Array  # [N]  h_t
    middle: jax.Array  # [N, K]  w_t^k / share_k in column k
    share: jax.Array  # [K]  factor that turns column k into w_t^k
    expected: jax.Array  # [K]  H_t
    log_p: jax.Array  # [K]  ln p_t
    weights: jax.Array  # [N]  w_t
    offset: jax.Array  # []  multiplier of p_t, used as the initial guess for the next round


class MasterState(NamedTuple):
    """Sums over the past rounds, which determine all weights."""

    learners: Middle
    loss_sum: CompensatedSum  # [N]  sum of l_s
    square_sum: CompensatedSum  # [N]  sum of (l_s - h_s)^2
    cost: CompensatedSum  # [K]  sum of L_s + b_s
    offset: jax.Array  # []


def middle_size(n_experts: int, last: int) -> int:
    """Return K, the largest possible size of the set S for any G and any horizon T <= 2^last."""
    return n_experts + max(last, 0) // 2


def middle_learners(
    n_experts: int,
    first: int,
    lipschitz: ArrayLike,
    horizon: ArrayLike,
    c_meta: ArrayLike = 32.0,
    n_active: ArrayLike | None = None,
) -> Middle:
    """Return the set S of equation (7) for expert scales G 2^first, ..., G 2^(first + n_active - 1).

    With a = ceil(log2 G), b = floor(log2(G sqrt(T))) and last = first + n_active - 1, the set consists of the integers
    from a + first + 2 to b + last + 2. For T < 4 the set of equation (7) may be empty (b < a); the result then contains
    only a + first + 2. Powers of two are compared exactly, by the exponents of floating-point numbers.

    Args:
      n_experts: N, number of experts (static).
      first: exponent of the smallest scale (static).
      lipschitz: G, > 0.
      horizon: T, 1 <= T <= 2^(first + N - 1).
      c_meta: weight of the corrections; the rate beta_k is 1 / (c_meta 2^k).
      n_active: number of active experts; the others have weight 0. None: all N.
    """
    dtype = jnp.result_type(float)
    lipschitz, horizon = jnp.asarray(lipschitz, dtype), jnp.asarray(horizon, dtype)
    n_active = jnp.asarray(n_experts if n_active is None else n_active, jnp.int32)
    mantissa, exponent = jnp.frexp(lipschitz)  # G = mantissa 2^exponent, 1/2 <= mantissa < 1
    ceiling = jnp.where(mantissa > 0.5, exponent, exponent - 1)  # ceil(log2 G)
    horizon_mantissa, horizon_exponent = jnp.frexp(horizon)
    carry = jnp.frexp(mantissa * mantissa * horizon_mantissa)[1]
    floor = (2 * exponent + horizon_exponent + carry - 1) // 2  # floor(log2(G sqrt(T)))
    last = jnp.where(floor >= ceiling, n_active - 1 + floor - ceiling, 0)
    index = jnp.arange(middle_size(n_experts, first + n_experts - 1), dtype=jnp.int32)
    low = first + 2 + ceiling
    active = index <= last
    log_prior = -2.0 * math.log(2.0) * index
    total = jnp.log(jnp.sum(jnp.where(active, jnp.exp(log_prior), 0.0)))
    return Middle(
        rate=jnp.ldexp(jnp.ones((), dtype), -(low + index)) / c_meta,
        log_prior=jnp.where(active, log_prior - total, -jnp.inf).astype(dtype),
        count=jnp.minimum(index + 1, n_active),  # the k-th learner from the lower end mixes k experts
    )


def start(learners: Middle, n_experts: int) -> MasterState:
    """Return the state before round 1, in which all sums are 0."""
    n_middle = learners.rate.shape[-1]
    zeros, cost = CompensatedSum.init(jnp.zeros(n_experts)), CompensatedSum.init(jnp.zeros(n_middle))
    return MasterState(learners=learners, loss_sum=zeros, square_sum=zeros, cost=cost, offset=jnp.zeros(()))


def first_play(state: MasterState) -> MasterPlay:
    """Return the play of round 1 in closed form, for which the hint and all sums are 0.

    The middle learners have their prior weights, and learner k is uniform on its experts Z(k).
    """
    _, log_prior, count = state.learners
    experts = jnp.arange(state.loss_sum.total.shape[-1], dtype=jnp.int32)
    middle = (experts[:, None] < count).astype(log_prior.dtype)
    share = 1.0 / count.astype(log_prior.dtype)
    weights = middle @ (share * jnp.exp(log_prior))
    return MasterPlay(
        hint=jnp.zeros(len(experts)),
        middle=middle,
        share=share,
        expected=jnp.zeros_like(share),
        log_p=log_prior,
        weights=weights,
        offset=jnp.zeros(()),
    )


def play(state: MasterState, hint: jax.Array, c_meta: ArrayLike = 32.0) -> MasterPlay:
    """Return the weights w_t and the quantities from which they are computed, for the hint h_t `[N]`."""
    rate, log_prior, count = state.learners
    cost = state.loss_sum.total + hint
    middle = _middle_weights(cost, state.square_sum.total, rate, count, jnp.asarray(c_meta, rate.dtype))
    share = 1.0 / jnp.sum(middle, axis=0)
    expected = (hint @ middle) * share  # H_t^k
    log_p, offset = entropic_step(log_prior, state.cost.total + expected, rate, state.offset)
    weights = middle @ (elementary.exp(log_p) * share)
    return MasterPlay(
        hint=hint, middle=middle, share=share, expected=expected, log_p=log_p, weights=weights, offset=offset
    )


def _middle_weights(
    cost: jax.Array, square: jax.Array, rate: jax.Array, count: jax.Array, c_meta: jax.Array
) -> jax.Array:
    """Return columns proportional to w_t^k `[N, K]`, the softmax over Z(k) of -2 beta_k (cost + 2 c beta_k square)."""
    expert = jnp.arange(len(cost), dtype=jnp.int32)[:, None]
    exponent = -2.0 * rate * (cost[:, None] + 2.0 * c_meta * rate * square[:, None])
    exponent = jnp.where(expert < count, exponent, -jnp.inf)  # row 0 is finite, since expert 0 is in every Z(k)
    return elementary.exp(exponent - jnp.max(exponent, axis=0))


def update(state: MasterState, last_play: MasterPlay, loss: jax.Array, c_meta: ArrayLike = 32.0) -> MasterState:
    """Return the state after a round with losses l_t `[N]`."""
    error = loss - last_play.hint
    deviation = (error @ last_play.middle) * last_play.share  # L_t^k - H_t^k
    expected = last_play.expected + deviation  # L_t^k, without another pass over the weights
    correction = c_meta * state.learners.rate * deviation * deviation  # b_t
    return MasterState(
        learners=state.learners,
        loss_sum=state.loss_sum.add(loss),
        square_sum=state.square_sum.add(error * error),
        cost=state.cost.add(expected + correction),
        offset=last_play.offset,
    )


class MsMwCMasterState(NamedTuple):
    """State of `MsMwCMaster`: the sums, and the play of round t."""

    meta: MasterState
    play: MasterPlay


@pytree
class MsMwCMaster:
    """Optimistic learner over experts; the bound on the loss doubles from each expert to the next.

    The losses of expert j = 1..N are at most `lipschitz * 2^j` in absolute value. Decisions are points of the simplex
    and losses are linear, `f_t(w) = <l_t, w>`, so that the gradient is the vector of the losses of the experts. The
    hint is the last loss.

    Guarantee: Theorem 6 of Chen et al. (Lemma D.1 of Wang et al.). For every expert i, $sum_t <l_t, w_t - e_i> = O(G
      2^i Gamma_i + sqrt(Gamma_i sum_t (l_{t,i} - h_{t,i})^2))$, $Gamma_i = ln(N T 2^i / 2)$. With explicit constants,
      the bound is the smallest over k with i in Z(k) of `ln(1 / p'_{1,k}) / beta_k + sum_j p'_{1,j} / beta_j - 1 /
      beta_k + ln(card Z(k)) / (2 beta_k) + 64 beta_k sum_t (l_{t,i} - h_{t,i})^2` (`diagnostics.oco.meta_bound`).
    Deviations:
      * [reconstructed] The correction $b_t^k$ is printed without its square; the square of Chen et al. is restored. The
        factor G is missing in the first term of Lemma D.1 as printed.
      * [reconstructed] The paper does not state the rate of the middle learners. With the rate $2 beta_k$ their
        precondition is tight, and their negative term cancels $b_t$ exactly.
    Numerics: float32 and float64 are tested (float32/test_sea.py::test_weights_over_experts). The weights p_t of
      the middle learners are stored as logarithms, and sums of losses as compensated sums.
    References: L. Chen, H. Luo, C.-Y. Wei, "Impossible Tuning Made Possible: A New Expert Algorithm and Its
      Applications", COLT 2021, arXiv:2102.01046, Algorithm 2. As restated in S. Wang, A. Barik, P. Zhao, V. Y. F. Tan,
      "Parameter-free Algorithms for the Stochastically Extended Adversarial Model", NeurIPS 2025, arXiv:2510.04685,
      Algorithm 3, equation (7), Lemma D.1.
    """

    feedback: ClassVar[type] = Gradient
    source: ClassVar[str] = "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 3"
    environments: ClassVar[tuple[str, ...]] = ("oco/linear_losses",)
    n_experts: int = static(range="[1, inf)", doc="N, dimension of the simplex")
    lipschitz: ArrayLike = param(
        1.0, "(0, inf)", "G, where the losses of expert j = 1..N are at most G 2^j in absolute value"
    )
    horizon: ArrayLike | None = param(None, "[1, inf)", "T, at most 2^N; None: 2^N")
    c_meta: ArrayLike = param(
        32.0, "(0, inf)", "weight of the corrections; the rates are 1 / (c_meta 2^k); 32 in the theory"
    )

    @classmethod
    def example(cls) -> "MsMwCMaster":
        return cls(n_experts=2)

    def check(self) -> None:
        if self.horizon is not None and bool(jnp.any(jnp.asarray(self.horizon) > 2.0**self.n_experts)):
            raise InputError(
                f"MsMwCMaster.horizon must be at most 2^n_experts = {2.0**self.n_experts:g}, got {self.horizon}"
            )

    def init(self, key: jax.Array) -> MsMwCMasterState:
        del key  # deterministic
        horizon = 2.0**self.n_experts if self.horizon is None else self.horizon
        meta = start(middle_learners(self.n_experts, 1, self.lipschitz, horizon, self.c_meta), self.n_experts)
        return MsMwCMasterState(meta=meta, play=first_play(meta))

    def select(self, key: jax.Array, t: jax.Array, state: MsMwCMasterState, obs: Obs) -> PointDecision:
        del key, t, obs
        return PointDecision.at(state.play.weights)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: MsMwCMasterState,
        obs: Obs,
        decision: PointDecision,
        feedback: Gradient,
    ) -> MsMwCMasterState:
        del key, t, obs, decision
        loss = feedback.first().grad
        meta = update(state.meta, state.play, loss, self.c_meta)
        return MsMwCMasterState(meta=meta, play=play(meta, loss, self.c_meta))
