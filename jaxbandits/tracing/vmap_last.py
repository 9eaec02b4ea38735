"""`jax.vmap` that puts the batch axis last and keeps it there: how trials lie side by side in memory.

`jax.vmap(f, in_axes=-1, out_axes=-1)` only says where the axis is outside. Inside, JAX moves it to the front wherever
arrays of unequal rank meet, as in `scalar * vector`. Here a function is traced once, and its equations are run one by
one with the batch axis last. Equations that work entry by entry, along leading axes or on shapes run as they are;
products, sums and searches over short axes are written out (`tracing.short_axes`), reads and writes at an index of each
trial's own become selects (`tracing.batched_index`), loops and branches carry their arrays with the axis last. What has
no rule goes through `jax.vmap`, and `explain` names it.

Values that several kernels would compute pass an optimisation barrier (`tracing.barriers`).
"""

import collections
import contextvars
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jaxbandits.tracing import liveness
from jaxbandits.tracing.barrier import barrier, is_key
from jaxbandits.tracing.equation_rules import (
    ALONG_LEADING_AXES,
    ENTRYWISE,
    EQUATION_RULES,
    SHAPE_RULES,
    WITHOUT_SCALARS,
    align_ranks,
    apply_to_rows,
    bind_function,
    broadcast_batch,
    dot_general,
    sort,
)
from jaxbandits.tracing.flat import Step, flatten
from jaxbandits.tracing.function_rules import CONTROL_FLOW, FUNCTION_RULES
from jaxbandits.tracing.jax_compat import open_jaxpr
from jaxbandits.tracing.row_axes import RowPlan, row_axes
from jaxbandits.tracing.short_axes import Rows

Rule = Callable[..., tuple[Any, Any]]

_BARRIERS = ("optimization_barrier", "barrier")  # the latter is that of `tracing.barrier`
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}


def _called(eqn: Any) -> Any | None:
    """The closed jaxpr that stands for an equation; None where the equation has a rule of its own."""
    name = eqn.primitive.name
    closed: Any = eqn.params[_CALLS[name]] if name in _CALLS else None
    if name == "custom_jvp_call":
        inside = open_jaxpr(closed)[0].eqns  # a function of `batching.trials_last` differentiates itself
        return closed if len(inside) == 1 and _has_rule_at_end(inside[0]) else None
    return closed


def _has_rule_at_end(eqn: Any) -> bool:
    return eqn.primitive.name == "custom_vmap_call" and hasattr(eqn.params["rule"], _AT_END)


def vmap_last(f: Callable[..., Any], in_axes: Any = -1, axis_size: int | None = None) -> Callable[..., Any]:
    """`jax.vmap(f, in_axes, out_axes=-1)`.

    Args:
      f: a function of pytrees of arrays.
      in_axes: -1 (batched, along the last axis) or None (the same for all), for all arguments or each, as in `vmap`.
      axis_size: the length of the axis where no argument has it.
    """

    def mapped(*args: Any) -> Any:
        leaves, structure = jax.tree.flatten(args)
        batched = [axis is not None for axis in _axes(in_axes, args)]
        size = next((jnp.shape(x)[-1] for x, b in zip(leaves, batched, strict=True) if b), axis_size)
        if size is None:
            raise ValueError("vmap_last needs a batched argument or axis_size")
        shapes = [jax.ShapeDtypeStruct(x.shape[:-1], x.dtype) if b else x for x, b in zip(leaves, batched, strict=True)]
        return TracedFunction.trace(f, *jax.tree.unflatten(structure, shapes)).vmap(size, batched, *args)

    return mapped


@dataclasses.dataclass(frozen=True, eq=False)
class TracedFunction:
    """A function as JAX traced it, once: programs for any number of trials are made of it without another trace."""

    jaxpr: Any  # closed
    out: Any  # ShapeDtypeStructs of what it returns

    @classmethod
    def trace(cls, f: Callable[..., Any], *args: Any) -> "TracedFunction":
        """For arguments like these, of which shapes and types count."""
        return cls(*jax.make_jaxpr(f, return_shape=True)(*args))

    def __call__(self, *args: Any) -> Any:
        """What the function returns, for arguments without a batch axis; barriers are placed as with one."""
        leaves = jax.tree.leaves(args)
        results = _run(None, *open_jaxpr(self.jaxpr), leaves, [True] * len(leaves))
        return jax.tree.unflatten(jax.tree.structure(self.out), [x for x, _ in results])

    def vmap(self, axis_size: Any, batched: Sequence[bool], *args: Any) -> Any:
        """The same, batched along the last axis of all results and of those leaves of the arguments that say so."""
        results = _run(axis_size, *open_jaxpr(self.jaxpr), jax.tree.leaves(args), batched)
        return jax.tree.unflatten(
            jax.tree.structure(self.out), [broadcast_batch(axis_size, *result) for result in results]
        )


