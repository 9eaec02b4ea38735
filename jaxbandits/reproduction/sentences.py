"""Vocabulary for the claims of experiments: sentences, quantities, statistics and thresholds.

For example:

from jaxbandits.reproduction.sentences import claims, mean

claims("far-ahead", mean("Hvt-UCB") < 0.5 * mean("OFUL"), on=PANELS, says="Hvt-UCB is far ahead", place="Figure 4")
"""

from jaxbandits.reproduction.engine.claim import Claim, Measurements, slug
from jaxbandits.reproduction.engine.quantities import (
    Quantity,
    at_point,
    growth,
    growth_over,
    log_growth,
    mean,
    measure,
    median,
    panel_ratio,
    rate,
    share,
    time,
    time_over_panels,
    time_slope,
    wins,
)
from jaxbandits.reproduction.engine.sentence import claims, observations, theorems
from jaxbandits.reproduction.engine.statistic import (
    Statistic,
    advantage_growth,
    as_statistic,
    exact_value,
    exponent_of,
    growth_across,
    mean_difference,
    mean_ratio,
    paired_mean,
    ratio_of_ratios,
    relative_change,
    scale,
    share_below,
    with_axis_share,
)
from jaxbandits.reproduction.engine.thresholds import (
    COMPARABLE,
    FLAT,
    GROWS,
    LITTLE,
    MODEST,
    MUCH,
    OUT_OF_REACH,
    share_for_all,
)

__all__ = [
    "COMPARABLE",
    "FLAT",
    "GROWS",
    "LITTLE",
    "MODEST",
    "MUCH",
    "OUT_OF_REACH",
    "Claim",
    "Measurements",
    "Quantity",
    "Statistic",
    "advantage_growth",
    "as_statistic",
    "at_point",
    "claims",
    "exact_value",
    "exponent_of",
    "growth",
    "growth_across",
    "growth_over",
    "log_growth",
    "mean",
    "mean_difference",
    "mean_ratio",
    "measure",
    "median",
    "observations",
    "paired_mean",
    "panel_ratio",
    "rate",
    "ratio_of_ratios",
    "relative_change",
    "scale",
    "share",
    "share_below",
    "share_for_all",
    "slug",
    "theorems",
    "time",
    "time_over_panels",
    "time_slope",
    "wins",
    "with_axis_share",
]
