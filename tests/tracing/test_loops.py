"""`loops.while_loop`: the same numbers on every target, and on accelerators a predicate that is computed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbandits.tracing import batching, loops, target
from jaxbandits.tracing.vmap_last import TracedFunction
from tests.loop_predicates import predicates_that_are_flags

CPU, GRAPH = (target.Target(platform, open_loops=True) for platform in ("cpu", "gpu"))
FLAGS = {  # predicates of a carry (flag, steps left, number) that XLA may reduce to the flag
    "the flag": lambda carry: carry[0],
    "any": lambda carry: jnp.any(carry[0]),
    "twice negated": lambda carry: ~~carry[0],
    "and": lambda carry: carry[0] & True,
    "converted": lambda carry: carry[0].astype(jnp.int32) > 0,
    "reshaped": lambda carry: carry[0].reshape(1)[0],
    "a number that is not used": lambda carry: (carry[2] + 1.0, carry[0])[1],
    "a number that a call does not use": lambda carry: jax.jit(lambda number, flag: flag)(carry[2], carry[0]),
}


def halve(while_loop, predicate):
    """Halve a number until it is below 1, by a flag in the carry."""

    def body(carry):
        _, steps, x = carry
        return (0.5 * x >= 1.0), steps + 1, 0.5 * x

    return lambda x: while_loop(predicate, body, (x >= 1.0, 0, x))[1:]


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("while_loop", [loops.while_loop, batching.while_loop, lax.while_loop])
def test_a_flag_is_a_number_on_accelerators(while_loop, name):
    """Also in the program of one trial, whose code calls `lax.while_loop` itself."""
    jaxprs = {}
    for kind in (CPU, GRAPH):
        with target.trace_for(kind):
            traced = TracedFunction.trace(halve(while_loop, FLAGS[name]), jnp.float32(1.0))
            jaxprs[kind] = jax.make_jaxpr(lambda x, f=traced: f(x))(jnp.float32(1.0))
            played = [jax.jit(lambda x, f=traced: f(x))(jnp.float32(x)) for x in (0.3, 1.0, 37.0)]
        np.testing.assert_allclose(played, [(0, 0.3), (1, 0.5), (6, 37.0 / 64.0)], rtol=1e-6)
    assert predicates_that_are_flags(jaxprs[CPU]) == 1
    assert predicates_that_are_flags(jaxprs[GRAPH]) == 0


def test_other_predicates_stay_as_they_are():
    def count(x):
        return loops.while_loop(lambda carry: carry[1] < 3, lambda carry: (2.0 * carry[0], carry[1] + 1), (x, 0))

    with target.trace_for(GRAPH):
        on_gpu = str(jax.make_jaxpr(lambda x: count(x))(1.0))
    assert on_gpu == str(jax.make_jaxpr(lambda x: count(x))(1.0))


def test_a_predicate_that_also_reads_a_number_from_outside():

    def count(limit):
        return loops.while_loop(lambda flag: flag & (limit > 3), lambda flag: ~flag, jnp.bool(True))

    with target.trace_for(GRAPH):
        assert predicates_that_are_flags(jax.make_jaxpr(lambda n: count(n))(5)) == 0


def test_a_flag_of_all_trials_in_a_batch():
    """A scalar predicate over a batch, as in draws of gamma variates."""

    @batching.trials_last
    def halve_all(x):
        def body(carry):
            x = jnp.where(carry[1] >= 1.0, 0.5 * carry[1], carry[1])
            return jnp.any(x >= 1.0), x

        return batching.while_loop(lambda carry: carry[0], body, (jnp.any(x >= 1.0), x))[1]

    x = jnp.asarray([0.3, 1.0, 37.0])
    with target.trace_for(GRAPH):
        assert predicates_that_are_flags(jax.make_jaxpr(jax.vmap(lambda x: halve_all(x)))(x)) == 0
        on_gpu = jax.vmap(lambda x: halve_all(x))(x)
    np.testing.assert_allclose(on_gpu, [0.3, 0.5, 37.0 / 64.0])
