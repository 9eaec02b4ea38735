"""The registry of experiments, written out by hand."""

from jaxbandits.experiments import (
    glm,
    glm_theory,
    linear,
    linear_extensions,
    linear_sensitivity,
    linear_theory,
    sea_ball,
    sea_checks,
    sea_space,
)
from jaxbandits.experiments.declare import Claim, Experiment, Judged

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        *linear.FIGURES,
        *linear_theory.THEORY,
        linear_sensitivity.SENSITIVITY,
        *linear_extensions.EXTENSIONS,
        *glm.FIGURES,
        *glm_theory.THEORY,
        sea_ball.E1,
        *sea_space.ON_SPACE,
        *sea_ball.OF_NOISE,
        *sea_checks.CHECKS,
    )
}

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Judged"]
