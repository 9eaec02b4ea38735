"""Wins and losses of contextual learners on classification sets, after Bietti, Agarwal & Langford (2021)."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandits.base.pytree import Fields
from jaxbandits.contextual import DisjointLinUCB, OracleEpsGreedy, RegCBOpt, SquareCB
from jaxbandits.data import TableBandit
from jaxbandits.environments.datasets.files import require_complete_files
from jaxbandits.environments.datasets.uci import SETS, find, load_uci, uci_like
from jaxbandits.oco import OptaxLearner
from jaxbandits.reproduction.engine import Curves, Learners, Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import PRESETS, WinsAndLosses
from jaxbandits.reproduction.sentences import mean, observations

_RATE = 0.1  # learning rate of AdaGrad, the oracle of all learners except LinUCB
_SETS: Fields = {"on": SETS.keys(), "place": "Bietti et al."}


def _bandit(table: tuple[np.ndarray, np.ndarray]) -> TableBandit:
    features, labels = table
    return TableBandit.from_table(features.astype(np.float32), labels, as_context=True)


@functools.cache
def _stand_in(name: str) -> TableBandit:
    return _bandit(uci_like(name))


def _panels(directory: Path | None) -> Mapping[str, Panel]:
    """Make a panel for each data set, from its file in the directory or else from a stand-in."""
    panels = {}
    for name in SETS:
        if directory is not None and find(name, directory) is not None:
            with require_complete_files():
                panels[name] = Panel(name, _bandit(load_uci(name, directory)))
        else:
            panels[name] = Panel(f"stand-in for {name}", _stand_in(name))
    return panels


def _from_file(path: Path) -> Mapping[str, Any]:
    panels = _panels(path)
    missing = {name: name for name, panel in panels.items() if panel.title != name}
    found = [name for name in SETS if name not in missing]
    return {
        "title": f"contextual learners on {', '.join(found) or 'stand-ins'}",
        "panels": lambda horizon: panels,
        "stand_ins": missing,
    }


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    common: Fields = {"n_arms": panel.environment.n_arms, "dim": panel.environment.dim}
    oracle = OptaxLearner.adagrad(dim=common["n_arms"] * common["dim"], learning_rate=_RATE)
    return {
        "LinUCB": DisjointLinUCB(**common),
        "RegCB": RegCBOpt(**common, oracle=oracle),
        "SquareCB": SquareCB(**common, oracle=oracle),
        "greedy": OracleEpsGreedy(**common, oracle=oracle, eps=0.0),
        "eps-greedy": OracleEpsGreedy(**common, oracle=oracle, eps=0.05),
    }


BIETTI_WINS = Study(
    "classics", "Bietti, Agarwal & Langford, JMLR 22(133), 2021", horizon=10_000, seeds=64, presets=PRESETS
).experiment(
    "bietti-wins",
    "their comparison of wins and losses",
    title="contextual learners on stand-ins for letter, penbased, satimage and covertype",
    shows="The paper's tables count, for each pair of learners, the data sets on which one is significantly "
    "better than the other, minus those on which it is significantly worse. The paper states 525 classification data "
    "sets, played as contextual bandits.",
    algorithms=_learners,
    panels=lambda horizon: _panels(None),
    from_file=_from_file,
    stand_ins={name: name for name in SETS},
    claims=(
        *observations("optimism", mean("RegCB") < mean("eps-greedy"), says="optimism (RegCB) is ahead of "
                                                                      "{rival}", **_SETS),
        *observations("greedy", mean("greedy") < mean("eps-greedy"), says="greedy play is ahead of {rival}", **_SETS),
        *observations("inverse-gaps", mean("SquareCB") < mean("eps-greedy"), says="inverse gap weights (SquareCB) are "
                                                                             "ahead of {rival}",
                      **_SETS),
        *observations("close-second", mean("greedy") / mean("RegCB") < 1.1,
                      says="greedy play is a close second to optimism: its regret is at most 1.1 times as "
                      "large", **_SETS),
    ),
    notes=(
        "The arms are the classes, and the reward is 1 if the chosen class is the label of the row, else 0. Regret is "
        "the number of mistakes.",
        f"All learners except LinUCB (alpha = 1) use as regression oracle one linear model per class, trained by "
        f"AdaGrad with rate {_RATE:g}; nothing is tuned. The paper has 525 data sets and tunes its learners.",
        "The option `--data DIR` reads those of these UCI files that exist in DIR or in a folder with the name of the "
        "set: letter-recognition.data, pendigits.tra, sat.trn, and covtype.data or covtype.data.gz (every 20th row). "
        "Synthetic stand-ins replace the others.",
    ),
    figures=(WinsAndLosses(), Curves()),
)
