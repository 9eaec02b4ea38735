"""Table 1 of Wang et al. (2025): cost per round against t."""


from jaxbandits.linear import MENU, TOFU, noise
from jaxbandits.reproduction.engine import Learners, Panel
from jaxbandits.reproduction.experiments.linear import setting
from jaxbandits.reproduction.experiments.linear.setting import (
    DIM,
    PRESETS,
    TITLES,
    environment,
    learners,
    multipliers_of,
)
from jaxbandits.reproduction.sentences import FLAT, GROWS, claims, time_slope

_TABLE = {"on": "max", "place": "Table 1, cost per round"}


def _all_learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del panel
    common = {"dim": DIM, "horizon": horizon, "eps": 0.99, "noise_scale": 1.31}
    others = learners(preset, horizon, eps=0.99, bound=1.31)
    return {"TOFU": getattr(TOFU, preset)(**common), **others, "MENU": getattr(MENU, preset)(**common)}


TABLE1 = setting.FIGURES.experiment(
    "table1",
    "Table 1",
    title="cost per round against t",
    shows="Table 1 lists the regret bound and the computational cost per round of MENU and CRMM (median of means), "
    "TOFU and CRTM (truncation), HEAVY-OFUL and Hvt-UCB (Huber loss), with the assumptions of each method. The table "
    "states costs in terms of t and T only: O(log T), O(1), O(t), O(1), O(t log T) and O(1), in this order.",
    presets={
        "practical": f"{PRESETS['practical']}; MENU (51 pulls per epoch) {multipliers_of('menu')}; "
        f"TOFU {multipliers_of('tofu')}",
        "theory": PRESETS["theory"],
    },
    tuning=None,
    algorithms=_all_learners,
    panels=lambda horizon: {"max": Panel(TITLES["max"], environment(noise=noise.StudentT(df=2.1), eps=0.99))},
    claims=(  # a log factor reads as constant at these horizons
        *claims("flat", time_slope("MENU", "CRMM", "CRTM", "Hvt-UCB") < FLAT,
                says="the cost per round of {label} does not grow with t", **_TABLE),
        *claims("grows", time_slope("TOFU", "HEAVY-OFUL") > GROWS,
                says="the cost per round of {label} grows with t", **_TABLE),
    ),
    notes=(
        "TOFU runs only on the first 64 seeds. MENU and TOFU are in no figure of the paper. This experiment has no "
        "preset tuned.",
        "MENU and CRMM update their estimates only at the ends of epochs; their times are averages over all rounds.",
        "The run is in single precision (float32).",
    ),
    slow={**setting.SLOW, "TOFU": 64},
    **setting.TIMED,
)
