"""Chapter 5 of Besson's thesis (2019): trials in which selfish players never find separate arms."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.armed import KLUCB
from jaxbandits.reproduction.engine import Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import BESSON, PRESETS
from jaxbandits.reproduction.sentences import claims, observations, share
from jaxbandits.teams import MCTopM, RandTopM, RhoRand, Selfish, SharedArms

_PLACE = "Chapter 5"
_MEANS = (0.1, 0.5, 0.9)
_HORIZON = 5000
_SMALL = 100.0  # regret of the other teams, which the caption calls very small
_RUNS = 1000
_FAILED = {"players2": 17, "players3": 11}  # of 1,000 runs; the second is in a comment of the TeX source
_RULES = {"Selfish": Selfish, "RhoRand": RhoRand, "RandTopM": RandTopM, "MCTopM": MCTopM}


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset, horizon
    policy = KLUCB(n_arms=len(_MEANS))
    return {label: cls(policy=policy, n_players=panel.environment.n_players) for label, cls in _RULES.items()}


def _few_fail(name: str) -> tuple[float, float]:
    """Return the interval of three standard errors around the printed share of successful trials."""
    share_failed = _FAILED[name] / _RUNS
    reach = 3.0 * (share_failed * (1.0 - share_failed) / _RUNS) ** 0.5
    return 1.0 - share_failed - reach, 1.0 - share_failed + reach


SELFISH_FAILS = Study("classics", BESSON, horizon=_HORIZON, seeds=_RUNS, presets=PRESETS, record_points=20).experiment(
    "selfish-fails",
    _PLACE,
    horizon_stated=True,
    title="selfish players on three arms",
    shows="A figure of Chapter 5 is the histogram of the regret of four teams of two players on three Bernoulli arms "
    "with means 0.1, 0.5 and 0.9. The thesis states T = 5,000 and 1,000 runs; in 17 of these the selfish team has a "
    "regret of T or more.",
    algorithms=_learners,
    panels=lambda horizon: {
        name: Panel(f"{name[-1]} players", SharedArms.from_means(_MEANS, int(name[-1]))) for name in _FAILED
    },
    claims=(
        *claims("some-trials-fail", share("Selfish", of="regret", at_most=_HORIZON).between(*_few_fail("players2")),
                on={"players2": "2 players: 983 of 1,000"},
                says="the regret of {label} is below T in 983 of 1,000 trials, within three standard "
                "errors", place=_PLACE),
        *claims("others-are-safe", share("RhoRand", "RandTopM", "MCTopM", of="regret", at_most=_SMALL) > 0.99,
                on={"players2": "2 players"}, says="the regret of {label} is always smaller than 100", place=_PLACE),
        *observations("some-trials-of-three-fail",
                      share("Selfish", of="regret", at_most=_HORIZON).between(*_few_fail("players3")),
                      on={"players3": "3 players: 989 of 1,000"},
                      says="with three players, the regret of {label} is below T in 989 of 1,000 trials, within three "
                      "standard errors", place=_PLACE),
    ),
    notes=("'Always' is read as more than 99 % of the trials.",),
)  # fmt: skip
