"""The engine of experiments: their declaration, run, statistics and claims; it knows no particular experiment.

Experiments import from here: `from jaxbandits.reproduction.engine import Panel, Study, claims, mean`.
"""

from jaxbandits.reproduction.engine.claim import Claim, Measured, slug
from jaxbandits.reproduction.engine.experiment import Experiment, Interpretation, Panel, Timed
from jaxbandits.reproduction.engine.figures import (
    Against,
    Bound,
    Cost,
    Curves,
    Exponents,
    GroupCurves,
    Heatmap,
    PanelCurves,
    Shares,
)
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
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.engine.sentence import claims, observations, theorems
from jaxbandits.reproduction.engine.statistic import (
    Statistic,
    advantage_growth,
    as_statistic,
    exactly,
    exponent_of,
    growth_across,
    mean_difference,
    mean_ratio,
    paired_mean,
    ratio_of_ratios,
    relative_change,
    scaled,
    share_below,
    with_axis_share,
)
from jaxbandits.reproduction.engine.study import Study
from jaxbandits.reproduction.engine.thresholds import (
    COMPARABLE,
    FLAT,
    GROWS,
    LITTLE,
    MODEST,
    MUCH,
    OUT_OF_REACH,
    always,
)
from jaxbandits.reproduction.engine.tuning import (
    TOLERANCE,
    Multipliers,
    MultiplierTable,
    TunedLearner,
    Tuning,
    learners_of_figures,
    with_multipliers,
)
from jaxbandits.reproduction.engine.verdict import Verdict, judge

__all__ = [
    "COMPARABLE", "FLAT", "GROWS", "LITTLE", "MODEST", "MUCH", "OUT_OF_REACH", "TOLERANCE", "Against", "Bound",
    "Claim", "Cost", "Curves", "Experiment", "Exponents", "GroupCurves", "Heatmap", "Interpretation", "Measured",
    "MultiplierTable", "Multipliers", "Panel", "PanelCurves", "Quantity", "Report", "Shares", "Statistic", "Study",
    "Timed", "TunedLearner", "Tuning", "Verdict", "advantage_growth", "always", "as_statistic", "at_point",
    "claims", "exactly", "exponent_of", "growth", "growth_across", "growth_over", "judge", "learners_of_figures",
    "log_growth", "mean", "mean_difference", "mean_ratio", "measure", "median", "observations", "paired_mean",
    "panel_ratio", "rate", "ratio_of_ratios", "relative_change", "scaled", "share", "share_below", "slug",
    "theorems", "time", "time_over_panels", "time_slope", "wins", "with_axis_share", "with_multipliers",
]  # fmt: skip
