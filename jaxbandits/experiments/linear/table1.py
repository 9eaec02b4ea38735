"""Table 1: cost per round against t."""

import math
from typing import Any

from jaxbandits.algorithms.linear.menu import MENU
from jaxbandits.algorithms.linear.tofu import TOFU
from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel, Timed
from jaxbandits.experiments.engine.figures import Curves
from jaxbandits.experiments.engine.statistic import time_growth
from jaxbandits.experiments.engine.thresholds import FLAT, GROWS
from jaxbandits.experiments.linear.setting import (
    DIM,
    FEWER,
    HORIZON,
    PAPER,
    PRESETS,
    READINGS,
    SLOW,
    TUNING,
    WIDTH,
    environment,
    learners,
    scaled,
)

# Order of a round's cost in t as Table 1 prints it; a log factor reads as constant at these horizons.
_COSTS = {"MENU": 0, "CRMM": 0, "TOFU": 1, "CRTM": 0, "HEAVY-OFUL": 1, "Hvt-UCB": 0}


def _all_learners(preset: str, horizon: int, panel: Panel) -> dict[str, Any]:
    del panel
    told = {"dim": DIM, "horizon": horizon, "eps": 0.99, "noise_scale": 1.31}
    others = learners(preset, horizon, eps=0.99, bound=1.31)
    return {"TOFU": getattr(TOFU, preset)(**told), **others, "MENU": getattr(MENU, preset)(**told)}


TABLE1 = Experiment(
    name="linear/table1",
    title="cost per round against t",
    source=f"{PAPER}, Table 1",
    horizon=HORIZON,
    seeds=512,
    presets={
        "practical": f"{PRESETS['practical']}; MENU (51 pulls an epoch) {scaled('menu')}; TOFU {scaled('tofu')}",
        "theory": PRESETS["theory"],
    },
    algorithms=_all_learners,
    panels=lambda horizon: {"max": Panel(READINGS["max"][1], environment(noise=StudentT(df=2.1), eps=0.99))},
    metric="regret",
    claims=tuple(
        Claim(
            f"a round of {name} costs " + (f"no more the later it is: log-log slope of its time below {FLAT}"
            if order == 0 else f"more the later it is: log-log slope of its time above {GROWS}"),
            "Table 1, cost per round", time_growth("max", name),
            low=-math.inf if order == 0 else GROWS, high=FLAT if order == 0 else math.inf, trials=3,
        )
        for name, order in _COSTS.items()
    ),
    notes=(
        TUNING, FEWER, "TOFU runs on the first 64 seeds likewise. MENU and TOFU have no curve in the paper.",
        "MENU and CRMM do their work at the ends of epochs; over one program that work is spread over all rounds.",
        "Times are of float32. So is TOFU's regret here, whose estimate needs float64 for its digits at this horizon.",
    ),
    slow={**SLOW, "TOFU": 64},
    width=WIDTH,
    figures=(Curves(not_drawn=("uniform",), times=True),),
    timed=Timed(("max",), unit="Hvt-UCB"),
)  # fmt: skip
