"""Proposition A.1 of Wang et al. (2025): two measures of the variance of the same noise."""

from collections.abc import Mapping

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.oco import OGD, CellNoise
from jaxbandits.reproduction.engine import Against, Learner, Panel
from jaxbandits.reproduction.experiments.oco.setting import THEOREMS
from jaxbandits.reproduction.sentences import share, theorems

_CELLS, _ERROR = (2, 8, 64), 0.02


def _per_round(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del algorithm
    uniform, pointwise = (trials.get(name) / trials.record_points for name in ("uniform", "pointwise"))
    return {
        "pointwise_variance": pointwise,
        "uniform_variance": uniform,
        "uniform_error": np.abs(uniform - panel.bound),
        "pointwise_error": np.abs(pointwise - 1.0 / panel.x),
    }


E6 = THEOREMS.experiment(
    "e6",
    "Proposition A.1",
    title="two measures of the same noise: the supremum of the expectation, and the expectation of the supremum",
    horizon=2**14,
    algorithms=lambda preset, horizon, panel: {"any learner": OGD(dim=1)},
    panels=lambda horizon: {
        f"n-{n}": Panel(f"n = {n}", CellNoise(n_cells=n), x=float(n), bound=1.0 - (1.0 - 1.0 / n) ** n) for n in _CELLS
    },
    metric="uniform_variance",
    tabulated=("pointwise_variance",),
    derive=_per_round,
    claims=tuple(
        claim
        for name, variance in (("uniform", "sigma~^2 is 1 - (1 - 1/n)^n"), ("pointwise", "sigma^2 is 1/n"))
        for claim in theorems(f"{name}-variance", share("any learner", of=f"{name}_error", at_most=_ERROR) > 0.95,
                              on={f"n-{n}": f"n = {n}" for n in _CELLS},
                              says=f"the {name} variance {variance}, within {_ERROR:g}", place="Proposition A.1",
                              least=200)
    ),
    notes=("The proposition is an identity for noise with n cells, which does not depend on the plays of a learner.",),
    figures=(Against("cells n"),),
)
