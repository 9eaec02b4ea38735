"""Figure 4: Student t noise of random scale."""

from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Curves
from jaxbandits.experiments.engine.statistic import mean_difference
from jaxbandits.experiments.engine.thresholds import MUCH
from jaxbandits.experiments.linear.claims import comparable
from jaxbandits.experiments.linear.setting import (
    FEWER,
    HORIZON,
    PAPER,
    PER_PANEL,
    PRESETS,
    SLOW,
    TUNED,
    TUNING,
    WIDTH,
    environment,
    learners_given_scale,
)

_DECADES = {"scale1.5": 1.5, "scale2": 2.0, "scale2.5": 2.5}

FIG4 = Experiment(
    name="linear/fig4",
    title="Student t noise (1.7) of random scale",
    source=f"{PAPER}, Figure 4 (Appendix E.2)",
    horizon=HORIZON,
    seeds=512,
    presets=PRESETS | TUNED,
    algorithms=learners_given_scale,
    panels=lambda horizon: {
        name: Panel(
            f"log10 of the scale uniform on (0, {decades:g})",
            environment(noise=StudentT(df=1.7), eps=0.69, noise_decades=decades),
        )
        for name, decades in _DECADES.items()
    },
    metric="regret",
    claims=tuple(
        Claim(
            f"knowing nu_t puts Hvt-UCB far ahead of {other}: mean regret below 1/{MUCH:g} of its ({name})",
            "Figure 4; Appendix E.2", mean_difference(name, "Hvt-UCB", other, factor=1.0 / MUCH), high=0.0,
        )
        for name in _DECADES
        for other in ("OFUL", "CRTM", "CRMM")
    )
    + tuple(
        Claim(
            f"HEAVY-OFUL, told nu_t too, is far ahead of {other}: mean regret below 1/{MUCH:g} of its ({name})",
            "Figure 4; Appendix E.2", mean_difference(name, "HEAVY-OFUL", other, factor=1.0 / MUCH), high=0.0,
        )
        for name in _DECADES
        for other in ("OFUL", "CRTM", "CRMM")
    )
    + tuple(
        Claim(
            f"knowing nu_t puts Hvt-UCB far ahead of itself told the bound only: mean regret below 1/{MUCH:g} ({name})",
            "ours, on Figure 4", mean_difference(name, "Hvt-UCB", "Hvt-UCB, bound only", factor=1.0 / MUCH), high=0.0,
        )
        for name in _DECADES
    )
    + comparable("ours, on Figure 4 (both are told nu_t)", _DECADES)
    + tuple(
        Claim(
            f"OFUL is worst: mean regret above {other}'s ({name})",
            "Figure 4; Appendix E.2", mean_difference(name, "OFUL", other), low=0.0,
        )
        for name in _DECADES
        for other in ("CRTM", "CRMM")
    ),
    notes=(TUNING, FEWER, "The paper prints eps = df - 0.01 = 1.69, outside (0, 1]: 1 + eps is meant."),
    slow=SLOW,
    tuning=PER_PANEL,
    width=WIDTH,
    figures=(Curves(not_drawn=("uniform",)),),
)  # fmt: skip
