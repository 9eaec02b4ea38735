"""`vmap` whose axis further `vmap`s lengthen instead of adding one: one long loop in place of many short ones.

An algorithm that runs N copies of a learner inside a trial, W trials side by side, computes on arrays `[..., N, W]`.
Under `vmap_last` every operation is a loop over the last axis; over `[..., N W]` it is one long loop,
whatever N and W are, and the program compiles as fast as that of one learner.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.vmap_last import def_vmap_last, vmap_last


def vmap_merged(f: Callable[..., Any]) -> Callable[..., Any]:
    """`jax.vmap(f, in_axes=-1, out_axes=-1)`: the copies along the last axis of every argument and result.

    Args:
      f: a function of pytrees of arrays to pytrees of arrays, which closes over no array (a traced one would escape).
    """

    @custom_vmap
    def mapped(*args: Any) -> Any:
        return vmap_last(f)(*args)

    @def_vmap_last(mapped)
    def further(size: int, in_batched: Any, *args: Any) -> Any:
        def broadcast_batch(x: jax.Array, batched: bool) -> jax.Array:
            return x if batched else jnp.broadcast_to(x[..., None], (*x.shape, size))

        def lengthen(x: jax.Array) -> jax.Array:
            return x.reshape(*x.shape[:-2], x.shape[-2] * size)

        def apart(x: jax.Array) -> jax.Array:
            return x.reshape(*x.shape[:-1], x.shape[-1] // size, size)

        # Another shape of the same memory costs nothing by itself; fused with anything else it is worked out entry by
        # entry.
        args = barrier(jax.tree.map(lengthen, barrier(jax.tree.map(broadcast_batch, args, tuple(in_batched)))))
        out = barrier(jax.tree.map(apart, barrier(mapped(*args))))
        return out, jax.tree.map(lambda _: True, out)

    return mapped
