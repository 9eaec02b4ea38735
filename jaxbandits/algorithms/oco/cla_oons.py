"""CLA-OONS: comparator- and Lipschitz-adaptive OONS (Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 4).

    z_t      = B_{t-1},  eta_t = min{1 / (c_eta D_t z_t), 1 / sqrt(V_{t-1})}           (Appendix E)
    A_t      = (c_A z_first^2 + 4 eta_t z_t^2) I + S_{t-1}
    x_t      = argmin_{||x|| <= D_t} <m_t, x> + ||x - x'_t||_{A_t}^2 / 2           play x_t, receive g_t, m_t = g_{t-1}
    B_t      = max(B_{t-1}, ||g_t - m_t||)
    e_t      = (B_{t-1} / B_t) (g_t - m_t),   v_t = (1 + c_corr eta_t <x_t, e_t>) e_t   (clipped gradient: m_t + e_t)
    x'_{t+1} = argmin_{||x|| <= D_t} <m_t + v_t, x> + ||x - x'_t||_{A_t}^2 / 2
    S_t      = S_{t-1} + eta_t v_t v_t',   V_t = V_{t-1} + ||e_t||^2
    Q_t      = Q_{t-1} + ||g_t|| / max(1, max_{s<=t} ||g_s||)
    restart  if D_t < sqrt(Q_t):  D_{t+1} = 2 sqrt(Q_t),  x' = 0,  S = 0,  V = 0,  z_first = B_t

    B_0 is the field `initial_scale`,   D_1 = 1,   c_eta, c_A, c_corr = 64, 4, 32

A round costs $O(d^3)$, as for OONS, and needs one gradient. The memory is $O(d^2)$.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.constants import scaled_constants
from jaxbandits.algorithms.oco.learner import GradientLearner
from jaxbandits.algorithms.oco.multipliers import MULTIPLIERS
from jaxbandits.base import trees
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.domains import points
from jaxbandits.numerics import linalg
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.numerics.projection import proximal_on_ball


class CLAOONSState(NamedTuple):
    """State of `CLAOONS` at the start of round t."""

    center: Vector  # [d]  x'_t
    curvature: Symmetric  # [d, d]  S_{t-1}, sum over the current epoch
    variation: jax.Array  # []  V_{t-1}, sum over the current epoch
    hint: Vector  # [d]  m_t, the last gradient, unclipped
    scale: jax.Array  # []  B_{t-1} = z_t
    first_scale: jax.Array  # []  z_first, the value of z in the first round of the epoch
    bound: jax.Array  # []  D_t
    largest: jax.Array  # []  max_{s<t} ||g_s||
    load: jax.Array  # []  Q_{t-1}


@pytree
class CLAOONS(GradientLearner):
    """OONS without bounds on u and the gradients, on a ball that grows, with gradients clipped to the observed range.

    Guarantee: Theorem 4.5. For convex smooth $F_t$ and every u, $E R_T(u) = O~(||u||^2 (sqrt(sigma^2_{1:T}) +
      sqrt(Sigma^2_{1:T})) + G^2 ||u||^2 + ||u||^4 + G ||u||^3 + G^2 sqrt(sigma_{1:T} + Gfrak_{1:T}))$, where
      $sigma^2_{1:T}$ and $Sigma^2_{1:T}$ are as in `OONS`, $sigma_{1:T}$ is the sum of the standard deviations and
      Gfrak_{1:T} is the sum of the largest norms of the mean gradients. (The first term of the proof has 1 +
      $||u||^2$.) There are at most log2(T) / 2 + 2 restarts. The algorithm is *not* scale-free, since $B_0$, $D_1 = 1$
      and $A_t$ have units.
    Deviations:
      * [printed] The step size, whose second term contains no $D_t$, is taken from Appendix E, since Algorithm 4 does
        not state a step size. Appendix E bounds max_t $D_t$ by $sqrt(T)$; the correct bound is $2 sqrt(T)$.
      * [reconstructed] The sum V in the step size is over the current epoch. At a restart, the printed algorithm
        computes an update and discards it.
      * [printed] With `radius`, X is a ball, a case that the paper's setting includes.
    Numerics: $A_t$ is shifted by the rounding error of S (eps tr S). In float32 `load` stops growing near 10^7 rounds
      (float32/test_oco_baselines.py::test_sums_stop_to_grow_near_1e7_rounds).
    References: S. Wang, A. Barik, P. Zhao, V. Y. F. Tan, "Parameter-free Algorithms for the Stochastically Extended
      Adversarial Model", NeurIPS 2025, arXiv:2510.04685, Algorithm 4, Theorem 4.5 (there "FPF-OONS"), Appendix E.
    """

    source: ClassVar[str] = "Wang, Barik, Zhao & Tan, NeurIPS 2025, Algorithm 4"
    dim: int = static(range="[1, inf)", doc="d, dimension of the domain")
    initial_scale: ArrayLike = param(1.0, "(0, inf)", "B_0, bound on the first hint error; the proof uses 1")
    radius: ArrayLike = param(math.inf, "(0, inf]", "radius of X = {||x|| <= radius}; inf: X = R^d")
    c_eta: ArrayLike = param(
        64.0, "(0, inf)", "constant in the cap 1 / (c_eta D_t z_t) of the step size; 64 in the theory"
    )
    c_A: ArrayLike = param(4.0, "(0, inf)", "weight of z_first^2 I in A_t; 4 in the theory")  # noqa: N815
    c_corr: ArrayLike = param(
        32.0, "[0, inf)", "weight of the correction <x, e> e in the second step; 32 in the theory"
    )

    @classmethod
    def theory(cls, *, dim: int, **changes: FieldValue) -> "CLAOONS":
        """Use the constants of the paper, which are the defaults."""
        return cls(**{"dim": dim} | changes)

    @classmethod
    def practical(cls, *, dim: int, **changes: FieldValue) -> "CLAOONS":
        """Use small constants (ours) without a guarantee."""
        return cls(**{"dim": dim, "c_eta": 1.0, "c_A": 0.25, "c_corr": 0.5} | changes)

    @classmethod
    def tuned(cls, *, dim: int, **changes: FieldValue) -> "CLAOONS":
        """Use the paper's constants times tuned multipliers (`jaxbandits tune oco`), without a guarantee."""
        return cls.theory(dim=dim, **scaled_constants(cls, MULTIPLIERS["cla_oons"]) | changes)

    @classmethod
    def example(cls) -> "CLAOONS":
        return cls.theory(dim=2, radius=1.0)  # the domain of the environments' examples

    def init(self, key: jax.Array) -> CLAOONSState:
        del key  # deterministic
        zero, vector = jnp.zeros(()), jnp.zeros(self.dim)
        scale = jnp.asarray(self.initial_scale, zero.dtype)
        return CLAOONSState(
            center=vector,
            curvature=jnp.zeros((self.dim, self.dim)),
            variation=zero,
            hint=vector,
            scale=scale,
            first_scale=scale,
            bound=jnp.ones(()),
            largest=zero,
            load=zero,
        )

    def point(self, t: jax.Array, state: CLAOONSState) -> Vector:
        del t
        metric = self.metric(state, self.step_size(state))
        return proximal_on_ball(metric, state.center, state.hint, self.domain_radius(state))

    def advance(self, t: jax.Array, state: CLAOONSState, x: Vector, grad: Vector) -> CLAOONSState:
        del t
        return self.restart(self.step_on_ball(state, x, grad))

    def step_on_ball(self, state: CLAOONSState, play: Vector, grad: Vector) -> CLAOONSState:
        """Return the state after a round, before a possible restart."""
        error = grad - state.hint
        scale = jnp.maximum(state.scale, jnp.linalg.norm(error))
        error = (state.scale / scale) * error  # e_t, of norm at most z_t
        eta = self.step_size(state)
        step = (1.0 + self.c_corr * eta * (play @ error)) * error  # v_t
        slope = state.hint + step
        center = proximal_on_ball(self.metric(state, eta), state.center, slope, self.domain_radius(state))
        norm = jnp.linalg.norm(grad)
        largest = jnp.maximum(state.largest, norm)
        return CLAOONSState(
            center=center,
            curvature=state.curvature + eta * jnp.outer(step, step),
            variation=points.nan_if_infinite(state.variation + error @ error),
            hint=grad,
            scale=scale,
            first_scale=state.first_scale,
            bound=state.bound,
            largest=largest,
            load=state.load + norm / jnp.maximum(1.0, largest),
        )

    def restart(self, state: CLAOONSState) -> CLAOONSState:
        """Return the state, restarted on the ball of radius 2 sqrt(Q_t) if sqrt(Q_t) exceeds the current radius."""
        needed = jnp.sqrt(state.load)
        fresh = state._replace(
            center=jnp.zeros(self.dim),
            curvature=jnp.zeros((self.dim, self.dim)),
            variation=jnp.zeros(()),
            first_scale=state.scale,
            bound=2.0 * needed,
        )
        too_small = (state.bound < needed) & ~jnp.isnan(state.variation)  # a state with NaN is not restarted
        return trees.where(too_small, fresh, state)

    def step_size(self, state: CLAOONSState) -> jax.Array:
        """Return eta_t = min{1 / (c_eta D_t z_t), 1 / sqrt(V_{t-1})}; the second term is infinite at V = 0."""
        cap = self.c_eta * state.bound * state.scale
        return 1.0 / jnp.sqrt(jnp.maximum(cap * cap, state.variation))

    def metric(self, state: CLAOONSState, eta: jax.Array) -> Symmetric:
        """Return A_t = (c_A z_first^2 + 4 eta_t z_t^2) I + S_{t-1}."""
        first_sq, scale_sq = state.first_scale * state.first_scale, state.scale * state.scale
        # A shift of the size of the rounding error of S keeps A_t positive definite in floating-point numbers.
        rounding = jnp.finfo(eta.dtype).eps * linalg.trace(state.curvature)
        shift = points.nan_if_infinite(self.c_A * first_sq + 4.0 * eta * scale_sq + rounding)
        return state.curvature + shift * jnp.eye(self.dim)

    def domain_radius(self, state: CLAOONSState) -> jax.Array:
        """Return the radius `[]` of the intersection of {||x|| <= D_t} and X."""
        return jnp.minimum(state.bound, self.radius)
