"""Common setting of the experiments on the SEA model: sources, presets, learners, panels and tuning.

Wang, Barik, Zhao & Tan, "Parameter-free Algorithms for the Stochastically Extended Adversarial Model" (NeurIPS 2025).
The paper has no experiments: instances, sizes and thresholds are ours, chosen to test its theorems.
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from jaxbandits import oco
from jaxbandits.algorithms.oco import multipliers
from jaxbandits.algorithms.oco.constants import scaled_constants
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.reproduction.engine import (
    TOLERANCE,
    Interpretation,
    Learner,
    Multipliers,
    MultiplierTable,
    Panel,
    Study,
    TunedLearner,
    Tuning,
    with_multipliers,
)
from jaxbandits.theory.oco import visible_bound

PAPER = "Wang, Barik, Zhao & Tan, NeurIPS 2025"
OURS = "The paper has no experiments; instances, sizes and thresholds are ours."
THEORY = {
    "theory": "every constant as the papers state it; learners labelled 'practical' (ours) have c_eta = 1, c_A = 1/4, "
              "c_corr = 1/2, c_meta = 1"
}
AS_PRINTED = {"theory": "every constant as the papers state it"}
STUDY = Study("oco", f"ours, on {PAPER}", seeds=256, presets=THEORY, notes=(OURS,))
THEOREMS = Study("oco", PAPER, seeds=256, presets=AS_PRINTED)  # statements of the paper that need no interpretation
RADIUS_FOR_D = Interpretation(
    "D is the diameter of X in Assumption 2.2, but in the proofs it bounds ||x||; in this reading the step size uses "
    "the radius, 1, instead of the diameter",
    {key: {"diameter": 1.0} for key in ("OONS", "OONS, practical")},
)
VALUES = Interpretation(
    "(5) fails for losses that are not linear; it can be repaired with gradients at the played points (the usual "
    "reading) or with the values f(x) - f(0) (this reading)",
    {"CA-OONS": {"meta_loss": "value"}},
)


def on_the_ball(dim: int, lipschitz: float = 1.0) -> Fields:
    """Make OONS and its rivals on the unit ball of R^d, by label. Learners that need G use `lipschitz`."""
    common: Fields = {"dim": dim, "lipschitz": lipschitz}
    return {
        "OONS": oco.OONS.theory(**common),
        "OONS, practical": oco.OONS.practical(**common),
        "optimistic OMD": oco.OptimisticOMD(**common),
        "optimistic FTRL 2023": oco.OptimisticFTRL2023(dim=dim),
        "OGD": oco.OGD(**common),
    }


def panels_beside_bounds(
    environments: Mapping[str, tuple[str, Any]], horizon: int, moving: Collection[str]
) -> dict[str, Panel]:
    """Make panels whose `bound` and `x` are the bound of Theorem 3.2 without its constants.

    This bound is D (sqrt(sigma^2_{1:T}) + sqrt(Sigma^2_{1:T})).

    Args:
      environments: mapping from the name of a panel to its title and its environment.
      horizon: number of rounds of a trial.
      moving: names of panels with negative regret against a fixed point. Their `x` is NaN, so that they are omitted
        from plots of regret against the bound.
    """
    panels = {}
    for name, (title, environment) in environments.items():
        bound = visible_bound(environment, horizon)
        panels[name] = Panel(title, environment, x=math.nan if name in moving else bound, bound=bound)
    return panels


def share_of_bound(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Return the metric `share_of_bound`: regret divided by the bound of the panel."""
    del algorithm
    return {"share_of_bound": trials.get("regret") / panel.bound}


# Tuning --------------------------------------------------------------------------------------------------------------

_CONSTANTS = ("c_eta", "c_A", "c_corr", "c_meta")
_MULTIPLIERS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # multipliers of the constants of the paper


def linear_losses() -> Panel:
    """Make the panel on which the constants of OONS are tuned: linear losses in [-1, 1] on the unit ball."""
    return Panel("i.i.d. linear losses, m = 0.1, s = 0.9", oco.LinearLosses(dim=2, mean=0.1, noise_scale=0.9))


def smooth_losses() -> Panel:
    """Make the panel on which learners on R^d are tuned: pseudo-Huber losses whose best point has norm 4."""
    return Panel("pseudo-Huber losses, ||u|| = 4", oco.PseudoHuberLosses(dim=2, center=4.0, noise_scale=0.2))


def _tuned_learner(make: Callable[[int, int], Any], panel: Panel, rounds: int) -> TunedLearner:
    def build(panel: Panel, horizon: int, multipliers: Multipliers) -> Learner:
        learner = make(panel.environment.dim, horizon)
        return with_multipliers(learner, scaled_constants(type(learner), multipliers))

    return TunedLearner(type(make(2, rounds)).__name__, build, lambda: ({panel.title: panel}, rounds))


TABLE = MultiplierTable(
    multipliers,
    Tuning(
        presets=(),
        grid=lambda learner: {name: _MULTIPLIERS for name in _CONSTANTS if hasattr(learner, name)},
        metric="regret",
        seeds=64,
        slow={"CAOONS": (16, 1)},
        tolerance=TOLERANCE,
    ),
    {
        "oons": _tuned_learner(lambda dim, horizon: oco.OONS.theory(dim=dim), linear_losses(), 2**13),
        "ca_oons": _tuned_learner(
            lambda dim, horizon: oco.CAOONS.theory(dim=dim, horizon=horizon), smooth_losses(), 2**11
        ),
        "cla_oons": _tuned_learner(lambda dim, horizon: oco.CLAOONS.theory(dim=dim), smooth_losses(), 2**11),
    },
    preset="tuned",
)
