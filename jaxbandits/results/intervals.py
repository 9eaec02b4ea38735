"""Summaries over seeds: means with t-intervals, and which trials are finite."""

from typing import NamedTuple

import numpy as np
from scipy import special


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
    """
    n = values.shape[axis]
    mean = values.mean(axis=axis) if n else np.full(np.delete(values.shape, axis), np.nan)
    if n < 2:
        return Estimate(mean, np.full_like(mean, -np.inf), np.full_like(mean, np.inf), n)
    half = special.stdtrit(n - 1, 0.5 + level / 2.0) * values.std(axis=axis, ddof=1) / np.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n)


def finite_trials(values: np.ndarray) -> np.ndarray:
    """`[..., S, M]` to `[..., S]`: True where a trial's whole curve is finite."""
    return np.isfinite(values).all(axis=-1)
