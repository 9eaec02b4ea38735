"""Figure 5 of Zhang et al.: risks of single groups against iterations, in one pass over Adult."""

from jaxbandits.reproduction.engine import Panel
from jaxbandits.reproduction.experiments.dro.fig4 import FIELDS, claims_on_groups, figures, learners
from jaxbandits.reproduction.experiments.dro.setting import SEEDS, STAND_IN, STUDY, adult_panels, adult_single_pass

_ALONE = {"place": "Figure 5 alone (the text speaks of Figures 4 and 5 together)", "kind": "observation"}

FIG5 = STUDY.experiment(
    "fig5",
    "Figure 5",
    horizon_stated=True,
    title="risks of single groups, one pass over Adult",
    shows="Figure 5 shows the risk on each of the 6 groups of Adult, one panel each, against the number of iterations, "
    "for SMD_r, SMPA_m and SMD(m). The paper states that the risk of each group is measured on 364 of its "
    "samples, and that 26,656, 11,519, 1,780, 1,720, 999 and 364 other samples are each visited once.",
    stand_ins={"adult": "Adult"},
    horizon=26_656,
    seeds=4 * SEEDS,
    algorithms=lambda preset, horizon, panel: learners(
        preset, horizon, panel, {"SMD(m)": 3.0, "SMD_r": 3.0, "SMPA_m": 60.0}, smoothness=1.5
    ),
    **adult_panels(lambda path: {"adult": Panel(*adult_single_pass(path))}),
    claims=claims_on_groups("Figure 5", "adult", 6, usually=_ALONE),
    notes=(
        STAND_IN,
        "Every learner runs until its samples are used up: SMD_r for n_1 = 26,656 iterations, SMD(m) for n_m = 364 "
        "iterations, and SMPA_m for n_m / 2 = 182 iterations of two rounds each.",
        "In every trial, 364 random rows of each group are held out to measure the risks; the other rows are drawn in "
        "random order, without replacement.",
        "The number of rows that SMD_r draws from a group is random, and in most trials it exceeds the number of rows "
        "of some group. The group then starts again from its first row, and the rounds with repeated rows are counted "
        "as inadmissible.",
    ),
    figures=figures("adult", (0, 1, 2, 3, 4, 5)),
    **FIELDS,
)
