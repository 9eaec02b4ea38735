"""Figure 2: online matrix completion with bandit feedback, on FilmTrust or a stand-in."""

import functools

from jaxbandits.experiments.coco import setting
from jaxbandits.experiments.engine.experiment import Interpretation
from jaxbandits.experiments.engine.statements import lower

FIG2 = setting.FIGURES.experiment(
    "fig2",
    "Figure 2",
    title="online matrix completion, bandit feedback, stand-in for FilmTrust (5 x 6)",
    horizon=4096,
    seeds=40,
    algorithms=functools.partial(setting.learners, "fig2", False),
    panels=lambda horizon: setting.panels(setting.bandit_stand_in),
    from_file=setting.from_file(
        "fig2", "online matrix completion, bandit feedback, FilmTrust (1508 x 2071)", setting.on_filmtrust
    ),
    stand_ins=dict.fromkeys(setting.TITLES, "FilmTrust"),
    claims=tuple(
        claim
        for panel in setting.TITLES
        for name in ("BFW-TVC", "SCBFW-TVC")
        for metric in ("loss", "violation")
        for claim in lower(
            name,
            "LBPM",
            on=panel,
            says=f"{name} ends below LBPM",
            place=setting.place("Figure 2", panel),
            metric=metric,
            remark=setting.UNKNOWN,
            trials=10,
        )
    ),
    notes=(
        "LBPM is a reconstruction, with a hundred oracle calls a block at most. Learners see values only; all perturb "
        "by 0.3 of the inner radius.",
        "On FilmTrust (d = 3.1 million) a one-point estimate has length d / delta times the value of a round: within a "
        "pass of 4436 rounds no learner of this kind can be expected to move for the better.",
    ),
    interpretations={
        "weights-before": Interpretation(
            "step 6 of Algorithm 3 weighs a round by Q_t, which depends on the perturbation: by Q_{t-1}, unbiased",
            {key: {"weight_before": True} for key in ("BFW-TVC", "SCBFW-TVC")},
        ),
        "as-printed-27": Interpretation(
            "(27) lacks the linear term that centres its quadratics where they were: as printed, around 0",
            {"SCBFW-TVC": {"recenter": False}},
        ),
    },
)
