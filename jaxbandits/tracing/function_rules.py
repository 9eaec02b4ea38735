"""Rules of `vmap_last` for equations that contain jaxprs: loops, branches, custom derivatives and linear solvers.

The first argument of a rule is `run`, the function `vmap_last._run` that evaluates a jaxpr with the batch axis last.
The other arguments are those of the rules in `tracing.equation_rules`.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base.pytree import PyTree
from jaxbandits.tracing import loops, small_solves
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.equation_rules import batch_shape, bind_function, is_small, merge_batch, split_batch
from jaxbandits.tracing.jax_compat import Jaxpr, JaxprEqn, open_jaxpr
from jaxbandits.tracing.shape_rules import broadcast_batch
from jaxbandits.tracing.short_axes import FlaggedOperand, Operand

Run: TypeAlias = Callable[..., list[FlaggedOperand]]  # from (size, jaxpr, consts, args, batched) to results and flags


def broadcast_results(size: int | None, results: list[FlaggedOperand]) -> list[Any]:
    """Return a list of all results, broadcast so that each has the batch axis."""
    return [broadcast_batch(size, *result) for result in results]


def _broadcast_flagged(size: int | None, values: Iterable[FlaggedOperand], flags: list[bool]) -> list[Any]:
    """Return the values, where every value whose flag is set has the batch axis, by broadcasting if necessary."""
    return [broadcast_batch(size, x, b) if flag else x for (x, b), flag in zip(values, flags, strict=True)]


def _scan(run: Run, size: int | None, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand]:
    """Run a scan, in which carried values that become batched in some step have the batch axis from the start."""
    body, params = eqn.params["jaxpr"], eqn.params
    # The numbers of carried values and scanned arrays are derived from shapes, since their parameters differ from jax
    # 0.12 on.
    inside, _ = open_jaxpr(body)
    n = sum(len(a.aval.shape) == len(b.aval.shape) for a, b in zip(eqn.outvars, inside.outvars, strict=True))
    n_rows = sum(len(a.aval.shape) > len(b.aval.shape) for a, b in zip(eqn.invars, inside.invars, strict=True))
    first = len(args) - n - n_rows
    consts, rows = args[:first], args[first + n :]  # rows `[T, ..., W]`
    init = list(zip(args[first : first + n], batched[first : first + n], strict=True))

    def step(flags: list[bool], carry: PyTree, row: PyTree) -> list[FlaggedOperand]:
        inputs_batched = [*batched[:first], *flags, *batched[first + n :]]
        return run(size, *open_jaxpr(body), [*consts, *carry, *row], inputs_batched)

    row = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in rows]
    flags = _carry_flags(lambda flags, *inputs: step(flags, inputs[:n], inputs[n:])[:n], size, init, row)

    def body_fun(carry: PyTree, row: PyTree) -> tuple[Any, Any]:
        out = step(flags, carry, row)
        return _broadcast_flagged(size, out[:n], flags), broadcast_results(size, out[n:])

    options = {name: params[name] for name in ("length", "reverse", "unroll")}
    last, outputs = lax.scan(body_fun, _broadcast_flagged(size, init, flags), rows, **options)
    return [*zip(last, flags, strict=True), *((x, True) for x in outputs)]


def _carry_flags(
    step: Callable[..., list[FlaggedOperand]], size: int | None, init: list[FlaggedOperand], more: list[Any]
) -> list[bool]:
    """Return for each value of a loop's carry whether it is batched at the start or after some number of steps.

    Args:
      step: function that maps such flags, a carry and further arguments to the next carry and its flags.
      size: length of the batch axis.
      init: initial carry, with batch flags.
      more: shapes of the further arguments.
    """
    flags, grown = [b for _, b in init], None
    while grown != flags:
        flags, after = grown or flags, []
        carry = _broadcast_flagged(size, init, flags)
        jax.eval_shape(lambda *args, to=after, flags=flags: to.extend(b for _, b in step(flags, *args)), *carry, *more)
        grown = [a or b for a, b in zip(flags, after, strict=True)]
    return flags


def _while(run: Run, size: int | None, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand]:
    """Run a while loop until the condition is false in every trial; a trial whose condition is false is kept as is."""
    params = eqn.params
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    cond_consts, body_consts = args[:first], args[first:second]
    init = list(zip(args[second:], batched[second:], strict=True))

    def step(flags: list[bool], carry: PyTree) -> list[FlaggedOperand]:
        return run(size, *open_jaxpr(body), [*body_consts, *carry], [*batched[first:second], *flags])

    flags = _carry_flags(lambda flags, *carry: step(flags, carry), size, init, [])
    carry = _broadcast_flagged(size, init, flags)

    def is_active(carry: PyTree) -> tuple[Any, bool]:
        return run(size, *open_jaxpr(condition), [*cond_consts, *carry], [*batched[:first], *flags])[0]

    active_batched = []
    jax.eval_shape(lambda *carry: active_batched.append(is_active(carry)[1]), *carry)
    # Under an enclosing `jax.vmap` the condition has a leading axis with an entry for each element of its batch.
    lead = len(condition.out_avals[0].shape)
    differs = active_batched[0] and size is not None  # between trials
    if differs:
        flags = [True] * len(init)
        carry = broadcast_results(size, init)

    def body_fun(carry: PyTree) -> list[Any]:
        following = _broadcast_flagged(size, step(flags, carry), flags)
        if not lead and not differs:
            return following
        active, _ = is_active(carry)
        return [
            jnp.where(lax.expand_dims(active, range(lead, lead + x.ndim - active.ndim)), x, y)
            for x, y in zip(following, carry, strict=True)
        ]

    last = loops.while_loop(lambda carry: jnp.any(is_active(carry)[0]), body_fun, carry)
    return list(zip(last, flags, strict=True))


def _cond(run: Run, size: int | None, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand]:
    """Evaluate one branch if all trials take the same branch; otherwise evaluate all branches and select."""

    def branch(closed: Jaxpr) -> Callable[..., list[Any]]:
        return lambda *operands: broadcast_results(size, run(size, *open_jaxpr(closed), operands, batched[1:]))

    branches = [branch(closed) for closed in eqn.params["branches"]]
    if size is None or not batched[0]:
        return [(x, True) for x in lax.switch(args[0], branches, *args[1:])]
    results, *others = (branch(*args[1:]) for branch in branches)
    for k, other in enumerate(others, 1):
        results = [jnp.where(args[0] >= k, y, x) for x, y in zip(results, other, strict=True)]
    return [(x, True) for x in results]


def _custom_jvp(
    run: Run, size: int | None, eqn: JaxprEqn, args: list[Operand], batched: list[bool]
) -> list[FlaggedOperand]:
    """Evaluate a `custom_jvp` function by its equations; its derivative remains the one that its author defined."""
    closed = eqn.params["call_jaxpr"]

    def function(*args: Any) -> list[Any]:
        return broadcast_results(size, run(size, *open_jaxpr(closed), args, batched))

    return [(x, True) for x in _with_derivative_of(run, bind_function(eqn), function, batched)(*args)]


def _with_derivative_of(
    run: Run, bind: Callable[..., Any], function: Callable[..., list[Any]], batched: list[bool]
) -> Callable[..., list[Any]]:
    """Return `function` with the derivative of an equation.

    Args:
      run: the interpreter `vmap_last._run`.
      bind: the equation as a function of the operands of one trial.
      function: function that computes the batched results of the equation.
      batched: whether each argument has the batch axis.
    """

    @jax.custom_jvp
    def call(*args: Any) -> list[Any]:
        return function(*args)

    @call.defjvp
    def tangent(primals: PyTree, tangents: PyTree) -> PyTree:
        real = [jnp.issubdtype(jnp.result_type(x), jnp.inexact) for x in primals]

        def jvp_of_trial(primals: PyTree, real_tangents: PyTree) -> PyTree:
            remaining = iter(real_tangents)
            zeros = [np.zeros(jnp.shape(x), jax.dtypes.float0) for x in primals]
            tangents = [next(remaining) if r else zero for r, zero in zip(real, zeros, strict=True)]
            return jax.jvp(lambda *args: list(bind(*args)), primals, tangents)

        real_tangents = [t for t, r in zip(tangents, real, strict=True) if r]
        flags = [*batched, *(b for b, r in zip(batched, real, strict=True) if r)]
        shapes = [x[..., 0] if b else x for x, b in zip([*primals, *real_tangents], flags, strict=True)]
        shapes = jax.eval_shape(lambda: (shapes[: len(primals)], shapes[len(primals) :]))
        size = next(x.shape[-1] for x, b in zip(primals, batched, strict=True) if b)
        closed, out = jax.make_jaxpr(jvp_of_trial, return_shape=True)(*shapes)
        results = run(size, *open_jaxpr(closed), [*primals, *real_tangents], flags)
        return jax.tree.unflatten(jax.tree.structure(out), broadcast_results(size, results))

    return call


def _eigh(
    run: Run, size: int | None, eqn: JaxprEqn, args: list[Operand], batched: list[bool]
) -> list[FlaggedOperand] | None:
    """Diagonalise small symmetric matrices, with the derivative of the primitive."""
    del size
    (a,) = args
    if not is_small("eigh", a, -2) or eqn.params.get("subset_by_index") is not None:
        return None

    def function(a: jax.Array) -> list[Any]:
        matrix = merge_batch(a, 2)
        vectors, values = small_solves.eigh(matrix if eqn.params["lower"] else matrix.swapaxes(0, 1))
        return [split_batch(vectors, 2, batch_shape(a)), split_batch(values, 1, batch_shape(a))]

    return [(x, True) for x in _with_derivative_of(run, bind_function(eqn), function, batched)(*args)]


def _linear_solve(
    run: Run, size: int | None, eqn: JaxprEqn, args: list[Operand], batched: list[bool]
) -> list[FlaggedOperand] | None:
    """Call `lax.custom_linear_solve` with batched functions, so that derivatives are those of the linear system."""
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    if len(jaxprs.solve.out_avals) != len(args) - sum(lengths):
        return None  # the solver has auxiliary output
    values = list(zip(args, batched, strict=True))
    parts: dict[str, list[FlaggedOperand]] = {}
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

    transpose_solve = solver("transpose_solve") if jaxprs.transpose_solve else None
    # Without the barrier, the solver would recompute the entries of an identity matrix in every kernel.
    b = barrier(broadcast_results(size, values))
    solution: Any = lax.custom_linear_solve(function("matvec"), b, solver("solve"), transpose_solve)
    return [(x, True) for x in solution]


FUNCTION_RULES: dict[str, Callable[..., list[Any] | None]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "custom_jvp_call": _custom_jvp,
    "custom_linear_solve": _linear_solve,
    "eigh": _eigh,
}
CONTROL_FLOW = ("scan", "while", "cond")
