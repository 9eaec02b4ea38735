"""`lax.while_loop` with a predicate that is computed by a kernel, for programs in CUDA graphs.

A loop inside a CUDA graph runs while a flag of its conditional node is set. XLA sets the flag in a kernel that follows
the kernels of the predicate. If the predicate is merely an entry of the carry, it has no kernels, and then (jax 0.11.2,
H100) the flag may be set before the body has finished. The loop then runs too often or not at all, without any error.
On an accelerator the body therefore also computes whether another step follows, as an int32 in the carry, and the
predicate compares this number with 0.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.tracing import target
from jaxbandits.tracing.flat import flatten
from jaxbandits.tracing.jax_compat import open_jaxpr

T = TypeVar("T")

_JIT = {"jit": "jaxpr", "pjit": "jaxpr"}  # primitive of `jax.jit` in this and in earlier versions of JAX


def while_loop(cond_fun: Callable[[T], Any], body_fun: Callable[[T], T], init_val: T) -> T:
    """Run `lax.while_loop` with a predicate that is safe in CUDA graphs, and return the final carry."""
    if not target.targets_accelerator() or not _reads_flags_only(cond_fun, init_val):
        return lax.while_loop(cond_fun, body_fun, init_val)

    def step(carry: tuple[jax.Array, T]) -> tuple[jax.Array, T]:
        following = body_fun(carry[1])
        return jnp.int32(cond_fun(following)), following

    return lax.while_loop(lambda carry: carry[0] > 0, step, (jnp.int32(cond_fun(init_val)), init_val))[1]


def _reads_flags_only(cond_fun: Callable[[T], Any], init_val: T) -> bool:
    """Return True if a predicate reads nothing but scalar bools from the carry, so that it may have no kernel."""
    jaxpr, consts = open_jaxpr(jax.make_jaxpr(cond_fun)(init_val))
    flat = flatten(jaxpr, consts, lambda eqn: eqn.params.get(_JIT.get(eqn.primitive.name, "")))
    read = {*flat.outputs, *(name for step in flat.steps for name in step.inputs)}
    used = [x for name, x in zip(flat.inputs, jax.tree.leaves(init_val), strict=True) if name in read]
    return all(jnp.issubdtype(jnp.result_type(x), jnp.bool_) and jnp.size(x) == 1 for x in used)
