"""Setting of the numerical study of the SEA model: its source, presets, learners on the ball, share of the bound.

Wang, Barik, Zhao & Tan, "Parameter-free Algorithms for the Stochastically Extended Adversarial Model" (NeurIPS 2025).
The paper has no experiments: instances, sizes and thresholds are ours, its theorems say what to look for.
"""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.algorithms.oco.optimistic_ftrl_2023 import OptimisticFTRL2023
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.experiments.engine.experiment import Interpretation, Panel
from jaxbandits.experiments.engine.study import Study
from jaxbandits.results.trials import Trials

PAPER = "Wang, Barik, Zhao & Tan, NeurIPS 2025"
OURS = "The paper has no experiments: instances, sizes and thresholds are ours."
THEORY = {
    "theory": "every constant as the papers state it; 'practical', ours: c_eta = 1, c_A = 1/4, c_corr = 1/2, c_meta = 1"
}
STUDY = Study("oco", f"ours, on {PAPER}", seeds=256, presets=THEORY, notes=(OURS,))
RADIUS_FOR_D = Interpretation(
    "D is the diameter of X in Assumption 2.2 and bounds ||x|| in the proofs: the radius, 1 here, in the step size",
    {key: {"diameter": 1.0} for key in ("OONS", "OONS, practical")},
)
VALUES = Interpretation(
    "(5) fails for losses that are not linear; it can be repaired by played gradients (as usual) or by the values "
    "f(x) - f(0): by values",
    {"CA-OONS": {"meta_loss": "value"}},
)


def on_the_ball(dim: int, lipschitz: float = 1.0) -> dict[str, Any]:
    """Make OONS and the learners that know D and G too, on the unit ball of R^d, given G."""
    common: dict[str, Any] = {"dim": dim, "lipschitz": lipschitz}
    return {
        "OONS": OONS.theory(**common),
        "OONS, practical": OONS.practical(**common),
        "optimistic OMD": OptimisticOMD(**common),
        "optimistic FTRL 2023": OptimisticFTRL2023(dim=dim),
        "OGD": OGD(**common),
    }


def share_of_bound(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    """Divide regret by the bound of the panel."""
    del algorithm
    return {"share_of_bound": trials.get("regret") / panel.bound}
