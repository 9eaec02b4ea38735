"""One-pass identification of linear systems with the estimator of Hvt-UCB (ours; Wang et al., ICML 2025, Section 6.2).

The system is $x_{t+1} = Theta*' z_t + w_{t+1}$ with z = [x; u]. The learner runs n regressions on the same z, one for
each coordinate of the state. With one scale nu for all coordinates the regressions share $sigma_t$, $w_t$, $tau_t$
(`hvt_estimator`) and $V_t$. With $q = ||z||_{V_{t-1}^{-1}}$, the updates are:

    Res     = (x_{t+1} - Theta_t' z) / sigma_t,   Psi = clip(Res, -tau_t, tau_t)            each coordinate
    Y       = Theta_t + V_{t-1}^{-1} z Psi' / (sigma_t (1 + w_t^2))
    V_t     = V_{t-1} + z z' / (alpha sigma_t^2),   V_0 = lambda I
    Theta_{t+1}: every column of Y projected onto {||th|| <= S} in the norm of V_t

Notation: T is the field `horizon`, nu is `moment_bound`, S is `norm_bound` (a bound on the norm of every row of [A B]),
L is `arm_bound` (a nominal bound on $||z||$), lambda is `ridge` (by default p) and alpha is `step_size`; delta is the
delta of Lemma 1 for each coordinate. There are n states and m inputs, and $p = n + m$. The cost per sample is $O(p^2 +
n p)$ plus n projections, and the memory is $O(p^2 + n p)$; both are $O(n p^2)$ with `shared = False`.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.linear.hvt_estimator import HvtConstants, HvtEstimator, HvtState, vmap_axes
from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.types import Feedback, NextState, Prediction, ScaledNextState, SystemObs


@pytree
class HvtIdentification(HvtConstants):
    """Learner that predicts the next state by robust one-pass regression for every row of [A B]; it chooses no inputs.

    With `tau_scale=inf, sigma_beta_scale=0, norm_bound=inf`, $nu = 1$, `step_size=1` and the same lambda, the estimates
    are those of `RecursiveLeastSquares`.

    Guarantee:
      The paper states no theorem, but Lemma 1 holds for every coordinate. With all multipliers 1 and `step_size=4`, the
      lemma gives `||theta_i - theta*_i||_{V_t} <= radius(t)` for all i and t with probability at least 1 - 4 n delta,
      provided that $||z_t|| <= L$ for all t. Since states are unbounded, L is only a nominal bound.

    Deviations:
      * [ours] The paper only says that its estimator may be used for one-pass identification; this algorithm is ours.
        On the default `LinearSystem` it has no advantage over `RecursiveLeastSquares`: the step size 4 increases the
        variance, and large disturbances excite the state, which makes the samples more informative for least squares.
      * The deviations of `HvtEstimator` apply.

    Numerics:
      In float32 every entry of the estimate is within 1e-4 of its float64 value over 400 samples
      (float32/test_extensions.py::test_identification_follows_the_float64_loop).

    References:
      Jing Wang, Yu-Jie Zhang, Peng Zhao, Zhi-Hua Zhou. Heavy-Tailed Linear Bandits: Huber Regression with One-Pass
      Update. ICML 2025, arXiv:2503.00419, Sections 3.3 and 6.2.
    """

    source: ClassVar[str] = "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.2"
    environments: ClassVar[tuple[str, ...]] = ("linear/linear_system",)
    n_states: int = static(range="[1, inf)", doc="n, dimension of the state")
    n_inputs: int = static(range="[0, inf)", doc="m, dimension of the input")
    shared: bool = static(
        True,
        BOOL,
        doc="True: one V for all coordinates, with the largest nu; False: a separate V and nu for each coordinate",
    )
    moment_bound: ArrayLike | None = param(
        None, "[0, inf)", "nu, bound on every moment scale; None: nu is part of the feedback"
    )

    @classmethod
    def theory(
        cls, *, n_states: int, n_inputs: int, horizon: ArrayLike, eps: ArrayLike = 1.0, **changes: FieldValue
    ) -> "HvtIdentification":
        """Use the constants of Hvt-UCB's Theorem 1: lambda = p, sigma_min = 1/sqrt(T), delta = 1/(8T), alpha = 4."""
        return cls(n_states=n_states, n_inputs=n_inputs, horizon=horizon, eps=eps, **changes)

    @classmethod
    def practical(
        cls, *, n_states: int, n_inputs: int, horizon: ArrayLike, eps: ArrayLike = 1.0, **changes: FieldValue
    ) -> "HvtIdentification":
        """Use the constants of the theory with the multipliers of `HvtUCB.practical`, which are tuned on bandits."""
        scaled = MULTIPLIERS["hvt_ucb"] | changes
        return cls.theory(n_states=n_states, n_inputs=n_inputs, horizon=horizon, eps=eps, **scaled)

    @classmethod
    def example(cls) -> "HvtIdentification":
        return cls.practical(n_states=2, n_inputs=1, horizon=200, eps=0.99)

    @property
    def feedback(self) -> type:
        """Feedback type: `ScaledNextState`, or `NextState` if `moment_bound` is set."""
        return ScaledNextState if self.moment_bound is None else NextState

    @property
    def estimator(self) -> HvtEstimator:
        """Regression for each coordinate, with the constants of this learner."""
        return self.estimator_of(self.n_states + self.n_inputs)

    def init(self, key: jax.Array) -> HvtState:
        """Return the state of one estimator, with `theta` `[n, p]` and, unless `shared`, n copies of `inverse`."""
        del key  # deterministic
        state = self.estimator.init()

        def repeat(leaf: jax.Array) -> jax.Array:
            return jnp.broadcast_to(leaf, (self.n_states, *leaf.shape))

        inverse = state.inverse if self.shared else jax.tree.map(repeat, state.inverse)
        return state._replace(theta=repeat(state.theta), inverse=inverse, theta_rounding=repeat(state.theta_rounding))

    def select(self, key: jax.Array, t: jax.Array, state: HvtState, obs: SystemObs) -> Prediction:
        """Return the prediction Theta_t' z of the next state."""
        del key, t
        return Prediction(state.theta @ obs.regressor)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: HvtState,
        obs: SystemObs,
        decision: Prediction,
        feedback: Feedback,  # ScaledNextState, or NextState when `moment_bound` is set
    ) -> HvtState:
        del key, decision
        moment = feedback.noise_scale if self.moment_bound is None else jnp.asarray(self.moment_bound)
        moment = jnp.max(moment) if self.shared else jnp.broadcast_to(moment, (self.n_states,))
        shared_axis = None if self.shared else 0  # None: `vmap` passes the same value for all coordinates
        axes = vmap_axes(shared_axis)
        each_coordinate = jax.vmap(self.estimator.update, in_axes=(None, axes, None, 0, shared_axis), out_axes=axes)
        return each_coordinate(t, state, obs.regressor, feedback.next_state, moment)

    def recommend(self, state: HvtState) -> jax.Array:
        """Return the estimate `[p, n]` of Theta* = [A'; B']."""
        return state.theta.T

    def radius(self, t: ArrayLike, state: HvtState) -> jax.Array:
        """Return the confidence radius `[]` of each column of Theta in the V_t norm, times `beta_scale`."""
        return self.estimator.radius(t, state)
