"""Factors of V^{-1} (`numerics.factored`) of any positive definite V, by Cholesky in float64."""

import jax.numpy as jnp
import numpy as np

from jaxbandits.numerics.compensated import Compensated
from jaxbandits.numerics.factored import Factored


def factors(v, dtype=None):
    """V = C C' = U^{-T} E U^{-1}."""
    root = np.linalg.cholesky(np.asarray(v, float))
    pivots = np.diagonal(root)
    upper = np.linalg.inv(root / pivots).T
    packed = [pivots[j] ** 2 if i == j else upper[i, j] for j in range(len(pivots)) for i in range(j + 1)]
    return Factored(Compensated.start(jnp.asarray(packed, dtype)))
