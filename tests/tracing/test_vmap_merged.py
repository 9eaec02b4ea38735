"""`vmap_merged` against nested `vmap`, whatever is batched, and that its loops are long indeed."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.numerics.projection import proximal_on_ball
from jaxbandits.tracing.vmap_merged import vmap_merged


def step(settings, x, matrix):
    """Different shapes and types in and out, a loop that ends by its data, and a pytree with static parts."""
    halved = jax.lax.while_loop(lambda v: jnp.max(jnp.abs(v)) > settings["limit"], lambda v: 0.5 * v, x)
    return halved, (matrix @ x, settings["count"] + 1)


def inputs(rng, *shape):
    settings = {"limit": rng.uniform(0.5, 1.0, shape), "count": rng.integers(0, 9, shape)}
    x, matrix = 5.0 * rng.standard_normal((*shape, 2)), rng.standard_normal((*shape, 3, 2))
    return settings, x, matrix


def same(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-15)


def copies_last(arguments, depth=0):
    """The copies, at axis `depth`, moved to the end."""
    return jax.tree.map(lambda x: np.moveaxis(x, depth, -1), arguments)


@pytest.mark.slow
def test_equals_vmap_at_every_depth(rng):
    for shape in ((5,), (4, 5), (3, 4, 5), (1, 1)):
        arguments = copies_last(inputs(rng, *shape), len(shape) - 1)
        ours, theirs = vmap_merged(step), jax.vmap(step, in_axes=-1, out_axes=-1)
        for _ in shape[1:]:
            ours, theirs = jax.vmap(ours), jax.vmap(theirs)
        expected = jax.jit(theirs)(*arguments)
        same(jax.jit(ours)(*arguments), expected)


@pytest.mark.slow
def test_equals_vmap_operation_by_operation(rng):
    arguments = copies_last(inputs(rng, 5))
    same(vmap_merged(step)(*jax.tree.map(jnp.asarray, arguments)), jax.vmap(step, in_axes=-1, out_axes=-1)(*arguments))


@pytest.mark.slow
def test_what_is_not_batched_is_shared(rng):
    settings, x, matrix = copies_last(inputs(rng, 5))
    many = rng.standard_normal((4, 2, 5))
    for axes, arguments in (
        ((None, 0, None), (settings, many, matrix)),
        ((None, 1, None), (settings, np.swapaxes(many, 0, 1), matrix)),
        (({"limit": 0, "count": None}, None, None), (settings | {"limit": np.ones((4, 5))}, x, matrix)),
    ):
        theirs = jax.vmap(jax.vmap(step, in_axes=-1, out_axes=-1), axes)
        same(jax.jit(jax.vmap(vmap_merged(step), axes))(*arguments), jax.jit(theirs)(*arguments))


@pytest.mark.slow_after_first
@pytest.mark.parametrize("dim", [2, 20])
def test_one_long_axis(dim):
    """In the lowered program: no operation of the learner sees the axes apart."""
    trials, copies = 7, 3
    x = jnp.ones((dim, copies, trials))
    a = jnp.broadcast_to(jnp.eye(dim)[..., None, None], (dim, dim, copies, trials))
    together = jax.vmap(vmap_merged(proximal_on_ball), in_axes=-1, out_axes=-1)
    text = jax.jit(together).lower(a, x, x, jnp.ones((copies, trials))).as_text()
    apart = [
        line for line in text.splitlines() if re.search(f"[<x]{copies}x{trials}x|<{trials}x[0-9x]*{copies}x", line)
    ]
    allowed = ("reshape", "transpose", "optimization_barrier", "func.func", "return", "call @")
    assert all(any(word in line for word in allowed) for line in apart), apart
    # A change of shape that could be fused with anything would be worked out entry by entry.
    barriers = [line for line in text.splitlines() if "optimization_barrier" in line]
    made = {re.match(r"\s*(%\d+)", line)[1] for line in barriers}
    taken = {name for line in barriers for name in re.findall(r"%[\w#]+", line.partition("=")[2])}
    changes = [re.match(r"\s*(%\d+) = stablehlo.reshape (%\d+)", line) for line in apart if "reshape" in line]
    assert len(changes) == 5  # four arguments, one result
    assert all(change[1] in taken and change[2] in made for change in changes), text
    assert f"x{trials * copies}x" in text
