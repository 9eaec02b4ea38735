"""Figure 3, right: run time of Poisson bandits against S, to S = 9; with the regret there."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from jaxbandits.estimation.links import Poisson
from jaxbandits.experiments.engine.experiment import Panel, Timed
from jaxbandits.experiments.engine.figures import Cost, Curves
from jaxbandits.experiments.glm.claims import times_against_size
from jaxbandits.experiments.glm.fig2 import FIG2
from jaxbandits.experiments.glm.setting import COUNTS, PAPER, SIZES, UNSTATED, norms, told_the_norm

_DRAWN = ("OFUGLB", "GLB-OMD", "uniform")
_NAMES = tuple(f"S{size}" for size in SIZES)


def _two(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    every = told_the_norm(preset, horizon, panel)
    return {label: every[label] for label in _DRAWN}


FIG3 = dataclasses.replace(
    FIG2,
    name="glm/fig3",
    title="Poisson bandits, run time against S",
    source=f"{PAPER}, Figure 3, right (v2: 4)",
    seeds=64,
    algorithms=_two,
    panels=lambda horizon: norms(SIZES, Poisson(), fresh=False),
    claims=times_against_size(_NAMES),
    notes=(
        UNSTATED,
        COUNTS + " Its rising cost in the paper comes from sums over all rounds.",
        "OFUGLB runs on the first 16 seeds; comparisons are paired on those.",
    ),
    slow={"OFUGLB": 16},
    figures=(Cost("S"), Curves(not_drawn=("uniform",), logarithmic=True)),
    timed=Timed(_NAMES, at=(1,)),
)
