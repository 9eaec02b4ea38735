"""Figure 5: arm sets that change."""

from collections.abc import Mapping

from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Curves
from jaxbandits.experiments.engine.statistic import mean_difference
from jaxbandits.experiments.engine.thresholds import COMPARABLE, MUCH
from jaxbandits.experiments.linear.setting import (
    ARMS,
    FEWER,
    HORIZON,
    PAPER,
    PER_PANEL,
    PRESETS,
    READINGS,
    SLOW,
    TUNED,
    TUNING,
    TWO_READINGS,
    WIDTH,
    environment,
    learners_with_common_bound,
)

_SETS = {"50 arms": None, "40 of 50": 40, "30 of 50": 30}


def _set_panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    return {
        f"{reading}-{available or ARMS}": Panel(
            f"{name}, {title}",
            environment(noise=StudentT(df=2.1), eps=0.99, unit_arms=unit_arms, available=available),
        )
        for reading, (unit_arms, title) in READINGS.items()
        for name, available in _SETS.items()
    }


_SET_PANELS = tuple(_set_panels(HORIZON))

FIG5 = Experiment(
    name="linear/fig5",
    title="arm sets that change",
    source=f"{PAPER}, Figure 5 (Appendix E.3)",
    horizon=HORIZON,
    seeds=512,
    presets=PRESETS | TUNED,
    algorithms=learners_with_common_bound(eps=0.99, bound=1.31),
    panels=_set_panels,
    metric="regret",
    claims=tuple(
        Claim(
            f"Hvt-UCB is best: mean regret below {other}'s ({panel})",
            "Figure 5; Appendix E.3", mean_difference(panel, "Hvt-UCB", other), high=0.0,
        )
        for panel in _SET_PANELS
        for other in ("OFUL", "HEAVY-OFUL", "CRTM", "CRMM")
    )
    + tuple(
        Claim(
            f"medians fail once the sets change: mean regret of CRMM above {MUCH:g} times Hvt-UCB's ({panel})",
            "Figure 5; Appendix E.3", mean_difference(panel, "CRMM", "Hvt-UCB", factor=MUCH), low=0.0,
        )
        for panel in _SET_PANELS if not panel.endswith("50")
    )
    + tuple(
        Claim(
            f"{other} is competitive: mean regret at most {COMPARABLE:g} times Hvt-UCB's ({panel})",
            "Figure 5; Appendix E.3", mean_difference(panel, other, "Hvt-UCB", factor=COMPARABLE), high=0.0,
        )
        for panel in _SET_PANELS
        for other in ("HEAVY-OFUL", "CRTM")
    ),
    notes=(TWO_READINGS, TUNING, FEWER, "The noise is not stated in the paper: that of Figure 1 is used."),
    slow=SLOW,
    tuning=PER_PANEL,
    width=WIDTH,
    figures=(Curves(not_drawn=("uniform",)),),
)  # fmt: skip
