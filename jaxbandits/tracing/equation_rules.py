"""Rules of `vmap_last` for equations that hold no function: what each makes of operands with the batch axis last.

A rule takes the length of the batch axis, the equation, its operands and which of them are batched, and returns the
results and whether they are batched; None where it does not apply.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.tracing import batched_index, short_axes, small_solves
from jaxbandits.tracing.barrier import barrier, is_key
from jaxbandits.tracing.row_axes import KERNEL_TERMS, RowPlan, is_entry
from jaxbandits.tracing.short_axes import Rows
from jaxbandits.tracing.threefry import threefry

ENTRYWISE = frozenset(
    """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e bitcast_convert_type cbrt ceil
    clamp clz convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt
    igamma igammac integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not or
    polygamma population_count pow reduce_precision rem round rsqrt select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor zeta
    """.split()  # noqa: SIM905
)

# Their parameters name axes from the front, which stay where they are.
ALONG_LEADING_AXES = frozenset(
    """
    argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce_and reduce_max reduce_min reduce_or reduce_prod
    reduce_sum reduce_xor rev sort split squeeze
    """.split()  # noqa: SIM905
)

WITHOUT_SCALARS = ("select_n", "add_any")  # they take no scalar for an array


def broadcast_batch(size: Any, x: Any, batched: bool) -> jax.Array:
    """An array with the batch axis, of equal entries where it had none; as it is where there is no such axis."""
    return x if batched or size is None else jnp.broadcast_to(jnp.asarray(x)[..., None], (*jnp.shape(x), size))


def bind_function(eqn: Any) -> Callable[..., Any]:
    """An equation as a function."""
    bound = eqn.primitive.get_bind_params(eqn.params)
    subfuns, bound = bound if isinstance(bound, tuple) else ((), bound)  # a pair before jax 0.12
    return functools.partial(eqn.primitive.bind, *subfuns, **bound)


def align_ranks(size: Any, rank: int, args: list[Any], batched: list[bool], choice: bool) -> list[Any]:
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
    starts = [jnp.maximum(start, 0) for start in args[1:]]  # `lax` would count negative ones from the end once more
    zero = jnp.zeros((), args[1].dtype)
    return lax.dynamic_slice(args[0], (*starts, zero), (*params["slice_sizes"], size))


def _dynamic_update_slice(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    del params
    if any(batched[2:]):
        return None
    starts = [jnp.maximum(start, 0) for start in args[2:]]
    zero = jnp.zeros((), args[2].dtype)
    return lax.dynamic_update_slice(args[0], broadcast_batch(size, args[1], batched[1]), (*starts, zero))


def _concatenate(size: Any, args: list[Any], batched: list[bool], params: Any) -> Any:
    pieces = [broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True)]
    return (lax.concatenate if is_key(pieces[0]) else short_axes.concatenate)(pieces, params["dimension"])


def dot_general(size: Any, eqn: Any, args: list[Any], batched: list[bool], plan: RowPlan | None) -> list[Any] | None:
    """A product whose contraction is short, as arithmetic on whole rows of the batch."""
    del size
    axes = short_axes.Product(*eqn.params["dimension_numbers"])
    dtype = eqn.outvars[0].aval.dtype
    left, right = eqn.invars
    ndims = len(left.aval.shape), len(right.aval.shape)
    if any(isinstance(x, Rows) and x.dtype != dtype for x in args):
        return None
    x, y = (
        x if isinstance(x, Rows) else lax.convert_element_type(_open(x, b), dtype)
        for x, b in zip(args, batched, strict=True)
    )
    along = {axes.place(side, a.axis, ndims) for side, a in enumerate((x, y)) if isinstance(a, Rows)} - {None}
    if plan is not None:
        along.add(plan.axis)
    if len(along) > 1:
        return None
    found = short_axes.product(axes, x, y, ndims, next(iter(along), None))
    if isinstance(found, Rows):
        if plan is not None and plan.apart:
            found = Rows(tuple(barrier(found.slices)), found.axis)
        if found.slices[0].ndim == 1:
            found = found.array()
    return None if found is None else [(found, True)]


def _open(x: Any, batched: bool) -> jax.Array:
    """With an axis at the end, of length 1 where there was none."""
    return x if batched else jnp.asarray(x)[..., None]


_OPERATIONS = {
    "reduce_sum": lax.add, "reduce_prod": lax.mul, "reduce_max": lax.max, "reduce_min": lax.min,
    "reduce_and": lax.bitwise_and, "reduce_or": lax.bitwise_or, "reduce_xor": lax.bitwise_xor,
    "cumsum": lax.add, "cumprod": lax.mul, "cummax": lax.max, "cummin": lax.min,
}  # fmt: skip


def _reduced(operation: Callable[..., Any], x: jax.Array, axes: Sequence[int]) -> jax.Array | None:
    if not all(x.shape[axis] for axis in axes):
        return None
    terms = 1
    for axis in sorted(axes, reverse=True):
        terms *= x.shape[axis]
        if terms > KERNEL_TERMS:  # each entry of the next sum would repeat one of this
            (x,), terms = barrier([x]), x.shape[axis]
        x = short_axes.reduce(operation, x, axis)
    return x


def _reduce(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    del size, batched
    x = _reduced(_OPERATIONS[eqn.primitive.name], args[0], eqn.params["axes"])
    return None if x is None else [(x, True)]


def _cumulate(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    del size, batched
    (x,), axis = args, eqn.params["axis"]
    if not 1 <= x.shape[axis] <= short_axes.WRITTEN_OUT:
        return None
    return [(short_axes.cumulate(_OPERATIONS[eqn.primitive.name], x, axis, eqn.params["reverse"]), True)]


def _search(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any]:
    del size, batched
    better = short_axes.is_larger if eqn.primitive.name == "argmax" else short_axes.is_smaller
    (axis,) = eqn.params["axes"]
    return [(short_axes.argextreme(better, args[0], axis, eqn.params["index_dtype"]), True)]


def sort(size: Any, eqn: Any, args: list[Any], batched: list[bool], rows: RowPlan | None) -> list[Any] | None:
    """`sort` of a short axis, in `Rows` where those are wanted; None for a long one."""
    axis, operands = eqn.params["dimension"], [broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True)]
    if eqn.params["num_keys"] > 1 or not short_axes.is_short_sort(operands[0].shape[axis]):
        return None
    return [(x if rows else x.array(), True) for x in short_axes.sort(operands, axis)]


def _slice_of_own(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    x, *starts = args
    if not any(batched[1:]):
        return None
    sizes, open_x = eqn.params["slice_sizes"], _open(x, batched[0])
    cut = [axis for axis, k in enumerate(sizes) if k != open_x.shape[axis]]
    if not batched[0] and not all(batched_index.is_short(open_x.shape[axis], x.dtype) for axis in cut):
        return None  # one table for all trials: they read it where it stands
    x = batched_index.dynamic_slice(open_x, starts, sizes)
    return None if x is None else [(jnp.broadcast_to(x, (*x.shape[:-1], size)), True)]


def _update_of_own(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    del eqn
    x, update, *starts = args
    if not any(batched[2:]):
        return None
    x = batched_index.dynamic_update_slice(
        broadcast_batch(size, x, batched[0]), broadcast_batch(size, update, batched[1]), starts
    )
    return None if x is None else [(x, True)]


def _gather(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    x, index = args
    if not batched[1]:
        return [(batched_index.gather_everywhere(x, index, eqn.params), True)]
    if not batched[0] and batched_index.taken_axis(x[..., None], index, eqn.params) is None:
        return None
    return [(batched_index.gather(x if batched[0] else x[..., None], index, eqn.params), True)]


def is_small(name: str, x: Any, *axes: int) -> bool:
    """Whether a matrix of real numbers is small enough to be factored by hand, LAPACK taking one at a time."""
    return jnp.issubdtype(x.dtype, jnp.floating) and all(1 <= x.shape[k] <= small_solves.MAX_DIM[name] for k in axes)


def merge_batch(x: jax.Array, own: int) -> jax.Array:
    """`[..., n, m, W]` to `[n, m, B]`, of `own` axes of a problem's own; B is all others together."""
    moved = jnp.moveaxis(x, range(-own - 1, -1), range(own))
    return moved.reshape(*moved.shape[:own], -1)


