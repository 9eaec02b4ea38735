"""Figure 7: risks of single groups, one of them an outlier, under two objectives."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.experiments.dro.drawing import GroupCurves
from jaxbandits.experiments.dro.fig6 import GRID, Q_GRID, learners
from jaxbandits.experiments.dro.setting import (
    OURS,
    PAPER,
    PRESETS,
    SEEDS,
    groups,
    heterogeneous,
    outlier,
    scales,
    tuning,
)  # fmt: skip
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.statistic import mean_difference, metric_difference
from jaxbandits.results.trials import Trials

_WITHIN = 0.015


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    return {"synthetic": Panel("synthetic, d = 1000, m = 20", heterogeneous())}


def _algorithms(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    smd = SMD(horizon=horizon, **groups(panel), **scales(preset, 3.0, 30.0))
    return {"SMD(m)": smd, **learners(preset, panel, {"ATkRO(m)": horizon, "ATkRO(k)": horizon})}


def _objective(learner: Any, panel: Panel) -> str:
    del panel
    return "max_risk" if isinstance(learner, SMD) else "top_k_risk"


def _derived(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    """Risks of the outlier and of the others: of the learner, and of the exact optima of both problems."""
    found = dict(outlier(trials, algorithm, panel))
    for name in ("optimum", "top_k_optimum"):
        risk = trials.get(f"{name}_risk")
        found |= {f"{name}_first_risk": risk[..., 0], f"{name}_other_risk": risk[..., 1:].mean(axis=-1)}
    return found


def _around(text: str, statistic: Any, value: float, source: str = "Figure 7") -> Claim:
    return Claim(f"{text} {value:+g} to within 0.015", source, statistic, value - 0.015, value + 0.015, trials=SEEDS)


FIG7 = Experiment(
    name="dro/fig7",
    title="risks of single groups, heterogeneous groups",
    source=f"{PAPER}, Figure 7",
    horizon=50_000,
    seeds=SEEDS,
    presets=PRESETS,
    algorithms=_algorithms,
    panels=_panels,
    metric="top_k_risk",
    tabulated=("first_risk", "other_risk", "max_risk"),
    derive=_derived,
    record_points=("log", 40),
    width=1,  # a vector of 1000 fills the machine, and 20 trials would leave 12 of 32 slots empty
    claims=(
        *(
            Claim(f"{what}: {metric.replace('_', ' ')}, SMD(m) less {label}", "Figure 7",
                  mean_difference("synthetic", "SMD(m)", label, metric=metric), *side, trials=SEEDS)
            for label in ("ATkRO(m)", "ATkRO(k)")
            for what, metric, side in (
                ("SMD(m) ends lower on the outlier", "first_risk", (-np.inf, 0.0)),
                ("and higher on the others", "other_risk", (0.0, np.inf)),
            )
        ),
        _around("SMD(m) concentrates on the outlier: its risk there less ATkRO(m)'s is",
                mean_difference("synthetic", "SMD(m)", "ATkRO(m)", metric="first_risk"), -0.061),
        _around("the same, less ATkRO(k)'s:",
                mean_difference("synthetic", "SMD(m)", "ATkRO(k)", metric="first_risk"), -0.056),
        _around("the other 19 risks are higher in the mean, than ATkRO(m)'s by",
                mean_difference("synthetic", "SMD(m)", "ATkRO(m)", metric="other_risk"), 0.12),
        _around("the same, than ATkRO(k)'s:",
                mean_difference("synthetic", "SMD(m)", "ATkRO(k)", metric="other_risk"), 0.12),
        _around("at the exact optima: risk of the outlier, of the maximum less of the 3 largest,",
                metric_difference("synthetic", "SMD(m)", "optimum_first_risk", "top_k_optimum_first_risk"), -0.061,
                "ours, on Figure 7"),
        _around("at the exact optima: mean of the others, of the maximum less of the 3 largest,",
                metric_difference("synthetic", "SMD(m)", "optimum_other_risk", "top_k_optimum_other_risk"), 0.12,
                "ours, on Figure 7"),
    ),
    tuning=tuning(_objective, w=GRID, q=lambda learner: Q_GRID),
    notes=(OURS, "The paper's figures are single runs: 0.015 on either side is ours. The last two claims involve no "
           "step size: they say what the problems themselves ask for.",
           "Tuned, every method is chosen by what it minimises: SMD(m) by the maximal risk, the others by the mean of "
           "the 3 largest. The other 19 risks are then 0.105 above ATkRO(m)'s, where the margin ends (0.12 less "
           "0.015): some 1,750 seeds would decide, more than an hour, and 20 are run.",
           "With the theorem's steps the weights of SMD(m) hardly move at this horizon: eta_q is small beside D G."),
    figures=(GroupCurves(groups=(0, 1, 4, 9, 14, 19), panel="synthetic", logarithmic=True, name="iterations"),),
)  # fmt: skip
