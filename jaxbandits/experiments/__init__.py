"""The registry of experiments, written out by hand."""

from jaxbandits.experiments import linear
from jaxbandits.experiments.declare import Claim, Experiment, Judged

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in linear.FIGURES}

__all__ = ["EXPERIMENTS", "Claim", "Experiment", "Judged"]
