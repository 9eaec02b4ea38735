"""Figure 2 of Zhang et al. (2025): Poisson bandits on the published instance, with new arms in every round."""

from jaxbandits.glm import links
from jaxbandits.reproduction.engine import Cost, Curves, TimePerRound
from jaxbandits.reproduction.experiments.glm import setting
from jaxbandits.reproduction.experiments.glm.fig1 import (
    PLACE_OF_TIMES,
    modest_increase,
    ofuglb_is_lowest,
    root_of_t,
    times_of_a_trial,
)
from jaxbandits.reproduction.sentences import COMPARABLE, claims, mean, observations, time

_OURS = "Figure 2, right (in Section 5 the sentence is about logistic bandits)"
_NORMS = (3, 5, 7)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)

FIG2 = setting.FIGURES.experiment(
    "fig2",
    "Figure 2",
    horizon_stated=True,
    title="Poisson bandits on a published instance",
    shows="Figure 2 shows the regret of Poisson bandits over the rounds, in one panel for S = 3 and one for S = 5, and "
    "running times in a third panel, for GLB-OMD, GLM-UCB, GLOC, RS-GLinCB and OFUGLB. The paper states S in {3, 5, 7} "
    "with kappa around 18, 127 and 882, a bound of 100 on rewards for GLM-UCB and RS-GLinCB, and averages over 10 "
    "trials.",
    panels=lambda horizon: setting.on_instance(horizon, _NORMS, links.Poisson()),
    claims=(
        *ofuglb_is_lowest(
            *("GLB-OMD", "RS-GLinCB", "GLM-UCB", "GLOC"), on=_PANELS, place="Figure 2", kind="observation"
        ),
        *modest_increase("the regret of GLB-OMD is only modestly larger than that of "
                         "OFUGLB", on=_PANELS, place="Figure 2; Section 5"),
        *observations("gloc", mean("GLOC") > COMPARABLE * mean("GLB-OMD"), on=_PANELS, says="GLOC has large regret",
                      place="Figure 2", least=32),
        *root_of_t(_PANELS),
        *times_of_a_trial("S3", "S7", ("GLM-UCB", "RS-GLinCB"), kind="observation", place=_OURS, stable=PLACE_OF_TIMES),
        *observations("faster", time("RS-GLinCB") > time("GLB-OMD"), on="S3", says="GLB-OMD is faster than {label}",
                      place=_OURS),
        *claims("1000-times", time("OFUGLB") > 1000.0 * time("GLB-OMD"), on="S7",
                says="GLB-OMD reduces the running time of OFUGLB by a factor of "
                "1000", place="Figure 2, right; Section 5"),
    ),
    notes=(
        setting.FOUND,
        setting.FOUND_DELTA,
        setting.FOUND_KAPPA,
        "GLM-UCB and RS-GLinCB are given 100 as a bound on rewards.",
        setting.SLOW_NOTE,
        setting.PRESETS_NOTE,
    ),
    slow={name: 64 for name in setting.MLE if name != "OFULog-r"},
    figures=(Curves(not_drawn=setting.UNDRAWN, logarithmic=True), Cost("S")),
    timed=TimePerRound(_PANELS, at=(1,)),
)
