"""Summaries over seeds: means with t-intervals."""

import numbers
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from jaxbandits.core.errors import InputError, shown

_FEW = 4  # estimates that are written out


class Estimate(NamedTuple):
    """A mean over seeds with its t-interval; arrays broadcast over any trailing axes.

    Example:
      >>> t_interval(np.array([[1.0, 10.0], [2.0, 10.5], [4.0, 9.5]]))
      Estimate(2.333 [-1.461, 6.128], 10 [8.758, 11.24], n=3)
    """

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int
    failed: int = 0  # trials that are not finite, left out

    def __repr__(self) -> str:
        """Four digits of a few estimates, or how many there are and where they lie."""
        rows = [np.ravel(np.asarray(part, float)) for part in np.broadcast_arrays(*self[:3])]
        if len(rows[0]) <= _FEW:
            body = [f"{mean:.4g} [{low:.4g}, {high:.4g}]" for mean, low, high in zip(*rows, strict=True)]
        else:
            body = [f"{len(rows[0]):,} means in [{rows[0].min():.4g}, {rows[0].max():.4g}]"]
        failed = [f"failed={self.failed}"] if self.failed else []
        return f"Estimate({', '.join([*body, f'n={self.n}', *failed])})"

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
