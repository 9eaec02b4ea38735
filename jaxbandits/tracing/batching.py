"""Functions and loops under whose `vmap` the trial axis comes last, after the axes of the problem.

`jax.vmap` puts the batch axis first. The short axes of vectors `[d]`, matrices `[d, d]` and arms `[K, d]` are then
innermost in memory, and every operation runs at a few percent of the machine's speed. A function decorated with
`trials_last` computes on arrays with the trial axis at the end, so that each operation is one loop over contiguous
trials. The simulation keeps its state in this layout, so the transposes between two such functions cancel, and the
compiled program of a round contains no transposes.

`while_loop`, `fori_loop` and `cond` are the functions of `jax.lax` with a batching rule that keeps the trial axis of
the carry last. For accelerators, `while_loop` calls the version in `tracing.loops`.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import PyTree
from jaxbandits.tracing import loops, target
from jaxbandits.tracing.jax_compat import eval_jaxpr, open_jaxpr
from jaxbandits.tracing.short_axes import Operand
from jaxbandits.tracing.vmap_last import def_vmap_last, vmap_last

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def trials_last(f: F) -> F:
    """Decorate a function for arrays with trailing trial axes, so that `vmap` appends a trial axis.

    Args:
      f: function that maps pytrees of arrays to pytrees of arrays and closes over no array. The leading axes of its
        arguments are the axes of the problem; trial axes follow, of equal number in all arguments. f must broadcast the
        trial axes, since they have length 1 in an argument that is the same for all trials.

    Returns:
      The decorated function.
    """

    @jax.custom_jvp
    def call(*args: Any) -> Any:
        return map_trials(*args)

    @call.defjvp
    def tangent(primals: PyTree, tangents: PyTree) -> PyTree:
        return jax.jvp(f, primals, tangents)  # `custom_vmap` has no reverse mode

    @custom_vmap
    def map_trials(*args: Any) -> Any:
        return f(*args)

    @def_vmap_last(map_trials)
    def over_trials(size: int, in_batched: PyTree, *args: Any) -> PyTree:
        def with_trial_axis(x: jax.Array, batched: bool) -> jax.Array:
            return x if batched else lax.expand_dims(x, (jnp.ndim(x),))

        # `call` instead of `f`, since another vmap may enclose this one
        out = call(*jax.tree.map(with_trial_axis, args, tuple(in_batched)))
        return jax.tree.map(lambda x: jnp.broadcast_to(x, (*x.shape[:-1], size)), out), _true_tree(out)

    return cast(F, call)


def _broadcast_trials(tree: PyTree, batched: Any, size: int) -> PyTree:
    """Append a trial axis of `size` equal trials to the leaves that are not batched."""

    def broadcast(x: Operand, batched: bool) -> jax.Array:
        return x if batched else lax.broadcast_in_dim(x, (*jnp.shape(x), size), tuple(range(jnp.ndim(x))))

    return jax.tree.map(broadcast, tree, batched)


def _true_tree(tree: PyTree) -> PyTree:
    """Return a tree whose leaves are all True, which means that every leaf is batched."""
    return jax.tree.map(lambda _: True, tree)


def _axes(batched: Any) -> Any:
    """Return the argument `in_axes` of `vmap_last` for a tree of batch flags."""
    return jax.tree.map(lambda b: -1 if b else None, batched)


def _closure_convert(f: Callable[..., Any], *args: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Return `f` as a function of its closed-over arrays and its arguments, and the list of these arrays."""
    closed, shape = jax.make_jaxpr(f, return_shape=True)(*args)
    (jaxpr, consts), structure = open_jaxpr(closed), jax.tree.structure(shape)

    def pure(consts: list[Any], *args: Any) -> Any:
        return jax.tree.unflatten(structure, eval_jaxpr(jaxpr, consts, *jax.tree.leaves(args)))

    return pure, consts


def _strong(tree: T) -> T:
    """Make weak types strong, since the type of a carry must not change in the first step of a loop."""
    return jax.tree.map(lambda x: lax.convert_element_type(x, jnp.result_type(x)), tree)


