"""Figure 7.1 of Lattimore & Szepesvari (2020): regret of UCB and of explore-then-commit against the gap."""

from collections.abc import Mapping

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.armed import ETC, UCBDelta
from jaxbandits.reproduction.engine import Learner, Learners, Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import BOOK, GAPS, PRESETS, AgainstGap, gap_panels, titles
from jaxbandits.reproduction.sentences import MODEST, mean, observations, theorems
from jaxbandits.theory.classics import etc_regret, ucb_bound

_HORIZON = 1000
_FIXED = (25, 50, 75, 100)
_TRIVIAL = [gap for gap in GAPS if ucb_bound(gap, _HORIZON) >= _HORIZON * gap]


def best_exploration(gap: float, horizon: int) -> int:
    """Return the m with which explore-then-commit has the smallest expected regret on two arms with this gap."""
    return min(range(1, horizon // 2 + 1), key=lambda m: etc_regret(gap, horizon, m))


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    etc = {f"ETC, m = {m}": float(m) for m in _FIXED}
    etc["ETC, best m"] = float(best_exploration(panel.x, horizon))
    return {
        "UCB": UCBDelta.theory(n_arms=2, horizon=horizon),
        **{label: ETC(n_arms=2, exploration=m) for label, m in etc.items()},
    }


def _share(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del algorithm
    return {"share_of_bound": trials.get("regret") / panel.bound}


UCB_FIG7_1 = Study("classics", BOOK, horizon=_HORIZON, seeds=10_000, presets=PRESETS, record_points=1).experiment(
    "ucb-fig7-1",
    "Figure 7.1",
    horizon_stated=True,
    title="UCB and explore-then-commit on two Gaussian arms",
    shows="Figure 7.1 of the book shows the expected regret of UCB, of explore-then-commit with fixed m and of "
    "explore-then-commit with the best m, against the gap D, on two Gaussian arms with means 0 and -D. The book "
    "states n = 1000.",
    algorithms=_learners,
    panels=lambda horizon: gap_panels(horizon, ucb_bound),
    derive=_share,
    claims=(
        *theorems("bound-holds", mean("UCB", of="share_of_bound") < 1.0,
                  on=titles(gap for gap in GAPS if gap not in _TRIVIAL),
                  says="with delta = 1/n^2 the mean regret of UCB is at most 3 D + 16 log n / D", place="Theorem 7.1"),
        *theorems("trivial-bound", mean("UCB", of="share_of_bound") < 1.0, on=titles(_TRIVIAL),
                  says="at gaps at which the bound 3 D + 16 log n / D exceeds n D, the mean regret of UCB with delta = "
                  "1/n^2 is at most this bound",
                  place="Theorem 7.1", cannot_fail="the bound is above n D at this gap, the most that regret can be"),
        *observations("large-gap", mean("UCB") < mean(*(f"ETC, m = {m}" for m in _FIXED[1:])), on=titles([1.0]),
                      says="at D = 1 UCB, which is not given the gap, is ahead of {rival}",
                      place="Figure 7.1"),
        *observations("best-m-ahead", mean("ETC, best m") < mean("UCB"), on=titles(GAPS),
                      says="explore-then-commit (ETC) with the best m is ahead of UCB", place="Figure 7.1"),
        *observations("modest-price", mean("UCB") / mean("ETC, best m") < MODEST, on=titles(GAPS),
                      says="UCB, which is not given the gap, has less than twice the regret of "
                      "explore-then-commit with the best m", place="Figure 7.1"),
    ),
    notes=("The values of the fixed m and the 10,000 simulations per gap are our choice. The best m is the one with "
        "the smallest exact expected regret.",),
    figures=(AgainstGap(),),
)
