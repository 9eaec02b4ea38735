"""OONS: Optimistic Online Newton Step (Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 1).

    A_t      = (c_A z^2 + 4 eta_t z^2) I + S_{t-1},      S_{t-1} = sum_{s<t} eta_s v_s v_s'
    x_t      = argmin_X <m_t, x> + ||x - x'_t||_{A_t}^2 / 2                      play x_t, receive g_t
    e_t      = g_t - m_t,     v_t = (1 + c_corr eta_t <x_t, e_t>) e_t
    x'_{t+1} = argmin_X <m_t + v_t, x> + ||x - x'_t||_{A_t}^2 / 2                from x'_t again, in the same norm
    m_{t+1}  = g_t,     V_t = V_{t-1} + ||e_t||^2,     eta_{t+1} = min{1 / (c_eta D z), 1 / (D sqrt(V_t))}

    z = 2 G;   G, D and X are the fields `lipschitz`, `diameter` and `domain`;   c_eta, c_A, c_corr = 64, 4, 32

A round costs $O(d^3)$ for two linear systems, each with the root of a scalar equation. The memory is $O(d^2)$.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.constants import scaled_constants
from jaxbandits.algorithms.oco.learner import GradientLearner
from jaxbandits.algorithms.oco.multipliers import MULTIPLIERS
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.domains.ball import L2Ball
from jaxbandits.numerics import linalg
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.numerics.projection import proximal_on_ball


class OONSState(NamedTuple):
    """State of `OONS` at the start of round t."""

    center: Vector  # [d]  x'_t
    curvature: Symmetric  # [d, d]  S_{t-1}
    variation: jax.Array  # []  V_{t-1}
    hint: Vector  # [d]  m_t


@pytree
class OONS(GradientLearner):
    """Optimistic Online Newton Step for a known diameter and Lipschitz constant, with the hint $m_t = g_{t-1}$.

    Guarantee: Theorem 3.2. If every $F_t = E[f_t]$ is convex and smooth and all gradients have norm at most G, the
      expected regret is $O~(sqrt(sigma^2_{1:T}) + sqrt(Sigma^2_{1:T}))$, where $sigma^2_{1:T}$ is the cumulative
      variance of the gradients and $Sigma^2_{1:T}$ is the cumulative variation of their means. O~ hides logarithms, D,
      the rank $r <= d$ of $sum_t e_t e_t'$, and an additive term of order $G^2 D^2$. With the constants of the paper
      the step size equals its cap until $V_t > (c_eta z)^2 = 16384 G^2$. Runs with T below about 10^4 therefore do not
      show the asymptotic regret.
    Deviations:
      * None with the default constants, except for the choices that the paper leaves open.
      * [reconstructed] The paper's D is both the diameter of X and, in the proofs, a bound on $||x||$. The default X is
        the centred ball of diameter D. If OONS is a base learner of another algorithm, with $X = {||x|| <= D}$, then
        `diameter` can be set independently of the domain.
      * [ours] Linear systems and Newton's method on the multiplier of the ball replace the eigendecomposition; the
        minimiser is the same. The plays are equivariant under rotations and reflections but, by design, *not* under a
        change of the unit of the losses, since $A_t$ adds terms of different units.
    Numerics: $A_t$ is shifted by the rounding error of S (eps tr S), so that the plays stay finite for gradients with
      norms up to 10^6 G (float32/test_oco.py::test_tiny_and_huge_gradients_stay_finite_and_inside). float32 suffices
      for about 10^7 rounds; after that, new gradients no longer change `variation`
      (float32/test_oco_baselines.py::test_sums_stop_to_grow_near_1e7_rounds). Use float64 for longer runs.
    References: S. Wang, A. Barik, P. Zhao, V. Y. F. Tan, "Parameter-free Algorithms for the Stochastically Extended
      Adversarial Model", NeurIPS 2025, arXiv:2510.04685, Algorithm 1, equation (4), Theorems 3.1 and 3.2.
    """

    source: ClassVar[str] = "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 1"
    dim: int = static(range="[1, inf)", doc="d, dimension of the domain")
    domain: L2Ball = param(factory=L2Ball, doc="X, a centred ball")
    lipschitz: ArrayLike = param(
        1.0, "(0, inf)", "G, bound on the norm of the gradients; the hint errors are at most z = 2G"
    )
    diameter: ArrayLike | None = param(
        None, "(0, inf)", "D, length in the step size, at least max ||x||; None: the diameter of X"
    )
    c_eta: ArrayLike = param(64.0, "(0, inf)", "constant in the cap 1 / (c_eta D z) of the step size; 64 in the theory")
    c_A: ArrayLike = param(4.0, "(0, inf)", "weight of z^2 I in A_t; 4 in the theory")  # noqa: N815
    c_corr: ArrayLike = param(
        32.0, "[0, inf)", "weight of the correction <x, e> e in the second step; 32 in the theory"
    )

    @classmethod
    def theory(cls, *, dim: int, radius: ArrayLike = 1.0, lipschitz: ArrayLike = 1.0, **changes: FieldValue) -> "OONS":
        """Use the constants of the paper, on the ball of radius `radius`."""
        return cls(**{"dim": dim, "domain": L2Ball(radius=radius), "lipschitz": lipschitz} | changes)

    @classmethod
    def practical(
        cls, *, dim: int, radius: ArrayLike = 1.0, lipschitz: ArrayLike = 1.0, **changes: FieldValue
    ) -> "OONS":
        """Use small constants (ours) without a guarantee; eta_t equals its cap until V_t = 4 G^2, not 16384 G^2."""
        constants = {"c_eta": 1.0, "c_A": 0.25, "c_corr": 0.5}
        return cls.theory(dim=dim, radius=radius, lipschitz=lipschitz, **constants | changes)

    @classmethod
    def tuned(cls, *, dim: int, radius: ArrayLike = 1.0, lipschitz: ArrayLike = 1.0, **changes: FieldValue) -> "OONS":
        """Use the paper's constants times tuned multipliers (`jaxbandits tune oco`), without a guarantee."""
        constants = scaled_constants(cls, MULTIPLIERS["oons"])
        return cls.theory(dim=dim, radius=radius, lipschitz=lipschitz, **constants | changes)

    def check(self) -> None:
        if not isinstance(self.domain, L2Ball):
            raise InputError(f"OONS.domain must be an L2Ball(...), got {format_value(self.domain)}")
        if bool(jnp.any(jnp.asarray(self._diameter) < jnp.asarray(self.domain.radius))):
            raise InputError("OONS.diameter must be at least the radius of the domain (the analysis needs ||x|| <= D)")

    def init(self, key: jax.Array) -> OONSState:
        del key  # deterministic
        zero = jnp.zeros(self.dim)
        return OONSState(center=zero, curvature=jnp.zeros((self.dim, self.dim)), variation=jnp.zeros(()), hint=zero)

    def point(self, t: jax.Array, state: OONSState) -> Vector:
        del t
        metric = self.metric(state, self.step_size(state))
        return proximal_on_ball(metric, state.center, state.hint, self.domain.radius)

    def advance(self, t: jax.Array, state: OONSState, x: Vector, grad: Vector) -> OONSState:
        del t
        eta = self.step_size(state)
        error = grad - state.hint
        correction = 1.0 + self.c_corr * eta * (x @ error)
        step = correction * error  # v_t
        center = proximal_on_ball(self.metric(state, eta), state.center, state.hint + step, self.domain.radius)
        curvature = state.curvature + eta * jnp.outer(step, step)
        variation = points.nan_if_infinite(state.variation + error @ error)
        return OONSState(center=center, curvature=curvature, variation=variation, hint=grad)

    def step_size(self, state: OONSState) -> jax.Array:
        """Return eta_t = min{1 / (c_eta D z), 1 / (D sqrt(V_{t-1}))}; the second term is infinite at V = 0."""
        cap = self.c_eta * 2.0 * self.lipschitz
        return 1.0 / (jnp.sqrt(jnp.maximum(cap * cap, state.variation)) * self._diameter)

    def metric(self, state: OONSState, eta: jax.Array) -> Symmetric:
        """Return A_t = (c_A z^2 + 4 eta_t z^2) I + S_{t-1}; the factor of I changes with eta_t in every round."""
        range_sq = 4.0 * self.lipschitz * self.lipschitz
        # A shift of the size of the rounding error of S keeps A_t positive definite in floating-point numbers.
        rounding = jnp.finfo(eta.dtype).eps * linalg.trace(state.curvature)
        return state.curvature + ((self.c_A + 4.0 * eta) * range_sq + rounding) * jnp.eye(self.dim)

    @property
    def _diameter(self) -> ArrayLike:
        return self.domain.diameter if self.diameter is None else self.diameter
