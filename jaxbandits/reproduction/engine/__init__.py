"""Engine that declares, runs and judges experiments. It does not depend on particular experiments.

Experiments import the engine from here; they import the functions that declare claims from
`jaxbandits.reproduction.sentences`.
"""

from jaxbandits.reproduction.engine.claim import Claim, Measurements
from jaxbandits.reproduction.engine.experiment import Experiment, Interpretation, Panel, TimePerRound
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
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.engine.statistic import common_finals
from jaxbandits.reproduction.engine.study import Study
from jaxbandits.reproduction.engine.tuning import (
    TOLERANCE,
    Learner,
    Learners,
    Multipliers,
    MultiplierTable,
    Problem,
    TunedLearner,
    Tuning,
    learners_of_figures,
    with_multipliers,
)
from jaxbandits.reproduction.engine.verdict import Verdict, judge

__all__ = [
    "TOLERANCE",
    "Against",
    "Bound",
    "Claim",
    "Cost",
    "Curves",
    "Experiment",
    "Exponents",
    "GroupCurves",
    "Heatmap",
    "Interpretation",
    "Learner",
    "Learners",
    "Measurements",
    "MultiplierTable",
    "Multipliers",
    "Panel",
    "PanelCurves",
    "Problem",
    "Report",
    "Shares",
    "Study",
    "TimePerRound",
    "TunedLearner",
    "Tuning",
    "Verdict",
    "common_finals",
    "judge",
    "learners_of_figures",
    "with_multipliers",
]
