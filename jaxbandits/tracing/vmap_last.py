"""Interpreter of jaxprs that implements `jax.vmap` with the batch axis last, even inside the mapped function.

`jax.vmap(f, in_axes=-1, out_axes=-1)` places the batch axis of arguments and results only. Inside the function, JAX
moves the batch axis to the front wherever arrays of unequal rank meet, as in `scalar * vector`, so that the short axes
of the problem become the innermost loops. `vmap_last(f)` keeps the axis last, so that each operation is one loop over
contiguous trials. The interpreter works in four steps:

1. *Trace.* `TracedFunction.trace` makes the jaxpr of `f` for one trial, whose arrays have no batch axis.
2. *Flatten* (`tracing.flat`). Most calls inside the jaxpr, such as `jit`, are replaced by their equations, and unused
   equations are dropped. The result is a list of steps whose values are numbered.
3. *Plan.* `tracing.liveness` picks the values that pass an optimisation barrier, because XLA:CPU would otherwise
   compute them again in several kernels. `tracing.row_axes` picks the matrix products and sorts whose result is better
   kept as separate rows (`short_axes.Rows`) than as one array.
4. *Evaluate.* `_run` evaluates the steps in order. For each number it stores a value and a flag: if the flag is set,
   the value has the batch axis last; otherwise the value is the same for all trials. `_apply` looks up the rule of an
   equation by the name of its primitive. An elementwise primitive is bound directly to the batched operands. Other
   primitives have rules in `tracing.shape_rules` (reshape, transpose, concatenate), `tracing.equation_rules` (sums and
   products over short axes, indexing, sorting, factorisations) or, if the equation contains jaxprs,
   `tracing.function_rules` (loops, branches, derivatives), which call `_run` for the inner jaxprs.

An equation without a rule goes through `jax.vmap` along the last axis; `explain` lists those that this makes slower.
"""

import collections
import contextvars
import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, PyTree
from jaxbandits.tracing import liveness
from jaxbandits.tracing.barrier import barrier, is_key
from jaxbandits.tracing.equation_rules import (
    ELEMENTWISE,
    EQUATION_RULES,
    LEADING_AXES,
    apply_to_rows,
    bind_function,
    dot_general,
    is_elementwise,
    sort,
)
from jaxbandits.tracing.flat import CALLS, Step, flatten
from jaxbandits.tracing.function_rules import CONTROL_FLOW, FUNCTION_RULES
from jaxbandits.tracing.indices import without_negative_indices
from jaxbandits.tracing.jax_compat import Jaxpr, JaxprEqn, open_jaxpr
from jaxbandits.tracing.row_axes import row_axes
from jaxbandits.tracing.settings import own_settings
from jaxbandits.tracing.shape_rules import SHAPE_RULES, WITHOUT_SCALARS, align_ranks, broadcast_batch
from jaxbandits.tracing.short_axes import FlaggedOperand, Operand, Rows
from jaxbandits.tracing.traces import TraceDigest, trace_digest

Rule = Callable[..., tuple[Any, Any]]

_BARRIERS = ("optimization_barrier", "barrier")  # the second name is the primitive of `tracing.barrier`
# Primitives that are as fast under `jax.vmap`, since their authors defined a batching rule or they are elementwise.
_WITHOUT_LOSS = ("custom_vmap_call", "random_unwrap", "random_wrap", "Frexp", "Ldexp")


