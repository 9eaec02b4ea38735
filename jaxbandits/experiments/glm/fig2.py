"""Figure 2: Poisson bandits."""

from jaxbandits.estimation.links import Poisson
from jaxbandits.experiments.engine.experiment import Timed
from jaxbandits.experiments.engine.figures import Cost, Curves
from jaxbandits.experiments.glm import setting
from jaxbandits.experiments.glm.claims import poisson_regret, poisson_times

_NORMS = (3, 5, 7)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)

FIG2 = setting.FIGURES.experiment(
    "fig2",
    "Figure 2 and Figure 3, right",
    title="Poisson bandits, one arm set a trial",
    panels=lambda horizon: setting.norms(_NORMS, Poisson(), fresh=False),
    claims=(*poisson_regret(_PANELS), *poisson_times("S3", "S7")),
    notes=(
        setting.UNSTATED,
        setting.COUNTS,
        setting.SEEDS_NOTE,
        setting.TUNING,
        "GLM-UCB and RS-GLinCB are told that rewards are at most 100; RS-GLinCB's kappa is e^S, the largest of the "
        "ball.",
    ),
    slow={name: setting.SOME for name in setting.MLE if name != "OFULog-r"},
    figures=(Curves(not_drawn=("GLM-UCB", "uniform"), logarithmic=True), Cost("S")),
    timed=Timed(_PANELS, at=(1,)),
)
