"""`H(s) = E log(2 cosh(s g / 2))` for g ~ N(0, 1), the part of a logistic risk that depends only on ||w||.

The argument `xp` of the functions is `jax.numpy` inside compiled code, and `numpy` for float64 on the host.
"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike

HALF_NORMAL = math.sqrt(2.0 / math.pi)  # E|g|
_NODES, _WEIGHTS = (a / 2.0 for a in np.polynomial.legendre.leggauss(64))
_NODES = _NODES + 0.5  # shifted to [0, 1]


def expected_log_cosh(s: Any, xp: Any = jnp) -> Any:
    """Return `H(s) = E log(2 cosh(s g / 2))` for g ~ N(0, 1), accurate up to rounding for every s >= 0."""
    _, decay, weights = _half_line(s, xp)
    return HALF_NORMAL / 2.0 * xp.asarray(s) + xp.sum(weights * xp.log1p(decay), -1)


def expected_log_cosh_slope(s: Any, xp: Any = jnp) -> Any:
    """Return `H'(s) = E (g / 2) tanh(s g / 2)`."""
    g, decay, weights = _half_line(s, xp)
    return HALF_NORMAL / 2.0 - xp.sum(weights * g * decay / (1.0 + decay), -1)


def expected_log_cosh_curvature(s: Any, xp: Any = jnp) -> Any:
    """Return `H''(s) = E (g / 2)^2 / cosh(s g / 2)^2`."""
    g, decay, weights = _half_line(s, xp)
    return xp.sum(weights * g * g * decay / (1.0 + decay) ** 2, -1)


def _half_line(s: ArrayLike, xp: Any) -> tuple[ArrayLike, ArrayLike, ArrayLike]:
    """Return nodes g, `exp(-s g)` and weights of a quadrature rule for `E f(|g|)`, where f decays like `exp(-s |g|)`.

    The rule is Gauss-Legendre quadrature on `[0, c]`; beyond c the density or f is below the rounding error. The
    nearest poles of `1 / (1 + exp(s g))` are at a distance proportional to c, so that 64 nodes suffice for every s.
    Gauss-Hermite nodes, whose scale is fixed, would lose accuracy as s grows.
    """
    s = xp.asarray(s)[..., None]
    reach = xp.minimum(9.0, 40.0 / xp.maximum(s, 1.0))
    g = reach * _NODES
    return g, xp.exp(-s * g), 2.0 * reach * _WEIGHTS * xp.exp(-g * g / 2.0) / math.sqrt(2.0 * math.pi)
