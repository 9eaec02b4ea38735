"""Optimisation barriers, which prevent XLA:CPU from recomputing a value in every kernel that reads it.

XLA:CPU fuses a cheap producer into every consumer, up to 15 times in a round of a bandit algorithm. The interpreter
`vmap_last` places barriers by a rule (`tracing.liveness`). Functions written for arrays with the trial axis last
(`batching.trials_last`) are not interpreted and place their own barriers.

On accelerators a barrier costs a kernel, and XLA itself decides well which values to recompute. Therefore no barriers
are placed there, except around concatenations (`materialize`).
"""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.pytree import ArrayLike, PyTree
from jaxbandits.tracing import target
from jaxbandits.tracing.jax_compat import Primitive, ad, batching, mlir

T = TypeVar("T")


def barrier(tree: T) -> T:
    """Return the values of a tree unchanged; XLA:CPU then computes them once, not in every kernel that reads them."""
    return tree if target.targets_accelerator() else materialize(tree)


def materialize(tree: T) -> T:
    """Return the values of a tree unchanged; on every target, XLA writes them to memory before a kernel reads them."""
    leaves, structure = jax.tree.flatten(tree)
    arrays = [x for x in leaves if not is_key(x)]
    numbers = iter(barrier_p.bind(*arrays) if arrays else ())
    return jax.tree.unflatten(structure, [x if is_key(x) else next(numbers) for x in leaves])


def is_key(x: ArrayLike) -> bool:
    """Return True if an array holds random keys, which must not pass a barrier.

    JAX's check of key reuse would count the barrier as a consumer of the key.
    """
    return bool(jnp.issubdtype(jnp.result_type(x), jax.dtypes.prng_key))


def _optimization_barrier(*arrays: PyTree) -> Any:
    return lax.optimization_barrier(arrays)


def _over_trials(arrays: PyTree, axes: Any) -> PyTree:
    """Batch a barrier with the trial axis last, since a barrier fixes the memory layout of its arrays."""
    last = [x if axis is None else jnp.moveaxis(x, axis, -1) for x, axis in zip(arrays, axes, strict=True)]
    return barrier_p.bind(*last), [None if axis is None else x.ndim - 1 for x, axis in zip(last, axes, strict=True)]


# This primitive is `lax.optimization_barrier` with a different batching rule, and without a barrier for tangents.
barrier_p = Primitive("barrier")
barrier_p.multiple_results = True
barrier_p.def_impl(_optimization_barrier)
barrier_p.def_abstract_eval(lambda *shapes: shapes)
mlir.register_lowering(barrier_p, mlir.lower_fun(_optimization_barrier))
batching.primitive_batchers[barrier_p] = _over_trials
ad.primitive_jvps[barrier_p] = lambda arrays, tangents: (barrier_p.bind(*arrays), tangents)
# The transpose is needed for linear functions, such as the tangents of a program that is differentiated twice.
ad.primitive_transposes[barrier_p] = lambda cotangents, *arrays: [
    cotangent if ad.is_undefined_primal(x) else None for cotangent, x in zip(cotangents, arrays, strict=True)
]
