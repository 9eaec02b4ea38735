"""Online linear regression of CRTM (`crtm`) and CRMM (`crmm`), one sample at a time (Xue et al., NeurIPS 2023).

    V_t = V_{t-1} + c x x',   V_0 = lambda I,   step = theta + V_t^{-1} x (y - x'theta)
    "ons"  online Newton step: c = 1/2, theta <- argmin_{||th|| <= S} ||th - step||_{V_t}
    "ls"   least squares:      c = 1,   theta <- step, which is V_t^{-1} sum_s y_s x_s at every t

The two modes differ only in c and in the projection, and neither stores a sum of rewards.

Numerics: float32 suffices for the estimate. Over 18000 samples, some with rewards of 1e4 and more, the estimate stays
within 3e-5 ("ons") and 1e-6 ("ls") of its float64 value, relative to the running maximum of the estimate
(float32/test_crtm_crmm.py::test_long_runs_keep_their_digits). After 10^6 samples of one arm, the relative error of the
estimate is below 1e-3, and that of the width of this arm is below 1e-4
(float32/test_linear.py::test_a_million_rounds_of_one_arm), since $V^{-1}$ is stored as factors
(`numerics.inverse_factors`).

Notation: lambda is the field `ridge` and S is `norm_bound`. The cost per sample is $O(d^2)$, plus that of the
projection in mode "ons" if the step leaves the ball.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base import errors
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.numerics.projection import project_ball

CURVATURE = {"ons": 0.5, "ls": 1.0}  # c


class Estimate(NamedTuple):
    """State of the regression after t samples."""

    theta: Vector  # [d]
    inverse: InverseFactors  # V_t^{-1}
    theta_rounding: Vector  # [d]  rounding error of theta (`numerics.compensated`)


class Design(NamedTuple):
    """Design $V_t$ after the arm of the current sample has been added, but before the reward is used."""

    inverse: InverseFactors  # V_t^{-1}
    gain: Vector  # [d]  V_t^{-1} x
    width: jax.Array  # []  ||x||_{V_t^{-1}}


def check_mode(name: str, mode: str) -> None:
    """Raise InputError unless `mode`, the value of the field `name`, is a mode of this module."""
    if mode not in CURVATURE:
        raise errors.unknown_name(name, mode, tuple(CURVATURE))


def start(dim: int, ridge: ArrayLike) -> Estimate:
    """Return the initial state: the estimate is 0, and V_0 = lambda I."""
    zero = jnp.zeros(dim)
    return Estimate(theta=zero, inverse=inverse_factors.init(dim, ridge), theta_rounding=zero)


def add_arm(mode: str, estimate: Estimate, x: Vector) -> Design:
    """Return the design V_t, which is V_{t-1} plus the term of the arm x."""
    curvature = CURVATURE[mode]
    image = inverse_factors.image(estimate.inverse, x)
    inverse = inverse_factors.add(estimate.inverse, curvature, image)
    shrinkage = 1.0 / (1.0 + curvature * image.width_sq)
    return Design(inverse=inverse, gain=image.u * shrinkage, width=jnp.sqrt(image.width_sq * shrinkage))


def add_reward(
    mode: str, estimate: Estimate, design: Design, x: Vector, reward: ArrayLike, norm_bound: ArrayLike
) -> Estimate:
    """Return the estimate after the step for (x, reward); mode "ons" projects it onto the ball in the norm of V_t."""
    step = design.gain * (reward - x @ estimate.theta)
    theta, theta_rounding = CompensatedSum(estimate.theta, estimate.theta_rounding).add(step)
    if mode == "ons":
        theta = project_ball(design.inverse, theta, norm_bound)
    return Estimate(theta=theta, inverse=design.inverse, theta_rounding=theta_rounding)