def vmap_last(f: Callable[..., Any], in_axes: PyTree = -1, axis_size: int | None = None) -> Callable[..., Any]:
    """Return `f` mapped over the last axis of its arguments, like `jax.vmap(f, in_axes, out_axes=-1)`.

    Args:
      f: function of pytrees of arrays.
      in_axes: -1 for an argument that is batched along its last axis, None for an argument that is the same for all
        trials; one value for all arguments, or one for each, as in `jax.vmap`.
      axis_size: length of the batch axis; needed only if no argument is batched.

    Raises:
      ValueError: when the mapped function is called, if `in_axes` has other values, if a batched argument has no axes,
        if lengths of batch axes differ, or if neither an argument nor `axis_size` determines this length.
    """

    def map_batch(*args: Any) -> Any:
        leaves, structure = jax.tree.flatten(args)
        batched = [axis is not None for axis in _axes(in_axes, args)]
        size = _batch_size([x for x, b in zip(leaves, batched, strict=True) if b], axis_size)
        shapes = [jax.ShapeDtypeStruct(x.shape[:-1], x.dtype) if b else x for x, b in zip(leaves, batched, strict=True)]
        traced = TracedFunction.trace(f, *jax.tree.unflatten(structure, shapes))
        with own_settings():
            return traced.vmap(size, batched, *args)

    return map_batch


def _batch_size(arrays: Sequence[Any], axis_size: Any) -> int:
    """Return the common length of the last axes of all batched arguments."""
    if axis_size is not None:
        axis_size = ranges.integer("axis_size of vmap_last", axis_size, "[0, inf)")
    lengths: dict[int, None] = {} if axis_size is None else {axis_size: None}
    for x in arrays:
        if not jnp.shape(x):
            raise ValueError(
                "vmap_last: a batched argument is a number without axes; its entry of in_axes must be None"
            )
        lengths[jnp.shape(x)[-1]] = None
    if len(lengths) > 1:
        raise ValueError(f"vmap_last: the last axes of the batched arguments (and axis_size) differ: {[*lengths]}")
    if not lengths:
        raise ValueError("vmap_last needs a batched argument or axis_size")
    return next(iter(lengths))


def _axes(in_axes: PyTree, args: tuple[Any, ...]) -> list[int | None]:
    """Return the batch axis of every leaf of the arguments."""

    def is_none(x: Operand) -> bool:
        return x is None

    message = f"in_axes of vmap_last must be -1 (the last axis) or None, for all arguments or each, got {in_axes!r}"
    in_axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if not all(axis is None or (ranges.is_whole(axis) and axis == -1) for axis in jax.tree.leaves(in_axes, is_none)):
        raise ValueError(message)
    axes: list[int | None] = []
    try:
        jax.tree.map(
            lambda axis, tree: axes.extend([axis] * len(jax.tree.leaves(tree))), in_axes, args, is_leaf=is_none
        )
    except ValueError:
        raise ValueError(f"{message}, whose structure differs from that of the {len(args)} arguments") from None
    return axes


@dataclasses.dataclass(frozen=True, eq=False)
class TracedFunction:
    """Function traced for one trial, which can be evaluated for any number of trials without another trace."""

    jaxpr: Jaxpr  # a closed jaxpr
    out: Any  # results, as a pytree of ShapeDtypeStructs

    @classmethod
    def trace(cls, f: Callable[..., Any], *args: Any) -> "TracedFunction":
        """Trace `f` for arguments with the shapes and types of `args` (arrays or `jax.ShapeDtypeStruct`s)."""
        return cls(*jax.make_jaxpr(f, return_shape=True)(*args))

    @functools.cached_property
    def digest(self) -> TraceDigest:
        """Digest of the jaxpr."""
        return trace_digest(self.jaxpr)

    def __call__(self, *args: Any, invariant: Sequence[bool] = ()) -> Any:
        """Evaluate the function for one trial, with barriers placed as in the method `vmap`."""
        leaves = jax.tree.leaves(args)
        results = _run(None, *open_jaxpr(self.jaxpr), leaves, [True] * len(leaves), invariant)
        # A constant in a jaxpr may be a bool of Python.
        leaves = [x if hasattr(x, "dtype") else jnp.asarray(x) for x, _ in results]
        return jax.tree.unflatten(jax.tree.structure(self.out), leaves)

    def vmap(self, axis_size: Any, batched: Sequence[bool], *args: Any, invariant: Sequence[bool] = ()) -> Any:
        """Evaluate the function for `axis_size` trials along the last axis.

        Args:
          axis_size: number of trials.
          batched: for each leaf of the arguments, True if it has the batch axis.
          *args: arguments of the function.
          invariant: for each leaf, True if the enclosing loop never changes it; the default is False for all leaves.
            Values that depend only on invariant leaves get no barrier, so that XLA can move them out of the loop.

        Returns:
          The results, all with the batch axis.
        """
        results = _run(axis_size, *open_jaxpr(self.jaxpr), jax.tree.leaves(args), batched, invariant)
        leaves = [broadcast_batch(axis_size, *result) for result in results]
        return jax.tree.unflatten(jax.tree.structure(self.out), leaves)


