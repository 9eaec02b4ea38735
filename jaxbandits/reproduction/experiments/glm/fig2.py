"""Figure 2: Poisson bandits."""

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
    RARELY_SWITCHING,
    glb_omd_is_faster,
    modest_increase,
    ofuglb_is_lowest,
    root_of_t,
    times_of_a_trial,
)

_PLACE, OURS = "Figure 2; Section 5", "ours, on Figure 2"


def _regret(panels: Sequence[str]) -> tuple[Claim, ...]:
    """Compare regret with a Poisson link in each panel."""
    return (
        *(claim for panel in panels for claim in _regret_in(panel)),
        *higher(
            "GLB-OMD, data radius",
            "GLB-OMD",
            on="S5",
            says="the data radius is worse than Theorem 1's",
            place="ours",
            trials=32,
        ),
        *root_of_t(panels),
    )


def _regret_in(panel: str) -> tuple[Claim, ...]:
    here = {"on": panel, "place": OURS, "trials": 32}
    return (
        *ofuglb_is_lowest(panel, OURS, ("GLB-OMD", *RARELY_SWITCHING, "GLM-UCB", "GLOC")),
        *(
            claim
            for rival in (*RARELY_SWITCHING, "GLM-UCB")
            for claim in higher(rival, "GLB-OMD", says=f"{rival} has more regret", **here)
        ),
        *modest_increase(panel, _PLACE, "a modest increase over OFUGLB"),
        *higher("GLOC", "GLB-OMD", factor=COMPARABLE, says="GLOC has large regret", **here),
    )


def _times_of_trials(first: str, last: str) -> tuple[Claim, ...]:
    """Compare run times with a Poisson link, one trial at a time."""
    place, ours = "Figure 2, right; Section 5", "ours, on Figure 2, right (Section 5 says it of logistic bandits)"
    says = "the cost of OFUGLB is reduced by 1000 times"
    return (
        *times_of_a_trial(first, last, ("GLM-UCB",), ours, PLACE_OF_TIMES, PLACE_OF_TIMES),
        *glb_omd_is_faster(RARELY_SWITCHING, first, ours),
        *slower("OFUGLB", "GLB-OMD", on=last, says=says, place=place, times=1000.0),
    )


_NORMS = (3, 5, 7)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)

FIG2 = setting.FIGURES.experiment(
    "fig2",
    "Figure 2 and Figure 3, right",
    title="Poisson bandits, one arm set a trial",
    panels=lambda horizon: setting.norms(_NORMS, Poisson(), fresh=False),
    claims=(*_regret(_PANELS), *_times_of_trials("S3", "S7")),
    notes=(
        setting.UNSTATED,
        setting.COUNTS,
        setting.SEEDS_NOTE,
        setting.TUNING,
        "GLM-UCB and RS-GLinCB are given 100 as a bound on rewards; RS-GLinCB's kappa is e^S, the largest of the ball.",
    ),
    slow={name: setting.SOME for name in setting.MLE if name != "OFULog-r"},
    figures=(Curves(not_drawn=("GLM-UCB", "uniform"), logarithmic=True), Cost("S")),
    timed=Timed(_PANELS, at=(1,)),
)
