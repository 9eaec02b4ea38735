"""Loops and branches that keep the trial axis last, against those of `jax.lax`; `once` is nothing but a wall."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxbandits.tracing import batching
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.vmap_last import vmap_last


def search(loops, x, scale):
    """A loop whose length depends on the trial, which closes over arrays of the trial and carries several."""

    def moving(now):
        return (jnp.linalg.norm(now[0]) < 50.0 * jnp.linalg.norm(x)) & (now[1] < 20)

    def step(now):
        return barrier(1.3 * now[0] + jnp.linalg.norm(x) * scale), now[1] + 1

    return loops.while_loop(moving, step, (x, 0))


def count(loops, x, scale):
    return loops.fori_loop(0, 5, lambda i, now: scale * now + i * jnp.linalg.norm(x), x)


class Lax:
    """The same names in `jax.lax`."""

    while_loop, fori_loop = lax.while_loop, lax.fori_loop

    @staticmethod
    def cond(condition, if_true, if_false):
        return lax.cond(condition, if_true, if_false)


def branch(loops, x, scale):
    return loops.cond(scale > 1.0, lambda: (scale * x, x[0]), lambda: (x - jnp.linalg.norm(x), x[1]))


@pytest.mark.slow_cases("search")
@pytest.mark.parametrize("f", [search, count, branch])
def test_as_in_lax(f, rng):
    x, scale = jnp.asarray(rng.standard_normal((2, 3, 4))), jnp.asarray([0.5, 1.5, 2.0])
    f_of = {loops: lambda x, scale, loops=loops: f(loops, x, scale) for loops in (batching, Lax)}
    for of in (
        lambda f: f(x[0, 0], scale[0]),
        lambda f: jax.vmap(f, in_axes=(0, None))(x[0], scale[1]),
        lambda f: jax.vmap(f)(x[0], scale),
        lambda f: jax.vmap(jax.vmap(f), in_axes=(0, None))(x, scale),
        lambda f: jax.vmap(lambda x: jax.vmap(f, in_axes=(None, 0))(x, scale))(x[0]),
    ):
        ours, theirs = (jax.jit(of, static_argnums=0)(f) for f in f_of.values())
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-13), ours, theirs)
        assert jax.tree.map(lambda a: (a.shape, a.dtype), ours) == jax.tree.map(lambda a: (a.shape, a.dtype), theirs)


def test_functions_work_inside_loops_of_jax(rng):
    x = jnp.asarray(rng.standard_normal((5, 3)))

    def norms(x):
        return lax.scan(lambda total, _: (total + x @ x, None), jnp.zeros(()), length=3)[0]

    np.testing.assert_allclose(jax.vmap(norms)(x), 3.0 * (x * x).sum(1), rtol=1e-13)


def test_a_condition_that_trials_share_stays_a_branch():
    f = jax.vmap(lambda x, t: batching.cond(t == 0, lambda: jnp.sin(x), lambda: jnp.cos(x)), in_axes=(0, None))
    assert " conditional(" in jax.jit(f).lower(jnp.ones(3), 1).compile().as_text()


def test_the_trial_axis_is_last(rng):
    """No transpose is left when the trials are the last axis outside, as in the loop of the simulation."""
    x, m = jnp.asarray(rng.standard_normal((4, 64))), jnp.asarray(rng.standard_normal((4, 4, 64)))

    def step(m, x):
        u = m @ x
        width = x @ u
        inverse = m - jnp.outer(u, u) / (1.0 + width)

        def moving(now):
            return jnp.linalg.norm(now) > 1.0

        y = batching.while_loop(moving, lambda now: (m @ now) / width, barrier(x + u * width))
        return barrier(inverse), barrier(x + batching.cond(width.shape == (), lambda: 2.0 * y, lambda: y))

    text = jax.jit(vmap_last(step)).lower(m, x).compile().as_text()
    assert " transpose(" not in text


def test_once_changes_nothing(key):
    tree = {"number": 1.0, "none": None, "array": jnp.arange(3), "key": key, "empty": ()}
    after = barrier(tree)
    assert jax.tree.structure(after) == jax.tree.structure(tree)
    np.testing.assert_array_equal(after["array"], tree["array"])
    batched = jax.vmap(lambda x: barrier((x, 2.0)))(jnp.arange(3.0))
    np.testing.assert_array_equal(batched[0], np.arange(3.0))
    assert batched[1].shape == (3,)  # vmap repeats what trials share
    assert barrier(()) == ()


@pytest.mark.parametrize("upper", [3, jnp.int32(3)], ids=["known", "traced"])
def test_rounds_are_counted_in_int32(upper):
    """Whether the compiler knows the bounds or not: an index is combined with others of its type."""
    seen = []

    def step(i, now):
        seen.append((i.dtype, i.weak_type))
        return now + i

    assert jax.jit(jax.vmap(lambda x: batching.fori_loop(0, upper, step, x)))(jnp.arange(2))[1] == 4
    assert {dtype for dtype, _ in seen} == {jnp.dtype("int32")} and not any(weak for _, weak in seen)