# Primitive and location of the equations without a rule; they are recorded while this variable is a list.
_fallbacks: contextvars.ContextVar[list[tuple[str, str]] | None] = contextvars.ContextVar("fallbacks", default=None)


class VmapFallback(NamedTuple):
    """Equations of one primitive on one line of code that have no rule and run through `jax.vmap` or XLA's sort."""

    primitive: str
    count: int
    location: str  # file:line of the traced code; "" if it is not known


def explain(
    f: Callable[..., Any], *args: Any, in_axes: PyTree = -1, axis_size: int | None = None
) -> list[VmapFallback]:
    """Return the equations of a function for which `vmap_last` has no rule, starting with the most frequent.

    Equations that are as fast under `jax.vmap` are left out. If the list is empty, no equation loses speed.

    Args:
      f: function, as in `vmap_last`.
      *args: batched arguments of the function, or their `jax.ShapeDtypeStruct`s.
      in_axes: batch axes of the arguments, as in `vmap_last`.
      axis_size: length of the batch axis, as in `vmap_last`.
    """
    found: list[tuple[str, str]] = []
    token = _fallbacks.set(found)
    try:
        jax.eval_shape(vmap_last(f, in_axes, axis_size), *args)
    finally:
        _fallbacks.reset(token)
    return [VmapFallback(name, count, location) for (name, location), count in collections.Counter(found).most_common()]


def location(step: Step) -> str:
    """Return the file:line of the innermost code outside JAX from which a step was traced; "" if it is not known."""
    for eqn in (step.eqn, *reversed(step.calls)):
        traceback = getattr(eqn.source_info, "traceback", None)
        for frame in traceback.frames if traceback else ():
            if not {"jax", "jaxlib"} & set(Path(frame.file_name).parts) and Path(frame.file_name) != Path(__file__):
                return f"{Path(frame.file_name).name}:{frame.line_num}"
    return ""


_LAST_RULE = "vmap_last_rule"  # attribute of a batching rule


def def_vmap_last(function: custom_vmap) -> Callable[[Rule], Rule]:
    """Return a decorator that defines the batching rule of a `custom_vmap` function, with the batch axis last.

    It is like `def_vmap`, but the rule receives batched arguments and returns batched results with the batch axis last.
    `vmap_last` calls the rule directly; for `jax.vmap`, whose rules have the axis first, the axis is moved before and
    after the call.
    """

    def define(rule: Rule) -> Rule:
        @function.def_vmap
        def over_first(size: int, in_batched: PyTree, *args: Any) -> tuple[Any, Any]:
            args = jax.tree.map(lambda x, b: jnp.moveaxis(x, 0, -1) if b else x, args, tuple(in_batched))
            out, batched = rule(size, in_batched, *args)
            return jax.tree.map(lambda x, b: jnp.moveaxis(x, -1, 0) if b else x, out, batched), batched

        setattr(over_first, _LAST_RULE, rule)  # JAX copies the attributes of a rule to the rule in the jaxpr
        return rule

    return define


def _has_last_rule(eqn: JaxprEqn) -> bool:
    """Return True if an equation calls a function whose rule was defined by `def_vmap_last`."""
    return eqn.primitive.name == "custom_vmap_call" and hasattr(eqn.params["rule"], _LAST_RULE)


