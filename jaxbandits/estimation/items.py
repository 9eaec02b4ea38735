"""Selection of the m best available out of L items, and sums of values per item."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandits.base.errors import InputError
from jaxbandits.types import SetDecision


def top_items(scores: jax.Array, mask: Any, size: int) -> jax.Array:
    """Return the available items with the largest scores, in order of decreasing score, as int32 `[m]`.

    Items with equal scores are in the order of their indices, and NaN ranks lowest. If fewer than m items are
    available, the last entries of the result are -1.

    Args:
      scores: `[L]`.
      mask: `[L]` True where the item may be chosen; None if all items may be chosen.
      size: m, number of items to select, from 1 to L.
    """
    lowest = jnp.finfo(scores.dtype).min  # above masked items, and at most every score except NaN
    ordered = jnp.where(scores > lowest, scores + 0.0, lowest)  # + 0.0: `top_k` puts 0.0 before -0.0
    if mask is None:
        return lax.top_k(ordered, size)[1].astype(jnp.int32)
    values, items = lax.top_k(jnp.where(mask, ordered, -jnp.inf), size)
    return jnp.where(values >= lowest, items.astype(jnp.int32), -1)


def item_sums(items: jax.Array, values: jax.Array, n_items: int) -> jax.Array:
    """Return `[L]`, the sum of the values `[m]` of each of L = `n_items` items; values whose item is -1 are ignored.

    The cost is O(m L), vectorised over trials; a scatter of m entries would not be vectorised.
    """
    is_here = items[:, None] == jnp.arange(n_items, dtype=items.dtype)
    return jnp.sum(jnp.where(is_here, values[:, None], 0.0), axis=0)


def are_admissible(items: jax.Array, n_items: int, mask: Any = None) -> jax.Array:
    """Return True if the items `[m]` are all different, in range and available; entries of -1 stand for no item."""
    is_item = items >= 0
    # Number of pairs of positions with the same item, including each position paired with itself.
    equal = jnp.sum((items[:, None] == items) & is_item, dtype=jnp.int32)
    inside = jnp.all((items >= -1) & (items < n_items)) & (equal == jnp.sum(is_item, dtype=jnp.int32))
    if mask is None:
        return inside
    return inside & jnp.all(~is_item | mask[jnp.clip(items, 0, n_items - 1)])


def check_items(shown: int, n_items: int) -> None:
    """Raise `InputError` unless the number of items in the observation, `shown`, is `n_items`."""
    if shown != n_items:
        raise InputError(f"the environment has {shown} items, but the learner has n_items={n_items}")


def check_size(decision: SetDecision, size: int) -> None:
    """Raise `InputError` unless a decision holds `size` items."""
    if decision.items.shape != (size,):
        raise InputError(
            f"the environment takes {size} items per round, but the learner chooses {decision.items.shape[0]}"
        )
