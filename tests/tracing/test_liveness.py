"""Values that several kernels would compute go behind a barrier, and no others."""

import functools

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxbandits import vmap_last
from jaxbandits.numerics.compensated import CompensatedSum
from jaxbandits.tracing import liveness
from jaxbandits.tracing.equation_rules import ELEMENTWISE
from jaxbandits.tracing.flat import flatten
from jaxbandits.tracing.vmap_last import TracedFunction

X = jnp.ones(3)
TRUE = jnp.ones((), bool)


def shared_primitives(f, *args):
    """Return the names of the primitives whose results are shared."""
    closed = jax.make_jaxpr(f)(*args)
    flat = flatten(closed.jaxpr, closed.consts, lambda eqn: None)
    names = liveness.shared_values(flat, ELEMENTWISE)
    return [step.eqn.primitive.name for step in flat.steps if not names.isdisjoint(step.outputs)]


CASES = {
    "one result": (lambda x: jnp.exp(x) + jnp.exp(x) * x, []),
    "two results": (lambda x: [y := jnp.exp(x), y + x, y * x][1:], ["exp"]),
    "moved only": (lambda x: [y := x[None], y + x, y * x][1:], []),
    "a product repeats its operands": (lambda x: jnp.exp(x)[:, None] * x, ["exp"]),
    "two operands of a branch": (
        lambda x: lax.cond(TRUE, lambda a, b: a, lambda a, b: b, *[y := jnp.exp(x), y + x, y * x][1:]),
        ["exp"],
    ),
    "one operand of a branch": (
        lambda x: lax.cond(TRUE, lambda a: a, lambda a: -a, [y := jnp.exp(x), y + x * y][1]),
        [],
    ),
    "two operands of a loop": (
        lambda x: lax.fori_loop(0, 3, lambda i, c: (c[1], c[0]), tuple([y := jnp.exp(x), y + x, y * x][1:])),
        ["exp"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values_of_several_kernels_are_shared(case):
    f, expected = CASES[case]
    assert shared_primitives(f, X) == expected


def test_what_a_loop_never_changes_gets_no_barrier():
    def scores(scale, x):
        level, y = jnp.log(scale), jnp.sin(x)
        return level + y, level * y

    traced = TracedFunction.trace(scores, jnp.ones(()), jnp.ones(()))
    args = jnp.ones(4), jnp.ones(4)

    def barriers(invariant):
        jaxpr = jax.make_jaxpr(functools.partial(traced.vmap, 4, [True, True], invariant=invariant))(*args).jaxpr
        return [len(eqn.invars) for eqn in jaxpr.eqns if eqn.primitive.name == "barrier"]

    assert barriers([]) == [2]
    assert barriers([True, False]) == [1]
    assert barriers([True, True]) == []


def barriers_of(f, x):
    """Return the shapes behind barriers in the jaxpr of `vmap_last(f)`."""
    eqns = jax.make_jaxpr(vmap_last(f))(x).jaxpr.eqns
    return [variable.aval.shape for eqn in eqns if eqn.primitive.name == "barrier" for variable in eqn.outvars]


def test_few_entries_of_a_sort_are_kept_without_the_stages_of_a_whole_one():
    def n_barriers(*places):
        return len(barriers_of(lambda x: sum(jnp.sort(x)[k] for k in places), jnp.ones((11, 4))))

    assert n_barriers(5) < n_barriers(5, 6) < n_barriers(4, 5, 6) < 0.5 * n_barriers(*range(11))


def test_a_function_under_vmap_moves_axes_outside():
    """Inside, the move would stand between a value and its barrier, and the value would be stored twice."""
    x = jnp.ones((2, 3, 4))
    sums = jax.vmap(lambda total, error, x: CompensatedSum(total, error).add(x))
    calls = [
        eqn.params["call_jaxpr"].eqns
        for eqn in jax.make_jaxpr(vmap_last(sums))(x, x, x).jaxpr.eqns
        if eqn.primitive.name == "custom_jvp_call"
    ]
    assert len(calls) == 1
    assert all(eqn.primitive.name != "transpose" for eqn in calls[0])
