"""MsMwC: Multi-scale Multiplicative-weight with Correction (Chen, Luo & Wei, COLT 2021).

    w_t      = argmin_w <w, h_t> + D_phi(w, w'_t)                    over the simplex: play w_t, receive l_t
    a_t      = c rate (l_t - h_t)^2                                  coordinate by coordinate
    w'_{t+1} = argmin_w <w, l_t + a_t> + D_phi(w, w'_t),             phi(w) = sum_j w_j ln(w_j) / rate_j

    h_t = l_{t-1};   rate_j (beta_j in the paper) and c = 32 are the fields `rate` and `c_meta`

The composition of all steps is `w'_{t+1,j} = w'_{1,j} exp(-rate_j (sum_s (l_s + a_s)_j + nu))`, where the multiplier nu
normalises the sum of the weights to 1 (`numerics.entropy`). The state therefore holds only the compensated sum of the
corrected losses, and a round solves for one multiplier instead of two. The cost per round and the memory are $O(N)$.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, static
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.entropy import entropic_step
from jaxbandits.types import Gradient, Obs, PointDecision


class MsMwCState(NamedTuple):
    """State of `MsMwC` at the start of round t, with the weights $w_t$ of this round."""

    cost: CompensatedSum  # [N]  sum of the corrected losses l_s + a_s
    hint: jax.Array  # [N]  h_t = l_{t-1}
    log_weights: jax.Array  # [N]  ln w_t
    offset: jax.Array  # []  multiplier nu of w_t, used as the initial guess for the next round


@pytree
class MsMwC:
    """Optimistic learner that weights N experts whose losses may have different scales.

    Decisions are points of the simplex and losses are linear, `f_t(w) = <l_t, w>`, so that the gradient is the vector
    of the losses of the experts.

    Guarantee: for fixed rates with `32 rate_j |l_j - h_j| <= 1`, every expert i satisfies $sum_t <l_t, w_t - e_i> <=
      ln(1 / w'_{1,i}) / rate_i + sum_j w'_{1,j} / rate_j - 1 / rate_i + 32 rate_i sum_t (l_{t,i} - h_{t,i})^2$. The
      bound depends on the scale of the expert i with which the learner is compared, not on the largest scale.
    Deviations:
      * [printed] The rates do not change over time, which is a special case of the $beta_{t,j}$ of the paper.
      * [reconstructed] w'_1 is uniform. The hint is the last loss, or 0 in round 1. "$m_t^j$" in line 4 of the printed
        algorithm is read as $h_t^j$, and $phi_t$ as a regulariser phi that does not depend on t.
    Numerics: float32 and float64 are tested (float32/test_sea.py::test_weights_over_experts); weights are stored as
      logarithms, and losses as compensated sums.
    References: L. Chen, H. Luo, C.-Y. Wei, "Impossible Tuning Made Possible: A New Expert Algorithm and Its
      Applications", COLT 2021, arXiv:2102.01046. As restated in S. Wang, A. Barik, P. Zhao, V. Y. F. Tan,
      "Parameter-free Algorithms for the Stochastically Extended Adversarial Model", NeurIPS 2025, arXiv:2510.04685,
      Algorithm 5.
    """

    feedback: ClassVar[type] = Gradient
    source: ClassVar[str] = "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 5"
    environments: ClassVar[tuple[str, ...]] = ("oco/linear_losses",)
    n_experts: int = static(range="[1, inf)", doc="N, dimension of the simplex")
    loss_range: ArrayLike = param(1.0, "(0, inf)", "c_j, bound on |l_j| and |h_j|: one number for all experts, or [N]")
    rate: ArrayLike | None = param(
        None, "(0, inf)", "beta_j, one number or [N]; None: 1 / (2 c_meta c_j), the largest admissible rate"
    )
    c_meta: ArrayLike = param(32.0, "(0, inf)", "weight of the correction a_t; 32 in the theory")

    def __post_init__(self) -> None:
        lists_to_arrays(self, "loss_range", "rate")

    @classmethod
    def example(cls) -> "MsMwC":
        return cls(n_experts=2)

    def init(self, key: jax.Array) -> MsMwCState:
        del key  # deterministic
        zero = jnp.zeros(self.n_experts)
        return MsMwCState(cost=CompensatedSum.init(zero), hint=zero, log_weights=self._log_prior, offset=jnp.zeros(()))

    def select(self, key: jax.Array, t: jax.Array, state: MsMwCState, obs: Obs) -> PointDecision:
        del key, t, obs
        return PointDecision.at(jnp.exp(state.log_weights))

    def update(
        self, key: jax.Array, t: jax.Array, state: MsMwCState, obs: Obs, decision: PointDecision, feedback: Gradient
    ) -> MsMwCState:
        del key, t, obs, decision
        loss = feedback.first().grad
        error = loss - state.hint
        cost = state.cost.add(loss + self.c_meta * self._rate * error * error)
        log_weights, offset = entropic_step(self._log_prior, cost.total + loss, self._rate, state.offset)
        return MsMwCState(cost=cost, hint=loss, log_weights=log_weights, offset=offset)

    @property
    def _log_prior(self) -> jax.Array:
        return jnp.full(self.n_experts, -math.log(self.n_experts), float)

    @property
    def _rate(self) -> jax.Array:
        name = "loss_range" if self.rate is None else "rate"
        shape = jnp.shape(getattr(self, name))
        if shape not in ((), (self.n_experts,)):
            raise InputError(f"MsMwC.{name} must have shape [] or [{self.n_experts}], got {list(shape)}")
        rate = 0.5 / (self.c_meta * self.loss_range) if self.rate is None else self.rate
        return jnp.broadcast_to(jnp.asarray(rate, jnp.result_type(float)), (self.n_experts,))
