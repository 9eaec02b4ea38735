"""PFMD: parameter-free mirror descent for static regret (Jacobsen & Cutkosky, COLT 2022).

    V_t = 4 G^2 + sum_{s<t} ||g_s||^2,     theta_t = -sum_{s<t} g_s,     alpha_t = eps G / (sqrt(V_t) ln^2(V_t / G^2))
    E_t = ||theta_t||^2 / (36 V_t)                 if ||theta_t|| <= 6 V_t / G
        = ||theta_t|| / (3 G) - V_t / G^2          otherwise
    x_t = alpha_t (exp(E_t) - 1) theta_t / ||theta_t||

Here G is the field `lipschitz`, and eps is `scale`. The cost per round and the memory are $O(d)$.
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.oco.learner import GradientLearner
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.domains import points
from jaxbandits.domains.points import Point
from jaxbandits.domains.protocol import ConvexSet
from jaxbandits.domains.reductions import surrogate_gradient
from jaxbandits.domains.whole_space import WholeSpace


class ParameterFreeMDState(NamedTuple):
    """State of `ParameterFreeMD` at the start of round t."""

    y: Point  # [d]  x_t before the projection onto the domain
    theta: Point  # [d]  theta_t
    variance: jax.Array  # []  V_t


@pytree
class ParameterFreeMD(GradientLearner):
    """Mirror descent whose plays grow exponentially with the norm of the sum of the gradients.

    Guarantee: for convex losses on $R^d$ with gradients of norm at most G, for every u and every T the regret is
      $O~(||u|| sqrt(sum_t ||g_t||^2) + G (eps + ||u||))$, with logarithms of $||u|| / eps$ and T.
    Deviations:
      * [printed] The closed form of the static-regret algorithm is compared with one public implementation, but not
        derived again.
      * [ours] $E_t$ is capped at `exponent_cap`, so that plays stay finite on linear losses, where they grow
        exponentially by design.
      * [ours] With a `domain` the play is projected and the learner receives the surrogate gradient of `reductions`,
        which keeps the guarantee for every u in the domain. The paper's domain is $R^d$.
    Numerics: float32 and float64 are tested (float32/test_oco_baselines.py::test_plays_are_close_to_the_reference);
      exp(E) - 1 is computed by expm1.
    References: A. Jacobsen, A. Cutkosky, "Parameter-free Mirror Descent", COLT 2022, arXiv:2203.00444.
    """

    source: ClassVar[str] = "Jacobsen & Cutkosky, COLT 2022"
    domain: ConvexSet = param(factory=WholeSpace, doc="X, a set with project that contains the origin")
    lipschitz: ArrayLike = param(1.0, "(0, inf)", "G, bound on the norm of the gradients")
    scale: ArrayLike = param(1.0, "(0, inf)", "eps, largest loss against the origin, in units of G")
    exponent_cap: ArrayLike | None = param(
        None, "(0, inf)", "upper bound on the exponent E; None: 0.45 ln(largest float)"
    )

    @property
    def needs_immediate_feedback(self) -> bool:
        """True unless X is R^d: the surrogate gradient needs the play of the current state, not an earlier one."""
        return not isinstance(self.domain, WholeSpace)

    def init(self, key: jax.Array) -> ParameterFreeMDState:
        del key  # deterministic
        zero = points.zeros(self.dim)
        return ParameterFreeMDState(y=zero, theta=zero, variance=jnp.zeros(()) + 4.0 * self.lipschitz * self.lipschitz)

    def point(self, t: jax.Array, state: ParameterFreeMDState) -> Point:
        del t
        return self.domain.project(state.y)

    def advance(self, t: jax.Array, state: ParameterFreeMDState, x: Point, grad: Point) -> ParameterFreeMDState:
        del t
        grad = surrogate_gradient(self.domain, grad, state.y, x)
        theta = points.subtract(state.theta, grad)
        variance = points.nan_if_infinite(state.variance + points.inner(grad, grad))
        y = proposal(theta, variance, self.lipschitz, self.scale, self.exponent_cap)
        return ParameterFreeMDState(y=y, theta=theta, variance=variance)


def proposal(
    theta: Point, variance: jax.Array, lipschitz: ArrayLike, scale: ArrayLike, exponent_cap: ArrayLike | None
) -> Point:
    """Return x_t `[d]` for theta_t and V_t >= 4 G^2; the result is 0 for theta_t = 0.

    Args:
      theta: `[d]` minus the sum of the gradients.
      variance: V.
      lipschitz: G, > 0.
      scale: eps, > 0.
      exponent_cap: bound on the exponent; None: 0.45 ln(largest float), so that squares of plays stay finite.
    """
    ratio = variance / (lipschitz * lipschitz)
    length = points.norm(theta)
    near = length * length / (36.0 * variance)
    far = length / (3.0 * lipschitz) - ratio
    exponent = jnp.where(length * lipschitz <= 6.0 * variance, near, far)
    cap = 0.45 * math.log(float(jnp.finfo(length.dtype).max)) if exponent_cap is None else exponent_cap
    log_ratio = jnp.log(ratio)
    alpha = scale / (jnp.sqrt(ratio) * log_ratio * log_ratio)
    size = alpha * jnp.expm1(jnp.minimum(exponent, cap))
    return points.scale(theta, size / jnp.where(length > 0.0, length, 1.0))
