"""Remark 4.4 of Wang et al. (2025): CA-OONS without knowledge of T, restarted in epochs of doubling length."""

import itertools
import math
from collections.abc import Mapping

from jaxbandits.oco import CAOONS, AnytimeCAOONS, PseudoHuberLosses
from jaxbandits.reproduction.engine import Curves, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import STUDY
from jaxbandits.reproduction.sentences import MODEST, mean, observations

_HORIZON = 2**14


def _panels(horizon: int) -> Mapping[str, Panel]:
    """Make a separate panel for each horizon, because the constants of CA-OONS depend on the horizon."""
    panels = {}
    for norm, part in itertools.product((2, 8), (16, 4, 1)):
        environment = PseudoHuberLosses(dim=2, center=float(norm), noise_scale=0.2)
        rounds = max(1, horizon // part)
        title = f"||u|| = {norm}, T = {rounds:,}"
        panels[f"norm-{norm}-T-over-{part}"] = Panel(title, environment, x=float(rounds), rounds=rounds)
    return panels


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    dim, rounds = panel.environment.dim, panel.horizon(horizon)
    return {
        "CA-OONS, given T": CAOONS.theory(dim=dim, horizon=rounds),
        "anytime CA-OONS": AnytimeCAOONS.theory(dim=dim, horizon=rounds),
        "CA-OONS, practical, given T": CAOONS.practical(dim=dim, horizon=rounds),
        "anytime CA-OONS, practical": AnytimeCAOONS.practical(dim=dim, horizon=rounds),
    }


ANYTIME = STUDY.experiment(
    "anytime",
    "Remark 4.4",
    title="CA-OONS with known T, and CA-OONS restarted in epochs of doubling length",
    horizon=_HORIZON,
    seeds=64,
    algorithms=_learners,
    panels=_panels,
    record_points=("log", 40),
    claims=(
        *(
            claim
            for name, panel in _panels(_HORIZON).items()
            for claim in observations(
                "logarithmic-price",
                mean("anytime CA-OONS") < math.log2(panel.x) * mean("CA-OONS, given T"),
                mean("anytime CA-OONS, practical") < math.log2(panel.x) * mean("CA-OONS, practical, given T"),
                on={name: panel.title},
                says="restarts in doubling epochs increase regret by at most a logarithmic factor, log2 T",
                place="Remark 4.4",
            )
        ),
        *observations("modest-price", mean("anytime CA-OONS") < MODEST * mean("CA-OONS, given T"),
                      mean("anytime CA-OONS, practical") < MODEST * mean("CA-OONS, practical, given T"),
                      on={name: panel.title for name, panel in _panels(_HORIZON).items()},
                      says="the price of not knowing T is modest: regret at most doubles"),
    ),
    notes=(
        "The losses are pseudo-Huber losses on R^2, and the comparator is their minimiser, which has norm ||u||. Epoch "
        "k has 2^(k-1) rounds, and the learner restarts at the start of each epoch. In every epoch that lasts long "
        "enough it has the start-up cost of the meta algorithm, which dominates here.",
        "Remark 4.4 compares bounds; the factor log2 T between two measured regrets is our interpretation.",
    ),
    figures=(Curves(logarithmic=True),),
)
