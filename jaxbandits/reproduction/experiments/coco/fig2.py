"""Figure 2: online matrix completion with bandit feedback, on a stand-in for FilmTrust."""

import functools

from jaxbandits.reproduction.engine import Interpretation
from jaxbandits.reproduction.experiments.coco import setting
from jaxbandits.reproduction.sentences import claims, mean

FIG2 = setting.FIGURES.experiment(
    "fig2",
    "Figure 2",
    title="online matrix completion, bandit feedback, stand-in for FilmTrust (5 x 6)",
    shows="Figure 2 shows the cumulative cost loss and, in a second panel, the cumulative constraint violation (CCV) "
    "of BFW-TVC, SCBFW-TVC and LBPM in online matrix completion with bandit feedback on Film Trust. The paper states "
    "the same ball, losses, constraints, range of hyper-parameters and 10 repetitions as for Figure 1.",
    horizon=4096,
    seeds=40,
    algorithms=functools.partial(setting.learners, "fig2", False),
    panels=lambda horizon: setting.panels(setting.bandit_stand_in),
    stand_ins=dict.fromkeys(setting.TITLES, "FilmTrust"),
    claims=tuple(
        row
        for metric in ("loss", "violation")
        for row in claims(
            f"outperform/{metric}",
            mean("BFW-TVC", "SCBFW-TVC", of=metric) < mean("LBPM", of=metric),
            on=setting.TITLES.keys(),
            says="in the bandit setting {label} consistently outperforms LBPM",
            place="Figure 2",  # the values of these data cannot be learned, see the notes
            cannot_be_judged="LBPM had to be rebuilt from an abstract, and a learner cannot learn from values of "
                             "FilmTrust alone",
            remark=setting.UNKNOWN,
            least=32,
        )
    ),
    notes=(
        "LBPM is a reconstruction, whose multiplier is the queue of drift-plus-penalty, with at most a hundred "
        "oracle calls per block. Learners observe only values; all of them perturb their plays by 0.3 of the inner "
        "radius.",
        "FilmTrust itself is omitted, because a learner cannot learn from values alone there. With d = 3,123,068 and "
        "delta = 77 the estimates of a pass, 4,436 rounds of eight ratings, sum to noise of 59,000 in every "
        "direction, while the gradients that they estimate sum to a vector of length 592. The curves of the paper must "
        "result from a batch, a step size or a number of rounds that it does not state.",
    ),
    interpretations={
        "weights-before": Interpretation(
            "step 6 of Algorithm 3 weighs a round by Q_t, which depends on the perturbation; here by Q_{t-1}, without "
            "bias",
            {key: {"weight_before": True} for key in ("BFW-TVC", "SCBFW-TVC")},
        ),
        "as-printed-27": Interpretation(
            "(27) lacks the linear term that centres its quadratics at the iterates; here as printed, centred at 0",
            {"SCBFW-TVC": {"recenter": False}},
        ),
    },
)
