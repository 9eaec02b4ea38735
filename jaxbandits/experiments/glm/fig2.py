"""Figure 2: Poisson bandits."""

import dataclasses

from jaxbandits.estimation.links import Poisson
from jaxbandits.experiments.engine.experiment import Timed
from jaxbandits.experiments.engine.figures import Cost, Curves
from jaxbandits.experiments.glm.claims import THOUSAND, costs, poisson_regret
from jaxbandits.experiments.glm.fig1 import FIG1
from jaxbandits.experiments.glm.setting import (
    COUNTS,
    MLE,
    PAPER,
    POISSON_SIZES,
    SEEDS_NOTE,
    SOME,
    TUNING,
    UNSTATED,
    norms,
)

FIG2 = dataclasses.replace(
    FIG1,
    name="glm/fig2",
    title="Poisson bandits, one arm set a trial",
    source=f"{PAPER}, Figure 2 and Figure 3, right",
    panels=lambda horizon: norms(POISSON_SIZES, Poisson(), fresh=False),
    claims=(
        *poisson_regret(("S3", "S5", "S7")),
        *costs("Figure 2, right", "S3", "S7", ("GLM-UCB",), *THOUSAND),
    ),
    notes=(
        UNSTATED,
        COUNTS,
        SEEDS_NOTE,
        TUNING,
        "GLM-UCB and RS-GLinCB are told that rewards are at most 100; RS-GLinCB's "
        "kappa is e^S, the largest of the ball.",
    ),
    slow={name: SOME for name in MLE if name != "OFULog-r"},
    figures=(Curves(not_drawn=("GLM-UCB", "uniform"), logarithmic=True), Cost("S")),
    timed=Timed(("S3", "S5", "S7"), at=(1,)),
)
