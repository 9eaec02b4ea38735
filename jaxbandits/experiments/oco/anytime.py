"""CA-OONS that is not told T: epochs of doubling length (Remark 4.4)."""

import math
from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS
from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Curves
from jaxbandits.experiments.engine.statistic import mean_difference
from jaxbandits.experiments.engine.thresholds import MODEST
from jaxbandits.experiments.oco.setting import OURS, PAPER, THEORY

_HORIZON, _PARTS, _NORMS = 2**14, (16, 4, 1), (2, 8)


def _panels(horizon: int) -> Mapping[str, Panel]:
    """Each horizon is a run of its own, since CA-OONS is told it."""
    panels = {}
    for norm in _NORMS:
        environment = PseudoHuberLosses(dim=2, center=float(norm), noise_scale=0.2)
        for part in _PARTS:
            rounds = max(1, horizon // part)
            title = f"||u|| = {norm}, T = {rounds:,}"
            panels[_name(norm, part)] = Panel(title, environment, x=float(rounds), rounds=rounds)
    return panels


def _name(norm: int, part: int) -> str:
    return f"norm-{norm}-T-over-{part}"


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset
    dim, rounds = panel.environment.dim, panel.rounds or horizon
    return {
        "CA-OONS, told T": CAOONS.theory(dim=dim, horizon=rounds),
        "anytime CA-OONS": AnytimeCAOONS.theory(dim=dim, horizon=rounds),
        "CA-OONS, practical, told T": CAOONS.practical(dim=dim, horizon=rounds),
        "anytime CA-OONS, practical": AnytimeCAOONS.practical(dim=dim, horizon=rounds),
    }


_PAIRS = (("anytime CA-OONS", "CA-OONS, told T"), ("anytime CA-OONS, practical", "CA-OONS, practical, told T"))


def _claims() -> tuple[Claim, ...]:
    found = []
    for anytime, told in _PAIRS:
        for norm in _NORMS:
            for part in _PARTS:
                panel, rounds = _name(norm, part), _HORIZON // part
                factor, where = math.log2(rounds), f"||u|| = {norm}, T = {rounds:,}"
                found += [
                    Claim(
                        f"doubling epochs cost at most a logarithmic factor, log2 T = {factor:g}: {anytime} against "
                        f"{told} ({where})", "Remark 4.4",
                        mean_difference(panel, anytime, told, factor=factor), high=0.0,
                    ),
                    Claim(
                        f"the price of not knowing T is modest: {anytime} loses at most {MODEST:g} times what {told} "
                        f"does ({where})", "ours",
                        mean_difference(panel, anytime, told, factor=MODEST), high=0.0,
                    ),
                ]  # fmt: skip
    return tuple(found)


ANYTIME = Experiment(
    name="oco/anytime",
    title="CA-OONS told T, and restarted in epochs of doubling length",
    source=f"ours, on {PAPER}, Remark 4.4",
    horizon=_HORIZON,
    seeds=64,
    presets=THEORY,
    algorithms=_learners,
    panels=_panels,
    metric="regret",
    record_points=("log", 40),
    claims=_claims(),
    notes=(OURS, "Pseudo-Huber losses on R^2 against their minimiser at ||u||. Epoch k has 2^(k-1) rounds and starts "
           "anew: the start-up cost of the meta algorithm, which rules here, is paid in every epoch that lasts long "
           "enough.",
           "Remark 4.4 bounds a bound: the factor log2 T between two measured regrets is ours to read."),
    figures=(Curves(logarithmic=True),),
)  # fmt: skip
