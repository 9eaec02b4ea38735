"""Figure 2: Gaussian noise."""

from jaxbandits.environments.linear.noise import Gaussian
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Timed
from jaxbandits.experiments.engine.figures import Curves
from jaxbandits.experiments.engine.statistic import mean_difference
from jaxbandits.experiments.linear.claims import close, comparable, time_claims
from jaxbandits.experiments.linear.setting import (
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
    both_readings,
    learners_with_common_bound,
)

FIG2 = Experiment(
    name="linear/fig2",
    title="Gaussian noise",
    source=f"{PAPER}, Figure 2",
    horizon=HORIZON,
    seeds=512,
    presets=PRESETS | TUNED,
    algorithms=learners_with_common_bound(eps=1.0, bound=1.0),
    panels=lambda horizon: both_readings(noise=Gaussian(), eps=1.0),
    metric="regret",
    claims=(
        *(
            close("Hvt-UCB is competitive alongside OFUL", "Figure 2, left; Section 5", panel, "Hvt-UCB", "OFUL")
            for panel in READINGS
        ),
        *(
            Claim(
                f"CRTM truncates too much: its mean regret is above Hvt-UCB's ({title})",
                "Figure 2, left; Section 5", mean_difference(panel, "CRTM", "Hvt-UCB"), low=0.0,
            )
            for panel, (_, title) in READINGS.items()
        ),
        *comparable("Figure 2, left; Section 5", READINGS),
        *time_claims("Figure 2"),
    ),
    notes=(TWO_READINGS, TUNING, FEWER),
    slow=SLOW,
    tuning=PER_PANEL,
    width=WIDTH,
    figures=(Curves(not_drawn=("uniform",), times=True),),
    timed=Timed(("max",), unit="Hvt-UCB"),
)  # fmt: skip
