"""Section 5.4 of Riquelme et al. (2018): regret on the wheel bandit, relative to that of uniform play."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import optax

from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields, FieldValue
from jaxbandits.contextual import Bandit, Wheel, models, rules
from jaxbandits.reproduction.engine import Against, Learner, Learners, Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import PRESETS
from jaxbandits.reproduction.sentences import mean, observations

_DELTAS = {f"delta{delta:g}": delta for delta in (0.5, 0.7, 0.9, 0.95, 0.99)}
_ARMS, _DIM, _FEATURES, _HIDDEN = 5, 2, 50, 50
_SHARE = "share_of_uniform"
_EXPLORING = ("LinTS", "linear eps-greedy", "neural eps-greedy", "neural-linear", "bootstrap", "kernel UCB")


def _posterior(dim: int) -> models.PerArm:
    """Make one Bayesian regression per arm, with the settings of the paper."""
    return models.PerArm(model=models.NormalInverseGamma(dim=dim), n_arms=_ARMS)


def _network(make: Any, **changes: FieldValue) -> models.Network:
    optimizer = models.Optimizer(make=make, hyperparameters={"learning_rate": 0.01})
    return models.Network(input_dim=_DIM, n_arms=_ARMS, hidden=(_HIDDEN,), optimizer=optimizer, **changes)


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, panel
    linear = models.Intercept(model=_posterior(_DIM + 1))
    batch = min(128, horizon)
    network = _network(optax.rmsprop, capacity=horizon, train_every=20, n_steps=20, batch=batch)
    features = models.RandomFeatures(
        model=models.Ridge(n_arms=_ARMS, dim=_FEATURES, ridge=0.01),
        input_dim=_DIM,
        kernel=models.SquaredExponential(length_scale=0.3),
    )
    pairs = {
        "LinTS": (linear, rules.Thompson()),
        "linear greedy": (linear, rules.Greedy()),
        "linear eps-greedy": (linear, rules.EpsGreedy(eps=0.05)),
        "neural eps-greedy": (network, rules.EpsGreedy(eps=0.05)),
        "neural-linear": (models.NeuralLinear(network=network, model=_posterior(_HIDDEN)), rules.Thompson()),
        "bootstrap": (models.Ensemble.bootstrap(model=_network(optax.adam)), rules.Thompson()),
        "kernel UCB": (features, rules.UCB(beta=1.0)),
    }
    return {label: Bandit(model=model, rule=rule) for label, (model, rule) in pairs.items()}


def _shares(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del algorithm
    uniform = float(panel.environment.uniform_regret)
    return {_SHARE: 100.0 * trials.get("regret") / (uniform * trials.record_points)}


_ON: Fields = {"on": {name: f"delta = {delta:g}" for name, delta in _DELTAS.items()}, "place": "Section 5.4"}
_EASY: Fields = _ON | {"on": {name: f"delta = {d:g}" for name, d in _DELTAS.items() if d <= 0.9}}

RIQUELME_WHEEL = Study(
    "classics", "Riquelme, Tucker & Snoek, ICLR 2018", horizon=2000, seeds=128, presets=PRESETS
).experiment(
    "riquelme-wheel",
    "Section 5.4",
    horizon_stated=True,
    title="wheel bandit, regret in percent of that of uniform play",
    shows="The table of Section 5.4 lists the cumulative regret of Thompson sampling with many posteriors on the wheel "
    "bandit, normalised by the regret of uniform play, for five values of delta. The paper states rewards of mean 1, "
    "1.2 and 50, and delta = 0.5, 0.7, 0.9, 0.95 and 0.99.",
    algorithms=_learners,
    panels=lambda horizon: {
        name: Panel(f"delta = {delta:g}", Wheel(delta=delta), x=delta) for name, delta in _DELTAS.items()
    },
    metric=_SHARE,
    derive=_shares,
    record_points=20,
    claims=(
        *observations("ahead-of-uniform", mean(*_EXPLORING, of=_SHARE) < 100.0, **_EASY,
                      says="for delta <= 0.9, {label} has a smaller regret than uniform play"),
        *observations("exploration", mean("linear eps-greedy", of=_SHARE) < mean("linear greedy", of=_SHARE), **_ON,
                      says="with a linear model, epsilon-greedy (with probability 0.05) is ahead of greedy play"),
        *observations("features", mean("neural-linear", of=_SHARE) < mean("linear eps-greedy", of=_SHARE), **_ON,
                      says="neural-linear Thompson sampling is ahead of epsilon-greedy with a linear model"),
        *observations("draws", mean("neural-linear", of=_SHARE) < mean("neural eps-greedy", of=_SHARE), **_ON,
                      says="neural-linear Thompson sampling is ahead of epsilon-greedy with the same network"),
        *observations("nonlinear", mean("neural-linear", of=_SHARE) < mean("LinTS", of=_SHARE), **_ON,
                      says="neural-linear Thompson sampling is ahead of {rival}"),
        *observations("kernel", mean("kernel UCB", of=_SHARE) < mean("LinTS", "neural-linear", of=_SHARE), **_ON,
                      says="kernel UCB, which is UCB with random features of a kernel, is ahead of {rival}"),
    ),
    notes=(
        "There are 2,000 rounds, as in the authors' example. A learner that always plays the safe arm has 124 % of the "
        "regret of uniform play at delta = 0.5, 120 % at 0.95 and 104 % at 0.99.",
        "Linear models have an intercept, and the priors of the authors' code (lambda = 0.25, a = b = 6). Unlike in "
        "that code, learners do not begin by playing every arm in turn. Networks have 50 hidden units and learning "
        "rate 0.01. Networks with a buffer are trained by RMSProp on 20 batches of 128 every 20 rounds; the authors "
        "train on 100 batches of 512 every 50 rounds.",
        "With a linear model greedy play is ahead of epsilon-greedy, because it fits the model of an arm only to "
        "contexts in which the arm seems best. Random plays fit the model to all contexts, over which the mean reward "
        "is not linear.",
        "The paper's table was not at hand in print, so all claims count as ours.",
    ),
    figures=(Against("delta"),),
)
