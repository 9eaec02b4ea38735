"""Chapter 5 of Besson's thesis (2019): regret of players who share nine arms, compared with the printed table."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.armed import KLUCB, UCB1
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.reproduction.engine import Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import BESSON, PRESETS
from jaxbandits.reproduction.sentences import claims, mean, observations, slug
from jaxbandits.teams import SICMMAB, MCTopM, MultiplePlay, MusicalChairs, RandTopM, RhoRand, Selfish, SharedArms

_PLACE = "Chapter 5"
_MEANS = np.arange(1, 10) / 10.0
_PLAYERS = (3, 6, 9)
_CITED_RUNS, _CITED_RUNS_UNSENSED = 1000, 100
_WITHIN = 0.1
_TITLES = {f"players{m}": f"{m} players" for m in _PLAYERS}
_HIDDEN = "hidden"
_SIC = "SIC-MMAB"
_SIC_OF_PAPER = "SIC-MMAB, Hoeffding"
_FAST_CLOCK = {f"Multiple play {name} as coded": f"Multiple play {name}" for name in ("UCB", "kl-UCB")}
_CHAIRS = {rounds: f"Musical Chairs, T0 = {rounds}" for rounds in (450, 1000)}
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
    "Multiple play UCB": ((321, 30), (233, 25)),
    "Multiple play kl-UCB": ((94, 17), (68, 18)),
}
_UNSENSED: dict[str, tuple[tuple[float, float], ...]] = {  # as above, but of 100 runs, for players without sensing
    "Multiple play kl-UCB": ((91, 21), (70, 16)),
    "Selfish kl-UCB": ((249, 35), (728, 94), (2953, 501)),
    _SIC: ((1705, 340), (3915, 300), (1713, 52)),
}
_IN_COMMENTS: dict[str, tuple[tuple[float, float], ...]] = {  # of these 100 runs, from comments of the TeX source
    _CHAIRS[450]: ((1268, 1110), (2690, 2473), (1455, 1059)),
    _CHAIRS[1000]: ((1410, 641), (3130, 1583), (2775, 27)),
}


@pytree
class FastClock(IndexPolicy):
    """Index policy whose clock advances by P in every round with P players, as in the code of the thesis.

    In this code, the players of a centralised team pass their rewards to one policy, which counts every reward as a
    round.
    """

    policy: Any = param(doc="policy whose index is taken")
    players: int = static(range="[1, inf)", doc="P, rounds of the policy in one round of the game")

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        """Return the index of every arm `[K]` in round P t."""
        return self.policy.index(key, self.players * t, state)


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset
    sizes: dict[str, int] = {"n_arms": panel.environment.n_arms, "n_players": panel.environment.n_players}
    policies = {"UCB": UCB1(n_arms=sizes["n_arms"]), "kl-UCB": KLUCB(n_arms=sizes["n_arms"])}
    need_collisions = {
        _SIC: SICMMAB.practical(**sizes, horizon=float(horizon), bounds="kl"),
        _SIC_OF_PAPER: SICMMAB.theory(**sizes, horizon=float(horizon)),
        **{label: MusicalChairs(**sizes, learning_rounds=float(rounds)) for rounds, label in _CHAIRS.items()},
    }
    return {
        **{
            f"{rule} {name}": cls(policy=policy, n_players=sizes["n_players"])
            for name, policy in policies.items()
            for rule, cls in {**_RULES, "Multiple play": MultiplePlay}.items()
        },
        **{
            f"Multiple play {name} as coded": MultiplePlay(
                policy=FastClock(n_arms=sizes["n_arms"], policy=policy, players=sizes["n_players"]),
                n_players=sizes["n_players"],
            )
            for name, policy in policies.items()
        },
        **(need_collisions if panel.environment.sees_collisions else {}),
    }


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    seen = {name: Panel(title, SharedArms.from_means(_MEANS, int(name[-1]))) for name, title in _TITLES.items()}
    env = SharedArms.from_means(_MEANS, 9, sees_collisions=False)
    return {**seen, _HIDDEN: Panel("9 players, collisions known by lost rewards alone", env)}


def _regions(printed: Sequence[tuple[float, float]], runs: int) -> Iterator[tuple[str, str, float, float]]:
    """Generate, for each panel, its name, its title with the printed number, and both ends of the tolerance."""
    for (name, title), (regret, spread) in zip(_TITLES.items(), printed, strict=False):  # no 9 players in some rows
        reach = max(_WITHIN * regret, 3.0 * spread / math.sqrt(runs))
        yield name, f"{title}: {regret:,}", regret - reach, regret + reach


def _as_printed(label: str) -> Any:
    """Make the claim that regret agrees with the table within 10 % or three standard errors, whichever is larger."""
    for name, title, low, high in _regions(_PRINTED[label], _CITED_RUNS):
        yield from claims(
            f"{slug(label)}-regret", mean(label).between(low, high), on={name: title},
            says="the regret of {label} agrees with the table within 10 % or three standard errors", place=_PLACE,
        )  # fmt: skip


def _without_sensing(label: str) -> Any:
    """Make the claim that regret agrees with the table of players without sensing; tolerance as in `_as_printed`."""
    for name, title, low, high in _regions(_UNSENSED[label], _CITED_RUNS_UNSENSED):
        yield from claims(
            f"{slug(label)}-unsensed", mean(label).between(low, high), on={name: title},
            says="the regret of {label} agrees with the table of players without sensing within 10 % or three standard "
            "errors", place=_PLACE,
        )  # fmt: skip


def _as_coded(label: str, row: str) -> Any:
    """Make the claim that the regret of the centralised team of the code agrees with the table."""
    for name, title, low, high in _regions(_PRINTED[row], _CITED_RUNS):
        yield from observations(
            f"{slug(row)}-as-coded", mean(label).between(low, high), on={name: title},
            says=f"with a clock that advances once per player, {row} has the regret of the table within 10 % or three "
            "standard errors", place=_PLACE,
        )  # fmt: skip


def _in_comments(label: str) -> Any:
    """Make the claim that regret agrees with numbers in comments of the TeX source, which are not in print."""
    for name, title, low, high in _regions(_IN_COMMENTS[label], _CITED_RUNS_UNSENSED):
        yield from observations(
            f"{slug(label)}-regret", mean(label).between(low, high), on={name: title},
            says="the regret of {label} agrees with a comment in the source of the thesis within 10 % or three "
            "standard errors", place=_PLACE,
        )  # fmt: skip


TEAMS_K9 = Study("classics", BESSON, horizon=10_000, seeds=1000, presets=PRESETS, record_points=20).experiment(
    "teams-k9",
    _PLACE,
    horizon_stated=True,
    title="teams of players who share nine arms",
    shows="The table of Chapter 5 lists the mean and the standard deviation of the regret of teams of 3, 6 and 9 "
    "players with UCB and kl-UCB indices on nine Bernoulli arms with means 0.1, 0.2, ..., 0.9. The thesis states "
    "T = 10,000 and 1,000 runs. A second table lists players without sensing, with means over 100 runs.",
    algorithms=_learners,
    panels=_panels,
    tabulated=("collisions",),
    claims=(
        *(claim for label in _PRINTED for claim in _as_printed(label)),
        *(claim for label in _UNSENSED for claim in _without_sensing(label)),
        *(claim for label, row in _FAST_CLOCK.items() for claim in _as_coded(label, row)),
        *(claim for label in _IN_COMMENTS for claim in _in_comments(label)),
        *claims("chairs-help", mean("MCTopM kl-UCB") < mean("RandTopM kl-UCB", "RhoRand kl-UCB", "Selfish kl-UCB"),
                on={name: _TITLES[name] for name in ("players6", "players9")},
                says="MCTopM kl-UCB is ahead of {rival}", place=_PLACE),
        *observations("claims-need-eyes", mean("MCTopM kl-UCB") > 2.0 * mean("RandTopM kl-UCB"), on=_HIDDEN,
                      says="if players notice collisions only by lost rewards, two players may stay on one arm, and "
                      "MCTopM kl-UCB is far behind RandTopM kl-UCB", place=_PLACE),
    ),
    notes=(
        "'Within 10 % or three standard errors' means within the larger of the two. Players see every collision, as in "
        "the code of the thesis. According to its text they notice a collision only by a lost reward, as in the last "
        "panel, in which SIC-MMAB and Musical Chairs do not play because they need every collision.",
        "In the code of the thesis (CentralizedMultiplePlay of SMPyBandits) the rewards of all players advance the "
        "clock of one policy, whose indices therefore have log(P t) in place of log t for P players.",
        "SIC-MMAB has kl-UCB bounds, and T0 = ceil(K e log T) = 226 and the first phase as in the code of the thesis, "
        "whose text says T0 = ceil(K log T). 'SIC-MMAB, Hoeffding' is the version of the paper on SIC-MMAB. The "
        "versions of MCTopM, RandTopM and RhoRand that estimate the number of players, and improved Musical Chairs, "
        "are not in the library.",
    ),
)
