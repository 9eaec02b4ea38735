"""Table 1 of Garivier & Kaufmann (2016): number of plays until the best Bernoulli arm is identified."""

import functools
from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.explore.proportions import optimal_proportions
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.explore import KLLUCB, TopTwoThompson, TrackAndStop
from jaxbandits.reproduction.engine import Learner, Learners, Panel, Shares, Study
from jaxbandits.reproduction.experiments.classics.setting import GARIVIER, PRESETS, coins
from jaxbandits.reproduction.sentences import Statistic, exact_value, mean, measure, observations, share, slug, theorems

_DELTA = 0.1
_MEANS = {"mu1": [0.5, 0.45, 0.43, 0.4], "mu2": [0.3, 0.21, 0.2, 0.19, 0.18]}
_PROPORTIONS = {"mu1": [0.417, 0.390, 0.136, 0.057], "mu2": [0.336, 0.251, 0.177, 0.132, 0.104]}
_PLAYS = {"Track-and-Stop": {"mu1": 4052, "mu2": 1406}, "KL-LUCB": {"mu1": 8437, "mu2": 2716}}
_LEAST = {"mu1": 1739.8364936303262, "mu2": 574.16486190472}  # theory.classics.least_stopping_time, tested
_WITHIN = 1.1
_plays = functools.partial(mean, of="stopping_time")


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    common: Fields = {"n_arms": panel.environment.n_arms, "delta": _DELTA}
    return {
        "Track-and-Stop": TrackAndStop(**common),
        "KL-LUCB": KLLUCB(**common),
        "top-two Thompson": TopTwoThompson(**common),
    }


def _errors(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del algorithm, panel
    return {"error": 1.0 - trials.get("correct"), "unfinished": 1.0 - trials.get("stopped")}


def _deviation(panel: str) -> Statistic:
    """Return the statistic of the largest deviation of the optimal proportions w* from those printed in the paper."""
    return exact_value(
        lambda: float(np.abs(np.asarray(optimal_proportions(jnp.asarray(_MEANS[panel]))) - _PROPORTIONS[panel]).max())
    )


GARIVIER_TABLE1 = Study("classics", GARIVIER, horizon=100_000, seeds=3000, presets=PRESETS).experiment(
    "garivier-table1",
    "Table 1",
    title="number of plays until the best arm is identified, delta = 0.1",
    shows="Table 1 lists the mean number of draws of Track-and-Stop, Chernoff racing, KL-LUCB and KL racing until the "
    "best arm is identified, for two sets of Bernoulli means. The paper states delta = 0.1, means (0.5, 0.45, 0.43, "
    "0.4) and (0.3, 0.21, 0.2, 0.19, 0.18), their optimal proportions of draws, and 3,000 runs.",
    algorithms=_learners,
    panels=lambda horizon: {
        name: coins(f"{name}: {', '.join(map(str, means))}", means) for name, means in _MEANS.items()
    },
    metric="stopping_time",
    tabulated=("error", "unfinished"),
    derive=_errors,
    record_points=20,
    claims=(
        *observations("proportions", measure("largest deviation of w*", _deviation, in_panel=True) < 5e-4,
                      on={name: f"{name}: {', '.join(f'{w:.3f}' for w in ws)}" for name, ws in _PROPORTIONS.items()},
                      says="the optimal proportions of plays w* agree with the paper in all digits", place="Table 1"),
        *observations("fewer-plays", _plays("Track-and-Stop") < _plays("KL-LUCB"), on=_MEANS.keys(),
                      says="Track-and-Stop needs fewer plays than KL-LUCB", place="Table 1"),
        *(
            claim
            for label, numbers in _PLAYS.items()
            for name, plays in numbers.items()
            for claim in observations(f"{slug(label)}-plays", _plays(label).between(plays / _WITHIN, plays * _WITHIN),
                                      on={name: f"{name}: {plays:,}"},
                                      says="{label} needs as many plays as in the paper, within 10 %", place="Table 1")
        ),
        *(
            claim
            for name, least in _LEAST.items()
            for claim in theorems("least-plays", _plays(*_PLAYS) > least, on=name,
                                  says="{label} needs at least T* kl(delta, 1 - delta) plays on average",
                                  place="Theorem 1")
        ),
        *observations("errors", share(*_PLAYS, "top-two Thompson", of="error", at_most=0.5) > 1.0 - _DELTA,
                      on=_MEANS.keys(),
                      says="with the threshold of the experiments, {label} errs with probability at most delta",
                      place="Table 1", least=1000),
    ),
    notes=(
        "As in the paper, there are 3,000 runs, and the threshold is log((log t + 1) / delta). Chernoff racing and KL "
        "racing are not in the library; top-two Thompson sampling is added. T is the largest number of plays of a "
        "trial.",
        "The paper's numbers (4,052 and 1,406 plays for Track-and-Stop, 8,437 and 2,716 for KL-LUCB, and w*) are "
        "quoted from memory, so claims about them count as ours.",
    ),
    figures=(Shares(mark=None),),
)
