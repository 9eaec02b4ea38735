"""Version of `vmap` that merges its batch axis and that of an outer `vmap` into a single axis.

With nested `vmap`s, an algorithm that runs N copies of a learner in each of W trials computes on arrays `[..., N, W]`,
on which every operation is N short loops over the last axis. If both axes are merged into one axis of length N W, each
operation is one long loop for any N and W, and the program compiles as fast as the program of a single learner.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from jaxbandits.base.pytree import PyTree
from jaxbandits.tracing.barrier import barrier
from jaxbandits.tracing.vmap_last import def_vmap_last, vmap_last


def vmap_merged(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` mapped over the last axis of all arguments, like `jax.vmap(f, in_axes=-1, out_axes=-1)`.

    Under an outer `vmap` over W trials, an axis of N copies becomes an axis of length N W.

    Args:
      f: function that maps pytrees of arrays to pytrees of arrays. It must not close over arrays, because a traced
        array would leak.
    """

    @custom_vmap
    def map_copies(*args: Any) -> Any:
        return vmap_last(f)(*args)

    @def_vmap_last(map_copies)
    def over_trials(size: int, in_batched: PyTree, *args: Any) -> PyTree:
        def broadcast_batch(x: jax.Array, batched: bool) -> jax.Array:
            return x if batched else jnp.broadcast_to(x[..., None], (*x.shape, size))

        def merge(x: jax.Array) -> jax.Array:
            return x.reshape(*x.shape[:-2], x.shape[-2] * size)

        def split(x: jax.Array) -> jax.Array:
            return x.reshape(*x.shape[:-1], x.shape[-1] // size, size)

        # Between barriers the reshapes cost nothing. If they were fused with other operations, XLA:CPU would compute
        # the indices of each entry by division.
        args = barrier(jax.tree.map(merge, barrier(jax.tree.map(broadcast_batch, args, tuple(in_batched)))))
        out = barrier(jax.tree.map(split, barrier(map_copies(*args))))
        return out, jax.tree.map(lambda _: True, out)

    return map_copies
