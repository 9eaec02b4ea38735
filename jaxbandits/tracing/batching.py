"""Where `vmap` puts the trial axis: last, behind the axes that a function works on.

`jax.vmap` puts it first. The short axes of vectors `[d]`, matrices `[d, d]` and arms `[K, d]` are then the fast ones,
and every operation runs at a few percent of what the machine can do. A function made by `trials_last` has the trial
axis at the end instead: it is one loop over contiguous trials. The simulation keeps its state that way, so that the
moves between two such functions cancel, and the compiled program of a round holds no transpose.

`while_loop`, `fori_loop` and `cond` are those of `jax.lax`, with the trial axis of what they carry last as well.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandits.base.errors import InputError
from jaxbandits.tracing import target
from jaxbandits.tracing.jax_compat import eval_jaxpr, open_jaxpr
from jaxbandits.tracing.vmap_last import rule_at_end, vmap_last

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def trials_last(f: F) -> F:
    """`f`, batched by further axes at the end of its arguments.

    Args:
      f: a function of pytrees of arrays to pytrees of arrays, which closes over no array. It is written for arguments
        whose first axes are its own and whose other axes, equally many everywhere, are anything that broadcasts: axes
        of trials, of length 1 where an argument is the same for all of them.
    """

    @jax.custom_jvp
    def call(*args: Any) -> Any:
        return mapped(*args)

    @call.defjvp
    def tangent(primals: Any, tangents: Any) -> Any:
        return jax.jvp(f, primals, tangents)  # `custom_vmap` knows no reverse mode

    @custom_vmap
    def mapped(*args: Any) -> Any:
        return f(*args)

    @rule_at_end(mapped)
    def over_trials(size: int, in_batched: Any, *args: Any) -> Any:
        def stretched(x: jax.Array, batched: bool) -> jax.Array:
            return x if batched else lax.expand_dims(x, (jnp.ndim(x),))

        # by `call`: there may be a vmap around this one
        out = call(*jax.tree.map(stretched, args, tuple(in_batched)))
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (*x.shape[:-1], size)), out), _all(out)

    return cast(F, call)


def _everywhere(tree: Any, batched: Any, size: int) -> Any:
    """With a trial axis, of `size` equal trials, where there was none."""

    def full(x: Any, batched: bool) -> jax.Array:
        return x if batched else lax.broadcast_in_dim(x, (*jnp.shape(x), size), tuple(range(jnp.ndim(x))))

    return jax.tree.map(full, tree, batched)


def _all(tree: Any) -> Any:
    """Everything is batched."""
    return jax.tree.map(lambda _: True, tree)


def _axes(batched: Any) -> Any:
    return jax.tree.map(lambda b: -1 if b else None, batched)


def _hoisted(f: Callable[..., Any], *args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """`f` as a function of the arrays it closes over and of its arguments, and those arrays."""
    closed, shape = jax.make_jaxpr(f, return_shape=True)(*args)
    (jaxpr, consts), structure = open_jaxpr(closed), jax.tree.structure(shape)

    def pure(captured: list[Any], *args: Any) -> Any:
        return jax.tree.unflatten(structure, eval_jaxpr(jaxpr, captured, *jax.tree.leaves(args)))

    return pure, consts


def _strong(tree: T) -> T:
    """Arrays with types of their own: a Python number may not change its type along a loop."""
    return jax.tree.map(lambda x: lax.convert_element_type(x, jnp.result_type(x)), tree)


def while_loop(moving: Callable[[T], Any], step: Callable[[T], T], start: T, most: int | None = None) -> T:
    """`lax.while_loop`. Under `vmap` it runs as long as any trial moves; the others keep what they have.

    Args:
      moving: whether another step is to be made.
      step: makes it.
      start: where the loop starts.
      most: a number of steps after which `moving` is False for certain. On accelerators so many are made, and those
        that `moving` would have spared change nothing (`tracing.target` says why); None: the loop is the same there.
    """
    start = _strong(start)
    if most is not None and target.accelerated():

        def masked(_: Any, now: T) -> T:
            moves = moving(now)
            return jax.tree.map(lambda new, old: jnp.where(moves, new, old), step(now), now)

        return fori_loop(0, most, masked, start)
    pure_moving, for_moving = _hoisted(moving, start)
    pure_step, for_step = _hoisted(step, start)

    @custom_vmap
    def run(for_moving: Any, for_step: Any, now: Any) -> Any:
        return lax.while_loop(lambda now: pure_moving(for_moving, now), lambda now: pure_step(for_step, now), now)

    @rule_at_end(run)
    def over_trials(size: int, in_batched: Any, for_moving: Any, for_step: Any, now: Any) -> Any:
        moving_axes, step_axes = _axes(in_batched[0]), _axes(in_batched[1])

        def each_moving(now: Any) -> jax.Array:
            return vmap_last(pure_moving, (moving_axes, -1))(for_moving, now)

        def each_step(now: Any) -> Any:
            following = vmap_last(pure_step, (step_axes, -1))(for_step, now)
            moves = each_moving(now)
            return jax.tree.map(lambda new, old: jnp.where(moves, new, old), following, now)

        start = _everywhere(now, in_batched[2], size)
        end = while_loop(lambda now: jnp.any(each_moving(now)), each_step, start)
        return end, _all(end)

    return run(for_moving, for_step, start)


def fori_loop(lower: Any, upper: Any, step: Callable[[Any, T], T], start: T) -> T:
    """`lax.fori_loop`; the bounds are the same for all trials under `vmap`. The compiler knows those that are ints."""
    start = _strong(start)
    known = isinstance(lower, int) and isinstance(upper, int)
    bounds: Any = () if known else tuple(jnp.asarray(bound, jnp.int32) for bound in (lower, upper))
    pure, captured = _hoisted(step, jnp.int32(0), start)

    @custom_vmap
    def run(bounds: Any, captured: Any, start: Any) -> Any:
        low, high = bounds or (lower, upper)
        return lax.fori_loop(low, high, lambda i, now: pure(captured, i.astype(jnp.int32), now), start)

    @rule_at_end(run)
    def over_trials(size: int, in_batched: Any, bounds: Any, captured: Any, start: Any) -> Any:
        if any(in_batched[0]):
            raise InputError("the bounds of fori_loop must be the same for all trials; use while_loop")
        axes = _axes(in_batched[1])

        def each_step(i: jax.Array, now: Any) -> Any:
            return vmap_last(pure, (axes, None, -1))(captured, i, now)

        low, high = bounds or (lower, upper)
        end = fori_loop(low, high, each_step, _everywhere(start, in_batched[2], size))
        return end, _all(end)

    return run(bounds, captured, start)


def cond(condition: Any, if_true: Callable[[], T], if_false: Callable[[], T]) -> T:
    """`lax.cond`: a branch where the condition is the same for all trials, a select between both answers otherwise."""
    (pure_true, for_true), (pure_false, for_false) = _hoisted(if_true), _hoisted(if_false)

    @custom_vmap
    def run(condition: Any, for_true: Any, for_false: Any) -> Any:
        return lax.cond(condition, lambda: pure_true(for_true), lambda: pure_false(for_false))

    @rule_at_end(run)
    def over_trials(size: int, in_batched: Any, condition: Any, for_true: Any, for_false: Any) -> Any:
        def each(pure: Callable[..., Any], captured: Any, batched: Any) -> Callable[[], Any]:
            return lambda: vmap_last(pure, (_axes(batched),), size)(captured)

        branches = each(pure_true, for_true, in_batched[1]), each(pure_false, for_false, in_batched[2])
        if in_batched[0]:
            end = jax.tree.map(lambda a, b: jnp.where(condition, a, b), *(branch() for branch in branches))
        else:
            end = cond(condition, *branches)
        return end, _all(end)

    return run(condition, for_true, for_false)
