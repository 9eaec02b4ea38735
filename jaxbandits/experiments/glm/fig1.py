"""Figures 1 and 3: logistic bandits, one arm set a trial."""

from jaxbandits.estimation.links import Bernoulli
from jaxbandits.experiments.engine.experiment import Experiment, Timed
from jaxbandits.experiments.engine.figures import Cost, Curves
from jaxbandits.experiments.glm.claims import EXPLODES, SAVINGS, costs, logistic_regret
from jaxbandits.experiments.glm.setting import (
    ADA,
    COUNTS,
    HORIZON,
    MLE,
    MOST,
    PAPER,
    PER_PANEL,
    PRESETS,
    SEEDS_NOTE,
    SIZES,
    SOME,
    TUNED,
    TUNING,
    UNDRAWN,
    UNSTATED,
    WORST_KAPPA,
    norms,
    told_the_norm,
)

FIG1 = Experiment(
    name="glm/fig1",
    title="logistic bandits, one arm set a trial",
    source=f"{PAPER}, Figures 1 and 3 (v2: 1 and 4)",
    horizon=HORIZON,
    seeds=MOST,
    presets=PRESETS | TUNED,
    algorithms=told_the_norm,
    panels=lambda horizon: norms(SIZES, Bernoulli(), fresh=False),
    metric="regret",
    tuning=PER_PANEL,
    claims=(
        *logistic_regret(("S3", "S5", "S7", "S9"), "S3", "S9"),
        EXPLODES,
        *costs("Figure 1, right", "S3", "S9", ("OFULog-r", "GLM-UCB", "ECOLog"), *SAVINGS),
    ),
    notes=(UNSTATED, COUNTS, SEEDS_NOTE, WORST_KAPPA, ADA, TUNING),
    slow=dict.fromkeys((*MLE, "ada-OFU-ECOLog"), SOME),
    width=32,
    figures=(Curves(not_drawn=UNDRAWN, logarithmic=True), Cost("S")),
    timed=Timed(("S3", "S5", "S7", "S9"), at=(1,)),
    float64=True,
)
