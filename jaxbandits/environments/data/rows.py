"""Assignment of the rows of a table to the rounds of a bandit, and the arms of a row."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.environments.oco.random_order import draw_without_replacement
from jaxbandits.numerics import rng
from jaxbandits.types import ArmObs, FixedArmObs

ORDERS = ("shuffled", "iid", "given")


class Place(NamedTuple):
    """Position of a trial in its table."""

    row: jax.Array  # [] int32, row of the next round
    order: Any = None  # [n] int32, order of the rows in this pass; None unless the order is "shuffled"


def check_names(name: str, names: Any, n_arms: int) -> None:
    """Raise `InputError` unless the names are () or a tuple of `n_arms` different strings."""
    are_texts = isinstance(names, tuple) and all(isinstance(text, str) for text in names)
    if not are_texts or len(set(names)) != len(names) or (names and len(names) != n_arms):
        raise InputError(f"{name} must be a tuple of {n_arms} different names, or (), got {format_value(names)}")


def check_order(name: str, order: Any, orders: tuple[str, ...] = ORDERS) -> None:
    """Raise InputError if the order is unknown."""
    if order not in orders:
        raise unknown_name(name, order, orders)


def begin(key: jax.Array, order: str, n: int) -> Place:
    """Return the position for round 0, in a table of n rows."""
    if order == "shuffled":
        return _draw_row(key, jnp.int32(0), jnp.arange(n, dtype=jnp.int32))
    return Place(rng.randint(key, n) if order == "iid" else jnp.zeros((), jnp.int32))


def follow(key: jax.Array, t: jax.Array, order: str, n: int, place: Place) -> Place:
    """Return the position for the round after round t; the order "given" repeats the n rows cyclically."""
    coming = (t + 1).astype(jnp.int32)
    if order == "shuffled":
        return _draw_row(key, coming, place.order)
    return Place(rng.randint(key, n) if order == "iid" else lax.rem(coming, jnp.int32(n)))


def _draw_row(key: jax.Array, t: jax.Array, order: jax.Array) -> Place:
    order, row, _ = draw_without_replacement(key, t, order)
    return Place(row, order)


def disjoint(x: jax.Array, n_arms: int) -> jax.Array:
    """Return the features `[K, K p]` of K arms for a context `[p]`.

    Arm k has the context in block k and 0 elsewhere, so that a linear model has separate weights for each arm.
    """
    return (jnp.eye(n_arms, dtype=x.dtype)[:, :, None] * x).reshape(n_arms, n_arms * len(x))


def arms_of(seen: object, place: Place, n_arms: int) -> ArmObs:
    """Return the arms of a row, given contexts `[n, p]` or arms `[n, K, d]`; if `seen` is None, return unit vectors."""
    if seen is None:
        return FixedArmObs(jnp.eye(n_arms))
    row = jnp.asarray(seen)[place.row]
    return ArmObs(row if row.ndim == 2 else disjoint(row, n_arms))


def dim_of(seen: Any, n_arms: int) -> int:
    """Return d, the dimension of the arms that `arms_of` returns."""
    if seen is None:
        return n_arms
    return n_arms * seen.shape[1] if seen.ndim == 2 else seen.shape[2]


def describe(environment: Any) -> str:
    """Return text that describes the observations of a bandit and the order of its rows."""
    data = environment.log if hasattr(environment, "log") else environment.table
    shape = None if data.seen is None else np.shape(data.seen)
    shown = "no context" if shape is None else f"{'context' if len(shape) == 2 else 'arms'} {list(shape)}"
    return f"{shown}{' as one context' if environment.as_context else ''}; order {environment.order}"


def check_fits(name: str, seen: object, n: int, n_arms: int) -> None:
    """Raise InputError unless `seen` is None, contexts `[n, p]` or arms `[n, K, d]` with finite entries."""
    if seen is None:
        return
    shape = np.shape(seen)
    if len(shape) not in (2, 3) or not np.size(seen) or shape[0] != n or (len(shape) == 3 and shape[1] != n_arms):
        raise InputError(f"{name} must have {n} rows (each of {n_arms} arms if it contains arms), got shape {shape}")
    if not (ranges.is_real(seen) and np.isfinite(seen).all()):
        raise InputError(f"{name} must contain only finite numbers")
