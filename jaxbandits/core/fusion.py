"""What XLA may not repeat.

XLA:CPU fuses a cheap producer into every consumer and computes it there again, up to 15 times in a round of a bandit
algorithm. A value that several consumers share goes through `once`; what a round hands to the next one goes through it
in the loop.
"""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

T = TypeVar("T")


def once(tree: T) -> T:
    """The same values, computed once: nothing before this point is repeated behind it."""
    leaves, structure = jax.tree.flatten(tree)
    numbers = iter(_once.bind(*(x for x in leaves if not _is_key(x))))
    return jax.tree.unflatten(structure, [x if _is_key(x) else next(numbers) for x in leaves])


def _is_key(x: Any) -> bool:
    """Keys pass by: JAX's check of key reuse would take a barrier for a consumer."""
    return jnp.issubdtype(jnp.result_type(x), jax.dtypes.prng_key)


def _barrier(*arrays: Any) -> Any:
    return lax.optimization_barrier(arrays)


def _over_trials(arrays: Any, axes: Any) -> Any:
    """A barrier fixes how its arrays lie in memory: with the trial axis last (`core.batching`)."""
    last = [x if axis is None else jnp.moveaxis(x, axis, -1) for x, axis in zip(arrays, axes, strict=True)]
    return _once.bind(*last), [None if axis is None else x.ndim - 1 for x, axis in zip(last, axes, strict=True)]


_once = Primitive("once")  # `lax.optimization_barrier`, but for what `vmap` and derivatives make of it
_once.multiple_results = True
_once.def_impl(_barrier)
_once.def_abstract_eval(lambda *shapes: shapes)
mlir.register_lowering(_once, mlir.lower_fun(_barrier))
batching.primitive_batchers[_once] = _over_trials
ad.primitive_jvps[_once] = lambda arrays, tangents: (_once.bind(*arrays), tangents)
