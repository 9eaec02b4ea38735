"""The registry of experiments, written out by hand."""

from jaxbandits.experiments import linear, linear_sensitivity, linear_theory
from jaxbandits.experiments.declare import Claim, Experiment, Judged

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (*linear.FIGURES, *linear_theory.THEORY, linear_sensitivity.SENSITIVITY)
}

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Judged"]
