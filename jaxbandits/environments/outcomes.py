"""Outcomes that environments of several families share."""

from typing import NamedTuple

import jax
import numpy as np


class RegretOutcome(NamedTuple):
    """Regret of one round of a bandit."""

    regret: jax.Array  # []  computed from means


class FixedComparatorOutcome(NamedTuple):
    """Losses of one round at the decision x_t and at a fixed comparator u, and their difference."""

    loss: jax.Array  # []  f_t(x_t)
    comparator_loss: jax.Array  # []  f_t(u)
    regret: jax.Array  # []  f_t(x_t) - f_t(u)


def ratio(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return total / count on the host, elementwise, with NaN (missing) if the count is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, total / count, np.nan)
