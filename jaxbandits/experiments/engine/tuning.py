"""Choice of a point of a grid of multipliers from its mean regrets: one rule for tables and for runs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

FIRST_SEED = 1_000_000  # of those that choose: figures are judged on seeds from 0 on
TOLERANCE = 0.01  # relative; means that close are alike


def best(points: Sequence[Mapping[str, Any]], means: Sequence[float] | np.ndarray, tolerance: float = 0.0) -> int:
    """The point with the least mean; of those within the tolerance, the one whose multipliers are nearest to 1.

    Args:
      points: field to multiplier.
      means: of each; infinite where a trial failed.
      tolerance: relative, of the size of the least mean.

    Returns:
      Its index; nearness is that of logarithms, all fields together, and of equal ones the first counts.
    """
    least = min(means)
    if not math.isfinite(least):
        return 0
    limit = least + tolerance * abs(least)
    alike = [i for i, mean in enumerate(means) if mean <= limit]
    return min(alike, key=lambda i: _from_one(points[i]))


def at_edge(points: Sequence[Mapping[str, Any]], point: Mapping[str, Any]) -> bool:
    """Return whether a field takes the least or the largest of several values: the best may lie beyond."""
    for field, value in point.items():
        values = {other[field] for other in points}
        if len(values) > 1 and value in (min(values), max(values)):
            return True
    return False


def _from_one(point: Mapping[str, Any]) -> float:
    return math.hypot(*(math.log(value) if value > 0.0 else math.inf for value in point.values()))
