"""Figure 5: risks of single groups against iterations, one pass over Adult."""

from collections.abc import Mapping

from jaxbandits.experiments.dro.drawing import GroupCurves
from jaxbandits.experiments.dro.fig4 import GRID, learners, rounds
from jaxbandits.experiments.dro.setting import (
    OURS,
    PAPER,
    PRESETS,
    SEEDS,
    STAND_IN,
    adult_once,
    ahead,
    lowest,
    outlier,
    tuning,
    wins,
)  # fmt: skip
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.statistic import mean_difference


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    return {"adult": Panel(*adult_once())}


FIG5 = Experiment(
    name="dro/fig5",
    title="risks of single groups, one pass over Adult",
    source=f"{PAPER}, Figure 5",
    stand_ins={"adult": "Adult"},
    horizon=26_656,
    seeds=SEEDS,
    presets=PRESETS,
    algorithms=lambda preset, horizon, panel: learners(
        preset, horizon, panel, {"SMD(m)": 3.0, "SMD_r": 3.0, "SMPA_m": 60.0}, smoothness=1.5
    ),
    panels=_panels,
    horizons=rounds,
    metric="mean_risk",
    tabulated=("first_risk", "last_risk"),
    derive=outlier,
    record_points=("log", 40),
    claims=(
        *(
            Claim(f"SMPA_m is faster on all groups: below {label} on 6 of 6 after as many rounds", "Figure 5",
                  ahead("adult", "SMPA_m", label), low=5.5, trials=SEEDS)
            for label in ("SMD(m)", "SMD_r")
        ),
        Claim("SMPA_m usually ends lowest: on more than half of the 6 groups", "Figure 5", lowest("adult", "SMPA_m"),
              low=3.0, trials=SEEDS),
        Claim("SMPA_m ends below SMD(m) on more than half of the 6 groups", "Figure 5",
              wins("adult", "SMPA_m", "SMD(m)"), low=3.0, trials=SEEDS),
        Claim("SMD_r ends lowest on the largest group: below SMPA_m", "Figure 5(a)",
              mean_difference("adult", "SMD_r", "SMPA_m", metric="first_risk"), high=0.0, trials=SEEDS),
        Claim("SMD_r ends lowest on the largest group: below SMD(m)", "Figure 5(a)",
              mean_difference("adult", "SMD_r", "SMD(m)", metric="first_risk"), high=0.0, trials=SEEDS),
        Claim("on the smallest group SMD(m) and SMPA_m are close: within 0.01", "Figure 5(f)",
              mean_difference("adult", "SMD(m)", "SMPA_m", metric="last_risk"), low=-0.01, high=0.01, trials=SEEDS),
    ),
    tuning=tuning("mean_risk", w=GRID),
    notes=(OURS, STAND_IN, "In every trial 364 rows of each group, drawn anew, measure the risks; the others are "
           "visited once, in an order of the trial's own.", "SMD_r draws from group i as often as a coin says: in "
           "most trials more often than some group has rows. These rounds are counted as inadmissible."),
    figures=(
        GroupCurves(groups=(0, 1, 2, 3, 4, 5), panel="adult", logarithmic=True, name="iterations"),
        GroupCurves(groups=(0, 1, 2, 3, 4, 5), panel="adult", x="samples", logarithmic=True, name="samples"),
        GroupCurves(groups=(0, 1, 2, 3, 4, 5), panel="adult", x="group_samples", logarithmic=True, name="own-samples"),
    ),
)  # fmt: skip
