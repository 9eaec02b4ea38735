"""Budgets of an experiment (`quick`, `standard` and `full`), each of which selects runs and their settings."""

from typing import Any, NamedTuple

from jaxbandits.base.errors import unknown_name
from jaxbandits.reproduction.engine.claim import REPEATS
from jaxbandits.reproduction.engine.experiment import Experiment

BUDGETS = {
    "quick": "a fiftieth of the rounds (at most 1,000), at most 8 seeds, no slow learners or times: nothing is decided",
    "standard": "as declared, and every other preset and reading of the paper on fewer seeds without slow learners",
    "full": "as declared, and every other preset and reading on all seeds, other seeds, and double precision",
}
_SHARE, _FEW, _LEAST, _MOST = 50, 8, 100, 1000
_SHORT = 4000  # up to this many rounds in the longest trial, optimised compilation costs more than it saves
_CHECK = 256  # seeds of other presets and readings within the budget `standard`, if their claims need no more
_DOUBLE = "--float64"


class BudgetRun(NamedTuple):
    """Run within a budget: the suffix of its directory's name, and its settings."""

    suffix: str
    settings: dict[str, Any]  # `seeds`, `horizon`, `preset`, `seed` (None: as declared), and further options


def parts(experiment: Experiment, budget: str, float64: bool = False) -> list[BudgetRun]:
    """Return the runs of an experiment within a budget.

    Args:
      experiment: the experiment.
      budget: one of `BUDGETS`.
      float64: True to run the experiment in double precision. The names of directories then end in "--float64", unless
        the experiment needs double precision anyway.

    Raises:
      InputError: for an unknown budget.
    """
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)
    usual = {"seeds": None, "horizon": None, "preset": None, "seed": 0}
    double = "" if experiment.float64 or not float64 else _DOUBLE
    if budget == "quick":
        if experiment.claims and all(claim.least <= REPEATS for claim in experiment.claims):
            return []  # all claims are about times, which a short run does not measure
        share = min(max(experiment.horizon // _SHARE, _LEAST), _MOST)
        horizon = min(share, experiment.horizon)
        less = {"without": tuple(experiment.slow), "no_timing": True, "formats": ("svg",)}
        less |= {"compile": "fast"} if _longest(experiment, horizon) <= _SHORT else {}
        less |= {"seeds": min(_FEW, experiment.seeds), "horizon": horizon, "preset": _preset_without_tuning(experiment)}
        return [BudgetRun(double, {**usual, **less})]
    found, less = [BudgetRun("", usual)], {}
    if budget == "standard":
        seeds = min(experiment.seeds, max([_CHECK, *(claim.least for claim in experiment.claims)]))
        slow = tuple(label for label, most in experiment.slow.items() if most < seeds)
        less = {"seeds": seeds, "without": slow, "no_timing": True}
    found += [BudgetRun(f"--{name}", {**usual, **less, "preset": name}) for name in list(experiment.presets)[1:]]
    found += [
        BudgetRun(f"--interpretation-{name}", {**usual, **less, "interpretation": name})
        for name in experiment.interpretations
    ]
    if budget == "full":
        found.append(BudgetRun("--seed-1", {**usual, "seed": 1}))
        found += [] if experiment.float64 or float64 else [BudgetRun(_DOUBLE, {**usual, "float64": True})]
    return [BudgetRun(part.suffix + double, part.settings) for part in found]


def _preset_without_tuning(experiment: Experiment) -> str | None:
    """Return the first preset in which no learner is tuned during the run; None if that is the default preset."""
    tuned = () if experiment.tuning is None else experiment.tuning.presets
    first = next((name for name in experiment.presets if name not in tuned), None)
    return None if first == experiment.preset(None) else first


def n_programs(experiment: Experiment, part: BudgetRun) -> int:
    """Return the number of programs that a run compiles: one per learner and panel."""
    horizon = part.settings["horizon"] or experiment.horizon
    preset, without = experiment.preset(part.settings["preset"]), set(part.settings.get("without", ()))
    panels = experiment.panels(horizon).values()
    return sum(len(set(experiment.algorithms(preset, horizon, panel)) - without) for panel in panels)


def _longest(experiment: Experiment, horizon: int) -> int:
    """Return the length of the longest trial in a run of `horizon` rounds; learners may have different horizons."""
    panels = experiment.panels(horizon).values()
    if experiment.horizons is None:
        return max(panel.horizon(horizon) for panel in panels)
    preset = experiment.preset(None)
    learners = ((panel, experiment.algorithms(preset, horizon, panel)) for panel in panels)
    return max(max(experiment.horizons(horizon, panel, labels).values()) for panel, labels in learners)
