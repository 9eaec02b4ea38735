"""How much of an experiment is run, by three words: `quick`, `standard` and `full`."""

from typing import Any, NamedTuple

from jaxbandits.core.errors import unknown
from jaxbandits.experiments.declare import Experiment

BUDGETS = {
    "quick": "a fiftieth of the rounds, at most 50 seeds: everything is run and drawn, nothing is decided",
    "standard": "rounds, seeds and preset as declared",
    "full": "standard, then every other preset, and other seeds",
}
_SHARE, _FEW, _LEAST = 50, 50, 100


class Part(NamedTuple):
    """One run: what is added to the name of its directory, and its settings."""

    suffix: str
    settings: dict[str, Any]  # of `seeds`, `horizon`, `preset`, `seed`; None: as declared


def parts(experiment: Experiment, budget: str) -> list[Part]:
    """The runs of an experiment that a budget pays for.

    Raises:
      InputError: for another word.
    """
    if budget not in BUDGETS:
        raise unknown("budget", budget, BUDGETS)
    usual = {"seeds": None, "horizon": None, "preset": None, "seed": 0}
    if budget == "quick":
        least = min(_LEAST, experiment.horizon)
        horizon = max(least, experiment.horizon // _SHARE)
        return [Part("", {**usual, "seeds": min(_FEW, experiment.seeds), "horizon": horizon})]
    found = [Part("", usual)]
    if budget == "full":
        found += [Part(f"--{name}", {**usual, "preset": name}) for name in list(experiment.presets)[1:]]
        found.append(Part("--seed-1", {**usual, "seed": 1}))
    return found
