"""Regret of learners that need no Lipschitz constant, on losses multiplied by a constant c."""

import functools
from collections.abc import Mapping

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.oco import CLAOONS, ClippedParameterFreeMD, LinearLosses, OptaxLearner, ScaleFreeFTRL
from jaxbandits.reproduction.engine import Against, Curves, Learner, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import STUDY
from jaxbandits.reproduction.sentences import measure, observations, relative_change

_SCALE_PANELS = {f"c-{scale:g}": scale for scale in (0.01, 0.1, 1.0, 10.0, 100.0)}
_OTHERS = {name: f"c = {scale:g}" for name, scale in _SCALE_PANELS.items() if scale != 1.0}


def _scale_learners(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make learners that do not need G. CLA-OONS starts from B_0 = 1 for all losses."""
    del preset, horizon
    dim = panel.environment.dim
    return {
        "CLA-OONS": CLAOONS(dim=dim),
        "CLA-OONS, practical": CLAOONS.practical(dim=dim),
        "clipped parameter-free MD": ClippedParameterFreeMD(dim=dim),
        "scale-free FTRL": ScaleFreeFTRL(dim=dim),
        "optax AdaGrad": OptaxLearner.adagrad(dim=dim),
    }


def _over_scale(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del algorithm
    return {"regret_over_c": trials.get("regret") / panel.x}


_CHANGE = {
    label: measure(
        f"relative change, from c = 1, of the regret of {label} divided by c",
        functools.partial(relative_change, over="c-1", name=label, metric="regret_over_c"),
        (label,),
        in_panel=True,
    )
    for label in ("scale-free FTRL", "CLA-OONS")
}

E4 = STUDY.experiment(
    "e4",
    "Theorem 4.5",
    title="regret divided by c if the losses are multiplied by c",
    horizon=2**14,
    algorithms=_scale_learners,
    panels=lambda horizon: {
        name: Panel(
            f"c = {scale:g}", LinearLosses(dim=2, mean=0.2, noise_scale=0.8, loss_scale=scale, comparator=-2.0), x=scale
        )
        for name, scale in _SCALE_PANELS.items()
    },
    metric="regret_over_c",
    derive=_over_scale,
    claims=(
        *observations("ftrl-scale-free", _CHANGE["scale-free FTRL"].between(-0.01, 0.01), on=_OTHERS,
                      says="the regret of scale-free FTRL, divided by c, does not depend on "
                      "c (within 1 %)", place="Orabona & Pal 2018"),
        *observations("cla-oons-scale-free", _CHANGE["CLA-OONS"].between(-0.1, 0.1), on=_OTHERS,
                      says="the regret of CLA-OONS, divided by c, does not depend on c (within 10 %)"),
    ),
    notes=(
        "Losses are linear on R^2, and the comparator is u = -2 e_1. A learner whose plays diverge along -e_1 has a "
        "large negative regret.",
        "Theorem 4.5 states that CLA-OONS does not need G, but not that it is scale-free.",
        "optax AdaGrad is scale-free except for the initial value 0.1 of its accumulators.",
        "DoG, COCOB, Prodigy, D-Adaptation and Mechanic are omitted, because with these losses their plays grow until "
        "they overflow.",
    ),
    figures=(Against("c"), Curves()),
)
