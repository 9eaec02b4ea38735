"""Figure 2: Poisson bandits on the published instance, fresh arms in every round."""

from collections.abc import Sequence

from jaxbandits.estimation.links import Poisson
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Timed
from jaxbandits.reproduction.engine.figures import Cost, Curves
from jaxbandits.reproduction.engine.statements import higher, slower
from jaxbandits.reproduction.engine.thresholds import COMPARABLE
from jaxbandits.reproduction.experiments.glm import setting
from jaxbandits.reproduction.experiments.glm.fig1 import (
    PLACE_OF_TIMES,
    glb_omd_is_faster,
    modest_increase,
    ofuglb_is_lowest,
    root_of_t,
    times_of_a_trial,
)

_PLACE, _OURS = "Figure 2; Section 5", "ours, on Figure 2"


def _regret(panels: Sequence[str]) -> tuple[Claim, ...]:
    """Compare regret with a Poisson link in each panel."""
    return (*(claim for panel in panels for claim in _regret_in(panel)), *root_of_t(panels))


def _regret_in(panel: str) -> tuple[Claim, ...]:
    here = {"on": panel, "place": _OURS, "trials": 32}
    return (
        *ofuglb_is_lowest(panel, _OURS, ("GLB-OMD", "RS-GLinCB", "GLM-UCB", "GLOC")),
        *modest_increase(panel, _PLACE, "a modest increase over OFUGLB"),
        *higher("GLOC", "GLB-OMD", factor=COMPARABLE, says="GLOC has large regret", **here),
    )


def _times(first: str, last: str) -> tuple[Claim, ...]:
    """Compare run times with a Poisson link, one trial at a time."""
    place, ours = "Figure 2, right; Section 5", "ours, on Figure 2, right (Section 5 says it of logistic bandits)"
    says = "the cost of OFUGLB is reduced by 1000 times"
    return (
        *times_of_a_trial(first, last, ("GLM-UCB",), ours, PLACE_OF_TIMES),
        *glb_omd_is_faster("RS-GLinCB", first, ours),
        *slower("OFUGLB", "GLB-OMD", on=last, says=says, place=place, times=1000.0),
    )


_NORMS = (3, 5, 7)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)

FIG2 = setting.FIGURES.experiment(
    "fig2",
    "Figure 2",
    title="Poisson bandits on the published instance",
    panels=lambda horizon: setting.on_instance(horizon, _NORMS, Poisson()),
    claims=(*_regret(_PANELS), *_times("S3", "S7")),
    notes=(
        setting.FOUND,
        setting.FOUND_DELTA,
        setting.FOUND_KAPPA,
        "GLM-UCB and RS-GLinCB are given 100 as a bound on rewards.",
        setting.SLOW_NOTE,
        setting.TUNING,
    ),
    figures=(Curves(not_drawn=setting.UNDRAWN, logarithmic=True), Cost("S")),
    timed=Timed(_PANELS, at=(1,)),
)
