"""Factors of V^{-1} (`numerics.inverse_factors`) of any positive definite V, by Cholesky in float64."""

import jax.numpy as jnp
import numpy as np

from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_factors import InverseFactors


def factors(v, dtype=None):
    """Factor V = C C' = U^{-T} E U^{-1}."""
    root = np.linalg.cholesky(np.asarray(v, float))
    pivots = np.diagonal(root)
    upper = np.linalg.inv(root / pivots).T
    packed = [pivots[j] ** 2 if i == j else upper[i, j] for j in range(len(pivots)) for i in range(j + 1)]
    return InverseFactors(CompensatedSum.init(jnp.asarray(packed, dtype)))
