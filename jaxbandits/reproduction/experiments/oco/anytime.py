"""CA-OONS without knowledge of T: epochs of doubling length (Remark 4.4)."""

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Any

from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS
from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.figures import Curves
from jaxbandits.reproduction.engine.statements import lower
from jaxbandits.reproduction.engine.thresholds import MODEST
from jaxbandits.reproduction.experiments.oco.setting import STUDY

_HORIZON = 2**14
_PANELS = {f"norm-{norm}-T-over-{part}": (norm, part) for norm in (2, 8) for part in (16, 4, 1)}


def _title(norm: int, rounds: int) -> str:
    return f"||u|| = {norm}, T = {rounds:,}"


def _panels(horizon: int) -> Mapping[str, Panel]:
    """Make a panel for each horizon: CA-OONS needs it, so that each is a run of its own."""
    panels = {}
    for name, (norm, part) in _PANELS.items():
        environment = PseudoHuberLosses(dim=2, center=float(norm), noise_scale=0.2)
        rounds = max(1, horizon // part)
        panels[name] = Panel(_title(norm, rounds), environment, x=float(rounds), rounds=rounds)
    return panels


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset
    dim, rounds = panel.environment.dim, panel.horizon(horizon)
    return {
        "CA-OONS, given T": CAOONS.theory(dim=dim, horizon=rounds),
        "anytime CA-OONS": AnytimeCAOONS.theory(dim=dim, horizon=rounds),
        "CA-OONS, practical, given T": CAOONS.practical(dim=dim, horizon=rounds),
        "anytime CA-OONS, practical": AnytimeCAOONS.practical(dim=dim, horizon=rounds),
    }


_PAIRS = (("anytime CA-OONS", "CA-OONS, given T"), ("anytime CA-OONS, practical", "CA-OONS, practical, given T"))


def _claims() -> Iterable[Claim]:
    logarithmic = "doubling epochs cost at most a logarithmic factor, log2 T"
    for anytime, informed in _PAIRS:
        for panel, (norm, part) in _PANELS.items():
            rounds = _HORIZON // part
            price = functools.partial(lower, anytime, informed, on={panel: _title(norm, rounds)})
            yield from price(says=logarithmic, place="ours, on Remark 4.4", factor=math.log2(rounds))
            yield from price(says="the price of not knowing T is modest", place="ours", factor=MODEST)


ANYTIME = STUDY.experiment(
    "anytime",
    "Remark 4.4",
    title="CA-OONS with T known, and restarted in epochs of doubling length",
    horizon=_HORIZON,
    seeds=64,
    algorithms=_learners,
    panels=_panels,
    record_points=("log", 40),
    claims=tuple(_claims()),
    notes=(
        "Pseudo-Huber losses on R^2 against their minimiser at ||u||. Epoch k has 2^(k-1) rounds and starts anew: the "
        "start-up cost of the meta algorithm, which rules here, is paid in every epoch that lasts long enough.",
        "Remark 4.4 bounds a bound: the factor log2 T between two measured regrets is ours to read.",
    ),
    figures=(Curves(logarithmic=True),),
)