# Primitive and line of the equations that went through `jax.vmap`, while this is a list.
_fallbacks: contextvars.ContextVar[list[tuple[str, str]] | None] = contextvars.ContextVar("unruled", default=None)


class VmapFallback(NamedTuple):
    """Equations of one kind, on one line of code, for which `vmap_last` has no rule: they go through `jax.vmap`."""

    primitive: str
    count: int
    where: str  # file:line of the code that was traced, "" if unknown


def explain(f: Callable[..., Any], *args: Any, in_axes: Any = -1, axis_size: int | None = None) -> list[VmapFallback]:
    """The equations of a function that `vmap_last` has no rule for, most frequent first.

    Everything else runs with the batch axis last: `[]` means that the whole function does.

    Args:
      f: the function, as for `vmap_last`.
      *args: its batched arguments, or `jax.ShapeDtypeStruct`s of them.
      in_axes: as for `vmap_last`.
      axis_size: as for `vmap_last`.
    """
    found: list[tuple[str, str]] = []
    token = _fallbacks.set(found)
    try:
        jax.eval_shape(vmap_last(f, in_axes, axis_size), *args)
    finally:
        _fallbacks.reset(token)
    return [VmapFallback(name, count, where) for (name, where), count in collections.Counter(found).most_common()]


def _line_of(step: Step) -> str:
    """The innermost line of code outside JAX that a step was traced from."""
    for eqn in (step.eqn, *reversed(step.calls)):
        traceback = getattr(eqn.source_info, "traceback", None)
        for frame in traceback.frames if traceback else ():
            if not {"jax", "jaxlib"} & set(Path(frame.file_name).parts) and Path(frame.file_name) != Path(__file__):
                return f"{Path(frame.file_name).name}:{frame.line_num}"
    return ""


