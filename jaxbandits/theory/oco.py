"""Regret bound in the SEA model (Wang, Barik, Zhao & Tan, NeurIPS 2025)."""

import math
from typing import Any


def visible_bound(environment: Any, horizon: int, diameter: float = 2.0) -> float:
    """Return D (sqrt(sigma^2_{1:T}) + sqrt(Sigma^2_{1:T})): what Theorem 3.2 shows before its constants."""
    variance, variation = environment.cumulative_variance(horizon), environment.cumulative_variation(horizon)
    return diameter * (math.sqrt(float(variance)) + math.sqrt(float(variation)))