def split_batch(x: jax.Array, own: int, batch: tuple[int, ...]) -> jax.Array:
    """The reverse, for batch axes of these lengths."""
    return jnp.moveaxis(x.reshape(*x.shape[:own], *batch), range(own), range(-own - 1, -1))


def batch_shape(matrix: jax.Array) -> tuple[int, ...]:
    """The lengths of the axes besides those of the matrix."""
    return (*matrix.shape[:-3], matrix.shape[-1])


def _cholesky(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    del size, eqn, batched
    (a,) = args
    if not is_small("cholesky", a, -2):
        return None
    return [(split_batch(small_solves.cholesky(merge_batch(a, 2)), 2, batch_shape(a)), True)]


def _triangular_solve(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    a, b = (broadcast_batch(size, x, flag) for x, flag in zip(args, batched, strict=True))
    if not is_small("triangular_solve", a, -2):
        return None
    x = small_solves.triangular_solve(merge_batch(a, 2), merge_batch(b, 2), **eqn.params)
    return [(split_batch(x, 2, batch_shape(a)), True)]


def _lu(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    del size, eqn, batched
    (a,) = args
    if not is_small("lu", a, -2, -3):
        return None
    factors, *indices = small_solves.lu(merge_batch(a, 2))
    return [(split_batch(x, own, batch_shape(a)), True) for x, own in zip((factors, *indices), (2, 1, 1), strict=True)]


def _scatter(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    if not batched[1]:
        return None
    target, index, update = (broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True))
    x = batched_index.scatter(eqn.primitive.name, target, index, update, eqn.params)
    return None if x is None else [(x, True)]


def _fold_in(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any]:
    """Keys and numbers `[..., W]`."""
    keys, numbers = (broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True))
    return [(bind_function(eqn)(keys, numbers), True)]


def _random_bits(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    """The bits that JAX draws by Threefry where the bits of an entry depend on its place alone, as is its default."""
    del size, batched
    (keys,), shape, width = args, eqn.params["shape"], eqn.params["bit_width"]
    if str(jax.random.key_impl(keys)) != "threefry2x32" or not jax.config.jax_threefry_partitionable:
        return None
    own = keys.ndim - 1
    places = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(*(1,) * own, *shape, 1)
    data = jax.random.key_data(keys)
    k0, k1 = (lax.expand_dims(data[..., k], range(own, own + len(shape))) for k in (0, 1))
    high, low = barrier(threefry(k0, k1, places))
    if width == 64:
        return [((high.astype(jnp.uint64) << 32) | low.astype(jnp.uint64), True)]
    return [((high ^ low).astype(eqn.outvars[0].aval.dtype), True)]


def apply_to_rows(size: Any, eqn: Any, args: list[Any], batched: list[bool]) -> list[Any] | None:
    """The equation slice by slice, None where it needs the arrays."""
    name, params = eqn.primitive.name, eqn.params
    first = next(x for x in args if isinstance(x, Rows))
    axis, count = first.axis, len(first.slices)
    if name in ENTRYWISE:
        rank = len(eqn.outvars[0].aval.shape)

        def part(x: Any, b: bool, k: int) -> Any:
            if isinstance(x, Rows):
                return x.slices[k]
            return short_axes.entry(jnp.asarray(x), axis, k) if jnp.ndim(x) - b == rank else x

        if any(isinstance(x, Rows) and x.axis != axis for x in args):
            return None
        bind = bind_function(eqn)
        slices = [
            bind(*align_ranks(size, rank - 1, [part(x, b, k) for x, b in zip(args, batched, strict=True)], batched,
                           name in WITHOUT_SCALARS))
            for k in range(count)
        ]  # fmt: skip
        return [(Rows(tuple(slices), axis), True)]
    if name == "slice" and is_entry(eqn, axis):
        (k,) = range(params["start_indices"][axis], params["limit_indices"][axis])
        return [(lax.expand_dims(first.slices[k], (axis,)), True)]
    if name == "transpose":
        order = [k for k in params["permutation"] if k != axis]
        inside = [k - (k > axis) for k in order]
        slices = tuple(lax.transpose(x, (*inside, len(inside))) for x in first.slices)
        return [(Rows(slices, params["permutation"].index(axis)), True)]
    if name == "reduce_sum":
        inside = [k - (k > axis) for k in params["axes"] if k != axis]
        sums = [_reduced(lax.add, x, inside) if inside else x for x in first.slices]
        slices = tuple(x for x in sums if x is not None)
        if len(slices) < count:  # an axis without entries
            return None
        if axis in params["axes"]:
            return [(short_axes.fold(lax.add, slices), True)]
        at = sum(k < axis and k not in params["axes"] for k in range(axis))
        return [(Rows(slices, at).array(), True)]
    return None


EQUATION_RULES: dict[str, Callable[..., list[Any] | None]] = {
    **dict.fromkeys(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"), _reduce),
    **dict.fromkeys(("reduce_and", "reduce_or", "reduce_xor"), _reduce),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), _cumulate),
    "argmax": _search,
    "argmin": _search,
    "dynamic_slice": _slice_of_own,
    "dynamic_update_slice": _update_of_own,
    "gather": _gather,
    **dict.fromkeys(("scatter", "scatter-add", "scatter_add", "scatter_sub"), _scatter),
    **dict.fromkeys(("scatter_mul", "scatter_min", "scatter_max"), _scatter),
    "random_fold_in": _fold_in,
    "random_bits": _random_bits,
    "cholesky": _cholesky,
    "triangular_solve": _triangular_solve,
    "lu": _lu,
}

SHAPE_RULES = {
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "transpose": _transpose,
    "slice": _slice,
    "pad": _pad,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
}
