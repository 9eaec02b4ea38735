"""Theorem 1 of Wang et al. (2025): regret of Hvt-UCB compared with the explicit bound."""

from collections.abc import Mapping

import jax
import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.reproduction.engine import Bound, Learner, Panel
from jaxbandits.reproduction.experiments.linear.setting import LAWS, THEOREMS
from jaxbandits.reproduction.sentences import OUT_OF_REACH, observations, share, theorems
from jaxbandits.simulation import Meter, Round
from jaxbandits.theory.linear import theorem_1


def _noise_power(r: Round) -> jax.Array:
    """Return nu_t^2, whose sum appears in Theorem 1."""
    return r.feedback.noise_scale**2


def _with_bound(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del panel
    bound = theorem_1(algorithm, trials.record_points, trials.get("noise_power"))
    return {"bound": bound, "share_of_bound": trials.get("regret") / bound}


BOUND = THEOREMS.experiment(
    "bound",
    "Theorem 1",
    title="regret, and the explicit bound of Theorem 1",
    meters=(Meter("noise_power", _noise_power),),
    derive=_with_bound,
    record_points="log",
    claims=(
        *theorems("bound-holds", share("Hvt-UCB", of="share_of_bound") > 0.99, on=LAWS.keys(),
                  says="regret stays below the explicit bound with probability at least 1 - 1/T", place="Theorem 1",
                  cannot_fail=OUT_OF_REACH.format(most="2 T", what="regret"), least=1000),
        *observations("bound-loose", share("Hvt-UCB", of="share_of_bound", at_most=1e-3) > 0.99, on=LAWS.keys(),
                      says="the bound is loose: regret is below a thousandth of the bound", place="Theorem 1",
                      cannot_fail=OUT_OF_REACH.format(most="2000 T", what="a thousand times regret"), least=1000),
    ),
    notes=("The bound includes a factor 4 of its second term, which the paper omits (see the errata below).",),
    figures=(Bound(),),
)
