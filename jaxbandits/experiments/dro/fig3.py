"""Figure 3: the maximal risk against samples, balanced groups."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.experiments.dro.drawing import PanelCurves
from jaxbandits.experiments.dro.fig2 import GRID, learners, panels
from jaxbandits.experiments.dro.setting import OURS, PAPER, PRESETS, SEEDS, STAND_IN, tuning
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.statistic import mean_difference

_CLOSE = 0.01  # "very close"


def _rounds(horizon: int, panel: Panel) -> dict[str, int]:
    """As many samples for all: SMD(m) takes m a round."""
    return {"SMD(m)": max(1, horizon // panel.environment.n_groups), "Online(1)": horizon, "SMD(1)": horizon}


def _algorithms(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    return learners(preset, panel, _rounds(horizon, panel))


FIG3 = Experiment(
    name="dro/fig3",
    title="maximal risk against samples, balanced groups",
    source=f"{PAPER}, Figure 3",
    stand_ins={"adult": "Adult"},
    horizon=100_000,
    seeds=SEEDS,
    presets=PRESETS,
    algorithms=_algorithms,
    panels=panels,
    horizons=lambda horizon, panel, labels: {label: _rounds(horizon, panel)[label] for label in labels},
    metric="max_risk",
    tabulated=("samples",),
    record_points=("log", 40),
    claims=tuple(
        claim
        for letter, panel in (("a", "synthetic"), ("b", "adult"))
        for claim in (
            Claim(f"per sample SMD(m) and Online(1) are very close: final maximal risks within {_CLOSE} ({panel})",
                  f"Figure 3({letter})", mean_difference(panel, "SMD(m)", "Online(1)", metric="max_risk"),
                  low=-_CLOSE, high=_CLOSE, trials=SEEDS),
            Claim(f"SMD(1) needs more samples than Online(1): final maximal risk ({panel})", f"Figure 3({letter})",
                  mean_difference(panel, "SMD(1)", "Online(1)", metric="max_risk"), low=0.0, trials=SEEDS),
            Claim(f"SMD(1) needs more samples than SMD(m): final maximal risk ({panel})", f"Figure 3({letter})",
                  mean_difference(panel, "SMD(1)", "SMD(m)", metric="max_risk"), low=0.0, trials=SEEDS),
        )
    ),
    tuning=tuning("max_risk", w=GRID, q=lambda learner: (1.0, 10.0)),
    notes=(OURS, STAND_IN, "T counts samples: every learner has the rounds, and the steps for these rounds, that use "
           "as many (SMD(m): T / m).", f"'Very close' is read as within {_CLOSE} [ours]."),
    figures=(PanelCurves(x="samples", logarithmic=True),),
)  # fmt: skip
