"""Setting of the experiments on Hvt-UCB's theorems: noise laws, trials, the learner."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.linear.noise import Fisk, Gaussian, Pareto, StudentT
from jaxbandits.experiments.engine.experiment import Panel
from jaxbandits.experiments.engine.study import Study
from jaxbandits.experiments.linear.setting import ARMS, DIM, PAPER

TRIALS = 1024
THEORY = {"theory": "every constant as the theorems state it; nu_t is told each round, exactly"}
LAWS = {  # law, order of the moment minus 1
    "student": ("Student t (2.1)", StudentT(df=2.1), 0.99),
    "gaussian": ("Gaussian", Gaussian(), 1.0),
    "pareto": ("centred Pareto (1.5)", Pareto(shape=1.5), 0.49),
    "fisk": ("centred Fisk (1.5)", Fisk(shape=1.5), 0.49),
}


def hvt_ucb(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Make Hvt-UCB, which the environment tells the scale of the noise in each round."""
    return {"Hvt-UCB": getattr(HvtUCB, preset)(dim=DIM, horizon=horizon, eps=float(panel.environment.eps))}


def panels(horizon: int) -> Mapping[str, Panel]:
    """Make a panel for each law."""
    del horizon
    return {
        name: Panel(title, HeavyTailed(dim=DIM, n_arms=ARMS, noise=law, eps=eps))
        for name, (title, law, eps) in LAWS.items()
    }


THEOREMS = Study("linear", PAPER, horizon=18_000, seeds=TRIALS, presets=THEORY, algorithms=hvt_ucb, panels=panels)
