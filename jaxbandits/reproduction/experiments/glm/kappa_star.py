"""Theorem 2 and Table 1 of Zhang et al. (2025): regret against kappa_*, the inverse mean slope at the best arms."""


import numpy as np

from jaxbandits.glm import GLBOMD, OFUGLB, ECOLog, GeneralizedLinear
from jaxbandits.reproduction.engine import Against, Claim, Learners, Panel
from jaxbandits.reproduction.experiments.glm.setting import DELTA, MOST, THEOREMS
from jaxbandits.reproduction.sentences import growth_over, observations

_NORM, _ARMS = 5.0, 20
_LENGTHS = (0.2, 0.4, 0.6, 0.8, 1.0)


def _circle(length: float) -> np.ndarray:
    """Return 20 arms `[20, 2]` of one length at equal angles; the best arm is within 9 degrees of theta*."""
    angles = 2.0 * np.pi * np.arange(_ARMS) / _ARMS
    return length * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def kappa_star(length: float) -> float:
    """Return kappa_* for arms of this length: 1 / (mean of mu' at the best arm over all directions of theta*)."""
    angles = np.pi / _ARMS * (np.arange(1000) + 0.5) / 1000  # from an arm to the middle between it and the next arm
    z = _NORM * length * np.cos(angles)
    return float(1.0 / np.mean(np.exp(-z) / (1.0 + np.exp(-z)) ** 2))


def _same_ball(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make the learners for S = 5 in all panels, so that kappa over the ball, lambda and radii do not differ."""
    del preset, horizon, panel
    common = {"dim": 2, "norm_bound": _NORM, "delta": DELTA}
    return {
        "OFUGLB": OFUGLB.theory(**common, n_arms=_ARMS),
        "GLB-OMD": GLBOMD.experiments(**common),
        "GLB-OMD, data radius": GLBOMD.practical(**common),
        "ECOLog": ECOLog.experiments(**common),
    }


_KAPPA_STAR = {f"r{length:g}": kappa_star(length) for length in _LENGTHS}


def _falls(id: str, says: str, high: float) -> tuple[Claim, ...]:
    growth = growth_over(_KAPPA_STAR, "kappa_*", "GLB-OMD", "OFUGLB", "ECOLog")
    return observations(id, growth < high, says=says, place="Theorem 2 and Table 1 (upper bounds)")


KAPPA_STAR = THEOREMS.experiment(
    "kappa-star",
    "Theorem 2 and Table 1",
    title="regret against the curvature at the best arm, logistic bandits",
    seeds=MOST,
    presets={"experiments": "constants of the theorems, but lambda = d"},
    algorithms=_same_ball,
    panels=lambda horizon: {
        f"r{length:g}": Panel(
            f"arms of length {length:g}",
            GeneralizedLinear.fixed(norm_bound=_NORM, n_arms=_ARMS, arms=_circle(length)),
            x=kappa_star(length),
        )
        for length in _LENGTHS
    },
    claims=(
        *_falls("falls", "regret decreases as kappa_* grows", 0.0),
        *_falls("falls-as-root", "regret decreases with kappa_* at least as fast as the leading term sqrt(T / "
                                 "kappa_*)", -0.5),
    ),
    notes=(
        "In all panels S = 5, so the largest kappa over the ball is the same (150). The 20 arms are evenly spaced on a "
        "circle, whose radius differs between the panels. These radii give values of kappa_*, the inverse of the "
        "mean slope mu' at the best arm, between 5 and 147. d = 2 and delta = 0.05.",
        "The second term of the bound, kappa d^2 log(T)^2, does not decrease with kappa_*, and at this T it is "
        "the larger term. Moreover, the mean rewards of longer arms differ more.",
        "OFUGLB runs only on the first 64 seeds.",
    ),
    slow={"OFUGLB": 64},
    width=32,
    figures=(Against("kappa_*"),),
    float64=True,
)
