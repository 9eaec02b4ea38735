"""Figure 2: online matrix completion with bandit feedback, on FilmTrust or a stand-in."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxbandits.experiments.coco import setting
from jaxbandits.experiments.coco.setting import METERS, PAPER, PRESETS
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Interpretation
from jaxbandits.experiments.engine.statistic import mean_difference


def _from_file(path: Path) -> Mapping[str, Any]:
    panels = setting.panels(setting.on_filmtrust(path))
    return {
        "title": "online matrix completion, bandit feedback, FilmTrust (1508 x 2071)",
        "algorithms": functools.partial(setting.learners, "fig2", True),
        "panels": lambda horizon: panels,
        "horizon": panels["figure"].environment.rounds_of_a_pass,
        "tabulated": setting.TABULATED,  # no comparator, hence no regret
        "figures": setting.figures(regret=False),
    }


FIG2 = Experiment(
    name="coco/fig2",
    title="online matrix completion, bandit feedback, stand-in for FilmTrust (5 x 6)",
    source=f"{PAPER}, Figure 2",
    horizon=4096,
    seeds=40,
    presets=PRESETS,
    algorithms=functools.partial(setting.learners, "fig2", False),
    panels=lambda horizon: setting.panels(setting.bandit_stand_in),
    from_file=_from_file,
    stand_ins=dict.fromkeys(setting.TITLES, "FilmTrust"),
    metric="loss",
    tabulated=("regret", *setting.TABULATED),
    meters=METERS,
    derive=setting.shares,
    record_points=25,
    claims=tuple(
        Claim(
            f"{name} ends below LBPM in the mean: cumulative {metric} ({panel})", setting.place("Figure 2", panel),
            mean_difference(panel, name, "LBPM", metric=metric), high=0.0, trials=10,
        )
        for panel in setting.TITLES
        for name in ("BFW-TVC", "SCBFW-TVC")
        for metric in ("loss", "violation")
    ),
    notes=(
        *setting.NOTES,
        "LBPM is a reconstruction, with a hundred oracle calls a block at most. Learners see values only; all perturb "
        "by 0.3 of the inner radius.",
        "On FilmTrust (d = 3.1 million) a one-point estimate has length d / delta times the value of a round: within a "
        "pass of 4436 rounds no learner of this kind can be expected to move for the better.",
    ),
    interpretations={
        "weights-before": Interpretation(
            "step 6 of Algorithm 3 weighs a round by Q_t, which depends on the perturbation: by Q_{t-1}, unbiased",
            {key: {"weight_before": True} for key in ("BFW-TVC", "SCBFW-TVC")},
        ),
        "as-printed-27": Interpretation(
            "(27) lacks the linear term that centres its quadratics where they were: as printed, around 0",
            {"SCBFW-TVC": {"recenter": False}},
        ),
    },
    figures=setting.figures(regret=True),
)  # fmt: skip
