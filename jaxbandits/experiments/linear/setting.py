"""What the figures of "Heavy-Tailed Linear Bandits" (Wang et al., ICML 2025) share: learners, arms, notes."""

from collections.abc import Callable, Mapping
from typing import Any

from jaxbandits.algorithms.linear.crmm import CRMM
from jaxbandits.algorithms.linear.crtm import CRTM
from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.experiments.declare import Panel

DIM, ARMS, HORIZON = 2, 50, 18_000
PAPER = "Wang, Zhang, Zhao & Zhou, ICML 2025"
PRESETS = {
    "practical": "radii multiplied by 2e-4 (Hvt-UCB), 1e-3 (HEAVY-OFUL, c0 = c1 = 1), 0.3 (OFUL), 3e-3 (CRTM), 3e-2 "
    "(CRMM, medians of 11), Huber thresholds by 0.1: ours, from a coarse grid on Fig. 1",
    "theory": "every constant as the theorems state it",
}
READINGS = {  # of "rescaled to satisfy L = 1": panel name -> unit_arms, title
    "max": (False, "arms divided by the largest norm"),
    "unit": (True, "every arm of norm 1"),
}
TUNING = (
    "Practical multipliers come from a coarse grid on Figure 1 with unit arms: two of Hvt-UCB, four constants of "
    "HEAVY-OFUL, one of each other learner (CRTM's threshold stays as it is). Other figures are not tuned anew. With "
    "the theorems' constants (preset theory) the figures look different: the paper's cannot have produced them."
)
TWO_READINGS = (
    "The text 'rescaled to satisfy L = 1' has two readings; panels 'max' divide all arms by the largest norm, panels "
    "'unit' normalise each arm."
)
SLOW = {"HEAVY-OFUL": 64}  # seeds of the learner whose cost grows with t: all others run 512
FEWER = "HEAVY-OFUL runs on the first 64 seeds only: a round costs it O(t). Comparisons with it are paired on those."
WIDTH = 32  # trials side by side, so that HEAVY-OFUL's 64 keep two cores busy


def learners(preset: str, horizon: int, eps: float, bound: float) -> dict[str, Any]:
    """The learners of the figures, all told the same bound on the moment of the noise; the slowest starts first."""
    common = {"dim": DIM, "horizon": horizon}
    heavy = getattr(HeavyOFUL, preset)(**common, eps=eps, moment_bound=bound)
    classes = {"Hvt-UCB": (HvtUCB, "moment_bound"), "CRTM": (CRTM, "noise_scale"), "CRMM": (CRMM, "noise_scale")}
    others = {name: getattr(cls, preset)(**common, eps=eps, **{told: bound}) for name, (cls, told) in classes.items()}
    others["OFUL"] = getattr(OFUL, preset)(**common, noise_scale=bound)
    return {"HEAVY-OFUL": heavy, **others, "uniform": Uniform(dim=DIM)}


def told_the_scale(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Figures 3 and 4: Hvt-UCB and HEAVY-OFUL see nu_t each round, everybody else the largest nu_t there can be."""
    eps = float(panel.environment.eps)
    decades: Any = panel.environment.noise_decades
    bound = float(panel.environment.noise.scale(eps)) * 10.0**decades
    uninformed = learners(preset, horizon, eps, bound)
    bound_only = uninformed.pop("Hvt-UCB")
    common = {"dim": DIM, "horizon": horizon, "eps": eps}
    informed = {"HEAVY-OFUL": getattr(HeavyOFUL, preset)(**common), "Hvt-UCB": getattr(HvtUCB, preset)(**common)}
    others = {label: learner for label, learner in uninformed.items() if label not in informed}
    return {**informed, **others, "Hvt-UCB, bound only": bound_only}


def told_once(eps: float, bound: float) -> Callable[[str, int, Any], Mapping[str, Any]]:
    """Figures 1, 2 and 5: one bound for all rounds and learners."""
    return lambda preset, horizon, panel: learners(preset, horizon, eps, bound)


def environment(**fields: Any) -> HeavyTailed:
    """The arms of all figures."""
    return HeavyTailed(dim=DIM, n_arms=ARMS, **fields)


def both_readings(**fields: Any) -> Mapping[str, Panel]:
    """One panel for each reading of the text."""
    return {
        name: Panel(title, environment(unit_arms=unit_arms, **fields)) for name, (unit_arms, title) in READINGS.items()
    }
