"""Figure 2 of Zhang et al. (2025), but with one arm set per trial in place of new arms in every round."""

from jaxbandits.glm import links
from jaxbandits.reproduction.engine import Curves
from jaxbandits.reproduction.experiments.glm import setting
from jaxbandits.reproduction.experiments.glm.fig1 import modest_increase, ofuglb_is_lowest, root_of_t
from jaxbandits.reproduction.sentences import mean, observations

_NORMS = (3, 5, 7)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)
_OURS = {"on": _PANELS, "place": "Figure 2 (fixed arms)", "kind": "observation"}

FIG2_FIXED = setting.OTHER_ARMS.experiment(
    "fig2-fixed",
    "Figure 2",
    horizon_stated=True,
    title="Poisson bandits on random instances, one arm set per trial",
    shows="The figure is that of glm/fig2. Here every trial has its own fixed arm set, instead of the published "
    "instance with new arms in every round.",
    panels=lambda horizon: setting.norms(_NORMS, links.Poisson(), fresh=False),
    claims=(
        *ofuglb_is_lowest("GLB-OMD", "GLOC", **_OURS),
        *modest_increase("the regret of GLB-OMD is only modestly larger than that of OFUGLB", **_OURS),
        *observations("data-radius", mean("GLB-OMD, data radius") > mean("GLB-OMD"), on="S5",
                      says="with the data radius (Lemmas 4 and 5) GLB-OMD has more regret than with the radius of "
                      "Theorem 1", least=32),
        *root_of_t(_PANELS),
    ),
    notes=(
        setting.UNSTATED,
        setting.COUNTS,
        setting.SEEDS_NOTE,
        setting.PRESETS_NOTE,
        "GLM-UCB and RS-GLinCB are given 100 as a bound on rewards. RS-GLinCB is given kappa = e^S, the largest value "
        "over the ball.",
    ),
    slow={name: setting.SOME for name in setting.MLE if name != "OFULog-r"},
    figures=(Curves(not_drawn=setting.UNDRAWN, logarithmic=True),),
)
