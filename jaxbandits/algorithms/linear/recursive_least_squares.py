"""Recursive least squares for linear systems (Plackett, Biometrika, 1950), a baseline for `hvt_identification`.

    V_t         = V_{t-1} + z_t z_t',   V_0 = lambda I
    Theta_{t+1} = Theta_t + V_t^{-1} z_t (x_{t+1} - Theta_t' z_t)'   =   V_t^{-1} sum_s z_s x_{s+1}'

Here z = [x; u] consists of n states x and m inputs u, and $p = n + m$. Notation: lambda is the field `ridge`. The cost
per sample and the memory are $O(p^2 + n p)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.pytree import ArrayLike, param, pytree, static
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.types import NextState, Prediction, SystemObs


class LeastSquaresState(NamedTuple):
    """State of ridge regression after t samples."""

    theta: jax.Array  # [n, p]  Theta_{t+1}'
    inverse: InverseFactors  # V_t^{-1}


@pytree
class RecursiveLeastSquares:
    """Learner that predicts the next state by ridge regression, one sample at a time; it chooses no inputs.

    Guarantee:
      The estimate equals the batch ridge estimate after every sample. With R-sub-Gaussian noise the confidence
      ellipsoids of `OFUL` hold for each coordinate; for noise with infinite variance there is no guarantee.

    Deviations:
      None.

    Numerics:
      In float32 every entry of the estimate is within 1e-4 of its float64 value over 400 samples
      (float32/test_extensions.py::test_identification_follows_the_float64_loop). After 10^6 samples of one regressor,
      the relative error of the estimate is below 1e-3, and that of the width of the regressor is below 1e-4
      (float32/test_one_arm.py::test_one_arm_for_as_long_as_it_can_be).

    References:
      Robin L. Plackett. Some Theorems in Least Squares. Biometrika 37, 1950.
      Yasin Abbasi-Yadkori, Csaba Szepesvari. Regret Bounds for the Adaptive Control of Linear Quadratic Systems.
      COLT 2011, Section 3.1.
    """

    feedback: ClassVar[type] = NextState
    source: ClassVar[str] = "Plackett, Biometrika 1950"
    environments: ClassVar[tuple[str, ...]] = ("linear/linear_system",)
    n_states: int = static(range="[1, inf)", doc="n, dimension of the state")
    n_inputs: int = static(range="[0, inf)", doc="m, dimension of the input")
    ridge: ArrayLike = param(1.0, "(0, inf)", "lambda, ridge parameter")

    @classmethod
    def example(cls) -> "RecursiveLeastSquares":
        return cls(n_states=2, n_inputs=1)

    def init(self, key: jax.Array) -> LeastSquaresState:
        del key  # deterministic
        dim = self.n_states + self.n_inputs
        return LeastSquaresState(theta=jnp.zeros((self.n_states, dim)), inverse=inverse_factors.init(dim, self.ridge))

    def select(self, key: jax.Array, t: jax.Array, state: LeastSquaresState, obs: SystemObs) -> Prediction:
        """Return the prediction Theta_t' z of the next state."""
        del key, t
        return Prediction(state.theta @ obs.regressor)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: LeastSquaresState,
        obs: SystemObs,
        decision: Prediction,
        feedback: NextState,
    ) -> LeastSquaresState:
        del key, t, decision
        z = obs.regressor
        image = inverse_factors.image(state.inverse, z)
        inverse, gain = inverse_factors.add(state.inverse, 1.0, image), image.u / (1.0 + image.width_sq)  # V_t^{-1} z
        error = feedback.next_state - state.theta @ z
        return LeastSquaresState(theta=state.theta + jnp.outer(error, gain), inverse=inverse)

    def recommend(self, state: LeastSquaresState) -> jax.Array:
        """Return the estimate `[p, n]` of Theta* = [A'; B']."""
        return state.theta.T
