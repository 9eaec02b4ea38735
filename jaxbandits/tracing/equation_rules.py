"""Rules of `vmap_last` for products, reductions, indexing, sorting, factorisations and random numbers.

A rule evaluates one equation on operands with the batch axis last. It takes the length of the batch axis, the equation,
its operands and, for each operand, a flag that is True if it has the batch axis. It returns the results with such
flags, or None if it is not applicable. Rules for equations that contain jaxprs are in `tracing.function_rules`.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.tracing import batched_index, short_axes, short_sorts, small_solves
from jaxbandits.tracing.barrier import barrier, is_key
from jaxbandits.tracing.jax_compat import JaxprEqn
from jaxbandits.tracing.row_axes import KERNEL_TERMS, RowPlan, is_entry
from jaxbandits.tracing.shape_rules import WITHOUT_SCALARS, align_ranks, broadcast_batch
from jaxbandits.tracing.short_axes import FlaggedOperand, Operand, Rows
from jaxbandits.tracing.short_sorts import SortPlan
from jaxbandits.tracing.threefry import threefry

ELEMENTWISE = frozenset(
    """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e bitcast_convert_type cbrt ceil
    clamp clz convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt
    igamma igammac integer_pow is_finite le lgamma log log1p logistic lt max min mul ne neg nextafter not or
    polygamma polynomial population_count pow reduce_precision regularized_incomplete_beta rem round rsqrt select_n
    shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor
    zeta
    """.split()  # noqa: SIM905
)

# Primitives whose parameters count axes from the front, so that a batch axis at the end changes nothing.
LEADING_AXES = frozenset(
    """
    argmax argmin cumlogsumexp cummax cummin cumprod cumsum reduce_and reduce_max reduce_min reduce_or reduce_prod
    reduce_sum reduce_xor rev sort split squeeze
    """.split()  # noqa: SIM905
)


def is_elementwise(eqn: JaxprEqn) -> bool:
    """Return True if an equation is elementwise; a bitcast to numbers of another size adds or removes an axis."""
    rank = max((len(variable.aval.shape) for variable in eqn.invars), default=0)
    return eqn.primitive.name in ELEMENTWISE and len(eqn.outvars[0].aval.shape) == rank


def bind_function(eqn: JaxprEqn) -> Callable[..., Any]:
    """Return the function that evaluates an equation on given operands."""
    bound = eqn.primitive.get_bind_params(eqn.params)
    subfuns, bound = bound if isinstance(bound, tuple) else ((), bound)  # jax < 0.12 returns a pair
    return functools.partial(eqn.primitive.bind, *subfuns, **bound)


def dot_general(
    size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool], plan: RowPlan | None
) -> list[FlaggedOperand] | None:
    """Evaluate a matrix product with a short contraction as sums of elementwise products.

    Args:
      size: length of the batch axis.
      eqn: the equation.
      args: operands of the equation, arrays or `Rows`.
      batched: for each operand, True if it has the batch axis.
      plan: layout of the result as `Rows`; None: the result is an array, unless an operand has rows along an axis of
        the result.

    Returns:
      The result with its batch flag; None if the contraction is too long, or rows lie along several axes.
    """
    del size
    axes = short_axes.Product(*eqn.params["dimension_numbers"])
    dtype = eqn.outvars[0].aval.dtype
    left, right = eqn.invars
    ndims = len(left.aval.shape), len(right.aval.shape)
    if any(isinstance(x, Rows) and x.dtype != dtype for x in args):
        return None
    x, y = (
        x if isinstance(x, Rows) else lax.convert_element_type(_append_axis(x, b), dtype)
        for x, b in zip(args, batched, strict=True)
    )
    along = {axes.place(side, a.axis, ndims) for side, a in enumerate((x, y)) if isinstance(a, Rows)} - {None}
    if plan is not None:
        along.add(plan.axis)
    if len(along) > 1:
        return None
    result = short_axes.product(axes, x, y, ndims, next(iter(along), None))
    if isinstance(result, Rows):
        if plan is not None and plan.separate_kernels:
            result = Rows(tuple(barrier(result.slices)), result.axis)
        if result.slices[0].ndim == 1:
            result = result.array()
    return None if result is None else [(result, True)]


def _append_axis(x: Operand, batched: bool) -> jax.Array:
    """Return an array with a batch axis, of length 1 if it had none."""
    return x if batched else jnp.asarray(x)[..., None]


_OPERATIONS = {
    "reduce_sum": lax.add,
    "reduce_prod": lax.mul,
    "reduce_max": lax.max,
    "reduce_min": lax.min,
    "reduce_and": lax.bitwise_and,
    "reduce_or": lax.bitwise_or,
    "reduce_xor": lax.bitwise_xor,
    "cumsum": lax.add,
    "cumprod": lax.mul,
    "cummax": lax.max,
    "cummin": lax.min,
}


def _reduce_axes(operation: Callable[..., Any], x: jax.Array, axes: Sequence[int]) -> jax.Array | None:
    """Reduce over axes, starting with the last one; return None if an axis has length 0."""
    if not all(x.shape[axis] for axis in axes):
        return None
    terms = 1
    for axis in sorted(axes, reverse=True):
        terms *= x.shape[axis]
        if terms > KERNEL_TERMS:  # otherwise each entry of the next sum would recompute this one
            (x,), terms = barrier([x]), x.shape[axis]
        x = short_axes.reduce(operation, x, axis)
    return x


def _reduce(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    del size, batched
    x = _reduce_axes(_OPERATIONS[eqn.primitive.name], args[0], eqn.params["axes"])
    return None if x is None else [(x, True)]


def _cumulate(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    del size, batched
    (x,), axis = args, eqn.params["axis"]
    if not 1 <= x.shape[axis] <= short_axes.WRITTEN_OUT:
        return None
    return [(short_axes.cumulate(_OPERATIONS[eqn.primitive.name], x, axis, eqn.params["reverse"]), True)]


def _search(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand]:
    del size, batched
    better = short_axes.is_larger if eqn.primitive.name == "argmax" else short_axes.is_smaller
    (axis,) = eqn.params["axes"]
    return [(short_axes.argextreme(better, args[0], axis, eqn.params["index_dtype"]), True)]


def sort(
    size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool], plan: SortPlan
) -> list[FlaggedOperand] | None:
    """Sort along a short axis by one key, according to a plan; return None for long axes and several keys."""
    operands = [broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True)]
    if eqn.params["num_keys"] > 1:
        return None
    results = short_sorts.sort(operands, eqn.params["dimension"], eqn.params["is_stable"], plan)
    return None if results is None else [(x, True) for x in results]


def _top_k(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    del size, batched
    results = short_sorts.top_k(args[0], eqn.params.get("axis", args[0].ndim - 2), eqn.params["k"])
    return None if results is None else [(x, True) for x in results]


def _stack(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand]:
    arrays, axis = [broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True)], eqn.params["axis"]
    if is_key(arrays[0]):
        return [(lax.concatenate([lax.expand_dims(x, (axis,)) for x in arrays], axis), True)]
    return [(short_axes.stack(arrays, axis), True)]


def _unstack(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand]:
    del size, batched
    return [(x, True) for x in short_axes.entries(args[0], eqn.params["axis"])]


def _batched_slice(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    x, *starts = args
    if not any(batched[1:]):
        return None
    sizes, array = eqn.params["slice_sizes"], _append_axis(x, batched[0])
    cut = [axis for axis, k in enumerate(sizes) if k != array.shape[axis]]
    if not batched[0] and not all(batched_index.is_short(array.shape[axis], x.dtype) for axis in cut):
        return None  # if all trials share a long table, a gather is faster
    x = batched_index.dynamic_slice(array, starts, sizes)
    return None if x is None else [(jnp.broadcast_to(x, (*x.shape[:-1], size)), True)]


def _batched_update(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    del eqn
    x, update, *starts = args
    if not any(batched[2:]):
        return None
    x = batched_index.dynamic_update_slice(
        broadcast_batch(size, x, batched[0]), broadcast_batch(size, update, batched[1]), starts
    )
    return None if x is None else [(x, True)]


def _gather(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    x, index = args
    if not batched[1]:
        return [(batched_index.gather_common(x, index, eqn.params), True)]
    if not batched[0] and batched_index.short_gather_axis(x[..., None], eqn.params) is None:
        return None
    return [(batched_index.gather(x if batched[0] else x[..., None], index, eqn.params), True)]


def _bitcast(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand]:
    """Convert bits to numbers of another size, which are along the last axis, with the batch axis in front."""
    del size, batched
    result = bind_function(eqn)(jnp.moveaxis(args[0], -1, 0))
    return [(jnp.moveaxis(result, 0, -1), True)]


def is_small(name: str, x: Operand, *axes: int) -> bool:
    """Return True if a matrix is real and small enough for `small_solves`, which replaces LAPACK calls per trial.

    Args:
      name: name of the primitive.
      x: matrix, or a stack of matrices.
      *axes: axes of x whose lengths must not exceed the limit.
    """
    return jnp.issubdtype(x.dtype, jnp.floating) and all(1 <= x.shape[k] <= small_solves.MAX_DIM[name] for k in axes)


def merge_batch(x: jax.Array, ndim: int) -> jax.Array:
    """Reshape `[..., n, m, W]` to `[n, m, B]`: all axes except the `ndim` before the last are merged into B."""
    moved = jnp.moveaxis(x, range(-ndim - 1, -1), range(ndim))
    return moved.reshape(*moved.shape[:ndim], -1)


def split_batch(x: jax.Array, ndim: int, batch: tuple[int, ...]) -> jax.Array:
    """Invert `merge_batch`: split the last axis B of an array into axes of the lengths `batch`."""
    return jnp.moveaxis(x.reshape(*x.shape[:ndim], *batch), range(ndim), range(-ndim - 1, -1))


def batch_shape(matrix: jax.Array) -> tuple[int, ...]:
    """Return the lengths of the batch axes of matrices `[..., n, m, W]`."""
    return (*matrix.shape[:-3], matrix.shape[-1])


def _cholesky(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    del size, eqn, batched
    (a,) = args
    if not is_small("cholesky", a, -2):
        return None
    return [(split_batch(small_solves.cholesky(merge_batch(a, 2)), 2, batch_shape(a)), True)]


def _triangular_solve(
    size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]
) -> list[FlaggedOperand] | None:
    a, b = (broadcast_batch(size, x, flag) for x, flag in zip(args, batched, strict=True))
    if not is_small("triangular_solve", a, -2):
        return None
    x = small_solves.triangular_solve(merge_batch(a, 2), merge_batch(b, 2), **eqn.params)
    return [(split_batch(x, 2, batch_shape(a)), True)]


def _lu(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    del size, eqn, batched
    (a,) = args
    if not is_small("lu", a, -2, -3):
        return None
    factors, pivots, permutation = small_solves.lu(merge_batch(a, 2))
    results = ((factors, 2), (pivots, 1), (permutation, 1))  # with the number of axes before the batch axis
    return [(split_batch(x, ndim, batch_shape(a)), True) for x, ndim in results]


def _scatter(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    if not batched[1]:
        return None
    target, index, update = (broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True))
    x = batched_index.scatter(eqn.primitive.name, target, index, update, eqn.params)
    return None if x is None else [(x, True)]


def _fold_in(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand]:
    keys, numbers = (broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True))
    return [(bind_function(eqn)(keys, numbers), True)]


def _random_bits(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    """Draw the bits of `jax.random.bits` if JAX uses partitionable Threefry (its default); else return None.

    In the partitionable form the bits of an entry depend only on its index.
    """
    del size, batched
    blocks, width = _threefry_blocks(args[0], eqn.params["shape"]), eqn.params["bit_width"]
    if blocks is None:
        return None
    high, low = blocks
    if width == 64:
        return [((high.astype(jnp.uint64) << 32) | low.astype(jnp.uint64), True)]
    return [((high ^ low).astype(eqn.outvars[0].aval.dtype), True)]


def _random_split(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    """Split keys as `jax.random.split` does, if JAX uses partitionable Threefry (its default); else return None."""
    del size, batched
    blocks = _threefry_blocks(args[0], eqn.params["shape"])
    return None if blocks is None else [(jax.random.wrap_key_data(jnp.stack(blocks, -1), impl="threefry2x32"), True)]


def _threefry_blocks(keys: jax.Array, shape: tuple[int, ...]) -> tuple[jax.Array, jax.Array] | None:
    """Return two arrays `[..., *shape, W]` of words, a block per entry, for keys `[..., W]`; None if not applicable."""
    if str(jax.random.key_impl(keys)) != "threefry2x32" or not jax.config.jax_threefry_partitionable:
        return None
    ndim = keys.ndim - 1
    counters = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(*(1,) * ndim, *shape, 1)
    data = jax.random.key_data(keys)
    k0, k1 = (lax.expand_dims(data[..., k], range(ndim, ndim + len(shape))) for k in (0, 1))
    return barrier(threefry(k0, k1, counters))


def apply_to_rows(size: int, eqn: JaxprEqn, args: list[Operand], batched: list[bool]) -> list[FlaggedOperand] | None:
    """Evaluate an equation with `Rows` among its operands row by row; return None if it needs whole arrays."""
    name, params = eqn.primitive.name, eqn.params
    first = next(x for x in args if isinstance(x, Rows))
    axis, count = first.axis, len(first.slices)
    if is_elementwise(eqn):
        shape = eqn.outvars[0].aval.shape
        rank = len(shape)

        def row(x: Operand, b: bool, k: int) -> Any:
            if isinstance(x, Rows):
                return x.slices[k]
            if jnp.ndim(x) - b != rank:
                return x
            # An axis of length 1 is broadcast: newer JAX has such operands in `x @ weight + bias`.
            return short_axes.entry(jnp.asarray(x), axis, 0 if jnp.shape(x)[axis] == 1 else k)

        if any(isinstance(x, Rows) and (x.axis != axis or len(x.slices) != shape[axis]) for x in args):
            return None
        bind = bind_function(eqn)
        slices = [
            bind(
                *align_ranks(
                    size,
                    rank - 1,
                    [row(x, b, k) for x, b in zip(args, batched, strict=True)],
                    batched,
                    name in WITHOUT_SCALARS,
                )
            )
            for k in range(count)
        ]
        return [(Rows(tuple(slices), axis), True)]
    if name == "slice" and is_entry(eqn, axis):
        (k,) = range(params["start_indices"][axis], params["limit_indices"][axis])
        return [(lax.expand_dims(first.slices[k], (axis,)), True)]
    if name == "transpose":
        order = [k - (k > axis) for k in params["permutation"] if k != axis]  # permutation of the axes of a row
        slices = tuple(lax.transpose(x, (*order, len(order))) for x in first.slices)
        return [(Rows(slices, params["permutation"].index(axis)), True)]
    if name == "reduce_sum":
        axes = [k - (k > axis) for k in params["axes"] if k != axis]  # axes of a row
        sums = [_reduce_axes(lax.add, x, axes) if axes else x for x in first.slices]
        slices = tuple(x for x in sums if x is not None)
        if len(slices) < count:  # an axis without entries
            return None
        if axis in params["axes"]:
            return [(short_axes.fold(lax.add, slices), True)]
        remaining = sum(k not in params["axes"] for k in range(axis))
        return [(Rows(slices, remaining).array(), True)]
    return None


EQUATION_RULES: dict[str, Callable[..., list[Any] | None]] = {
    **dict.fromkeys(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"), _reduce),
    **dict.fromkeys(("reduce_and", "reduce_or", "reduce_xor"), _reduce),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), _cumulate),
    "bitcast_convert_type": _bitcast,
    "argmax": _search,
    "argmin": _search,
    "top_k": _top_k,
    "stack": _stack,
    "unstack": _unstack,
    "dynamic_slice": _batched_slice,
    "dynamic_update_slice": _batched_update,
    "gather": _gather,
    **dict.fromkeys(("scatter", "scatter-add", "scatter_add", "scatter_sub"), _scatter),
    **dict.fromkeys(("scatter_mul", "scatter_min", "scatter_max"), _scatter),
    "random_fold_in": _fold_in,
    "random_bits": _random_bits,
    "random_split": _random_split,
    "cholesky": _cholesky,
    "triangular_solve": _triangular_solve,
    "lu": _lu,
}
