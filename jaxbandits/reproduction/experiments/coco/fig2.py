"""Figure 2 of Wang et al. (2025): online matrix completion with bandit feedback, on a stand-in for FilmTrust."""

import dataclasses
import functools

from jaxbandits.reproduction.engine import Interpretation
from jaxbandits.reproduction.experiments.coco import setting
from jaxbandits.reproduction.sentences import claims, mean

FIG2 = setting.FIGURES.experiment(
    "fig2",
    "Figure 2",
    title="online matrix completion, bandit feedback, stand-in for FilmTrust (5 x 6)",
    shows="Figure 2 shows the cumulative loss and, in a second panel, the cumulative constraint violation (CCV) "
    "of BFW-TVC, SCBFW-TVC and LBPM in online matrix completion with bandit feedback on FilmTrust. The paper states "
    "the same ball, losses, constraints, range of hyper-parameters and 10 repetitions as for Figure 1.",
    horizon=4096,
    seeds=40,
    algorithms=functools.partial(setting.learners, "fig2", False),
    panels=lambda horizon: setting.panels(setting.bandit_stand_in),
    stand_ins=dict.fromkeys(setting.TITLES, "FilmTrust"),
    guessed="the horizon, the batch, x_1 and G are guessed",
    claims=tuple(
        dataclasses.replace(row, remark=setting.REMARKS[row.panels[0]])
        for metric in ("loss", "violation")
        for row in claims(
            f"outperform/{metric}",
            mean("BFW-TVC", "SCBFW-TVC", of=metric) < mean("LBPM", of=metric),
            on=setting.TITLES.keys(),
            says="with bandit feedback, {label} consistently outperforms LBPM",
            place="Figure 2",  # the values of these data cannot be learned, see the notes
            cannot_be_judged="LBPM had to be rebuilt from an abstract, and on FilmTrust a learner cannot learn from "
            "loss values alone",
            least=32,
        )
    ),
    notes=(
        "LBPM is a reconstruction: in the preset tuned its multiplier is the queue of drift-plus-penalty, and it makes "
        "at most a hundred oracle calls per block. Learners observe only the values of losses and constraints; all of "
        "them perturb their plays by 0.3 times the inner radius of the ball.",
        "FilmTrust itself is omitted, because on these data a learner cannot learn from values alone. With d = "
        "3,123,068 entries of the matrix and perturbations of length 77, the sum of the gradient estimates of one pass "
        "(4,436 rounds of eight ratings) has noise of size 59,000 in every direction, while the gradients themselves "
        "sum to a vector of length 592. The curves of the paper must therefore result from a batch, a step size or a "
        "number of rounds that it does not state.",
    ),
    interpretations={
        "weights-before": Interpretation(
            "step 6 of Algorithm 3 weights a round by Q_t, which depends on the perturbation; in this reading the "
            "weight is that of Q_{t-1}, which gives an unbiased estimate",
            {key: {"weight_before": True} for key in ("BFW-TVC", "SCBFW-TVC")},
        ),
        "as-printed-27": Interpretation(
            "(27) as printed lacks the linear term that centres its quadratics at the iterates; in this reading they "
            "are centred at 0, as printed",
            {"SCBFW-TVC": {"recenter": False}},
        ),
    },
)
