"""Figure 3, right: run time of Poisson bandits against S, to S = 9; with the regret there."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxbandits.estimation.links import Poisson
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Panel, Timed
from jaxbandits.reproduction.engine.figures import Cost, Curves
from jaxbandits.reproduction.engine.statements import trial_time_ratio
from jaxbandits.reproduction.engine.thresholds import COMPARABLE
from jaxbandits.reproduction.experiments.glm import setting
from jaxbandits.reproduction.experiments.glm.fig1 import (
    PLACE_OF_TIMES,
    time_grows,
    time_is_stable,
    within_a_second,
)

_NORMS = (3, 5, 7, 9)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    every = setting.learners_on_instance(preset, horizon, panel)
    return {label: every[label] for label in ("OFUGLB", "GLB-OMD", "uniform")}


def _times_against_norm(panels: Sequence[str]) -> tuple[Claim, ...]:
    """Compare times of GLB-OMD and OFUGLB with a Poisson link, at each S from the first panel to the last."""
    first, last = panels[0], panels[-1]
    grown = 7568.0 / 2783.0  # seconds of OFUGLB at S = 9 over those at S = 3
    return (
        *(within_a_second(panel, PLACE_OF_TIMES) for panel in panels),
        *(
            time_is_stable("the running time of GLB-OMD remains stable", panel, first, PLACE_OF_TIMES)
            for panel in panels[1:]
        ),
        time_grows("OFUGLB", "the running time of OFUGLB scales with S", last, first, PLACE_OF_TIMES),
        trial_time_ratio(
            "OFUGLB",
            last,
            first,
            says=f"7568 seconds for 2783, which is {grown:.2g} times, within {COMPARABLE:g} times either way",
            place=PLACE_OF_TIMES,
            low=grown / COMPARABLE,
            high=grown * COMPARABLE,
        ),
    )


FIG3 = setting.FIGURES.experiment(
    "fig3",
    "Figure 3, right (v2: 4)",
    title="Poisson bandits, run time against S",
    seeds=64,
    algorithms=_learners,
    panels=lambda horizon: setting.on_instance(horizon, _NORMS, Poisson()),
    claims=_times_against_norm(_PANELS),
    notes=(
        setting.FOUND,
        setting.FOUND_DELTA,
        "OFUGLB keeps every round, and a round costs it O(t). It runs on the first 16 seeds.",
    ),
    slow={"OFUGLB": 16},
    figures=(Cost("S"), Curves(not_drawn=("uniform",), logarithmic=True)),
    timed=Timed(_PANELS, at=(1,)),
)
