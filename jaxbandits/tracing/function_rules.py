"""Rules of `vmap_last` for equations that hold functions: loops, branches, derivatives and solvers of an author's own.

A rule takes `run`, which evaluates a jaxpr with the batch axis last, and otherwise what those of `equation_rules` take.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.tracing import small_solves
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.equation_rules import (
    batch_shape,
    bind_function,
    broadcast_batch,
    is_small,
    merge_batch,
    split_batch,
)
from jaxbandits.tracing.jax_compat import open_jaxpr

Run: TypeAlias = Callable[..., list[tuple[Any, bool]]]  # (size, jaxpr, consts, args, batched) to results and flags


def broadcast_results(size: Any, results: list[tuple[Any, bool]]) -> list[Any]:
    """Results with the batch axis, all of them."""
    return [broadcast_batch(size, *result) for result in results]


def _scan(run: Run, size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any]:
    body, params = eqn.params["jaxpr"], eqn.params
    # How many of each there are is a matter of shapes; the parameters that say so changed in jax 0.12.
    inside, _ = open_jaxpr(body)
    n = sum(len(a.aval.shape) == len(b.aval.shape) for a, b in zip(eqn.outvars, inside.outvars, strict=True))
    n_rows = sum(len(a.aval.shape) > len(b.aval.shape) for a, b in zip(eqn.invars, inside.invars, strict=True))
    first = len(args) - n - n_rows
    consts, rows = args[:first], args[first + n :]  # rows `[T, ..., W]`
    start, flags = args[first : first + n], batched[first : first + n]

    def after(flags: list[bool], now: Any, row: Any) -> list[tuple[Any, bool]]:
        return run(size, *open_jaxpr(body), [*consts, *now, *row], [*batched[:first], *flags, *batched[first + n :]])

    row = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in rows]
    flags = _grown(lambda flags, *now: after(flags, now[:n], now[n:])[:n], size, start, flags, row)
    start = [
        broadcast_batch(size, x, b) if flag else x for x, b, flag in zip(start, batched[first:], flags, strict=False)
    ]

    def step(now: Any, row: Any) -> tuple[Any, Any]:
        out = after(flags, now, row)
        same = [broadcast_batch(size, x, b) if flag else x for (x, b), flag in zip(out[:n], flags, strict=True)]
        return same, broadcast_results(size, out[n:])

    last, outputs = lax.scan(
        step, start, rows, length=params["length"], reverse=params["reverse"], unroll=params["unroll"]
    )
    return [*zip(last, flags, strict=True), *((x, True) for x in outputs)]


def _grown(
    after: Callable[..., list[tuple[Any, bool]]], size: Any, start: list[Any], batched: list[bool], more: list[Any]
) -> list[bool]:
    """Return which values of a loop's carry are batched, once a step has made some so.

    Args:
      after: from these flags, a carry and further arguments to the next carry, with flags.
      size: of the batch axis.
      start: the first carry.
      batched: which of it have the batch axis.
      more: shapes of the further arguments.
    """
    flags, grown = list(batched), None
    while grown != flags:
        flags, found = grown or flags, []
        now = [broadcast_batch(size, x, b) if flag else x for x, b, flag in zip(start, batched, flags, strict=True)]
        jax.eval_shape(lambda *now, to=found, flags=flags: to.extend(b for _, b in after(flags, *now)), *now, *more)
        grown = [a or b for a, b in zip(flags, found, strict=True)]
    return flags


def _while(run: Run, size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any]:
    """A loop that runs as long as any trial moves; trials that do not keep what they have."""
    params = eqn.params
    moving, step = params["cond_jaxpr"], params["body_jaxpr"]
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    for_moving, for_step, start = args[:first], args[first:second], args[second:]

    def after(flags: list[bool], now: Any) -> list[tuple[Any, bool]]:
        return run(size, *open_jaxpr(step), [*for_step, *now], [*batched[first:second], *flags])

    flags = _grown(lambda flags, *now: after(flags, now), size, start, batched[second:], [])
    now = [
        broadcast_batch(size, x, b) if flag else x for x, b, flag in zip(start, batched[second:], flags, strict=True)
    ]

    def moves(now: Any) -> tuple[Any, bool]:
        return run(size, *open_jaxpr(moving), [*for_moving, *now], [*batched[:first], *flags])[0]

    found = []
    jax.eval_shape(lambda *now: found.append(moves(now)[1]), *now)
    lead = len(moving.out_avals[0].shape)  # under another `jax.vmap` there is a predicate for each of its entries
    of_trials = found[0] and size is not None
    if of_trials:
        flags = [True] * len(start)
        now = broadcast_results(size, list(zip(start, batched[second:], strict=True)))

    def stepped(now: Any) -> list[Any]:
        new = [
            broadcast_batch(size, x, b) if flag else x for (x, b), flag in zip(after(flags, now), flags, strict=True)
        ]
        if not lead and not of_trials:
            return new
        moved, _ = moves(now)
        return [
            jnp.where(lax.expand_dims(moved, range(lead, lead + x.ndim - moved.ndim)), x, y)
            for x, y in zip(new, now, strict=True)
        ]

    last = lax.while_loop(lambda now: jnp.any(moves(now)[0]), stepped, now)
    return list(zip(last, flags, strict=True))


def _cond(run: Run, size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any]:
    """A branch where all trials take the same one; otherwise all of them, and a select."""

    def branch(closed: Any) -> Callable[..., list[Any]]:
        return lambda *operands: broadcast_results(size, run(size, *open_jaxpr(closed), operands, batched[1:]))

    branches = [branch(closed) for closed in eqn.params["branches"]]
    if size is None or not batched[0]:
        return [(x, True) for x in lax.switch(args[0], branches, *args[1:])]
    results, *others = (branch(*args[1:]) for branch in branches)
    for k, other in enumerate(others, 1):
        results = [jnp.where(args[0] >= k, y, x) for x, y in zip(results, other, strict=True)]
    return [(x, True) for x in results]


def _custom_jvp(run: Run, size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any]:
    """The function by its own rules, its derivative by that which its author gave it."""
    closed = eqn.params["call_jaxpr"]

    def function(*args: Any) -> list[Any]:
        return broadcast_results(size, run(size, *open_jaxpr(closed), args, batched))

    return [(x, True) for x in _differentiated_as(run, bind_function(eqn), function, batched)(*args)]


def _differentiated_as(
    run: Run, bind: Callable[..., Any], function: Callable[..., list[Any]], batched: list[bool]
) -> Callable[..., list[Any]]:
    """`function`, whose derivative is that of an equation.

    Args:
      run: the interpreter.
      bind: the equation, for one trial.
      function: its results, batched.
      batched: which of its arguments are.
    """

    @jax.custom_jvp
    def call(*args: Any) -> list[Any]:
        return function(*args)

    @call.defjvp
    def tangent(primals: Any, tangents: Any) -> Any:
        real = [jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in primals]

        def of_one(primals: Any, tangents: Any) -> Any:
            given = iter(tangents)
            zeros = [np.zeros(jnp.shape(x), jax.dtypes.float0) for x in primals]
            tangents = [next(given) if r else zero for r, zero in zip(real, zeros, strict=True)]
            return jax.jvp(lambda *args: list(bind(*args)), primals, tangents)

        kept = [t for t, r in zip(tangents, real, strict=True) if r]
        flags = [*batched, *(b for b, r in zip(batched, real, strict=True) if r)]
        shapes = [x[..., 0] if b else x for x, b in zip([*primals, *kept], flags, strict=True)]
        shapes = jax.eval_shape(lambda: (shapes[: len(primals)], shapes[len(primals) :]))
        size = next(x.shape[-1] for x, b in zip(primals, batched, strict=True) if b)
        closed, out = jax.make_jaxpr(of_one, return_shape=True)(*shapes)
        results = run(size, *open_jaxpr(closed), [*primals, *kept], flags)
        return jax.tree.unflatten(jax.tree.structure(out), broadcast_results(size, results))

    return call


def _eigh(run: Run, size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    del size
    (a,) = args
    if not is_small("eigh", a, -2) or eqn.params.get("subset_by_index") is not None:
        return None

    def function(a: jax.Array) -> list[Any]:
        matrix = merge_batch(a, 2)
        vectors, values = small_solves.eigh(matrix if eqn.params["lower"] else matrix.swapaxes(0, 1))
        return [split_batch(vectors, 2, batch_shape(a)), split_batch(values, 1, batch_shape(a))]

    return [(x, True) for x in _differentiated_as(run, bind_function(eqn), function, batched)(*args)]


def _linear_solve(run: Run, size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    """`lax.custom_linear_solve` again, whose derivatives are those of the system and not of the way to its solution."""
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    if len(jaxprs.solve.out_avals) != len(args) - sum(lengths):
        return None  # with auxiliary output
    values = list(zip(args, batched, strict=True))
    parts: dict[str, list[tuple[Any, bool]]] = {}
    for name, length in lengths._asdict().items():
        parts[name], values = values[:length], values[length:]

    def function(name: str) -> Callable[..., Any]:
        closed, consts = getattr(jaxprs, name), parts[name]

        def apply(x: list[Any]) -> list[Any]:
            flags = [*(b for _, b in consts), *(True for _ in x)]
            return broadcast_results(size, run(size, *open_jaxpr(closed), [*(c for c, _ in consts), *x], flags))

        return apply

    def solver(name: str) -> Callable[..., Any]:
        solve = function(name)
        return lambda _, b: solve(b)

    back = solver("transpose_solve") if jaxprs.transpose_solve else None
    right = barrier(broadcast_results(size, values))  # of the identity a solver would make its entries again and again
    found: Any = lax.custom_linear_solve(function("matvec"), right, solver("solve"), back)
    return [(x, True) for x in found]


FUNCTION_RULES: dict[str, Callable[..., list[Any] | None]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "custom_jvp_call": _custom_jvp,
    "custom_linear_solve": _linear_solve,
    "eigh": _eigh,  # whose derivative is that of the primitive
}
CONTROL_FLOW = ("scan", "while", "cond")