def while_loop(
    cond_fun: Callable[[T], Any], body_fun: Callable[[T], T], init_val: T, max_steps: int | None = None
) -> T:
    """Run `lax.while_loop`; under `vmap` the loop runs until the condition is false for every trial.

    A trial whose condition is false keeps its values while other trials continue. The result is the final carry.

    Args:
      cond_fun: function that maps the carry to a bool, True if another step follows.
      body_fun: function that maps the carry to the next carry.
      init_val: initial carry.
      max_steps: number of steps after which `cond_fun` is certainly False. On a target without loops of unknown length
        (see `tracing.target`) exactly this many steps run, and steps for which `cond_fun` is False do not change the
        carry. None: the loop is the same on every target.
    """
    init_val = _strong(init_val)
    if max_steps is not None and not target.has_open_loops():

        def masked_step(_: Any, carry: T) -> T:
            active = cond_fun(carry)
            return jax.tree.map(lambda new, old: jnp.where(active, new, old), body_fun(carry), carry)

        return fori_loop(0, max_steps, masked_step, init_val)
    pure_cond, cond_consts = _closure_convert(cond_fun, init_val)
    pure_body, body_consts = _closure_convert(body_fun, init_val)

    @custom_vmap
    def run(cond_consts: PyTree, body_consts: PyTree, init_val: PyTree) -> Any:
        return loops.while_loop(
            lambda carry: pure_cond(cond_consts, carry), lambda carry: pure_body(body_consts, carry), init_val
        )

    @def_vmap_last(run)
    def over_trials(
        size: int, in_batched: PyTree, cond_consts: PyTree, body_consts: PyTree, init_val: PyTree
    ) -> PyTree:
        cond_axes, body_axes = _axes(in_batched[0]), _axes(in_batched[1])

        def is_active(carry: PyTree) -> jax.Array:
            return vmap_last(pure_cond, (cond_axes, -1))(cond_consts, carry)

        def step(carry: PyTree) -> PyTree:
            following = vmap_last(pure_body, (body_axes, -1))(body_consts, carry)
            active = is_active(carry)
            return jax.tree.map(lambda new, old: jnp.where(active, new, old), following, carry)

        init_val = _broadcast_trials(init_val, in_batched[2], size)
        last = while_loop(lambda carry: jnp.any(is_active(carry)), step, init_val)
        return last, _true_tree(last)

    return run(cond_consts, body_consts, init_val)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, T], T], init_val: T) -> T:
    """Run `lax.fori_loop` and return the final carry; under `vmap` the trial axis of the carry stays last.

    Args:
      lower: first index: an int, which is a constant for the compiler, or an array `[]`, which must be the same for all
        trials under `vmap`.
      upper: end of the range of indices (exclusive), in the same form.
      body_fun: function that maps an index (int32) and the carry to the next carry.
      init_val: initial carry.

    Raises:
      InputError: under `vmap`, if the bounds differ between trials.
    """
    init_val = _strong(init_val)
    is_static = isinstance(lower, int) and isinstance(upper, int)
    bounds: Any = () if is_static else tuple(jnp.asarray(bound, jnp.int32) for bound in (lower, upper))
    pure_body, consts = _closure_convert(body_fun, jnp.int32(0), init_val)

    @custom_vmap
    def run(bounds: Any, consts: PyTree, init_val: PyTree) -> Any:
        low, high = bounds or (lower, upper)
        return lax.fori_loop(low, high, lambda i, carry: pure_body(consts, i.astype(jnp.int32), carry), init_val)

    @def_vmap_last(run)
    def over_trials(size: int, in_batched: PyTree, bounds: Any, consts: PyTree, init_val: PyTree) -> PyTree:
        if any(in_batched[0]):
            raise InputError("the bounds of fori_loop must be the same for all trials; use while_loop")
        axes = _axes(in_batched[1])

        def step(i: jax.Array, carry: PyTree) -> PyTree:
            return vmap_last(pure_body, (axes, None, -1))(consts, i, carry)

        low, high = bounds or (lower, upper)
        last = fori_loop(low, high, step, _broadcast_trials(init_val, in_batched[2], size))
        return last, _true_tree(last)

    return run(bounds, consts, init_val)


def cond(pred: Any, true_fun: Callable[[], T], false_fun: Callable[[], T]) -> T:
    """Return the result of `lax.cond`; if `pred` differs between trials, both branches run and selects choose.

    Args:
      pred: `[]` bool.
      true_fun: function without arguments, which closes over its operands.
      false_fun: function without arguments, which closes over its operands.
    """
    (pure_true, true_consts), (pure_false, false_consts) = _closure_convert(true_fun), _closure_convert(false_fun)

    @custom_vmap
    def run(pred: Any, true_consts: PyTree, false_consts: PyTree) -> Any:
        return lax.cond(pred, lambda: pure_true(true_consts), lambda: pure_false(false_consts))

    @def_vmap_last(run)
    def over_trials(size: int, in_batched: PyTree, pred: Any, true_consts: PyTree, false_consts: PyTree) -> PyTree:
        def batch(pure: Callable[..., Any], consts: PyTree, batched: Any) -> Callable[[], Any]:
            return lambda: vmap_last(pure, (_axes(batched),), size)(consts)

        branches = batch(pure_true, true_consts, in_batched[1]), batch(pure_false, false_consts, in_batched[2])
        if in_batched[0]:
            result = jax.tree.map(lambda a, b: jnp.where(pred, a, b), *(branch() for branch in branches))
        else:
            result = cond(pred, *branches)
        return result, _true_tree(result)

    return run(pred, true_consts, false_consts)
