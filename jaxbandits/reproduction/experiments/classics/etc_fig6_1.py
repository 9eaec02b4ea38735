"""Figure 6.1 of Lattimore & Szepesvari (2020): regret of explore-then-commit against the gap, and its bound."""

import math
from collections.abc import Mapping

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.armed import ETC
from jaxbandits.reproduction.engine import Learner, Learners, Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import BOOK, GAPS, PRESETS, AgainstGap, gap_panels, titles
from jaxbandits.reproduction.sentences import COMPARABLE, claims, mean, observations, theorems
from jaxbandits.theory.classics import etc_bound, etc_regret

_HORIZON = 1000
_TRIVIAL = [gap for gap in GAPS if etc_bound(gap, _HORIZON) >= _HORIZON * gap]


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    return {"ETC": ETC.theory(gap=panel.x, horizon=horizon)}


def _shares(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Return regret divided by the bound (6.6), and regret divided by its exact expectation."""
    exact = etc_regret(panel.x, trials.horizon, math.ceil(algorithm.exploration))
    regret = trials.get("regret")
    return {"share_of_bound": regret / panel.bound, "share_of_exact": regret / exact}


ETC_FIG6_1 = Study("classics", BOOK, horizon=_HORIZON, seeds=100_000, presets=PRESETS, record_points=1).experiment(
    "etc-fig6-1",
    "Figure 6.1",
    horizon_stated=True,
    title="explore-then-commit on two Gaussian arms",
    shows="Figure 6.1 of the book shows the expected regret of explore-then-commit, and the upper bound (6.6), "
    "against the gap D, on two Gaussian arms with means 0 and -D. The book states n = 1000, gaps from 0 to 1, and "
    "averages of 10^5 simulations.",
    algorithms=_learners,
    panels=lambda horizon: gap_panels(horizon, etc_bound),
    derive=_shares,
    tabulated=("share_of_bound",),
    claims=(
        *theorems("bound-holds", mean("ETC", of="share_of_bound") < 1.0,
                  on=titles(gap for gap in GAPS if gap not in _TRIVIAL),
                  says="with the m of (6.5), mean regret is at most the bound (6.6)", place="Theorem 6.1; (6.6)"),
        *theorems("trivial-bound", mean("ETC", of="share_of_bound") < 1.0, on=titles(_TRIVIAL),
                  says="at gaps at which (6.6) equals n D, mean regret is at most n D", place="Theorem 6.1; (6.6)",
                  cannot_fail="at this gap (6.6) is n D, the most that regret can be"),
        *claims(
            "bound-close",
            mean("ETC", of="share_of_bound").between(1.0 / COMPARABLE, COMPARABLE),
            on=titles(GAPS),
            says="the upper bound is quite close to the actual performance",
            place="Figure 6.1; Experiment 6.1",
            remark="'quite close' is read as within a factor of 1.5; the expected regret, which has a closed form, is "
            "half of the bound at D = 0.1",
        ),
        *observations("exact-regret", mean("ETC", of="share_of_exact").between(0.99, 1.01), on=titles(GAPS),
                      says="mean regret agrees within 1 % with its expectation D (m + (n - 2 m) Phi(-D sqrt(m / 2)))",
                      place="Figure 6.1"),
    ),
    notes=("There are 10^5 simulations per gap, as in the book.",),
    figures=(AgainstGap(bound="(6.6)"),),
)
