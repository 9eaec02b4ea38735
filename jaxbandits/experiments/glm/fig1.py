"""Figures 1 and 3: logistic bandits, one arm set a trial."""

from jaxbandits.estimation.links import Bernoulli
from jaxbandits.experiments.engine.experiment import Timed
from jaxbandits.experiments.engine.figures import Cost, Curves
from jaxbandits.experiments.engine.statements import higher
from jaxbandits.experiments.glm import setting
from jaxbandits.experiments.glm.claims import logistic_regret, logistic_times

_NORMS = (3, 5, 7, 9)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)

FIG1 = setting.FIGURES.experiment(
    "fig1",
    "Figures 1 and 3 (v2: 1 and 4)",
    title="logistic bandits, one arm set a trial",
    panels=lambda horizon: setting.norms(_NORMS, Bernoulli(), fresh=False),
    claims=(
        *logistic_regret(_PANELS),
        *higher(
            "GLM-UCB",
            "uniform",
            on="S7",
            factor=0.8,
            says="GLM-UCB explodes with kappa",
            place="ours (Table 1 has an upper bound)",
            trials=16,
        ),
        *logistic_times("S3", "S9"),
    ),
    notes=(
        setting.UNSTATED,
        setting.COUNTS,
        setting.SEEDS_NOTE,
        setting.WORST_KAPPA,
        setting.ADA,
        setting.TUNING,
    ),
    slow=dict.fromkeys((*setting.MLE, "ada-OFU-ECOLog"), setting.SOME),
    figures=(Curves(not_drawn=setting.UNDRAWN, logarithmic=True), Cost("S")),
    timed=Timed(_PANELS, at=(1,)),
)
