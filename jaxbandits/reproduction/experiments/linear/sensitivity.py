"""Sensitivity of Hvt-UCB to its tuning and to the given bounds: one sweep over five hyperparameters (ours)."""

import functools
from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.multipliers import MULTIPLIERS
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.reproduction.engine.experiment import Experiment, Panel
from jaxbandits.reproduction.engine.figures import Heatmap
from jaxbandits.reproduction.engine.statements import at_point
from jaxbandits.reproduction.experiments.linear.setting import scaled
from jaxbandits.simulation.grid import Grid, product

_DIM, _NU, _EPS = 2, 1.31, 0.99
_TUNED = MULTIPLIERS["hvt_ucb"]
_BETA = _TUNED["beta_scale"]
NOMINAL = {**_TUNED, "step_size": 4.0, "moment_bound": _NU, "eps": _EPS}
GRID = {
    "beta_scale": (0.1 * _BETA, _BETA, 10.0 * _BETA, 100.0 * _BETA, 1.0),
    "tau_scale": tuple(sorted({0.01, 0.03, 0.1, 0.3, 1.0} | {_TUNED["tau_scale"]})),
    "step_size": (1.0, 2.0, 4.0),
    "moment_bound": tuple(_NU * factor for factor in (0.1, 0.3, 1.0, 3.0, 10.0)),
    "eps": (0.5, 0.75, _EPS),
}


def _algorithms(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset, panel
    learner = HvtUCB.practical(dim=_DIM, horizon=horizon, eps=_EPS, moment_bound=_NU)
    return {"Hvt-UCB": Grid(learner, product(GRID))}


_at = functools.partial(at_point, nominal=NOMINAL, on="max", place="ours")

SENSITIVITY = Experiment(
    name="linear/sensitivity",
    title="sensitivity of Hvt-UCB to its tuning",
    source="ours, on Figure 1 of Wang, Zhang, Zhao & Zhou, ICML 2025",
    horizon=6_000,
    seeds=64,
    presets={"practical": f"around {scaled('hvt_ucb')}, alpha = 4, nu = 1.31, eps = 0.99"},
    algorithms=_algorithms,
    panels=lambda horizon: {
        "max": Panel(
            "arms divided by the largest norm", HeavyTailed(dim=_DIM, n_arms=50, noise=StudentT(df=2.1), eps=_EPS)
        )
    },
    metric="regret",
    record_points=6,
    claims=(
        _at({"moment_bound": 10 * _NU}, says="nu overstated 10 times costs little", below=2.0),
        _at({"moment_bound": 0.1 * _NU}, says="nu understated 10 times costs little", below=2.0),
        _at({"eps": 0.5}, says="eps understated costs little", below=2.0),
        _at({"beta_scale": 1.0}, says="the printed radius costs much", above=10.0),
        _at(
            {"step_size": 1.0},
            says="the step size of ridge regression is at least as good as the printed one",
            below=1.0,
        ),
    ),
    notes=("Every map passes through the nominal point; the other three hyperparameters stay nominal in it.",),
    figures=(Heatmap(NOMINAL),),
)
