"""E6: two measures of the same noise (Proposition A.1)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.environments.oco.cell_noise import CellNoise
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Against
from jaxbandits.experiments.engine.statistic import share_below
from jaxbandits.experiments.oco.setting import PAPER
from jaxbandits.results.trials import Trials

_CELLS = (2, 8, 64)


def _per_round(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    del algorithm
    n = panel.x
    return {
        "pointwise_variance": trials.get("pointwise") / trials.record_points,
        "uniform_variance": trials.get("uniform") / trials.record_points,
        "uniform_error": np.abs(trials.get("uniform") / trials.record_points - (1.0 - (1.0 - 1.0 / n) ** n)),
        "pointwise_error": np.abs(trials.get("pointwise") / trials.record_points - 1.0 / n),
    }


E6 = Experiment(
    name="oco/e6",
    title="sup E against E sup: two measures of the same noise",
    source=f"{PAPER}, Proposition A.1",
    horizon=2**14,
    seeds=256,
    presets={"theory": "every constant as the paper states it"},
    algorithms=lambda preset, horizon, panel: {"any learner": OGD(dim=1)},
    panels=lambda horizon: {
        f"n-{n}": Panel(f"n = {n}", CellNoise(n_cells=n), x=float(n), bound=1.0 - (1.0 - 1.0 / n) ** n) for n in _CELLS
    },
    metric="uniform_variance",
    tabulated=("pointwise_variance",),
    derive=_per_round,
    claims=tuple(
        Claim(
            f"sigma~^2 = 1 - (1 - 1/n)^n = {1 - (1 - 1 / n) ** n:.4f} and sigma^2 = 1/n: {what},"
            f" to within 0.02 in more than 95 % of trials (n = {n})",
            "Proposition A.1", share_below(f"n-{n}", "any learner", f"{what}_error", 0.02), low=0.95, trials=200,
        )
        for n in _CELLS
        for what in ("uniform", "pointwise")
    ),
    notes=("An identity about noise, not about learners: nobody's play matters here.",),
    figures=(Against("cells n"),),
)  # fmt: skip
