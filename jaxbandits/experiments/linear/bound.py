"""Theorem 1: regret beside the explicit bound."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel
from jaxbandits.experiments.engine.figures import Bound
from jaxbandits.experiments.engine.statistic import share_below
from jaxbandits.experiments.linear.setting import PAPER
from jaxbandits.experiments.linear.theorems import LAWS, THEORY, TRIALS, hvt_ucb, panels
from jaxbandits.results.trials import Trials
from jaxbandits.simulation import Meter, Round
from jaxbandits.theory.linear import theorem_1


def _noise_power(r: Round) -> Any:
    """nu_t^2, whose sum stands in Theorem 1."""
    return r.feedback.noise_scale**2


def _with_bound(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    del panel
    bound = theorem_1(algorithm, trials.records, trials.get("noise_power"))
    return {"bound": bound, "share_of_bound": trials.get("regret") / bound}


BOUND = Experiment(
    name="linear/bound",
    title="regret beside the explicit bound",
    source=f"{PAPER}, Theorem 1",
    horizon=18_000,
    seeds=TRIALS,
    presets=THEORY,
    algorithms=hvt_ucb,
    panels=panels,
    metric="regret",
    meters=(Meter("noise_power", _noise_power),),
    derive=_with_bound,
    record="log",
    claims=tuple(
        Claim(
            f"regret stays below the explicit bound with probability at least 1 - 1/T; here: in over 99 % ({name})",
            "Theorem 1", share_below(name, "Hvt-UCB", "share_of_bound"), low=0.99, trials=1000,
        )
        for name in LAWS
    )
    + tuple(
        Claim(
            f"the bound is loose: regret is below a thousandth of it in more than 99 % of trials ({name})",
            "ours, on Theorem 1", share_below(name, "Hvt-UCB", "share_of_bound", 1e-3), low=0.99, trials=1000,
        )
        for name in LAWS
    ),
    notes=("The second term is printed without its factor: with the correct w_t it is 4 c L kappa / sqrt(lambda).",),
    figures=(Bound(),),
)  # fmt: skip
