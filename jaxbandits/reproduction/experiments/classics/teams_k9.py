"""Chapter 5: players who share nine arms, compared with the table of the thesis."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandits.armed import KLUCB, UCB1
from jaxbandits.reproduction.engine import Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import BESSON, PRESETS
from jaxbandits.reproduction.sentences import claims, mean, observations, slug
from jaxbandits.teams import MCTopM, RandTopM, RhoRand, Selfish, SharedArms

_PLACE = "Chapter 5"
_MEANS = np.arange(1, 10) / 10.0
_PLAYERS = (3, 6, 9)
_CITED_RUNS = 1000
_WITHIN = 0.1
_TITLES = {f"players{m}": f"{m} players" for m in _PLAYERS}
_HIDDEN = "hidden"
_RULES = {"Selfish": Selfish, "RhoRand": RhoRand, "RandTopM": RandTopM, "MCTopM": MCTopM}
_PRINTED: dict[str, tuple[tuple[float, float], ...]] = {  # mean and standard deviation of 1,000 runs, by players
    "Selfish UCB": ((1263, 157), (3694, 387), (12_420, 404)),
    "RhoRand UCB": ((1455, 208), (4775, 463), (11_794, 1083)),
    "RandTopM UCB": ((1020, 92), (2899, 418), (470, 346)),
    "MCTopM UCB": ((980, 76), (1466, 132), (43, 13)),
    "Selfish kl-UCB": ((243, 31), (743, 113), (3005, 492)),
    "RhoRand kl-UCB": ((394, 96), (2385, 412), (7057, 1053)),
    "RandTopM kl-UCB": ((258, 43), (902, 234), (551, 520)),
    "MCTopM kl-UCB": ((248, 40), (410, 54), (42, 10)),
}


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset, horizon
    n_arms, n_players = panel.environment.n_arms, panel.environment.n_players
    policies = {"UCB": UCB1(n_arms=n_arms), "kl-UCB": KLUCB(n_arms=n_arms)}
    return {
        f"{rule} {name}": cls(policy=policy, n_players=n_players)
        for name, policy in policies.items()
        for rule, cls in _RULES.items()
    }


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    seen = {name: Panel(title, SharedArms.from_means(_MEANS, int(name[-1]))) for name, title in _TITLES.items()}
    env = SharedArms.from_means(_MEANS, 9, sees_collisions=False)
    return {**seen, _HIDDEN: Panel("9 players, collisions known by lost rewards alone", env)}


def _as_printed(label: str) -> Any:
    """Claim the regret of the table to within 10 % or three of its standard errors, whichever is larger."""
    for (name, title), (regret, spread) in zip(_TITLES.items(), _PRINTED[label], strict=True):
        reach = max(_WITHIN * regret, 3.0 * spread / math.sqrt(_CITED_RUNS))
        yield from claims(
            f"{slug(label)}-regret", mean(label).between(regret - reach, regret + reach),
            on={name: f"{title}: {regret:,}"},
            says="the regret of {label} is that of the table, to 10 % or three standard errors", place=_PLACE,
        )  # fmt: skip


TEAMS_K9 = Study("classics", BESSON, horizon=10_000, seeds=128, presets=PRESETS, record_points=20).experiment(
    "teams-k9",
    _PLACE,
    title="players who share nine arms",
    shows="The table of Chapter 5 lists the mean regret and its standard deviation of teams of 3, 6 and 9 players with "
    "UCB and kl-UCB indices on nine Bernoulli arms with means 0.1, 0.2, ..., 0.9. The thesis states T = 10,000 and "
    "1,000 runs.",
    algorithms=_learners,
    panels=_panels,
    tabulated=("collisions",),
    claims=(
        *(claim for label in _PRINTED for claim in _as_printed(label)),
        *claims("chairs-help", mean("MCTopM kl-UCB") < mean("RandTopM kl-UCB", "RhoRand kl-UCB", "Selfish kl-UCB"),
                on={name: _TITLES[name] for name in ("players6", "players9")},
                says="MCTopM is ahead of {rival}", place=_PLACE),
        *observations("claims-need-eyes", mean("MCTopM kl-UCB") > 2.0 * mean("RandTopM kl-UCB"), on=_HIDDEN,
                      says="where players know of collisions by lost rewards alone, two may claim one arm, and MCTopM "
                      "is far behind RandTopM", place=_PLACE),
    ),
    notes=(
        "Players see every collision, as in the code of the thesis; according to its text they notice a collision by a "
        "lost reward, as in the last panel.",
        "The centralised learner, which plays the P best indices, and learners without sensing are not in the library.",
    ),
)
