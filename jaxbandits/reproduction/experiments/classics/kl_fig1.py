"""Figure 1 of Garivier & Cappe (2011): two Bernoulli arms with means 0.9 and 0.8."""

import math

from jaxbandits.reproduction.engine import Shares
from jaxbandits.reproduction.experiments.classics.setting import KL, LogCurves, coins, kl_claims, kl_learners
from jaxbandits.theory.classics import lai_robbins

_MEANS, _HORIZON = [0.9, 0.8], 5000
_ON = "arms"

KL_FIG1 = KL.experiment(
    "kl-fig1",
    "Figure 1",
    horizon_stated=True,
    title="two Bernoulli arms with means 0.9 and 0.8",
    shows="Figure 1 shows the number of draws of the second of two Bernoulli arms (its mean over time, and its "
    "distribution at n = 5000) for KL-UCB and its competitors. The paper states means 0.9 and 0.8 and 50,000 runs; its "
    "abstract names the competitors UCB, MOSS, UCB-Tuned, UCB-V and DMED.",
    horizon=_HORIZON,
    algorithms=kl_learners,
    panels=lambda horizon: {_ON: coins("means 0.9 and 0.8", _MEANS)},
    claims=kl_claims("Figure 1", _ON, _MEANS, _HORIZON),
    notes=("The paper plots the number of plays of the second arm, which is ten times the regret, since the gap is "
        "0.1.",),
    figures=(LogCurves(), Shares(mark=lai_robbins(_MEANS) * math.log(_HORIZON))),
)
