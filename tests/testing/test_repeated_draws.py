"""Draws that are equal because key and counter are, and draws that are not."""

import jax
import jax.numpy as jnp
import pytest

from jaxbandits import rng
from jaxbandits.testing.repeated_draws import has_repeated_draw


def of_both(key):
    return rng.uniform(key) + rng.uniform(key)


PROGRAMS = {
    "twice": (True, of_both),
    "two laws": (True, lambda key: rng.uniform(key) + rng.normal(key)),
    "two vectors": (True, lambda key: rng.uniforms(key, 5) - rng.uniforms(key, 5)),
    "one key made twice": (True, lambda key: rng.uniform(rng.fold_in(key, 7)) + rng.normal(rng.fold_in(key, 7))),
    "in a call": (True, lambda key: jax.jit(of_both)(key)),
    "in a loop": (True, lambda key: jax.lax.fori_loop(0, 3, lambda i, x: x + of_both(rng.fold_in(key, i)), 0.0)),
    "in a branch": (True, lambda key: jax.lax.cond(jnp.bool_(True), lambda: of_both(key), lambda: 0.0)),
    "counters": (False, lambda key: rng.uniform(key) + rng.uniform(key, counter=1)),
    "two keys": (False, lambda key: sum(rng.uniform(k) for k in jax.random.split(key))),
    # Keys are also made of blocks of words, which may be equal.
    "counters of a key made twice": (
        False, lambda key: rng.uniform(rng.fold_in(key, 7)) + rng.uniform(rng.fold_in(key, 7), counter=1)
    ),
    "each step its own": (
        False, lambda key: jax.lax.fori_loop(0, 3, lambda i, x: x + rng.uniform(rng.fold_in(key, i)), 0.0)
    ),
    "either branch": (
        False, lambda key: jax.lax.cond(jnp.bool_(True), lambda: rng.uniform(key), lambda: rng.uniform(key) + 1.0)
    ),
    "rejection": (False, lambda key: rng.gammas(key, jnp.ones(3))),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_draws_are_found(name, key):
    repeats, program = PROGRAMS[name]
    assert has_repeated_draw(jax.make_jaxpr(program)(key)) == repeats
