"""CA-OONS and CLA-OONS on a bounded domain, compared with learners that are given its diameter."""

import math
from collections.abc import Mapping

import numpy as np

from jaxbandits import oco
from jaxbandits.base.pytree import FieldValue
from jaxbandits.domains import L2Ball
from jaxbandits.reproduction.engine import Against, Curves, Learners, Panel, Problem
from jaxbandits.reproduction.experiments.oco.setting import STUDY, share_of_bound
from jaxbandits.reproduction.sentences import MODEST, growth_over, mean, observations
from jaxbandits.theory.oco import visible_bound

_DIM = 2
_RADII = {"radius-1": 1.0, "radius-4": 4.0, "radius-16": 16.0}
_DIAMETERS = {name: 2.0 * radius for name, radius in _RADII.items()}
_MOVING = ("corrupted", "drift", "piecewise")


def bound_of(environment: Problem, horizon: int) -> float:
    """Return D^2 + D (sqrt(sigma^2_{1:T}) + sqrt(Sigma^2_{1:T})), the bound of Theorem 4.1.

    D is the diameter of the domain, and hidden constants are set to 1.
    """
    diameter = float(environment.domain.diameter)
    return diameter**2 + visible_bound(environment, horizon, diameter)


def _panels(horizon: int) -> Mapping[str, Panel]:
    def losses(radius: float, mean: float, noise: float, sequence: FieldValue) -> oco.LinearLosses:
        domain = L2Ball(radius=radius)
        return oco.LinearLosses(dim=_DIM, domain=domain, mean=mean, noise_scale=noise, sequence=sequence)

    corrupted = oco.IsolatedFlips(count=max(1, min(64, (horizon - 3) // 2)), horizon=horizon)
    corners = np.asarray([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    moving = {
        "corrupted": ("corrupted, C = 64, R = 4", corrupted),
        "drift": ("drift, R = 4", oco.Drift(horizon=horizon)),
        "piecewise": ("four segments, R = 4", oco.Piecewise.equal_segments(corners, horizon)),
    }
    panels = {}
    for name, radius in _RADII.items():
        environment = losses(radius, 0.1, 0.9, oco.Constant())
        panels[name] = Panel(f"i.i.d., R = {radius:g}", environment, 2.0 * radius, bound_of(environment, horizon))
    for name, (title, sequence) in moving.items():
        environment = losses(4.0, 0.5, 0.5, sequence)
        panels[name] = Panel(title, environment, math.nan, bound_of(environment, horizon))
    return panels


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make learners for G = 1; the first three project onto the domain but are not given its diameter D."""
    del preset
    radius = float(panel.environment.domain.radius)
    return {
        "CA-OONS": oco.CAOONS.theory(dim=_DIM, horizon=horizon, radius=radius),
        "CA-OONS, practical": oco.CAOONS.practical(dim=_DIM, horizon=horizon, radius=radius),
        "CLA-OONS": oco.CLAOONS(dim=_DIM, radius=radius),
        "OONS, given D": oco.OONS.theory(dim=_DIM, radius=radius),
        "optimistic OMD, given D": oco.OptimisticOMD(dim=_DIM, domain=L2Ball(radius=radius)),
        "OGD, given D": oco.OGD(dim=_DIM, domain=L2Ball(radius=radius)),
    }


BOUNDED = STUDY.experiment(
    "bounded",
    "Theorems 4.1 and 4.5",
    title="CA-OONS and CLA-OONS on balls of radius R, and learners that are given D = 2R",
    horizon=2**14,
    seeds=128,
    algorithms=_learners,
    panels=_panels,
    tabulated=("share_of_bound",),
    derive=share_of_bound,
    record_points=("log", 50),
    claims=(
        *observations(
            "within-bound",
            mean("CA-OONS", of="share_of_bound") < 1.0,
            on=(*_RADII, *_MOVING),
            says="on domains of diameter D the regret of CA-OONS ends below D^2 + D (sqrt(sigma^2) + sqrt(Sigma^2)), "
            "with 1 for the hidden constant",
            place="Theorem 4.1",
        ),
        *observations("grows-as-d-squared", growth_over(_DIAMETERS, "D", "CA-OONS") < 2.0,
                      says="on domains of diameter D the regret of CA-OONS grows no faster than "
                      "D^2", place="Theorem 4.1"),
        *observations("modest-price", mean("CA-OONS") < MODEST * mean("OONS, given D"), on=_RADII.keys(),
                      says="the price of not knowing D is modest: CA-OONS has less than twice the regret of OONS with "
                      "D given"),
        *observations("hint-worth-more", mean("OGD, given D") > mean("CA-OONS", "CLA-OONS"), on=_MOVING,
                      says="if the mean changes, OGD with D given has more regret than {rival}"),
        *observations("costs-nothing", mean("CA-OONS") < mean("optimistic OMD, given D"), on=_MOVING,
                      says="if the mean changes, CA-OONS has less regret than optimistic OMD with D given"),
    ),
    notes=(
        "Losses are linear with G = 1 on the ball of radius R in R^2. For i.i.d. losses m = 0.1 and s = 0.9; for the "
        "others m = s = 0.5. Regret is against the best fixed point of the ball in hindsight, and can be negative if "
        "the mean moves.",
        "Base learner j of CA-OONS plays on the ball of radius min(2^j, R).",
    ),
    figures=(Against("D"), Curves(logarithmic=True)),
)
