"""What the numerical study of the SEA model shares: its source, presets, and the bound that Theorem 3.2 shows.

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
from jaxbandits.results.trials import Trials

PAPER = "Wang, Barik, Zhao & Tan, NeurIPS 2025"
OURS = "The paper has no experiments: instances, sizes and thresholds are ours."
THEORY = {
    "theory": "every constant as the papers state it; 'practical', ours: c_eta = 1, c_A = 1/4, c_corr = 1/2, c_meta = 1"
}

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
    """OONS beside the learners that know D and G too, on the unit ball of R^d, told G."""
    told: dict[str, Any] = {"dim": dim, "lipschitz": lipschitz}
    return {
        "OONS": OONS.theory(**told),
        "OONS, practical": OONS.practical(**told),
        "optimistic OMD": OptimisticOMD(**told),
        "optimistic FTRL 2023": OptimisticFTRL2023(dim=dim),
        "OGD": OGD(**told),
    }


def share_of_bound(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    """Regret over the bound of the panel."""
    del algorithm
    return {"share_of_bound": trials.get("regret") / panel.bound}
