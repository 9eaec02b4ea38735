"""Figure 2 with one arm set a trial, which the paper's instance does not have."""

from jaxbandits.estimation.links import Poisson
from jaxbandits.reproduction.engine.figures import Curves
from jaxbandits.reproduction.engine.statements import higher
from jaxbandits.reproduction.experiments.glm import setting
from jaxbandits.reproduction.experiments.glm.fig1 import modest_increase, ofuglb_is_lowest, root_of_t

_NORMS = (3, 5, 7)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)
_PLACE = "ours, on Figure 2 (fixed arms)"

FIG2_FIXED = setting.OTHER_ARMS.experiment(
    "fig2-fixed",
    "Figure 2",
    title="Poisson bandits, one arm set a trial",
    panels=lambda horizon: setting.norms(_NORMS, Poisson(), fresh=False),
    claims=(
        *(claim for panel in _PANELS for claim in ofuglb_is_lowest(panel, _PLACE, ("GLB-OMD", "GLOC"))),
        *(claim for panel in _PANELS for claim in modest_increase(panel, _PLACE, "a modest increase over OFUGLB")),
        *higher(
            "GLB-OMD, data radius",
            "GLB-OMD",
            on="S5",
            says="the data radius is worse than Theorem 1's",
            place="ours",
            trials=32,
        ),
        *root_of_t(_PANELS),
    ),
    notes=(
        setting.UNSTATED,
        setting.COUNTS,
        setting.SEEDS_NOTE,
        setting.TUNING,
        "GLM-UCB and RS-GLinCB are given 100 as a bound on rewards; RS-GLinCB's kappa is e^S, the largest of the ball.",
    ),
    slow={name: setting.SOME for name in setting.MLE if name != "OFULog-r"},
    figures=(Curves(not_drawn=setting.UNDRAWN, logarithmic=True),),
)
