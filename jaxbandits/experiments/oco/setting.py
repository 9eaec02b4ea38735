"""What the numerical study of the SEA model shares: its source, presets, and the bound that Theorem 3.2 shows.

Wang, Barik, Zhao & Tan, "Parameter-free Algorithms for the Stochastically Extended Adversarial Model" (NeurIPS 2025).
The paper has no experiments: instances, sizes and thresholds are ours, its theorems say what to look for.
"""

import math
from collections.abc import Mapping
from typing import Any

from jaxbandits.experiments.declare import Panel
from jaxbandits.results.trials import Trials

PAPER = "Wang, Barik, Zhao & Tan, NeurIPS 2025"
OURS = "The paper has no experiments: instances, sizes and thresholds are ours."
THEORY = {
    "theory": "every constant as the papers state it; 'heuristic': c_eta = 1, c_A = 1/4, c_corr = 1/2, c_meta = 1"
}


def visible_bound(environment: Any, horizon: int, diameter: float = 2.0) -> float:
    """D (sqrt(sigma^2_{1:T}) + sqrt(Sigma^2_{1:T})): what Theorem 3.2 shows before its constants."""
    variance, variation = environment.cumulative_variance(horizon), environment.cumulative_variation(horizon)
    return diameter * (math.sqrt(float(variance)) + math.sqrt(float(variation)))


def share_of_bound(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    """Regret over the bound of the panel."""
    del algorithm
    return {"share_of_bound": trials.get("regret") / panel.bound}
