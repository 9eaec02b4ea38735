"""CA-OONS and CLA-OONS on a bounded domain, beside learners that are given its diameter."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.domains.ball import L2Ball
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.environments.oco.sequences import Constant, Drift, IsolatedFlips, Piecewise
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.figures import Against, Curves
from jaxbandits.reproduction.engine.statements import growth_over_panels, higher, lower, mean_within
from jaxbandits.reproduction.engine.thresholds import MODEST
from jaxbandits.reproduction.experiments.oco.setting import STUDY, share_of_bound
from jaxbandits.theory.oco import visible_bound

_DIM = 2
_RADII = {"radius-1": 1.0, "radius-4": 4.0, "radius-16": 16.0}
_DIAMETERS = {name: 2.0 * radius for name, radius in _RADII.items()}
_MOVING = ("corrupted", "drift", "piecewise")


def bound_of(environment: Any, horizon: int) -> float:
    """Return D^2 + D (sqrt(sigma^2_{1:T}) + sqrt(Sigma^2_{1:T})): the text below Theorem 4.1, before its constants."""
    diameter = float(environment.domain.diameter)
    return diameter**2 + visible_bound(environment, horizon, diameter)


def _panels(horizon: int) -> Mapping[str, Panel]:
    def losses(radius: float, mean: float, noise: float, sequence: Any) -> LinearLosses:
        domain = L2Ball(radius=radius)
        return LinearLosses(dim=_DIM, domain=domain, mean=mean, noise_scale=noise, sequence=sequence)

    corrupted = IsolatedFlips(count=max(1, min(64, (horizon - 3) // 2)), horizon=horizon)
    corners = np.asarray([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    moving = {
        "corrupted": ("corrupted, C = 64, R = 4", corrupted),
        "drift": ("drift, R = 4", Drift(horizon=horizon)),
        "piecewise": ("four segments, R = 4", Piecewise.evenly(corners, horizon)),
    }
    panels = {}
    for name, radius in _RADII.items():
        environment = losses(radius, 0.1, 0.9, Constant())
        panels[name] = Panel(f"i.i.d., R = {radius:g}", environment, 2.0 * radius, bound_of(environment, horizon))
    for name, (title, sequence) in moving.items():
        environment = losses(4.0, 0.5, 0.5, sequence)
        panels[name] = Panel(title, environment, math.nan, bound_of(environment, horizon))
    return panels


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Make learners for G = 1; the first three are not given D, but project onto X."""
    del preset
    radius = float(panel.environment.domain.radius)
    return {
        "CA-OONS": CAOONS.theory(dim=_DIM, horizon=horizon, radius=radius),
        "CA-OONS, practical": CAOONS.practical(dim=_DIM, horizon=horizon, radius=radius),
        "CLA-OONS": CLAOONS(dim=_DIM, radius=radius),
        "OONS, given D": OONS.theory(dim=_DIM, radius=radius),
        "optimistic OMD, given D": OptimisticOMD(dim=_DIM, domain=L2Ball(radius=radius)),
        "OGD, given D": OGD(dim=_DIM, domain=L2Ball(radius=radius)),
    }


BOUNDED = STUDY.experiment(
    "bounded",
    "Theorems 4.1 and 4.5",
    title="CA-OONS and CLA-OONS on balls of radius R, beside learners that know D = 2R",
    horizon=2**14,
    seeds=128,
    algorithms=_learners,
    panels=_panels,
    tabulated=("share_of_bound",),
    derive=share_of_bound,
    record_points=("log", 50),
    claims=(
        *mean_within(
            "CA-OONS",
            "share_of_bound",
            on=(*_RADII, *_MOVING),
            says="on domains of diameter D CA-OONS recovers D^2 + D (sqrt(sigma^2) + sqrt(Sigma^2)), hidden constant 1",
            place="ours, on Theorem 4.1",
            high=1.0,
        ),
        growth_over_panels(
            "CA-OONS",
            _DIAMETERS,
            "D",
            says="CA-OONS pays at most D^2 on a domain of diameter D",
            place="ours, on Theorem 4.1",
            high=2.0,
        ),
        *lower(
            "CA-OONS",
            "OONS, given D",
            on=tuple(_RADII),
            factor=MODEST,
            says="not to know D has a modest price",
            place="ours",
        ),
        *higher(
            "OGD, given D",
            ("CA-OONS", "CLA-OONS"),
            on=tuple(_MOVING),
            says="where the mean changes, a hint is worth more than D",
            place="ours",
        ),
        *lower(
            "CA-OONS",
            "optimistic OMD, given D",
            on=tuple(_MOVING),
            says="where the mean changes, it costs nothing not to know D",
            place="ours",
        ),
    ),
    notes=(
        "Linear losses on the ball of radius R of R^2, G = 1: i.i.d. with m = 0.1, s = 0.9, else m = s = 0.5. "
        "Regret is against the best fixed point of the ball in hindsight; where the mean moves it may be negative.",
        "Base learner j of CA-OONS plays on the ball of radius min(2^j, R).",
    ),
    figures=(Against("D"), Curves(logarithmic=True)),
)