def _inner_jaxpr(eqn: JaxprEqn) -> Any | None:
    """Return the closed jaxpr whose equations replace a call, or None if the equation remains a step."""
    name = eqn.primitive.name
    closed: Jaxpr = eqn.params[CALLS[name]] if name in CALLS else None
    if name == "custom_jvp_call":
        return closed if _differentiates_itself(closed) else None
    return closed


def _differentiates_itself(closed: Jaxpr) -> bool:
    """Return True if a `custom_jvp_call` contains only a function of `batching.trials_last`, or its `jax.vmap`."""
    # `jax.vmap` adds transposes, which are ignored.
    inside = [eqn for eqn in open_jaxpr(closed)[0].eqns if eqn.primitive.name != "transpose"]
    if len(inside) != 1:
        return False
    (eqn,) = inside
    return _has_last_rule(eqn) or (eqn.primitive.name == "custom_jvp_call" and _inner_jaxpr(eqn) is not None)


def _run(
    size: int | None,
    jaxpr: Jaxpr,
    consts: Sequence[ArrayLike],
    args: Sequence[Any],
    batched: Sequence[bool],
    invariant: Sequence[bool] = (),
) -> list[FlaggedOperand]:
    """Evaluate a jaxpr with the batch axis last.

    Args:
      size: length of the batch axis. None: there is one trial and no batch axis; equations are bound unchanged, and
        `batched` flags the values that differ between calls and may get barriers.
      jaxpr: an open jaxpr.
      consts: constants of the jaxpr.
      args: arguments of the jaxpr.
      batched: for each argument, True if it has the batch axis.
      invariant: for each argument, True if the enclosing loop never changes it; () means False for all.

    Returns:
      The outputs, each with a flag that is True if it has the batch axis.
    """
    flat = without_negative_indices(flatten(jaxpr, consts, _inner_jaxpr))
    shared, constants = liveness.shared_values(flat, ELEMENTWISE), liveness.large_constants(flat)
    shared -= liveness.computed_from(flat, itertools.compress(flat.inputs, invariant))
    plans = {} if size is None else row_axes(flat, ELEMENTWISE)
    values: dict[int, FlaggedOperand] = {name: (x, False) for name, x in flat.constants.items()}
    values |= dict(zip(flat.inputs, zip(args, batched, strict=True), strict=True))
    pending: list[int] = []  # values that pass the next barrier together

    def place_barrier() -> None:
        leaves, structure = jax.tree.flatten([_slices(values[name][0]) for name in pending])
        behind = jax.tree.unflatten(structure, barrier(leaves))
        for name, slices in zip(pending, behind, strict=True):
            x, flag = values[name]
            values[name] = (Rows(tuple(slices), x.axis) if isinstance(x, Rows) else slices[0]), flag
        pending.clear()

    for step in flat.steps:
        if not set(pending).isdisjoint(step.inputs):
            place_barrier()
        args, flags = zip(*(values[name] for name in step.inputs), strict=True) if step.inputs else ((), ())
        fallbacks = _fallbacks.get()
        count = len(fallbacks or ())
        outputs = _apply(size, step.eqn, list(args), list(flags), plans.get(step.outputs[0]) if step.outputs else None)
        if fallbacks and len(fallbacks) > count:
            fallbacks[count:] = [(name, where or location(step)) for name, where in fallbacks[count:]]
        values |= zip(step.outputs, outputs, strict=True)
        for name in step.outputs:
            x, flag = values[name]
            if ((name in shared and flag) or name in constants) and not is_key(x):
                pending.append(name)
    place_barrier()
    return [(x.array() if isinstance(x, Rows) else x, b) for x, b in (values[name] for name in flat.outputs)]


def _slices(x: Operand) -> list[Operand]:
    return list(x.slices) if isinstance(x, Rows) else [x]


