"""Functions shared by environments with groups: counts of drawn rows, table look-up by group, and metrics of risks.

A decision lists Q groups, from each of which one row is drawn. If the list never changes, it is a NumPy array, so that
everything derived from it is a constant of the program.
"""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike
from jaxbandits.types import GroupDecision


class GroupOutcome(NamedTuple):
    """Metrics of a round, which the run sums."""

    samples: jax.Array  # []  number of rows drawn
    group_samples: jax.Array  # [m]  number of rows drawn from each group
    loss: jax.Array  # []  mean loss of these rows at w_t


def drawn_of(decision: GroupDecision) -> jax.Array:
    """Return an array `[Q]` that is 1 for the entries of a decision for which a row is drawn and 0 for the others."""
    real = jnp.result_type(float)
    return jnp.ones(len(decision.group), real) if decision.drawn is None else decision.drawn.astype(real)


def counts(decision: GroupDecision, n_groups: int) -> jax.Array:
    """Return the numbers `[m]` of rows that a decision draws from each group."""
    if isinstance(decision.group, np.ndarray) and decision.drawn is None:
        return jnp.asarray(np.bincount(decision.group, minlength=n_groups), float)
    return jnp.sum(jnp.where(_is_of(jnp.asarray(decision.group), n_groups), drawn_of(decision)[:, None], 0.0), axis=0)


def _is_of(group: jax.Array, n_groups: int) -> jax.Array:
    """Return a mask `[Q, m]` that is True for the group from which each row is drawn."""
    return group[:, None] == jnp.arange(n_groups)


def places(decision: GroupDecision, n_groups: int) -> jax.Array:
    """Return for each draw of a decision the number of earlier draws from the same group, `[Q]`."""
    if isinstance(decision.group, np.ndarray) and decision.drawn is None:
        before = [int(np.sum(decision.group[:k] == group)) for k, group in enumerate(decision.group)]
        return jnp.asarray(before, float)
    own = _is_of(jnp.asarray(decision.group), n_groups)
    met = jnp.where(own, drawn_of(decision)[:, None], 0.0)
    return jnp.sum(jnp.where(own, jnp.cumsum(met, axis=0) - met, 0.0), axis=1)


def per_group(table: ArrayLike, group: object) -> jax.Array:
    """Return the entries `[Q]` of `table` [m] that belong to the listed groups."""
    return jnp.asarray(table).at[group].get(mode="clip")  # `admits` reports group indices that are out of range


def rows_of(table: jax.Array, group: object) -> jax.Array:
    """Return the rows `[Q, d]` of `table` [m, d] that belong to the listed groups."""
    if isinstance(group, np.ndarray) and np.array_equal(group, np.arange(len(table))):
        return table
    return table.at[group].get(mode="clip")


def groups_exist(group: ArrayLike, n_groups: int) -> jax.Array:
    """Return True if all group indices of a decision are in range."""
    if isinstance(group, np.ndarray):
        return jnp.asarray(((group >= 0) & (group < n_groups)).all())
    return jnp.sum(((group < 0) | (group >= n_groups)).astype(jnp.int32)) == 0


def weigh(risks: jax.Array, weights: ArrayLike | None) -> jax.Array:
    """Return the weighted risks b_i R_i `[m]`; if `weights` is None, return the risks R_i."""
    return risks if weights is None else jnp.asarray(weights) * risks


def mean_of_largest(risks: jax.Array, k: int) -> jax.Array:
    """Return the mean of the k largest of the risks `[m]`."""
    return jnp.max(risks) if k == 1 else jnp.mean(jnp.sort(risks)[-k:])


def measures(risks: jax.Array, top_k: int, weights: ArrayLike | None) -> dict[str, jax.Array]:
    """Return the metrics of the risks `[m]` of a model.

    The metrics are `risk` [m], `max_risk` and `mean_risk`. If k > 1, `top_k_risk` is the mean of the k largest risks.
    If weights b are given, `weighted_max_risk` is max_i b_i R_i.
    """
    found = {"risk": risks, "max_risk": jnp.max(risks), "mean_risk": jnp.mean(risks)}
    if top_k > 1:
        found["top_k_risk"] = mean_of_largest(risks, top_k)
    if weights is not None:
        found["weighted_max_risk"] = jnp.max(weigh(risks, weights))
    return found


def check_objective(name: str, n_groups: int, top_k: int, weights: ArrayLike | None) -> None:
    """Check that k and the weights b fit the number of groups m.

    Raises:
      InputError: if a field is invalid; the message names it.
    """
    from jaxbandits.base.errors import InputError

    if top_k > n_groups:
        raise InputError(f"{name}.top_k must be at most {n_groups}, the number of groups, got {top_k}")
    if weights is not None and np.shape(weights)[-1:] != (n_groups,):
        raise InputError(f"{name}.weights must have shape [{n_groups}], one entry per group, got {np.shape(weights)}")


AXES: dict[str, tuple[str, ...]] = {"risk": ("group",), "group_samples": ("group",)}


def units(names: Sequence[str] = ()) -> dict[str, str]:
    """Return the units of the metrics that count rows; `names` are further metrics that count rows."""
    return {"samples": "rows", "group_samples": "rows", **dict.fromkeys(names, "rows")}
