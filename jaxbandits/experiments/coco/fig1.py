"""Figure 1: online matrix completion with full information, on MovieLens-100k or a stand-in."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxbandits.experiments.coco import setting
from jaxbandits.experiments.coco.setting import METERS, PAPER, PRESETS
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment
from jaxbandits.experiments.engine.statistic import final_mean, mean_difference


def _from_file(path: Path) -> Mapping[str, Any]:
    panels = setting.panels(setting.on_movielens(path))
    return {
        "title": "online matrix completion, full information, MovieLens-100k (943 x 1682)",
        "algorithms": functools.partial(setting.learners, "fig1", True),
        "panels": lambda horizon: panels,
        "horizon": panels["figure"].environment.rounds_of_a_pass,
        "tabulated": setting.TABULATED,  # no comparator, hence no regret
        "figures": setting.figures(regret=False),
    }


def _claims(panel: str) -> tuple[Claim, ...]:
    better = [("OFW-TVC", "OPDP", "loss"), ("OFW-TVC", "LPM", "loss"), ("SCOFW-TVC", "OFW-TVC", "loss")]
    better += [("SCOFW-TVC", "OPDP", "loss"), ("SCOFW-TVC", "LPM", "loss")]
    better += [("OFW-TVC", "OPDP", "violation"), ("OFW-TVC", "LPM", "violation"), ("OFW-TVC", "SCOFW-TVC", "violation")]
    return tuple(
        Claim(
            f"{first} ends below {second} in the mean: cumulative {metric} ({panel})", setting.place("Figure 1", panel),
            mean_difference(panel, first, second, metric=metric), high=0.0, trials=10,
        )
        for first, second, metric in better
    )  # fmt: skip


FIG1 = Experiment(
    name="coco/fig1",
    title="online matrix completion, full information, stand-in for MovieLens (20 x 26)",
    source=f"{PAPER}, Figure 1",
    horizon=1500,
    seeds=20,
    presets=PRESETS,
    algorithms=functools.partial(setting.learners, "fig1", False),
    panels=lambda horizon: setting.panels(setting.stand_in),
    from_file=_from_file,
    stand_ins=dict.fromkeys(setting.TITLES, "MovieLens-100k"),
    metric="loss",
    tabulated=("regret", *setting.TABULATED),
    meters=METERS,
    derive=setting.shares,
    record_points=25,
    claims=_claims("figure")
    + _claims("budget")
    + tuple(
        Claim(
            f"the constraints of the figure cannot be learned: {name} violates 0.23 ||X_t|| a round (within 10 %)",
            "ours: E max(<P, X>, 0) = ||X|| / sqrt(6 pi)",
            final_mean("figure", name, "violation_share"), low=0.207, high=0.253, trials=10,
        )
        for name in setting.FULL
    ),
    notes=(
        *setting.NOTES,
        "LPM and OPDP are reconstructions. LPM asks the oracle at the end of a block, a hundred times at most, and not "
        "in every round: see the figures against oracle calls.",
    ),
    figures=setting.figures(regret=True),
)  # fmt: skip
