"""What XLA may not repeat.

XLA:CPU fuses a cheap producer into every consumer and computes it there again, up to 15 times in a round of a bandit
algorithm. A value that several consumers share goes through `once`; what a round hands to the next one goes through it
in the loop.
"""

from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandits.core.vmap_last import rule_at_end

T = TypeVar("T")


def once(tree: T) -> T:
    """The same values, computed once: nothing before this point is repeated behind it."""
    leaves, structure = jax.tree.flatten(tree)
    numbers = iter(_barrier(*(x for x in leaves if not _is_key(x))))
    return jax.tree.unflatten(structure, [x if _is_key(x) else next(numbers) for x in leaves])


def _is_key(x: Any) -> bool:
    """Keys pass by: JAX's check of key reuse would take a barrier for a consumer."""
    return jnp.issubdtype(jnp.result_type(x), jax.dtypes.prng_key)


@jax.custom_jvp
def _barrier(*leaves: Any) -> tuple[Any, ...]:
    return _mapped(*leaves) if leaves else ()


@_barrier.defjvp
def _tangent(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return _barrier(*primals), tangents


@custom_vmap
def _mapped(*leaves: Any) -> tuple[Any, ...]:
    return tuple(lax.optimization_barrier(leaves))


@rule_at_end(_mapped)
def _over_trials(size: int, in_batched: Any, *leaves: Any) -> tuple[tuple[Any, ...], tuple[bool, ...]]:
    """A barrier fixes how its arrays lie in memory: with the trial axis last (`core.batching`)."""
    del size
    return _barrier(*leaves), tuple(in_batched)
