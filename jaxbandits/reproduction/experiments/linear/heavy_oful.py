"""The setting of HEAVY-OFUL's own experiment: ten dimensions, fresh arms in every round."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.linear.crtm import CRTM
from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.algorithms.linear.tofu import TOFU
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.environments.linear.fresh_arms import FreshArms
from jaxbandits.reproduction.engine.experiment import Experiment, Panel
from jaxbandits.reproduction.engine.figures import Curves
from jaxbandits.reproduction.engine.statements import equivalent, lower
from jaxbandits.reproduction.engine.thresholds import MUCH
from jaxbandits.reproduction.experiments.linear.setting import PRESETS, largest_scale

_DECADES = {"scale0": (0.0, "noise of constant scale"), "scale2": (2.0, "log10 of the scale uniform on (0, 2)")}
_WHERE = "ours, on the experiment of Huang et al."


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Make the learners of Figure 4: HEAVY-OFUL and Hvt-UCB receive nu_t each round, the others its largest value."""
    environment: Any = panel.environment
    bound = largest_scale(environment)
    common = {"dim": environment.dim, "horizon": horizon}
    moments = {**common, "eps": float(environment.eps)}
    return {
        "HEAVY-OFUL": getattr(HeavyOFUL, preset)(**moments),
        "TOFU": getattr(TOFU, preset)(**moments, noise_scale=bound),
        "Hvt-UCB": getattr(HvtUCB, preset)(**moments),
        "CRTM": getattr(CRTM, preset)(**moments, noise_scale=bound),
        "OFUL": getattr(OFUL, preset)(**common, noise_scale=bound),
        "uniform": Uniform(dim=environment.dim),
    }


HEAVY_OFUL = Experiment(
    name="linear/heavy-oful",
    title="the setting of HEAVY-OFUL's own experiment",
    source="Huang, Zhong, Wang & Yang, NeurIPS 2023",
    horizon=1_000,
    seeds=256,
    presets=PRESETS,
    algorithms=_learners,
    panels=lambda horizon: {
        name: Panel(title, FreshArms(noise_decades=decades)) for name, (decades, title) in _DECADES.items()
    },
    metric="regret",
    claims=(
        *lower(
            "HEAVY-OFUL",
            "TOFU",
            on=_DECADES.keys(),
            says="HEAVY-OFUL is better than TOFU in its own setting",
            place=_WHERE,
        ),
        *equivalent(
            "Hvt-UCB",
            "HEAVY-OFUL",
            on=_DECADES.keys(),
            says="Hvt-UCB is comparable to HEAVY-OFUL there",
            place=_WHERE,
        ),
        *(
            claim
            for name in ("HEAVY-OFUL", "Hvt-UCB")
            for claim in lower(
                name,
                ("OFUL", "CRTM", "TOFU"),
                on="scale2",
                factor=1.0 / MUCH,
                says=f"knowing nu_t puts {name} far ahead of {{second}} there",
                place=_WHERE,
            )
        ),
    ),
    notes=(
        "d = 10, K = 20, arms of norm 1 with positive coordinates, theta* = (1, ..., 1)/sqrt(d), Student t noise (2), "
        "eps = 0.99, as in public code for the paper; T = 1000, where that has 10,000: HEAVY-OFUL costs O(t d^2) a "
        "round. MENU, which keeps one arm set for a whole epoch there, is left out.",
        "Multipliers are those of Figure 1 (d = 2), not tuned here.",
        "HEAVY-OFUL and TOFU run on the first 64 seeds only. Comparisons with them are paired on those.",
    ),
    slow={"HEAVY-OFUL": 64, "TOFU": 64},
    width=32,
    figures=(Curves(not_drawn=("uniform",)),),
)
