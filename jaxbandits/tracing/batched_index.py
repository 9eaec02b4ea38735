"""Gathers, scatters and dynamic slices whose index differs between trials, with the batch axis last.

On a CPU a gather costs a few nanoseconds per trial and is not vectorised. Along a short axis, all entries are read
instead, and selects keep the entry at the index; each select is one vectorised pass over the trials.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.jax_compat import Params

# Largest axis, in bytes, along which selects are faster than a gather; measured for 5 to 100 arms and d from 2 to 10.
SELECTED_BYTES = 96
WRITTEN = 64  # largest number of entries of an axis along which a write compares the index with all entries


def is_short(length: int, dtype: np.dtype) -> bool:
    """Return True if an axis is short enough to be read by selects over all its entries."""
    return length * dtype.itemsize <= SELECTED_BYTES


def take(x: jax.Array, index: jax.Array, axis: int) -> jax.Array:
    """Return the entries of `x` `[..., n, ..., W]` at `index` `[W]` along an axis; the indices must be in range."""
    result, *others = (lax.index_in_dim(x, k, axis, keepdims=False) for k in range(x.shape[axis]))
    for k, entry in enumerate(others, 1):
        result = jnp.where(index == k, entry, result)
    return result


def dynamic_slice(x: jax.Array, starts: list[jax.Array], sizes: tuple[int, ...]) -> jax.Array | None:
    """Compute `lax.dynamic_slice` of `x` `[..., W]`, where each start is `[W]` or `[]`.

    Returns:
      The slice; None if it has more than one entry along an axis whose start differs between trials.
    """
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        n = x.shape[axis]
        if n == size:
            continue
        if start.dtype.itemsize < 4:  # whose numbers may end before n
            start = start.astype(jnp.int32)
        start = jnp.clip(start, 0, n - size)
        if start.ndim == 0:
            x = lax.dynamic_slice_in_dim(x, start, size, axis)
        elif size != 1:
            return None
        elif is_short(n, x.dtype):
            x = lax.expand_dims(barrier([take(x, start, axis)])[0], (axis,))
        else:
            width = jnp.broadcast_shapes(x.shape[-1:], start.shape)
            x = jnp.broadcast_to(x, (*x.shape[:-1], *width))
            index = start.reshape(*(1,) * (x.ndim - 1), -1)
            entry = jnp.take_along_axis(x, index, axis=axis, mode="promise_in_bounds")
            x = lax.expand_dims(barrier([lax.squeeze(entry, (axis,))])[0], (axis,))
    return x


def dynamic_update_slice(x: jax.Array, update: jax.Array, starts: list[jax.Array]) -> jax.Array | None:
    """Compute `lax.dynamic_update_slice` of `x` `[..., W]` by selects.

    Returns:
      The updated array. None if the update is too large for selects: along every axis it must cover the whole axis,
      or one entry of an axis with at most `WRITTEN` entries.
    """
    is_updated: Any = True
    for axis, start in enumerate(starts):
        n, size = x.shape[axis], update.shape[axis]
        if n == size:
            continue
        if size != 1 or n > WRITTEN:
            return None
        indices = lax.broadcasted_iota(start.dtype, x.shape, axis)
        is_updated = is_updated & (indices == jnp.clip(start, 0, n - 1))
    return jnp.broadcast_to(update, x.shape) if is_updated is True else jnp.where(is_updated, update, x)


def gather_common(x: jax.Array, index: jax.Array, params: Params) -> jax.Array:
    """Compute `lax.gather` of `x` `[..., W]` at an index `[..., k]` that is the same for all trials."""
    dims = params["dimension_numbers"]
    dims = dims._replace(offset_dims=(*dims.offset_dims, index.ndim - 1 + len(dims.offset_dims)))
    sizes = (*params["slice_sizes"], x.shape[-1])
    return lax.gather(x, index, dims, sizes, **{k: params[k] for k in ("unique_indices", "mode", "fill_value")})


def gather(x: jax.Array, index: jax.Array, params: Params) -> jax.Array:
    """Compute `lax.gather` of `x` `[..., W]` at an index `[..., k, W]`; `params` are those of the gather equation."""
    dims = params["dimension_numbers"]
    axis = short_gather_axis(x, params)
    if axis is not None:
        return _take_many(x, index[..., 0, :], axis, dims, params)
    dims = lax.GatherDimensionNumbers(
        offset_dims=dims.offset_dims,
        collapsed_slice_dims=dims.collapsed_slice_dims,
        start_index_map=dims.start_index_map,
        operand_batching_dims=(*dims.operand_batching_dims, x.ndim - 1),
        start_indices_batching_dims=(*dims.start_indices_batching_dims, index.ndim - 2),
    )
    return lax.gather(
        x,
        jnp.swapaxes(index, -1, -2),
        dims,
        (*params["slice_sizes"], 1),
        unique_indices=params["unique_indices"],
        mode=params["mode"],
        fill_value=params["fill_value"],
    )


def short_gather_axis(x: jax.Array, params: Params) -> int | None:
    """Return the short axis of `x[..., W]` along which a gather takes whole slices; None if there is no such axis."""
    dims, sizes = params["dimension_numbers"], params["slice_sizes"]
    if len(dims.collapsed_slice_dims) != 1 or dims.start_index_map != dims.collapsed_slice_dims:
        return None
    (axis,) = dims.collapsed_slice_dims
    whole = all(sizes[k] == x.shape[k] for k in range(x.ndim - 1) if k not in (axis, *dims.operand_batching_dims))
    fill = params["fill_value"]
    fills = jnp.issubdtype(x.dtype, jnp.inexact) and (
        fill is None or bool(np.isnan(fill))
    )  # `_take_many` fills with NaN
    is_supported = params["mode"] != lax.GatherScatterMode.FILL_OR_DROP or fills
    return axis if whole and is_supported and x.shape[axis] > 0 and is_short(x.shape[axis], x.dtype) else None


def _take_many(x: jax.Array, index: jax.Array, axis: int, dims: Any, params: Params) -> jax.Array:
    """Take slices along a short axis at `index[..., W]`, with the dimension numbers of the gather."""
    n, offsets = x.shape[axis], dims.offset_dims
    rank = index.ndim - 1 + len(offsets)
    inside = (index >= 0) & (index < n)
    index_axes = [k for k in range(rank) if k not in offsets]
    # The axis of the result for each axis of a slice: the axis of the paired index axis, or an offset axis.
    pairs = zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True)
    paired = {batch: index_axes[place] for batch, place in pairs}
    rest = iter(offsets)
    slice_axes = [paired[k] if k in paired else next(rest) for k in range(x.ndim - 1) if k != axis]

    def expand(a: jax.Array, axes: list[int]) -> jax.Array:
        """Move the axes of an array to the given axes of the result, with length 1 along the others."""
        order = sorted(range(len(axes)), key=axes.__getitem__)
        a = a if order == list(range(len(axes))) else jnp.transpose(a, (*order, len(axes)))
        return lax.expand_dims(a, [k for k in range(rank) if k not in axes])

    index, inside = expand(index, index_axes), expand(inside, index_axes)
    slices = [expand(lax.index_in_dim(x, k, axis, keepdims=False), slice_axes) for k in range(n)]
    result, *others = slices
    result = jnp.broadcast_to(result, jnp.broadcast_shapes(result.shape, index.shape))
    for k, entry in enumerate(others, 1):
        result = jnp.where(index >= k, entry, result)  # not ==, so that indices out of range are clipped, as in JAX
    if params["mode"] == lax.GatherScatterMode.FILL_OR_DROP:
        result = jnp.where(inside, result, jnp.nan)
    return result


def _is_whole(update: jax.Array, x: jax.Array, axis: int) -> bool:
    """Return True if an update of one entry along an axis covers all other axes of x."""
    return update.shape == (*x.shape[:axis], *x.shape[axis + 1 :])


_SCATTERS = {
    "scatter": (lambda x, update: update, lax.scatter),
    "scatter-add": (lax.add, lax.scatter_add),
    "scatter_add": (lax.add, lax.scatter_add),
    "scatter_sub": (lax.sub, getattr(lax, "scatter_sub", None)),
    "scatter_mul": (lax.mul, lax.scatter_mul),
    "scatter_min": (lax.min, lax.scatter_min),
    "scatter_max": (lax.max, lax.scatter_max),
}


def scatter(name: str, x: jax.Array, index: jax.Array, update: jax.Array, params: Params) -> jax.Array | None:
    """Evaluate a scatter primitive on `x` `[..., W]`, `index` `[..., k, W]` and `update` `[..., W]`.

    Returns:
      The updated array; None if the primitive has no rule here.
    """
    if name == "scatter" and params["update_jaxpr"] is not None:  # `x.at[i].apply`
        return None
    dims = params["dimension_numbers"]
    combine, general = _SCATTERS[name]
    axis = dims.inserted_window_dims[0] if len(dims.inserted_window_dims) == 1 else None
    is_single = (
        index.shape[:-1] == (1,) and not dims.operand_batching_dims and dims.scatter_dims_to_operand_dims == (axis,)
    )
    if is_single and axis is not None and x.shape[axis] <= WRITTEN and _is_whole(update, x, axis):
        at = index[0]
        if params["mode"] == lax.GatherScatterMode.CLIP:
            at = jnp.clip(at, 0, x.shape[axis] - 1)
        update = jnp.broadcast_to(lax.expand_dims(update, (axis,)), x.shape)
        return jnp.where(lax.broadcasted_iota(at.dtype, x.shape, axis) == at, combine(x, update), x)
    if general is None:
        return None
    dims = lax.ScatterDimensionNumbers(
        update_window_dims=dims.update_window_dims,
        inserted_window_dims=dims.inserted_window_dims,
        scatter_dims_to_operand_dims=dims.scatter_dims_to_operand_dims,
        operand_batching_dims=(*dims.operand_batching_dims, x.ndim - 1),
        scatter_indices_batching_dims=(*dims.scatter_indices_batching_dims, index.ndim - 2),
    )
    unique = {"unique_indices": params["unique_indices"], "mode": params["mode"]}
    return general(x, jnp.swapaxes(index, -1, -2), update, dims, **unique)
