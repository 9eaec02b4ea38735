"""Matrix completion in single precision: the oracle by value, rounds against NumPy in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains.nuclear import NuclearBall
from jaxbandits.environments.coco.matrix_completion import MatrixCompletion
from jaxbandits.types import PointDecision


@pytest.mark.slow_cases("1.0")
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_oracle_at_scales_whose_squares_do_not_fit(scale):
    """Value of a low-rank direction, to some roundings of single precision."""
    rng = np.random.default_rng(0)
    c = (rng.normal(size=(70, 3)) * [3.0, 1.0, 0.5] @ rng.normal(size=(3, 90))).astype(np.float32)
    v, guess = jax.jit(NuclearBall(radius=2.0).lmo)(jnp.asarray(c) * scale)
    assert v.dtype == guess.right.dtype == jnp.float32
    assert np.sum(c.astype(float) * np.asarray(v, float)) == pytest.approx(-2.0 * np.linalg.norm(c, 2), rel=1e-5)
    assert np.linalg.norm(np.asarray(v, float)) == pytest.approx(2.0, rel=1e-5)


@pytest.mark.quick_cases("budget")
@pytest.mark.parametrize("constraint", ["figure", "budget"])
def test_rounds(constraint):
    environment = as_arrays(MatrixCompletion.stand_in(constraint=constraint))
    state, x = environment.init(jax.random.key(1)), np.random.default_rng(1).normal(size=(20, 26)).astype(np.float32)
    step = jax.jit(environment.step)
    for t in range(5):
        state, told, _ = step(jax.random.key(0), jnp.int32(t), state, None, PointDecision.at(jnp.asarray(x)))
        told = told.first()
        assert told.grad.values.dtype == told.con_grad.dtype == jnp.float32
        off = np.asarray(told.grad.values, float)
        assert told.loss == pytest.approx(0.5 * np.sum(off**2), rel=1e-5)
        size = np.abs(np.asarray(told.con_grad, float) * x).sum()
        expected = np.sum(np.asarray(told.con_grad, float) * x) - float(state.allowed)
        assert told.con == pytest.approx(expected, abs=1e-5 * (size + float(state.allowed)))
