"""Growth of regret over 2^18 rounds, after the step sizes have left their caps, compared with three bounds."""

from collections.abc import Mapping

import numpy as np

from jaxbandits.oco import CAOONS, CLAOONS, OONS
from jaxbandits.reproduction.engine import Curves, Learners, Panel, Problem
from jaxbandits.reproduction.experiments.oco import curved, origin
from jaxbandits.reproduction.experiments.oco.setting import STUDY
from jaxbandits.reproduction.sentences import exponent_of, growth, observations, slug

HORIZON, SEEDS = 2**18, 64
_CURVED = {name: f"curved-{name}" for name in ("iid-0.5", "huber", "flips-1")}
_ORIGIN = {name: f"origin-{name}" for name in ("flips", "noise")}
_CAP = 1.0 / 256.0  # eta_1 = 1 / (64 D z) of OONS for D = z = 2
POINTS = np.geomspace(HORIZON / 10.0, HORIZON, 20)  # record points of the last decade


def law(rounds: float) -> float:
    """Return sqrt(T) log(1 + T eta_1), the leading term of Theorem 3.1 if sum_t ||e_t||^2 is proportional to T."""
    return float(np.sqrt(rounds) * np.log1p(rounds * _CAP))


def _panels(horizon: int) -> Mapping[str, Panel]:
    around, zero = curved.environments(horizon), origin.panels(horizon)
    found = {panel: Panel(f"curved losses: {around[name][0]}", around[name][1]) for name, panel in _CURVED.items()}
    return found | {
        panel: Panel(f"against 0: {zero[name].title}", zero[name].environment) for name, panel in _ORIGIN.items()
    }


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    environment: Problem = panel.environment
    if panel.title.startswith("curved"):
        return {"OONS": getattr(OONS, preset)(dim=environment.dim, lipschitz=float(environment.lipschitz))}
    return {
        "CA-OONS": getattr(CAOONS, preset)(dim=environment.dim, horizon=horizon),
        "CLA-OONS": CLAOONS(dim=environment.dim),
    }


_EXPONENT = exponent_of(law, POINTS.tolist())

GROWTH = STUDY.experiment(
    "growth",
    "Theorems 3.2, 4.1 and 4.5",
    title="growth of regret over 2^18 rounds, on the unit ball and against the origin",
    horizon=HORIZON,
    seeds=SEEDS,
    presets={"theory": "every constant as the papers state it"},
    algorithms=_learners,
    panels=_panels,
    record_points=("log", 60),
    claims=tuple(
        claim
        for label, panels, place in (
            ("OONS", _CURVED, "Theorem 3.2"),
            ("CA-OONS", _ORIGIN, "Appendix D (2 in place of ||u||)"),
            ("CLA-OONS", _ORIGIN, "Theorem 4.5"),
        )
        for claim in observations(
            f"{slug(label)}-grows-as-law",
            growth(label) < _EXPONENT,
            on=panels.values(),
            says=f"the regret of {label} grows no faster than sqrt(T) log(1 + T/256), whose growth exponent over "
            f"the last decade is {_EXPONENT:.3f}",
            place=f"{place} (an upper bound)",
        )
    ),
    notes=(
        "The problems are those of oco/curved and oco/origin, 8 to 16 times as long. The bounds contain a logarithm, "
        "for example log(1 + T eta_1) in Theorem 3.1; the claims use eta_1 = 1/256. They state the exponent of the "
        "bound over the last decade, including the logarithm. A square root without a logarithm has the exponent 1/2, "
        "and a constant loss per round has the exponent 1.",
        "Step sizes follow V_t, the sum of the squared errors of the hints, only after V_t has exceeded (64 z)^2, "
        "where z bounds the norm of these errors; before that, regret need not grow like the bound. In the panel "
        "curved-iid-0.5 this takes about half of all rounds. It never happens with CLA-OONS: its ball grows as "
        "sqrt(T), so the cap 1 / (64 D_t z_t) stays below 1 / sqrt(V_t).",
        "The theorems bound regret from above, so a larger exponent than that of the bound would not contradict them.",
    ),
    figures=(Curves(logarithmic=True),),
)
