"""Section 4 of Komiyama et al. (2015): growth of regret in duels, compared with constants of lower bounds."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxbandits.duels import RMED1, RMED2FH, RUCB, DoubleTS, DuelingArms, Sparring
from jaxbandits.reproduction.engine import Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import KOMIYAMA, PRESETS, LogCurves
from jaxbandits.reproduction.sentences import claims, log_growth, mean, observations
from jaxbandits.theory.classics import duel_constant

_PLACE = "Theorem 1; Section 4"
_INSTANCES = {
    "cyclic": ("cyclic, 4 arms", DuelingArms.cyclic()),
    "arithmetic": ("arithmetic, 8 arms", DuelingArms.arithmetic()),
    "arxiv": ("arXiv, 6 rankers", DuelingArms.arxiv()),
    "mslr": ("MSLR, 5 rankers", DuelingArms.mslr()),
}
_TITLES = {name: title for name, (title, _) in _INSTANCES.items()}
_LEAST = {name: duel_constant(np.asarray(env.preferences)) for name, (_, env) in _INSTANCES.items()}
_WITH_WINNER = {
    name: duel_constant(np.asarray(env.preferences), against_winner=True) for name, (_, env) in _INSTANCES.items()
}
_WITHIN = 0.15


def _learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset
    sizes: dict[str, Any] = {"n_arms": panel.environment.n_arms}
    return {
        "RUCB": RUCB(**sizes),
        "D-TS": DoubleTS(**sizes),
        "D-TS+": DoubleTS.plus(**sizes),
        "RMED1": RMED1(**sizes),
        "RMED2FH": RMED2FH.theory(**sizes, horizon=horizon),
        "Sparring": Sparring.theory(**sizes),
    }


def _growth(label: str, constants: Mapping[str, float]) -> Any:
    """Make the claim that regret grows as C log t, where C agrees with the constant of the instance within 15 %."""
    for name, constant in constants.items():
        growth = log_growth(label, unit=constant, what=f"C = {constant:.2f}")
        yield from observations(
            f"{label.lower()}-constant", growth.between(1.0 - _WITHIN, 1.0 + _WITHIN), on={name: _TITLES[name]},
            says="the regret of {label} grows like its bound C log T, within 15 %", place="Theorems 3 and 4",
        )  # fmt: skip


DUELS = Study(
    "classics", KOMIYAMA, horizon=100_000, seeds=256, presets=PRESETS, record_points=("log", 40)
).experiment(
    "duels",
    "Section 4",
    title="dueling bandits with a Condorcet winner",
    shows="The figures of Section 4 show the regret of RMED1, RMED2, RMED2FH, RUCB and others over the number of "
    "rounds on a logarithmic axis, for six sets of preferences, among them cyclic, arithmetic, arXiv and MSLR, with "
    "the lower bound. The paper states the cyclic and the arithmetic preferences and f(K) = 0.3 K^1.01.",
    algorithms=_learners,
    panels=lambda horizon: {
        name: Panel(title, env, bound=_LEAST[name] * math.log(horizon)) for name, (title, env) in _INSTANCES.items()
    },
    claims=(
        *claims("rmed-ahead", mean("RMED1") < mean("RUCB", "Sparring"), on=_TITLES, says="RMED1 is ahead of {rival}",
                place="Section 4"),
        *claims("cheaper-opponents", mean("RMED2FH") < 0.5 * mean("RMED1"), on={"cyclic": _TITLES["cyclic"]},
                says="on the cyclic preferences RMED2FH, which eliminates arms by duels that are cheaper than those "
                "with the winner, is far ahead of RMED1", place="Section 4"),
        *_growth("RMED1", {"cyclic": _WITH_WINNER["cyclic"]}),
        *_growth("RMED2FH", {"cyclic": _LEAST["cyclic"]}),
        *observations("double-ts", mean("D-TS") < mean("RUCB", "RMED1", "Sparring"),
                      on={name: _TITLES[name] for name in ("arxiv", "mslr")},
                      says="{label} is ahead of {rival}", place="Wu & Liu, NIPS 2016"),
    ),
    notes=(
        "The regret of a duel of arms i and j is (e_i + e_j) / 2, as in the paper, where e_i is the probability that "
        "the winner beats arm i, minus 1/2; in the code of Wu and Liu it is twice as large.",
        "D-TS, D-TS+ (Wu and Liu) and sparring Tsallis-INF (Saha and Gaillard) are added; BTM, SAVAGE, IF and RMED2 "
        "are not in the library. In each trial ties are broken by a random order of the arms.",
        "The smallest possible C of a consistent policy is "
        + ", ".join(f"{c:.2f} ({n})" for n, c in _LEAST.items())
        + f". It is {_WITH_WINNER['cyclic']:.2f} on the cyclic preferences if every arm is eliminated by duels with "
        f"the winner.",
    ),
    figures=(LogCurves(bound=False),),
)