def _apply(
    size: int | None, eqn: JaxprEqn, args: list[Operand], batched: list[bool], plan: Any = None
) -> list[FlaggedOperand]:
    """Evaluate one equation by the rule of its primitive.

    Args:
      size: length of the batch axis; None: there is no batch axis.
      eqn: the equation.
      args: operands of the equation, arrays or `Rows`.
      batched: for each operand, True if it has the batch axis.
      plan: `RowPlan` of a product or `SortPlan` of a sort (`row_axes`); None: the result is an array.

    Returns:
      The results, each with a flag that is True if it has the batch axis.
    """
    name = eqn.primitive.name
    if size is not None and any(isinstance(x, Rows) for x in args):
        if name == "dot_general":
            results = dot_general(size, eqn, args, batched, plan)
        else:
            results = apply_to_rows(size, eqn, args, batched)
        if results is not None:
            return results
        args = [x.array() if isinstance(x, Rows) else x for x in args]
    if not any(batched):
        return [(x, False) for x in _outputs(eqn, bind_function(eqn)(*args))]
    if size is None:
        results = FUNCTION_RULES[name](_run, size, eqn, args, batched) if name in CONTROL_FLOW else None
        return results or [(x, True) for x in _outputs(eqn, bind_function(eqn)(*args))]
    results = _apply_rule(size, eqn, args, batched, plan)
    return _apply_with_moved_axis(size, eqn, args, batched) if results is None else results


def _apply_rule(
    size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool], plan: Any
) -> list[FlaggedOperand] | None:
    """Evaluate an equation with the batch axis last by its rule; return None if it has no rule."""
    name, params, bind = eqn.primitive.name, eqn.params, bind_function(eqn)
    if is_elementwise(eqn):
        rank = max(len(v.aval.shape) for v in eqn.invars)
        without_scalars = name in WITHOUT_SCALARS or (name == "clamp" and not batched[1])
        args = align_ranks(size, rank, args, batched, without_scalars=without_scalars)
        return [(x, True) for x in _outputs(eqn, bind(*args))]
    if _has_last_rule(eqn):
        (_, args), (_, flags) = (jax.tree.unflatten(params["in_tree"], leaves) for leaves in (args, batched))
        results = getattr(params["rule"], _LAST_RULE)(size, list(flags), *args)
        return list(zip(*map(jax.tree.leaves, results), strict=True))
    if name in _BARRIERS:
        return list(zip(bind(*args), batched, strict=True))
    if name == "dot_general":
        return dot_general(size, eqn, args, batched, plan)
    if name == "sort":
        return sort(size, eqn, args, batched, plan)
    if name in FUNCTION_RULES:
        return FUNCTION_RULES[name](_run, size, eqn, args, batched)
    return EQUATION_RULES[name](size, eqn, args, batched) if name in EQUATION_RULES else None


def _apply_with_moved_axis(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand]:
    """Evaluate an equation over its leading axes, by a rule for shapes, or else by JAX's `vmap`."""
    name, params, bind = eqn.primitive.name, eqn.params, bind_function(eqn)
    if name in LEADING_AXES:
        if name == "sort":  # XLA sorts the entries of one trial after another
            _note(name)
        args = [broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True)]
        return [(x, True) for x in _outputs(eqn, bind(*args))]
    if name in SHAPE_RULES and (batched[0] or name == "concatenate"):
        result = SHAPE_RULES[name](size, args, batched, params)
        if result is not None:
            return [(result, True)]
    if name == "call_hi_primitive":  # `jnp.searchsorted` and `jnp.frexp` of jax 0.12
        name = str(params["_prim"]).partition("[")[0]
    if name not in _WITHOUT_LOSS:
        _note(name)
    mapped = jax.vmap(bind, in_axes=[-1 if b else None for b in batched], out_axes=-1)
    return [(x, True) for x in _outputs(eqn, mapped(*args))]


def _note(name: str) -> None:
    """Record an equation without a rule for `explain`."""
    if (fallbacks := _fallbacks.get()) is not None:
        fallbacks.append((name, ""))


def _outputs(eqn: JaxprEqn, out: Any) -> list[Any]:
    return list(out) if eqn.primitive.multiple_results else [out]
