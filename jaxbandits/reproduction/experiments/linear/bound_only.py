"""Corollary 1 of Wang et al. (2025): regret and coverage if nu_t varies and only a bound on it is known."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.diagnostics import linear as meters
from jaxbandits.linear import HvtUCB
from jaxbandits.reproduction.engine import Bound, Learner, Learners, Panel, Shares
from jaxbandits.reproduction.experiments.linear.setting import DIM, LAWS, THEOREMS, environment, largest_scale
from jaxbandits.reproduction.sentences import OUT_OF_REACH, share, theorems
from jaxbandits.theory.linear import theorem_1

_DECADES = 1.5


def _given_a_bound(preset: str, horizon: int, panel: Panel) -> Learners:
    eps, bound = float(panel.environment.eps), largest_scale(panel.environment)
    return {"Hvt-UCB": getattr(HvtUCB, preset)(dim=DIM, horizon=horizon, eps=eps, moment_bound=bound)}


def corollary_1(algorithm: HvtUCB, rounds: np.ndarray) -> np.ndarray:
    """Return the explicit bound in the proof of Corollary 1: the bound of Theorem 1 with nu in place of every nu_t.

    The printed proof bounds sqrt(2 kappa (nu^2 T + 1)) by sqrt(2 kappa) nu sqrt(T + 1), which is correct for nu >= 1
    only. The former is used here.
    """
    bound: Any = algorithm.moment_bound
    return theorem_1(algorithm, rounds, rounds * float(bound) ** 2)


def _with_bound(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del panel
    regret = trials.get("regret")
    bound = np.broadcast_to(corollary_1(algorithm, trials.record_points), regret.shape)
    return {"bound": bound, "share_of_bound": regret / bound}


BOUND_ONLY = THEOREMS.experiment(
    "bound-only",
    "Corollary 1",
    title="regret and coverage if only a bound on the moments is known",
    presets={"theory": "every constant as the theorems state it; Hvt-UCB receives the largest possible nu_t"},
    algorithms=_given_a_bound,
    panels=lambda horizon: {
        name: Panel(title, environment(noise=law, eps=eps, noise_decades=_DECADES))
        for name, (title, law, eps) in LAWS.items()
    },
    tabulated=("error_ratio",),
    meters=(meters.coverage(),),
    derive=_with_bound,
    record_points="log",
    claims=(
        *theorems(
            "bound-holds",
            share("Hvt-UCB", of="share_of_bound") > 0.99,
            on=LAWS.keys(),
            says="given a bound on nu_t only, regret stays below the explicit bound with probability at least 1 - 1/T",
            place="Corollary 1",
            cannot_fail=OUT_OF_REACH.format(most="2 T", what="regret"),
            least=1000,
        ),
        *theorems(
            "covers",
            share("Hvt-UCB", of="error_ratio") > 0.99,
            on=LAWS.keys(),
            says="given a bound on nu_t only, theta* lies in all confidence sets with probability at least 1 - 4 delta",
            place="Lemma 1; Corollary 1",
            least=1000,
        ),
    ),
    notes=(
        f"In every round log10 of the scale of the noise is drawn uniformly from (0, {_DECADES:g}), as in Figures 3 "
        f"and 4(a). The learner is given the largest possible scale.",
        "If nu_t = nu in every round, the bound is that of Theorem 1, which linear/bound tests.",
    ),
    figures=(Bound(), Shares(metric="error_ratio")),
)
