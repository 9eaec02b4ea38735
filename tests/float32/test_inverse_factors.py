"""V^{-1} over a million rounds of one arm in float32: which of its forms keep the arm's width."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.numerics.inverse_factors import InverseFactors

pytestmark = pytest.mark.float32
X = np.array([0.6, 0.8], np.float32)  # entries of the factors: E_1, U_12, E_2
COMPENSATED = {"both": (1.0, 1.0, 1.0), "U alone": (0.0, 1.0, 0.0), "E alone": (1.0, 0.0, 1.0), "none": (0.0, 0.0, 0.0)}


@jax.jit
def width_in_factors(kept, rounds):
    """The width of X after so many rounds; `kept`: of which entries the rounding errors are."""

    def one(_, inverse):
        total, rest = inverse_factors.add(inverse, 1.0, inverse_factors.image(inverse, jnp.asarray(X))).sums
        return InverseFactors(CompensatedSum(total, rest * kept))

    return jnp.sqrt(
        inverse_factors.quadratic_forms(jax.lax.fori_loop(0, rounds, one, inverse_factors.init(2, 2.0)), jnp.asarray(X))
    )


@jax.jit
def width_squared_by_sherman_morrison(rounds):
    def one(_, inverse):
        u = inverse @ X
        return inverse - jnp.outer(u, u) / (1.0 + X @ u)

    return X @ jax.lax.fori_loop(0, rounds, one, 0.5 * jnp.eye(2)) @ X


@pytest.mark.slow
def test_both_factors_must_be_compensated():
    """10^6 rounds: right to 1e-6 with both, off by 0.3 to 3 % with one or none; Sherman-Morrison by a factor."""
    norm_sq = float(np.sum(X.astype(float) ** 2))
    exact = np.sqrt(norm_sq / (2.0 + 1e6 * norm_sq))
    off = {
        name: abs(float(width_in_factors(jnp.asarray(kept), 10**6)) / exact - 1.0) for name, kept in COMPENSATED.items()
    }
    assert off["both"] < 1e-6
    assert all(3e-3 < off[name] < 3e-2 for name in ("U alone", "E alone", "none")), off
    width_sq = float(width_squared_by_sherman_morrison(10**6))
    assert width_sq < 0.0 or np.sqrt(width_sq) > 5.0 * exact, width_sq


@jax.jit
def width_in_blocks(x, rounds):
    def one(_, inverse):
        return inverse_factors.add(inverse, 1.0, inverse_factors.image(inverse, x))

    return jnp.sqrt(
        inverse_factors.quadratic_forms(jax.lax.fori_loop(0, rounds, one, inverse_factors.init(len(x), 2.0)), x)
    )


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [inverse_factors.WRITTEN_OUT + 3])
@pytest.mark.parametrize("rounds", [10**4, 10**6])
def test_blocks_keep_the_width_of_one_arm(dim, rounds):
    x = np.linspace(0.1, 1.0, dim).astype(np.float32)
    norm_sq = float(np.sum(x.astype(float) ** 2))
    exact = np.sqrt(norm_sq / (2.0 + rounds * norm_sq))
    assert abs(float(width_in_blocks(jnp.asarray(x), rounds)) / exact - 1.0) < 2e-6
