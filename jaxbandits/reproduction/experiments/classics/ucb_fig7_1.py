"""Figure 7.1: UCB beside explore-then-commit with fixed m and with the best m, against the gap."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.armed.etc import ETC
from jaxbandits.algorithms.armed.ucb_delta import UCBDelta
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.statements import lower, mean_within, not_worse
from jaxbandits.reproduction.engine.study import Study
from jaxbandits.reproduction.engine.thresholds import MODEST
from jaxbandits.reproduction.experiments.classics.setting import (
    BOOK,
    GAP_NAMES,
    GAPS,
    PRESETS,
    AgainstGap,
    gap_panels,
    titles,
)
from jaxbandits.results.trials import Trials
from jaxbandits.theory.classics import etc_regret, ucb_bound

_HORIZON = 1000
_FIXED = (25, 50, 75, 100)
_TRIVIAL = [gap for gap in GAPS if ucb_bound(gap, _HORIZON) >= _HORIZON * gap]


def best_exploration(gap: float, horizon: int) -> int:
    """Return the m with the least expected regret."""
    return min(range(1, horizon // 2 + 1), key=lambda m: etc_regret(gap, horizon, m))


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset
    etc = {f"ETC, m = {m}": float(m) for m in _FIXED}
    etc["ETC, best m"] = float(best_exploration(panel.x, horizon))
    return {
        "UCB": UCBDelta.theory(n_arms=2, horizon=horizon),
        **{label: ETC(n_arms=2, exploration=m) for label, m in etc.items()},
    }


def _share(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    del algorithm
    return {"share_of_bound": trials.get("regret") / panel.bound}


UCB_FIG7_1 = Study("classics", BOOK, horizon=_HORIZON, seeds=10_000, presets=PRESETS, record_points=1).experiment(
    "ucb-fig7-1",
    "Figure 7.1",
    title="UCB and explore-then-commit on two Gaussian arms",
    algorithms=_learners,
    panels=lambda horizon: gap_panels(horizon, ucb_bound),
    derive=_share,
    claims=(
        *mean_within(
            "UCB",
            "share_of_bound",
            on=titles(gap for gap in GAPS if gap not in _TRIVIAL),
            says="with delta = 1/n^2 the regret of UCB is at most 3 D + 16 log n / D",
            place="Theorem 7.1",
            high=1.0,
        ),
        *mean_within(
            "UCB",
            "share_of_bound",
            on=titles(_TRIVIAL),
            says="with delta = 1/n^2 the regret of UCB is at most 3 D + 16 log n / D, which is above n D",
            place="Theorem 7.1",
            high=1.0,
            cannot_fail="the bound is above n D at this gap, the most that regret can be",
        ),
        *lower(
            "UCB",
            tuple(f"ETC, m = {m}" for m in _FIXED[1:]),
            on={GAP_NAMES[1.0]: "D = 1"},
            says="where the gap is large, UCB, which does not know it, is ahead of {second}",
            place="ours, on Figure 7.1",
        ),
        *lower(
            "ETC, best m",
            "UCB",
            on=titles(GAPS),
            says="explore-then-commit that knows the gap and n is ahead of UCB",
            place="ours, on Figure 7.1",
        ),
        *not_worse(
            "UCB",
            "ETC, best m",
            on=titles(GAPS),
            says="not knowing the gap costs UCB a modest price beside the best m",
            place="ours, on Figure 7.1",
            within=MODEST,
        ),
    ),
    notes=("The fixed m and 10,000 simulations a gap are ours. 'Best m' minimises the exact expected regret.",),
    figures=(AgainstGap(),),
)
