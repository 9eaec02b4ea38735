"""The registry of experiments, written out by hand, family by family."""

from jaxbandits.experiments import coco, dro, glm, linear, oco
from jaxbandits.experiments.claim import Claim, Judged
from jaxbandits.experiments.declare import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for family in (linear, glm, oco, coco, dro) for experiment in family.EXPERIMENTS
}

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Judged"]
