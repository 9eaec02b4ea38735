"""Bounds of Theorems 1 and 2 with all their constants, and the shares of them that a run uses up."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC
from jaxbandits.experiments.declare import Panel
from jaxbandits.results.trials import Trials


class Bounds(NamedTuple):
    """On the regret against any feasible point, and on the violation (scaled as the learner scales it)."""

    regret: float
    violation: float


def theorem_1(G: float, D: float, T: float) -> Bounds:
    """Of OFW-TVC, the constants of the proof."""
    return Bounds(64.0 * G * D * (T**0.75 + 1.0), 128.0 * G * D * T**0.75 * math.log(2.0 + 4.0 * T))


def theorem_2(G: float, D: float, T: float, alpha: float) -> Bounds:
    """Of SCOFW-TVC, gamma and beta of the proof; (41) with 1 / beta where the paper has beta."""
    gamma, beta = proof(G, D, T, alpha)
    regret = 224.0 * G * G * T ** (2.0 / 3.0) / (gamma * gamma * alpha) + G * D * (gamma + 1.0) / gamma
    return Bounds(regret, math.sqrt((2.0 + gamma) / beta**2 + 2.0 * gamma * G * D * T / beta))


def theorem_2_as_printed(G: float, D: float, T: float, alpha: float) -> float:
    """The violation that (41) allows as the paper has it, beta where 1 / beta is meant."""
    gamma, beta = proof(G, D, T, alpha)
    return math.sqrt((2.0 + gamma) * beta**2 + 2.0 * gamma * G * D * T * beta)


def proof(G: float, D: float, T: float, alpha: float) -> tuple[float, float]:
    """`(gamma, beta)` of (40)."""
    gamma = G / (G + alpha * D)
    return gamma, gamma * alpha / (500.0 * G * G * T ** (2.0 / 3.0))


def shares(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, np.ndarray]:
    """`regret_share`, `violation_share`: of the bounds for the whole run; of Theorem 1 but for SCOFW-TVC."""
    del panel
    G, D = float(algorithm.lipschitz), float(algorithm.domain.diameter)
    if isinstance(algorithm, SCOFWTVC):
        bounds = theorem_2(G, D, trials.horizon, float(algorithm.curvature))
    else:
        bounds = theorem_1(G, D, trials.horizon)
    scaled = float(getattr(algorithm, "constraint_scale", 1.0)) * trials.get("violation")
    return {
        "regret_share": trials.get("feasible_regret") / bounds.regret,
        "violation_share": scaled / bounds.violation,
    }
