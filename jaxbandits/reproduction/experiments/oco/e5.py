"""Pseudo-regret on the unit ball against the scale of the noise."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.domains import L2Ball
from jaxbandits.oco import AdaGradNorm, LinearLosses, OptaxLearner
from jaxbandits.reproduction.engine import Against, Learner, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import STUDY, on_the_ball
from jaxbandits.reproduction.sentences import observations, panel_ratio

_SIGMAS = (0.05, 0.1, 0.2, 0.4, 0.8)


def _means(sigma: float, horizon: int) -> Sequence[float]:
    return (*(k * sigma / math.sqrt(horizon) for k in (1.0, 4.0, 16.0)), 0.15)


def _e5_panels(horizon: int) -> Mapping[str, Panel]:
    """Make a panel for each noise scale s and each of four means m; for T >= 4096, m + s is at most G = 1."""
    return {
        f"s{sigma:g}-m{i}": Panel(
            f"s = {sigma:g}, m = {mean:.3g}",
            LinearLosses(dim=2, mean=mean, noise_scale=sigma, comparator=-1.0),
            x=sigma,
        )
        for sigma in _SIGMAS
        for i, mean in enumerate(_means(sigma, horizon))
    }


def _of_sigma(sigma: float) -> tuple[str, ...]:
    return tuple(f"s{sigma:g}-m{i}" for i in range(4))


def _e5_learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    dim = panel.environment.dim
    return {
        **on_the_ball(dim),
        "AdaGrad-norm": AdaGradNorm(dim=dim),
        "optax AdaGrad": OptaxLearner.adagrad(dim=dim, learning_rate=1.0, domain=L2Ball()),
        "optax COCOB": OptaxLearner.cocob(dim=dim, domain=L2Ball()),
        "optax Prodigy": OptaxLearner.prodigy(dim=dim, domain=L2Ball()),
    }


def _over_noise(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del algorithm
    return {"scaled_regret": trials.get("pseudo_regret") / (panel.x * np.sqrt(trials.record_points))}


_WITHIN = 3.0

E5 = STUDY.experiment(
    "e5",
    "Theorem 3.2",
    title="pseudo-regret divided by s sqrt(T) against the scale s of the noise, for the worst of four means",
    horizon=2**17,
    algorithms=_e5_learners,
    panels=_e5_panels,
    metric="scaled_regret",
    derive=_over_noise,
    record_points=("log", 40),
    claims=observations(
        "scales-with-noise",
        *(
            panel_ratio(label, {"s = 0.05": _of_sigma(0.05)}, {"s = 0.8": _of_sigma(0.8)}, of="scaled_regret").between(
                1.0 / _WITHIN, _WITHIN
            )
            for label in ("OONS", "OONS, practical", "optimistic OMD", "optimistic FTRL 2023")
        ),
        says="the pseudo-regret of {label} is proportional to the scale of the noise, within a factor of 3",
        place="Theorem 3.2",
    ),
    notes=(
        "Losses are linear on the unit ball of R^2, the comparator is u = -e_1, and learners receive G = 1. The four "
        "means m are 1, 4 and 16 times s/sqrt(T), and 0.15; the mean with the largest regret counts. The step size of "
        "OONS stays at its cap until V_t, the sum of the squared errors of the hints, exceeds 16384 G^2.",
    ),
    figures=(Against("s"),),
)
