"""Corollary 1: regret and coverage where nu_t varies, and only a bound on it is told."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.diagnostics import linear as meters
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Bound, Shares
from jaxbandits.experiments.engine.statistic import share_below
from jaxbandits.experiments.linear.setting import DIM, PAPER, environment, largest_scale
from jaxbandits.experiments.linear.theorems import LAWS, TRIALS
from jaxbandits.results.trials import Trials
from jaxbandits.theory.linear import theorem_1

_DECADES = 1.5


def _told_a_bound(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    eps, bound = float(panel.environment.eps), largest_scale(panel.environment)
    return {"Hvt-UCB": getattr(HvtUCB, preset)(dim=DIM, horizon=horizon, eps=eps, moment_bound=bound)}


def corollary_1(algorithm: HvtUCB, rounds: np.ndarray) -> np.ndarray:
    """The explicit bound in the proof of Corollary 1: that of Theorem 1 with nu for every nu_t.

    It prints sqrt(2 kappa) nu sqrt(T + 1) in place of sqrt(2 kappa (nu^2 T + 1)), which needs nu >= 1.
    """
    told: Any = algorithm.moment_bound
    return theorem_1(algorithm, rounds, rounds * float(told) ** 2)


def _with_bound(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    del panel
    regret = trials.get("regret")
    bound = np.broadcast_to(corollary_1(algorithm, trials.records), regret.shape)
    return {"bound": bound, "share_of_bound": regret / bound}


BOUND_ONLY = Experiment(
    name="linear/bound-only",
    title="regret and coverage with a bound on the moments only",
    source=f"{PAPER}, Corollary 1",
    horizon=18_000,
    seeds=TRIALS,
    presets={"theory": "every constant as the theorems state it; the largest nu_t there can be is told, once"},
    algorithms=_told_a_bound,
    panels=lambda horizon: {
        name: Panel(title, environment(noise=law, eps=eps, noise_decades=_DECADES))
        for name, (title, law, eps) in LAWS.items()
    },
    metric="regret",
    tabulated=("error_ratio",),
    meters=(meters.coverage(),),
    derive=_with_bound,
    record="log",
    claims=tuple(
        Claim(
            "told a bound on nu_t only, regret stays below the explicit bound with probability at least 1 - 1/T; here: "
            f"in over 99 % ({name})",
            "Corollary 1", share_below(name, "Hvt-UCB", "share_of_bound"), low=0.99, trials=1000,
        )
        for name in LAWS
    )
    + tuple(
        Claim(
            "told a bound on nu_t only, theta* lies in all confidence sets with probability at least 1 - 4 delta; "
            f"here: in over 99 % ({name})",
            "Lemma 1; Corollary 1", share_below(name, "Hvt-UCB", "error_ratio"), low=0.99, trials=1000,
        )
        for name in LAWS
    ),
    notes=(
        f"log10 of the noise's scale is uniform on (0, {_DECADES:g}) in every round, as in Figures 3 and 4(a); the "
        "learner is told its largest value.",
        "With constant nu_t the corollary is Theorem 1: that is `linear/bound`.",
    ),
    figures=(Bound(), Shares(metric="error_ratio")),
)  # fmt: skip
