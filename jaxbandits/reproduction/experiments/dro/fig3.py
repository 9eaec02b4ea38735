"""Figure 3: the maximal risk against samples, balanced groups."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.figures import PanelCurves
from jaxbandits.reproduction.engine.statements import difference, higher
from jaxbandits.reproduction.experiments.dro.fig2 import GRID, learners, panels
from jaxbandits.reproduction.experiments.dro.setting import GUESSED, SEEDS, STAND_IN, STUDY, adult_panels, tuning

_CLOSE = 0.01  # "very close"


def _rounds(horizon: int, panel: Panel) -> dict[str, int]:
    """Return the rounds in which all draw as many samples: SMD(m) takes m a round."""
    return {"SMD(m)": max(1, horizon // panel.environment.n_groups), "Online(1)": horizon, "SMD(1)": horizon}


def _algorithms(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    return learners(preset, panel, _rounds(horizon, panel))


FIG3 = STUDY.experiment(
    "fig3",
    "Figure 3",
    title="maximal risk against samples, balanced groups",
    stand_ins={"adult": "Adult"},
    horizon=100_000,
    guessed=GUESSED,
    algorithms=_algorithms,
    **adult_panels(panels),
    horizons=lambda horizon, panel, labels: {label: _rounds(horizon, panel)[label] for label in labels},
    metric="max_risk",
    tabulated=("samples",),
    claims=tuple(
        claim
        for letter, panel in (("a", "synthetic"), ("b", "adult"))
        for claim in (
            *difference(
                "SMD(m)",
                "Online(1)",
                on=panel,
                says="per sample SMD(m) and Online(1) are very close",
                place=f"Figure 3({letter})",
                low=-_CLOSE,
                high=_CLOSE,
                metric="max_risk",
                trials=SEEDS,
            ),
            *higher(
                "SMD(1)",
                ("Online(1)", "SMD(m)"),
                on=panel,
                says="SMD(1) needs more samples than {second}",
                place=f"Figure 3({letter})",
                metric="max_risk",
                trials=SEEDS,
            ),
        )
    ),
    tuning=tuning("max_risk", w=GRID, q=lambda learner: (1.0, 10.0)),
    notes=(
        STAND_IN,
        "T counts samples: every learner has the rounds, and the steps for these rounds, that use as many (SMD(m): "
        "T / m).",
        f"'Very close' is read as within {_CLOSE} [ours]; 'needs more samples' as any difference in that direction.",
    ),
    figures=(PanelCurves(x="samples", logarithmic=True),),
)
