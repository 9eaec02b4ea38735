"""`jax.vmap` that puts the batch axis last and keeps it there: how trials lie side by side in memory.

`jax.vmap(f, in_axes=-1, out_axes=-1)` only says where the axis is outside. Inside, JAX moves it to the front wherever
arrays of unequal rank meet, as in `scalar * vector`. Here the operations that work entry by entry, along leading axes
or on shapes keep it at the end, and so does what `scan`, loops and branches carry, unless their predicate differs from
trial to trial; any other operation goes through `jax.vmap`.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import eval_jaxpr
from jax.custom_batching import custom_vmap

Rule = Callable[..., tuple[Any, Any]]

_ENTRYWISE = frozenset(
    """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp clz
    convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt igamma
    igammac integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not or polygamma
    population_count pow reduce_precision rem round rsqrt select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor zeta
    """.split()  # noqa: SIM905
)
# Their parameters name axes from the front, which stay where they are.
_LEADING = frozenset(
    """
    argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce_and reduce_max reduce_min reduce_or reduce_prod
    reduce_sum reduce_xor rev split squeeze
    """.split()  # noqa: SIM905
)
_BARRIERS = ("optimization_barrier", "once")  # the latter is that of `core.fusion`
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}


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
        size = next((x.shape[-1] for x, b in zip(leaves, batched, strict=True) if b), axis_size)
        shapes = [jax.ShapeDtypeStruct(x.shape[:-1], x.dtype) if b else x for x, b in zip(leaves, batched, strict=True)]
        return Recorded.of(f, *jax.tree.unflatten(structure, shapes)).over(size, batched, *args)

    return mapped


@dataclasses.dataclass(frozen=True, eq=False)
class Recorded:
    """A function as JAX traced it, once: programs for any number of trials are made of it without another trace."""

    jaxpr: Any  # closed
    out: Any  # ShapeDtypeStructs of what it returns

    @classmethod
    def of(cls, f: Callable[..., Any], *args: Any) -> "Recorded":
        """For arguments like these, of which shapes and types count."""
        return cls(*jax.make_jaxpr(f, return_shape=True)(*args))

    def __call__(self, *args: Any) -> Any:
        """What the function returns."""
        results = eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(self.out), results)

    def over(self, axis_size: Any, batched: Sequence[bool], *args: Any) -> Any:
        """The same, batched along the last axis of all results and of those leaves of the arguments that say so."""
        results = _run(axis_size, self.jaxpr.jaxpr, self.jaxpr.consts, jax.tree.leaves(args), batched)
        return jax.tree.unflatten(jax.tree.structure(self.out), [_full(axis_size, *result) for result in results])


def rule_at_end(function: custom_vmap) -> Callable[[Rule], Rule]:
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

    axes: list[int | None] = []
    jax.tree.map(lambda axis, part: axes.extend([axis] * len(jax.tree.leaves(part))), in_axes, args, is_leaf=is_none)
    return axes


def _full(size: Any, x: Any, batched: bool) -> jax.Array:
    return x if batched else jnp.broadcast_to(jnp.asarray(x)[..., None], (*jnp.shape(x), size))


def _run(size: Any, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """The outputs of a jaxpr and whether they are batched."""
    known = dict(zip(jaxpr.constvars, ((x, False) for x in consts), strict=True))
    known |= dict(zip(jaxpr.invars, zip(args, batched, strict=True), strict=True))

    def read(atom: Any) -> tuple[Any, bool]:
        return (atom.val, False) if hasattr(atom, "val") else known[atom]

    for eqn in jaxpr.eqns:
        inputs = [read(atom) for atom in eqn.invars]
        outputs = _apply(size, eqn, [x for x, _ in inputs], [b for _, b in inputs])
        known |= dict(zip(eqn.outvars, outputs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _apply(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any]:
    name, params = eqn.primitive.name, eqn.params
    if name in _CALLS and (any(batched) or name != "custom_jvp_call"):
        called = params[_CALLS[name]]
        return _run(size, called.jaxpr, called.consts, args, batched)
    bound = eqn.primitive.get_bind_params(params)
    subfuns, bound = bound if isinstance(bound, tuple) else ((), bound)  # a pair before jax 0.12
    bind = functools.partial(eqn.primitive.bind, *subfuns, **bound)
    if not any(batched):
        return [(x, False) for x in _many(eqn, bind(*args))]
    if name in _ENTRYWISE:
        rank = max(len(v.aval.shape) for v in eqn.invars)
        return [(x, True) for x in _many(eqn, bind(*_aligned(size, rank, args, batched, name == "select_n")))]
    if name in _LEADING:
        return [(x, True) for x in _many(eqn, bind(*args))]
    if name == "custom_vmap_call" and hasattr(params["rule"], _AT_END):
        (_, args), (_, flags) = (jax.tree.unflatten(params["in_tree"], leaves) for leaves in (args, batched))
        results = getattr(params["rule"], _AT_END)(size, list(flags), *args)
        return list(zip(*map(jax.tree.leaves, results), strict=True))
    if name in _BARRIERS:
        return list(zip(bind(*args), batched, strict=True))
    if name in _CONTROL:
        results = _CONTROL[name](size, eqn, args, batched)
        if results is not None:
            return results
    if name in _SHAPED and (batched[0] or name == "concatenate"):
        changed = _SHAPED[name](size, args, batched, params)
        if changed is not None:
            return [(changed, True)]
    mapped = jax.vmap(bind, in_axes=[-1 if b else None for b in batched], out_axes=-1)
    return [(x, True) for x in _many(eqn, mapped(*args))]


def _many(eqn: Any, out: Any) -> list[Any]:
    return list(out) if eqn.primitive.multiple_results else [out]


def _aligned(size: Any, rank: int, args: list[Any], batched: list[bool], choice: bool) -> list[Any]:
    """Operands of equal shape: scalars that differ between trials, and arrays that do not, get the missing axes.

    A `choice` takes no scalar between arrays.
    """
    own = [jnp.shape(x)[: jnp.ndim(x) - b] for x, b in zip(args, batched, strict=True)]
    shape = np.broadcast_shapes(*(s for s in own if len(s) == rank))  # lax stretches sides of length 1
    full = (*shape, size)

    def align(x: Any, batched: bool) -> Any:
        ndim = jnp.ndim(x)
        if ndim == 0 and not batched and not choice:
            return x  # lax takes a scalar for an array of any shape
        if batched:
            return x if ndim == rank + 1 else lax.broadcast_in_dim(x, full, (rank,))
        return lax.broadcast_in_dim(x, full, tuple(range(ndim)))

    return [align(x, b) for x, b in zip(args, batched, strict=True)]


def _broadcast(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    del batched
    shape, dims = params["shape"], params["broadcast_dimensions"]
    return lax.broadcast_in_dim(args[0], (*shape, size), (*dims, len(shape)))


def _reshape(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    del batched
    return None if params.get("dimensions") is not None else lax.reshape(args[0], (*params["new_sizes"], size))


def _transpose(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    del size, batched
    return lax.transpose(args[0], (*params["permutation"], len(params["permutation"])))


def _slice(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    del batched
    strides = params["strides"]
    return lax.slice(
        args[0],
        (*params["start_indices"], 0),
        (*params["limit_indices"], size),
        None if strides is None else (*strides, 1),
    )


def _pad(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    del size
    return None if batched[1] else lax.pad(args[0], args[1], (*params["padding_config"], (0, 0, 0)))


def _dynamic_slice(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    if any(batched[1:]):
        return None
    zero = jnp.zeros((), args[1].dtype)
    return lax.dynamic_slice(args[0], (*args[1:], zero), (*params["slice_sizes"], size))


def _dynamic_update_slice(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    del params
    if any(batched[2:]):
        return None
    zero = jnp.zeros((), args[2].dtype)
    return lax.dynamic_update_slice(args[0], _full(size, args[1], batched[1]), (*args[2:], zero))


def _concatenate(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    return lax.concatenate([_full(size, x, b) for x, b in zip(args, batched, strict=True)], params["dimension"])


def _all_full(size: Any, results: list[tuple[Any, bool]]) -> list[Any]:
    return [_full(size, *result) for result in results]


def _scan(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any]:
    body, params = eqn.params["jaxpr"], eqn.params
    # How many of each there are is a matter of shapes; the parameters that say so changed in jax 0.12.
    n = sum(len(a.aval.shape) == len(b.aval.shape) for a, b in zip(eqn.outvars, body.jaxpr.outvars, strict=True))
    n_rows = sum(len(a.aval.shape) > len(b.aval.shape) for a, b in zip(eqn.invars, body.jaxpr.invars, strict=True))
    first = len(args) - n - n_rows
    consts, rows = args[:first], args[first + n :]  # rows `[T, ..., W]`
    start = _all_full(size, list(zip(args[first : first + n], batched[first : first + n], strict=True)))
    flags = [*batched[:first], *(True for _ in start), *batched[first + n :]]

    def step(now: Any, row: Any) -> tuple[Any, Any]:
        out = _all_full(size, _run(size, body.jaxpr, body.consts, [*consts, *now, *row], flags))
        return out[:n], out[n:]

    last, outputs = lax.scan(
        step, start, rows, length=params["length"], reverse=params["reverse"], unroll=params["unroll"]
    )
    return [(x, True) for x in (*last, *outputs)]


def _while(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    """None: the predicate differs from trial to trial."""
    params = eqn.params
    moving, step = params["cond_jaxpr"], params["body_jaxpr"]
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    for_moving, for_step, start = args[:first], args[first:second], args[second:]

    def after(flags: list[bool], now: Any) -> list[tuple[Any, bool]]:
        return _run(size, step.jaxpr, step.consts, [*for_step, *now], [*batched[first:second], *flags])

    flags, grown = batched[second:], None
    while grown != flags:  # what a step makes of it is batched, too
        flags, found = grown or flags, []
        now = [_full(size, x, b) if flag else x for x, b, flag in zip(start, batched[second:], flags, strict=True)]
        jax.eval_shape(lambda *now, to=found, flags=flags: to.extend(b for _, b in after(flags, now)), *now)
        grown = [a or b for a, b in zip(flags, found, strict=True)]

    def moves(now: Any) -> tuple[Any, bool]:
        return _run(size, moving.jaxpr, moving.consts, [*for_moving, *now], [*batched[:first], *flags])[0]

    found = []
    jax.eval_shape(lambda *now: found.append(moves(now)[1]), *now)
    if found[0]:
        return None

    def stepped(now: Any) -> list[Any]:
        return [_full(size, x, b) if flag else x for (x, b), flag in zip(after(flags, now), flags, strict=True)]

    return list(zip(lax.while_loop(lambda now: moves(now)[0], stepped, now), flags, strict=True))


def _cond(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    """None: trials take different branches."""
    if batched[0]:
        return None

    def branch(closed: Any) -> Callable[..., list[Any]]:
        return lambda *operands: _all_full(size, _run(size, closed.jaxpr, closed.consts, operands, batched[1:]))

    return [(x, True) for x in lax.switch(args[0], [branch(closed) for closed in eqn.params["branches"]], *args[1:])]


_CONTROL = {"scan": _scan, "while": _while, "cond": _cond}
_SHAPED = {
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "transpose": _transpose,
    "slice": _slice,
    "pad": _pad,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
}