def def_vmap_last(function: custom_vmap) -> Callable[[Rule], Rule]:
    """`function.def_vmap` for a rule that has the batch axis last: in what is batched, and in what it returns so.

    `jax.vmap` reaches it by way of the first axis, `vmap_last` without moving anything.
    """

    def define(rule: Rule) -> Rule:
        @function.def_vmap
        def over_first(size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
            args = jax.tree.map(lambda x, b: jnp.moveaxis(x, 0, -1) if b else x, args, tuple(in_batched))
            out, batched = rule(size, in_batched, *args)
            return jax.tree.map(lambda x, b: jnp.moveaxis(x, -1, 0) if b else x, out, batched), batched

        setattr(over_first, _AT_END, rule)  # JAX hands the attributes of a rule on to what it keeps in a jaxpr
        return rule

    return define


_AT_END = "at_end"


def _axes(in_axes: Any, args: tuple[Any, ...]) -> list[int | None]:
    """One axis a leaf."""
    in_axes = (in_axes,) * len(args) if in_axes is None or isinstance(in_axes, int) else tuple(in_axes)

    def is_none(x: Any) -> bool:
        return x is None

    if not {-1, None}.issuperset(jax.tree.leaves(in_axes, is_leaf=is_none)):
        raise ValueError(f"in_axes of vmap_last must be -1 (the last axis) or None, got {in_axes}")
    axes: list[int | None] = []
    jax.tree.map(lambda axis, part: axes.extend([axis] * len(jax.tree.leaves(part))), in_axes, args, is_leaf=is_none)
    return axes


def _run(size: Any, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """The outputs of a jaxpr and whether they are batched.

    Without a batch axis (`size` None) equations are bound as they are, and what counts as batched varies between calls.
    """
    flat = flatten(jaxpr, consts, _called)
    shared, constants = liveness.shared_values(flat, ENTRYWISE), liveness.large_constants(flat)
    rows = {} if size is None else row_axes(flat, ENTRYWISE)
    known: dict[int, tuple[Any, bool]] = {name: (x, False) for name, x in flat.constants.items()}
    known |= dict(zip(flat.inputs, zip(args, batched, strict=True), strict=True))
    waiting: list[int] = []

    def settle() -> None:
        leaves, structure = jax.tree.flatten([_leaves(known[name][0]) for name in waiting])
        settled = jax.tree.unflatten(structure, barrier(leaves))
        for name, now in zip(waiting, settled, strict=True):
            x, flag = known[name]
            known[name] = (Rows(tuple(now), x.axis) if isinstance(x, Rows) else now[0]), flag
        waiting.clear()

    for step in flat.steps:
        if not set(waiting).isdisjoint(step.inputs):
            settle()
        args, flags = zip(*(known[name] for name in step.inputs), strict=True) if step.inputs else ((), ())
        unruled = _fallbacks.get()
        before = len(unruled or ())
        outputs = _apply(size, step.eqn, list(args), list(flags), rows.get(step.outputs[0]) if step.outputs else None)
        if unruled and len(unruled) > before:
            unruled[before:] = [(name, where or _line_of(step)) for name, where in unruled[before:]]
        known |= zip(step.outputs, outputs, strict=True)
        for name in step.outputs:
            x, flag = known[name]
            if ((name in shared and flag) or name in constants) and not is_key(x):
                waiting.append(name)
    settle()
    return [(x.array() if isinstance(x, Rows) else x, b) for x, b in (known[name] for name in flat.outputs)]


def _leaves(x: Any) -> list[Any]:
    return list(x.slices) if isinstance(x, Rows) else [x]


def _apply(size: Any, eqn: Any, args: list[Any], batched: list[bool], rows: RowPlan | None = None) -> list[Any]:
    """The results of one equation and whether they are batched.

    Args:
      size: of the batch axis.
      eqn: the equation.
      args: its operands.
      batched: which have the batch axis.
      rows: how its result is wanted in `Rows`.
    """
    name, params = eqn.primitive.name, eqn.params
    if any(isinstance(x, Rows) for x in args):
        if name == "dot_general":
            results = dot_general(size, eqn, args, batched, rows)
        else:
            results = apply_to_rows(size, eqn, args, batched)
        if results is not None:
            return results
        args = [x.array() if isinstance(x, Rows) else x for x in args]
    bind = bind_function(eqn)
    if not any(batched):
        return [(x, False) for x in _many(eqn, bind(*args))]
    if size is None:
        results = FUNCTION_RULES[name](_run, size, eqn, args, batched) if name in CONTROL_FLOW else None
        return results or [(x, True) for x in _many(eqn, bind(*args))]
    if name in ENTRYWISE:
        rank = max(len(v.aval.shape) for v in eqn.invars)
        return [(x, True) for x in _many(eqn, bind(*align_ranks(size, rank, args, batched, name in WITHOUT_SCALARS)))]
    if _has_rule_at_end(eqn):
        (_, args), (_, flags) = (jax.tree.unflatten(params["in_tree"], leaves) for leaves in (args, batched))
        results = getattr(params["rule"], _AT_END)(size, list(flags), *args)
        return list(zip(*map(jax.tree.leaves, results), strict=True))
    if name in _BARRIERS:
        return list(zip(bind(*args), batched, strict=True))
    if name == "dot_general":
        results = dot_general(size, eqn, args, batched, rows)
    elif name == "sort":
        results = sort(size, eqn, args, batched, rows)
    elif name in FUNCTION_RULES:
        results = FUNCTION_RULES[name](_run, size, eqn, args, batched)
    else:
        results = EQUATION_RULES[name](size, eqn, args, batched) if name in EQUATION_RULES else None
    if results is not None:
        return results
    if name in ALONG_LEADING_AXES:
        return [
            (x, True)
            for x in _many(eqn, bind(*(broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True))))
        ]
    if name in SHAPE_RULES and (batched[0] or name == "concatenate"):
        changed = SHAPE_RULES[name](size, args, batched, params)
        if changed is not None:
            return [(changed, True)]
    if (unruled := _fallbacks.get()) is not None:
        unruled.append((name, ""))
    mapped = jax.vmap(bind, in_axes=[-1 if b else None for b in batched], out_axes=-1)
    return [(x, True) for x in _many(eqn, mapped(*args))]


def _many(eqn: Any, out: Any) -> list[Any]:
    return list(out) if eqn.primitive.multiple_results else [out]
