"""Summaries over seeds: means with t-intervals."""

import numbers
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from jaxbandits.core.errors import InputError, shown


class Estimate(NamedTuple):
    """A mean over seeds with its t-interval; arrays broadcast over any trailing axes."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    failed: int = 0  # trials that are not finite, left out

    @property
    def half_width(self) -> np.ndarray:
        """Half the length of the interval."""
        return (self.high - self.low) / 2.0


def t_interval(values: np.ndarray, axis: int = 0, level: float = 0.95) -> Estimate:
    """Mean and two-sided Student interval over `axis`; infinite width for fewer than two values.

    Args:
      values: finite numbers.
      axis: the axis of independent trials.
      level: coverage, in (0, 1).

    Raises:
      InputError: for another level.
    """
    level = checked_level(level)
    n = values.shape[axis]
    mean = values.mean(axis=axis) if n else np.full(np.delete(values.shape, axis), np.nan)
    if n < 2:
        return Estimate(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf), n)
    half = special.stdtrit(n - 1, 0.5 + level / 2.0) * values.std(axis=axis, ddof=1) / np.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n)


def checked_level(level: Any) -> float:
    """A coverage level as a float.

    Raises:
      InputError: unless it lies in (0, 1): 0.95, not 95.
    """
    if isinstance(level, bool) or not isinstance(level, numbers.Real) or not 0.0 < float(level) < 1.0:
        raise InputError(f"level must lie in (0, 1), such as 0.95, got {shown(level)}")
    return float(level)
