"""Uniform play: every available arm equally often, in each form of arm set."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.types import ArmObs

DRAWS = 60_000


def plays(mask, key):
    """Indices and arms of many rounds."""
    arms = jnp.arange(14.0).reshape(7, 2)
    mask = None if mask is None else jnp.asarray(mask)
    alg = Uniform(dim=2)
    select = jax.vmap(lambda k: alg.select(k, jnp.int32(0), alg.init(k), ArmObs(arms, mask)))
    decision = jax.jit(select)(jax.random.split(key, DRAWS))
    return np.asarray(decision.index), np.asarray(decision.x), np.asarray(arms)


@pytest.mark.quick_cases("mask1")
@pytest.mark.parametrize("mask", [None, [False, True, True, False, True, False, True], [False] * 6 + [True]])
def test_available_arms_are_equally_likely(mask, key):
    index, x, arms = plays(mask, key)
    available = np.ones(7, bool) if mask is None else np.asarray(mask)
    counts = np.bincount(index, minlength=7)
    expected = DRAWS / available.sum()
    assert (counts[~available] == 0).all()
    assert (np.abs(counts[available] - expected) < 5 * np.sqrt(expected)).all()
    np.testing.assert_array_equal(x, arms[index])
