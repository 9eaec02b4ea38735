"""Figure 3, right, of Zhang et al. (2025): running time and regret of Poisson bandits against S, up to S = 9."""


from jaxbandits.glm import links
from jaxbandits.reproduction.engine import Cost, Curves, Learners, Panel, TimePerRound
from jaxbandits.reproduction.experiments.glm import setting
from jaxbandits.reproduction.experiments.glm.fig1 import PLACE_OF_TIMES
from jaxbandits.reproduction.sentences import COMPARABLE, LITTLE, claims, time, time_over_panels

_GROWN = 7568.0 / 2783.0  # seconds of OFUGLB at S = 9, divided by those at S = 3
_NORMS = (3, 5, 7, 9)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    every = setting.learners_on_instance(preset, horizon, panel)
    return {label: every[label] for label in ("OFUGLB", "GLB-OMD", "uniform")}


FIG3 = setting.FIGURES.experiment(
    "fig3",
    "Figure 3, right (v2: 4)",
    horizon_stated=True,
    title="Poisson bandits, running time against S",
    shows="The third panel of Figure 3 shows the running time on Poisson bandits against S; of the learners, the text "
    "names GLB-OMD and OFUGLB. The paper states T = 3000 and gives times at S = 3 and S = 9.",
    seeds=64,
    algorithms=_learners,
    panels=lambda horizon: setting.on_instance(horizon, _NORMS, links.Poisson()),
    claims=(
        *claims("a-second", time("GLB-OMD") < 1.0, on=_PANELS, says="a trial of GLB-OMD takes less than a second",
                place=PLACE_OF_TIMES),
        *(
            claim
            for panel in _PANELS[1:]
            for claim in claims("stable", time_over_panels("GLB-OMD", panel, "S3").between(1.0 / LITTLE, LITTLE),
                                on=panel, says="the running time of GLB-OMD remains stable", place=PLACE_OF_TIMES)
        ),
        *claims("scales", time_over_panels("OFUGLB", "S9", "S3") > LITTLE,
                says="the running time of OFUGLB grows with S", place=PLACE_OF_TIMES),
        *claims("7568-for-2783",
                time_over_panels("OFUGLB", "S9", "S3").between(_GROWN / COMPARABLE, _GROWN * COMPARABLE),
                says=f"from S = 3 to S = 9 the running time of OFUGLB grows by a factor of {_GROWN:.2g}, from 2783 to "
                f"7568 seconds (tested to within a factor of {COMPARABLE:g})",
                place=PLACE_OF_TIMES),
    ),
    notes=(
        setting.FOUND,
        setting.FOUND_DELTA,
        "OFUGLB keeps the full history, so its cost per round is O(t). It runs only on the first 16 seeds.",
    ),
    slow={"OFUGLB": 16},
    figures=(Cost("S"), Curves(not_drawn=("uniform",), logarithmic=True)),
    timed=TimePerRound(_PANELS, at=(1,)),
)
