"""Registry of the experiments and of the tables of tuned multipliers; users can register their own experiments."""

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.reproduction.engine import Claim, Experiment, MultiplierTable, Panel, Study, Verdict
from jaxbandits.reproduction.experiments import classics, coco, dro, glm, linear, oco

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for family in (linear, glm, oco, coco, dro, classics)
    for experiment in family.EXPERIMENTS
}
BUILT_IN = frozenset(EXPERIMENTS)  # names of the experiments of this package
TABLES: dict[str, MultiplierTable] = {
    "coco": coco.TABLE,
    "dro": dro.TABLE,
    "glm": glm.TABLE,
    "linear": linear.TABLE,
    "oco": oco.TABLE,
}

__all__ = ["EXPERIMENTS", "TABLES", "Claim", "Experiment", "Panel", "Study", "Verdict", "register_experiment"]


def register_experiment(experiment: Experiment) -> None:
    """Register an experiment of your own, so that `jaxbandits reproduce` runs it and writes its verdicts and figures.

    Raises:
      InputError: if `experiment` is not an `Experiment`, or if its name is taken or not of the form `family/name`.
    """
    if not isinstance(experiment, Experiment):
        raise InputError(f"experiment must be an Experiment, got {format_value(experiment)}")
    if experiment.name.count("/") != 1 or not all(experiment.name.split("/")):
        raise InputError(f"an experiment's name must have the form 'family/name', got {format_value(experiment.name)}")
    if experiment.name in EXPERIMENTS:
        raise InputError(f"there is an experiment {experiment.name!r} already")
    EXPERIMENTS[experiment.name] = experiment
