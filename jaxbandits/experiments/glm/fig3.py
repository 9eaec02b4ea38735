"""Figure 3, right: run time of Poisson bandits against S, to S = 9; with the regret there."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.estimation.links import Poisson
from jaxbandits.experiments.engine.experiment import Panel, Timed
from jaxbandits.experiments.engine.figures import Cost, Curves
from jaxbandits.experiments.glm import setting
from jaxbandits.experiments.glm.claims import times_against_norm

_NORMS = (3, 5, 7, 9)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    every = setting.learners_given_norm(preset, horizon, panel)
    return {label: every[label] for label in ("OFUGLB", "GLB-OMD", "uniform")}


FIG3 = setting.FIGURES.experiment(
    "fig3",
    "Figure 3, right (v2: 4)",
    title="Poisson bandits, run time against S",
    seeds=64,
    algorithms=_learners,
    panels=lambda horizon: setting.norms(_NORMS, Poisson(), fresh=False),
    claims=times_against_norm(_PANELS),
    notes=(
        setting.UNSTATED,
        setting.COUNTS + " Its rising cost in the paper comes from sums over all rounds.",
        "OFUGLB runs on the first 16 seeds; comparisons are paired on those.",
    ),
    slow={"OFUGLB": 16},
    figures=(Cost("S"), Curves(not_drawn=("uniform",), logarithmic=True)),
    timed=Timed(_PANELS, at=(1,)),
)
