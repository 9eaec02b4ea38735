"""Setting of the numerical study on small synthetic problems: its source, and the constants of the learners."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC
from jaxbandits.experiments.engine.experiment import Panel
from jaxbandits.experiments.engine.study import Study
from jaxbandits.results.trials import Trials
from jaxbandits.theory import coco as theory

PAPER = "Wang, Wan & Zhang, AAAI 2025"
_OURS = "Instances, sizes and thresholds are ours: the paper's experiments are its Figures 1 and 2."
STUDY = Study("coco", PAPER, float64=True, notes=(_OURS,))
OWN_STUDY = Study("coco", f"ours, on {PAPER}", notes=(_OURS,))


def constants(environment: Any, horizon: int, scaled: bool = True) -> dict[str, Any]:
    """Return shape, horizon, domain and G; `scaled` adds the factor that gives the constraints the constant G too."""
    bound, steep = float(environment.lipschitz), float(environment.slope * (1.0 + environment.slope_noise))
    fields = {"dim": environment.dim, "horizon": horizon, "domain": environment.domain, "lipschitz": bound}
    return fields | ({"constraint_scale": bound / steep} if scaled else {})


def shares_of_bounds(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, np.ndarray]:
    """Return `regret_share`, `violation_share`: of the bounds for the whole run; of Theorem 1 but for SCOFW-TVC."""
    del panel
    G, D = float(algorithm.lipschitz), float(algorithm.domain.diameter)
    if isinstance(algorithm, SCOFWTVC):
        bounds = theory.theorem_2(G, D, trials.horizon, float(algorithm.curvature))
    else:
        bounds = theory.theorem_1(G, D, trials.horizon)
    scaled = float(getattr(algorithm, "constraint_scale", 1.0)) * trials.get("violation")
    return {
        "regret_share": trials.get("feasible_regret") / bounds.regret,
        "violation_share": scaled / bounds.violation,
    }
