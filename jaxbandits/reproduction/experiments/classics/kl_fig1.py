"""Figure 1: two arms with means 0.9 and 0.8."""

import math

from jaxbandits.reproduction.engine.figures import Shares
from jaxbandits.reproduction.engine.statements import log_growth, lower, not_worse
from jaxbandits.reproduction.experiments.classics.setting import KL, LogCurves, coins, kl_learners
from jaxbandits.theory.classics import lai_robbins

_MEANS, _HORIZON = [0.9, 0.8], 5000
_ON = "arms"

KL_FIG1 = KL.experiment(
    "kl-fig1",
    "Figure 1",
    title="two arms, means 0.9 and 0.8",
    horizon=_HORIZON,
    algorithms=kl_learners,
    panels=lambda horizon: {_ON: coins("means 0.9 and 0.8", _MEANS)},
    claims=(
        *lower(
            "KL-UCB",
            "UCB1",
            on=_ON,
            says="KL-UCB always performs better than the basic UCB policy",
            place="Figure 1; abstract",
        ),
        *lower(
            "KL-UCB",
            "UCB1 with 1/2",
            on=_ON,
            says="KL-UCB is also better than UCB1 with the constant 1/2 of Pinsker's inequality",
            place="ours, on Figure 1",
        ),
        *log_growth(
            "KL-UCB",
            on=_ON,
            says="KL-UCB grows as the lower bound of Lai and Robbins does",
            place="ours, on Theorem 1 at n = 5,000",
            unit=lai_robbins(_MEANS),
            what="C = 2.252",
            low=0.85,
            high=1.15,
        ),
        *not_worse(
            "Thompson",
            "KL-UCB",
            on=_ON,
            says="Thompson sampling is not worse than KL-UCB",
            place="ours, on Figure 1",
            within=1.1,
        ),
        *not_worse(
            "Bayes-UCB",
            "KL-UCB",
            on=_ON,
            says="Bayes-UCB is not worse than KL-UCB",
            place="ours, on Figure 1",
            within=1.1,
        ),
    ),
    notes=("The paper draws the number of plays of the second arm, which is ten times the regret.",),
    figures=(LogCurves(), Shares(mark=lai_robbins(_MEANS) * math.log(_HORIZON))),
)
