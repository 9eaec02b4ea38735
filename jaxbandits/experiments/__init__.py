"""The registry of experiments, written out by hand, family by family."""

from jaxbandits.experiments import glm, linear, oco
from jaxbandits.experiments.claim import Claim, Judged
from jaxbandits.experiments.declare import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (*linear.EXPERIMENTS, *glm.EXPERIMENTS, *oco.EXPERIMENTS)
}

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Judged"]
