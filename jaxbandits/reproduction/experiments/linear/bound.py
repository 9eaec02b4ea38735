"""Theorem 1: regret beside the explicit bound."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.figures import Bound
from jaxbandits.reproduction.engine.statements import mostly_below
from jaxbandits.reproduction.engine.thresholds import OUT_OF_REACH
from jaxbandits.reproduction.experiments.linear.setting import LAWS, THEOREMS
from jaxbandits.results.trials import Trials
from jaxbandits.simulation import Meter, Round
from jaxbandits.theory.linear import theorem_1


def _noise_power(r: Round) -> Any:
    """Return nu_t^2, whose sum stands in Theorem 1."""
    return r.feedback.noise_scale**2


def _with_bound(trials: Trials, algorithm: Any, panel: Panel) -> Mapping[str, Any]:
    del panel
    bound = theorem_1(algorithm, trials.record_points, trials.get("noise_power"))
    return {"bound": bound, "share_of_bound": trials.get("regret") / bound}


BOUND = THEOREMS.experiment(
    "bound",
    "Theorem 1",
    title="regret beside the explicit bound",
    meters=(Meter("noise_power", _noise_power),),
    derive=_with_bound,
    record_points="log",
    claims=(
        *mostly_below(
            "Hvt-UCB",
            "share_of_bound",
            on=LAWS.keys(),
            says="regret stays below the explicit bound with probability at least 1 - 1/T",
            place="Theorem 1",
            cannot_fail=OUT_OF_REACH.format(most="2 T", what="regret"),
            trials=1000,
        ),
        *mostly_below(
            "Hvt-UCB",
            "share_of_bound",
            on=LAWS.keys(),
            threshold=1e-3,
            says="the bound is loose: regret is below a thousandth of it",
            place="ours, on Theorem 1",
            cannot_fail=OUT_OF_REACH.format(most="2000 T", what="a thousand times regret"),
            trials=1000,
        ),
    ),
    notes=("The second term is printed without its factor: with the correct w_t it is 4 c L kappa / sqrt(lambda).",),
    figures=(Bound(),),
)
