"""Rules of `vmap_last` for equations that change only shapes, and for aligning operands of elementwise equations."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.tracing import short_axes
from jaxbandits.tracing.barrier import is_key
from jaxbandits.tracing.jax_compat import Params
from jaxbandits.tracing.short_axes import Operand

WITHOUT_SCALARS = ("select_n", "add_any")  # elementwise primitives that do not mix scalars with arrays


def broadcast_batch(size: int | None, x: Operand, batched: bool) -> jax.Array:
    """Return `x` with the batch axis, broadcast if necessary; if `size` is None, return `x` unchanged."""
    return x if batched or size is None else jnp.broadcast_to(jnp.asarray(x)[..., None], (*jnp.shape(x), size))


def align_ranks(size: int, rank: int, args: list[Operand], batched: list[bool], without_scalars: bool) -> list[Any]:
    """Broadcast the operands of an elementwise equation so that their ranks are equal and the batch axis is last.

    A batched scalar `[W]` receives the axes of the arrays; an unbatched array receives a batch axis of length W.

    Args:
      size: W, length of the batch axis.
      rank: number of axes of the result for one trial.
      args: the operands.
      batched: for each operand, True if it has the batch axis.
      without_scalars: True if unbatched scalars need axes as well; otherwise `lax` combines them with any array.
    """
    shapes = [jnp.shape(x)[: jnp.ndim(x) - b] for x, b in zip(args, batched, strict=True)]  # shapes for one trial
    shape = np.broadcast_shapes(*(s for s in shapes if len(s) == rank))  # lax broadcasts axes of length 1

    def align(x: Operand, batched: bool) -> Any:
        ndim = jnp.ndim(x)
        if ndim == 0 and not batched and not without_scalars:
            return x
        if batched:
            return x if ndim == rank + 1 else lax.broadcast_in_dim(x, (*shape, size), (rank,))
        return lax.broadcast_in_dim(x, (*shape, size), tuple(range(ndim)))

    return [align(x, b) for x, b in zip(args, batched, strict=True)]


def _broadcast(size: int, args: list[Operand], batched: list[bool], params: Params) -> Operand | None:
    del batched
    shape, dims = params["shape"], params["broadcast_dimensions"]
    return lax.broadcast_in_dim(args[0], (*shape, size), (*dims, len(shape)))


def _reshape(size: int, args: list[Operand], batched: list[bool], params: Params) -> Operand | None:
    del batched
    return None if params.get("dimensions") is not None else lax.reshape(args[0], (*params["new_sizes"], size))


def _transpose(size: int, args: list[Operand], batched: list[bool], params: Params) -> Operand | None:
    del size, batched
    return lax.transpose(args[0], (*params["permutation"], len(params["permutation"])))


def _slice(size: int, args: list[Operand], batched: list[bool], params: Params) -> Operand | None:
    del batched
    strides = params["strides"]
    return lax.slice(
        args[0],
        (*params["start_indices"], 0),
        (*params["limit_indices"], size),
        None if strides is None else (*strides, 1),
    )


def _pad(size: int, args: list[Operand], batched: list[bool], params: Params) -> Operand | None:
    del size
    return None if batched[1] else lax.pad(args[0], args[1], (*params["padding_config"], (0, 0, 0)))


def _dynamic_slice(size: int, args: list[Operand], batched: list[bool], params: Params) -> Operand | None:
    if any(batched[1:]) or not params["slice_sizes"]:
        return None
    # Without the maximum, `lax` would count negative starts from the end again.
    starts = [jnp.maximum(start, 0) for start in args[1:]]
    zero = jnp.zeros((), args[1].dtype)
    return lax.dynamic_slice(args[0], (*starts, zero), (*params["slice_sizes"], size))


def _dynamic_update_slice(size: int, args: list[Operand], batched: list[bool], params: Params) -> Operand | None:
    del params
    if any(batched[2:]) or len(args) == 2:
        return None
    starts = [jnp.maximum(start, 0) for start in args[2:]]
    zero = jnp.zeros((), args[2].dtype)
    return lax.dynamic_update_slice(args[0], broadcast_batch(size, args[1], batched[1]), (*starts, zero))


def _concatenate(size: int, args: list[Operand], batched: list[bool], params: Params) -> Operand | None:
    arrays = [broadcast_batch(size, x, b) for x, b in zip(args, batched, strict=True)]
    return (lax.concatenate if is_key(arrays[0]) else short_axes.concatenate)(arrays, params["dimension"])


# A rule is a function of (length of the batch axis, operands, batch flags, parameters) that returns the batched result,
# or None if it is not applicable.
SHAPE_RULES: dict[str, Callable[..., Any]] = {
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "transpose": _transpose,
    "slice": _slice,
    "pad": _pad,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
}
