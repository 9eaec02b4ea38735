"""Indices from `argmax` are used as they are, all others are counted from the end where they are negative."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import vmap_last

X = np.random.default_rng(7).normal(size=(4, 3, 6))
USES = {
    "entry": lambda x: x[jnp.argmax(x[:, 0])],
    "entry along an axis": lambda x: jnp.take_along_axis(x, jnp.argmin(x, axis=1)[:, None], axis=1),
    "update": lambda x: x[:, 0].at[jnp.argmax(x[:, 1])].add(1.0),
    "converted": lambda x: x[jnp.argmax(x[:, 0]).astype(jnp.int16)],
    "shifted": lambda x: x[jnp.argmax(x[:, 0]) - 2],
    "another": lambda x: x[jnp.where(jnp.argmax(x[:, 0]) < 1, jnp.argmax(x[:, 0]) + 4, 0)],
}


def compares_with_zero(f):
    """Return whether `vmap_last(f)` compares a value of each trial with zero."""
    eqns = jax.make_jaxpr(vmap_last(f))(X).jaxpr.eqns
    operands = [eqn.invars for eqn in eqns if eqn.primitive.name == "lt"]
    return any(np.shape(x.aval) and getattr(y, "val", None) == 0 for x, y in operands)


@pytest.mark.parametrize("use", USES)
def test_values_are_those_of_vmap(use):
    f = USES[use]
    np.testing.assert_array_equal(vmap_last(f)(X), jax.vmap(f, -1, -1)(X))


def test_only_indices_that_may_be_negative_are_compared_with_zero():
    compared = {use for use, f in USES.items() if compares_with_zero(f)}
    assert compared == {"converted", "shifted", "another"}
