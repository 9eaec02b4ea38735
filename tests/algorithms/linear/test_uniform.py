"""Uniform play: every available arm equally often, in each form of arm set."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.core import linalg
from jaxbandits.types import ArmObs

DRAWS = 60_000
FORMS = ["unrolled", "stacked", "dense"]


def plays(form, mask, key):
    """Indices and arms of many rounds."""
    n_arms, dim = 7, 14 if form == "dense" else 2
    arms = jnp.arange(n_arms * dim, dtype=float).reshape(n_arms, dim)
    held = tuple(linalg.vectors(a) for a in arms) if form == "unrolled" else linalg.vectors(arms)
    if mask is not None:
        mask = tuple(jnp.asarray(mask)) if form == "unrolled" else jnp.asarray(mask)
    alg = Uniform(dim=dim)
    select = jax.vmap(lambda k: alg.select(k, jnp.int32(0), alg.init(k), ArmObs(held, mask)))
    decision = jax.jit(select)(jax.random.split(key, DRAWS))
    return np.asarray(decision.index), np.asarray(linalg.dense(decision.x)), np.asarray(arms)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mask", [None, [False, True, True, False, True, False, True], [False] * 6 + [True]])
def test_available_arms_are_equally_likely(form, mask, key):
    index, x, arms = plays(form, mask, key)
    available = np.ones(7, bool) if mask is None else np.asarray(mask)
    counts = np.bincount(index, minlength=7)
    expected = DRAWS / available.sum()
    assert (counts[~available] == 0).all()
    assert (np.abs(counts[available] - expected) < 5 * np.sqrt(expected)).all()
    np.testing.assert_array_equal(x, arms[index])


def test_forms_agree(key):
    mask = [True, False, True, True, False, False, True]
    picks = [plays(form, mask, key)[0] for form in FORMS]
    np.testing.assert_array_equal(picks[0], picks[1])
    np.testing.assert_array_equal(picks[0], picks[2])
