"""Reading and writing at an index of each trial's own, with the batch axis last.

A gather costs some nanoseconds a trial on a CPU, and ends vector code. Where the axis is short, every entry is looked
at instead and a select keeps the right one: one pass over contiguous trials.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.tracing.barrier import barrier

SELECTED_BYTES = 96  # of an axis: up to which selects are faster than a gather; measured with 5 to 100 arms of 2 to 10
WRITTEN = 64  # entries of an axis that is written to by a comparison of all its places


def is_short(length: int, dtype: Any) -> bool:
    """Whether every entry of an axis is looked at."""
    return length * dtype.itemsize <= SELECTED_BYTES


def take(x: jax.Array, index: jax.Array, axis: int) -> jax.Array:
    """`x[..., index, ...]` at `axis`, for `x[..., n, ..., W]` and `index[W]` in range."""
    best, *others = (lax.index_in_dim(x, k, axis, keepdims=False) for k in range(x.shape[axis]))
    for k, entry in enumerate(others, 1):
        best = jnp.where(index == k, entry, best)
    return best


def dynamic_slice(x: jax.Array, starts: list[jax.Array], sizes: tuple[int, ...]) -> jax.Array | None:
    """`lax.dynamic_slice` of `x[..., W]` at `starts`, each `[W]` or `[]`.

    Returns:
      None where more than one entry is cut out of an axis at an index of each trial's own.
    """
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        n = x.shape[axis]
        if n == size:
            continue
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
    """`lax.dynamic_update_slice` of `x[..., W]`, for updates of one entry or the whole of each axis; else None."""
    inside: Any = True
    for axis, start in enumerate(starts):
        n, size = x.shape[axis], update.shape[axis]
        if n == size:
            continue
        if size != 1 or n > WRITTEN:
            return None
        places = lax.broadcasted_iota(start.dtype, x.shape, axis)
        inside = inside & (places == jnp.clip(start, 0, n - 1))
    return jnp.broadcast_to(update, x.shape) if inside is True else jnp.where(inside, update, x)


def gather_everywhere(x: jax.Array, index: jax.Array, params: dict[str, Any]) -> jax.Array:
    """`lax.gather` of `x[..., W]` at one index `[..., k]` for the whole batch."""
    dims = params["dimension_numbers"]
    dims = dims._replace(offset_dims=(*dims.offset_dims, index.ndim - 1 + len(dims.offset_dims)))
    sizes = (*params["slice_sizes"], x.shape[-1])
    return lax.gather(x, index, dims, sizes, **{k: params[k] for k in ("unique_indices", "mode", "fill_value")})


def gather(x: jax.Array, index: jax.Array, params: dict[str, Any]) -> jax.Array:
    """`lax.gather` of `x[..., W]` at `index[..., k, W]`."""
    dims = params["dimension_numbers"]
    axis = taken_axis(x, index, params)
    if axis is not None:
        return _take_many(x, index[..., 0, :], axis, dims.offset_dims, params)
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


def taken_axis(x: jax.Array, index: jax.Array, params: dict[str, Any]) -> int | None:
    """The short axis of which a gather takes whole slices; None for other gathers."""
    dims, sizes = params["dimension_numbers"], params["slice_sizes"]
    if dims.operand_batching_dims or len(dims.collapsed_slice_dims) != 1 or dims.start_index_map != (
        dims.collapsed_slice_dims
    ):  # fmt: skip
        return None
    (axis,) = dims.collapsed_slice_dims
    whole = all(sizes[k] == x.shape[k] for k in range(x.ndim - 1) if k != axis)
    fills = params["fill_value"] is None and jnp.issubdtype(x.dtype, jnp.inexact)
    known = params["mode"] != lax.GatherScatterMode.FILL_OR_DROP or fills
    return axis if whole and known and x.shape[axis] > 0 and is_short(x.shape[axis], x.dtype) else None


def _take_many(x: jax.Array, index: jax.Array, axis: int, offsets: tuple[int, ...], params: dict[str, Any]) -> Any:
    """Slices of a short axis at `index[..., W]`, the axes of a slice at `offsets` of the result."""
    n, rank = x.shape[axis], index.ndim - 1 + x.ndim - 2
    inside = (index >= 0) & (index < n)
    if params["mode"] == lax.GatherScatterMode.CLIP:
        index = jnp.clip(index, 0, n - 1)
    of_index = [k for k in range(rank) if k not in offsets]

    def placed(a: jax.Array, axes: list[int]) -> jax.Array:
        """With axes of length 1 where the result has others."""
        return lax.expand_dims(a, [k for k in range(rank) if k not in axes])

    index, inside = placed(index, of_index), placed(inside, of_index)
    slices = [placed(lax.index_in_dim(x, k, axis, keepdims=False), list(offsets)) for k in range(n)]
    best, *others = slices
    best = jnp.broadcast_to(best, jnp.broadcast_shapes(best.shape, index.shape))
    for k, entry in enumerate(others, 1):
        best = jnp.where(index == k, entry, best)
    if params["mode"] == lax.GatherScatterMode.FILL_OR_DROP:
        best = jnp.where(inside, best, jnp.nan)
    return best


_SCATTERS = {
    "scatter": (lambda x, update: update, lax.scatter),
    "scatter-add": (lax.add, lax.scatter_add),
    "scatter_add": (lax.add, lax.scatter_add),
    "scatter_sub": (lax.sub, getattr(lax, "scatter_sub", None)),
    "scatter_mul": (lax.mul, lax.scatter_mul),
    "scatter_min": (lax.min, lax.scatter_min),
    "scatter_max": (lax.max, lax.scatter_max),
}


def scatter(name: str, x: jax.Array, index: jax.Array, update: jax.Array, params: dict[str, Any]) -> jax.Array | None:
    """A scatter into `x[..., W]` at `index[..., k, W]` of `update[..., W]`; None where there is none of this name."""
    if name == "scatter" and params["update_jaxpr"] is not None:  # `x.at[i].apply`
        return None
    dims = params["dimension_numbers"]
    combine, general = _SCATTERS[name]
    axis = dims.inserted_window_dims[0] if len(dims.inserted_window_dims) == 1 else None
    one = index.shape[:-1] == (1,) and not dims.operand_batching_dims and dims.scatter_dims_to_operand_dims == (axis,)
    if one and axis is not None and x.shape[axis] <= WRITTEN and update.ndim == x.ndim - 1:
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
