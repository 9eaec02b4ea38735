"""Table 1: cost per round against t."""

import math
from typing import Any

from jaxbandits.algorithms.linear.menu import MENU
from jaxbandits.algorithms.linear.tofu import TOFU
from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Panel
from jaxbandits.experiments.engine.statistic import time_growth
from jaxbandits.experiments.engine.thresholds import FLAT, GROWS
from jaxbandits.experiments.linear import setting
from jaxbandits.experiments.linear.setting import DIM, PRESETS, SLOW, TIMED, TITLES, environment, learners, scaled

# Order of a round's cost in t as Table 1 prints it; a log factor reads as constant at these horizons.
_COSTS = {"MENU": 0, "CRMM": 0, "TOFU": 1, "CRTM": 0, "HEAVY-OFUL": 1, "Hvt-UCB": 0}


def _all_learners(preset: str, horizon: int, panel: Panel) -> dict[str, Any]:
    del panel
    told = {"dim": DIM, "horizon": horizon, "eps": 0.99, "noise_scale": 1.31}
    others = learners(preset, horizon, eps=0.99, bound=1.31)
    return {"TOFU": getattr(TOFU, preset)(**told), **others, "MENU": getattr(MENU, preset)(**told)}


def _cost(name: str, order: int) -> Claim:
    text = f"costs no more the later it is: log-log slope of its time below {FLAT}"
    if order:
        text = f"costs more the later it is: log-log slope of its time above {GROWS}"
    low, high = (GROWS, math.inf) if order else (-math.inf, FLAT)
    place = "Table 1, cost per round"
    return Claim(f"a round of {name} {text}", place, time_growth("max", name), low=low, high=high, trials=3)


TABLE1 = setting.FIGURES.experiment(
    "table1",
    "Table 1",
    title="cost per round against t",
    presets={
        "practical": f"{PRESETS['practical']}; MENU (51 pulls an epoch) {scaled('menu')}; TOFU {scaled('tofu')}",
        "theory": PRESETS["theory"],
    },
    tuning=None,
    algorithms=_all_learners,
    panels=lambda horizon: {"max": Panel(TITLES["max"], environment(noise=StudentT(df=2.1), eps=0.99))},
    claims=tuple(_cost(name, order) for name, order in _COSTS.items()),
    notes=(
        "TOFU runs on the first 64 seeds likewise. MENU and TOFU have no curve in the paper.",
        "MENU and CRMM do their work at the ends of epochs; over one program that work is spread over all rounds.",
        "Times are of float32. So is TOFU's regret here, whose estimate needs float64 for its digits at this horizon.",
    ),
    slow={**SLOW, "TOFU": 64},
    **TIMED,
)
