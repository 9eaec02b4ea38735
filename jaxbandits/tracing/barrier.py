"""Optimisation barriers: keep XLA:CPU from computing a value again in every kernel that reads it.

XLA:CPU fuses a cheap producer into every consumer, up to 15 times in a round of a bandit algorithm. The interpreter
places barriers by a rule (`tracing.liveness`); code that is written with the trial axis last places its own.
"""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.tracing.jax_compat import Primitive, ad, batching, mlir

T = TypeVar("T")


def barrier(tree: T) -> T:
    """Return the same values; XLA repeats nothing that comes before this point behind it."""
    leaves, structure = jax.tree.flatten(tree)
    arrays = [x for x in leaves if not is_key(x)]
    numbers = iter(_barrier.bind(*arrays) if arrays else ())
    return jax.tree.unflatten(structure, [x if is_key(x) else next(numbers) for x in leaves])


def is_key(x: Any) -> bool:
    """Return whether an array holds keys, which pass by: JAX's check of key reuse takes a barrier for a consumer."""
    return bool(jnp.issubdtype(jnp.result_type(x), jax.dtypes.prng_key))


def _optimization_barrier(*arrays: Any) -> Any:
    return lax.optimization_barrier(arrays)


def _over_trials(arrays: Any, axes: Any) -> Any:
    """Batching rule: a barrier fixes how its arrays lie in memory, with the trial axis last (`tracing.batching`)."""
    last = [x if axis is None else jnp.moveaxis(x, axis, -1) for x, axis in zip(arrays, axes, strict=True)]
    return _barrier.bind(*last), [None if axis is None else x.ndim - 1 for x, axis in zip(last, axes, strict=True)]


_barrier = Primitive("barrier")  # `lax.optimization_barrier`, but for what `vmap` and derivatives make of it
_barrier.multiple_results = True
_barrier.def_impl(_optimization_barrier)
_barrier.def_abstract_eval(lambda *shapes: shapes)
mlir.register_lowering(_barrier, mlir.lower_fun(_optimization_barrier))
batching.primitive_batchers[_barrier] = _over_trials
ad.primitive_jvps[_barrier] = lambda arrays, tangents: (_barrier.bind(*arrays), tangents)
