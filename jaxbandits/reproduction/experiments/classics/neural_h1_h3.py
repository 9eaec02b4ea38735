"""Figure 1 of Zhou, Li & Gu (2020): regret of neural networks on three synthetic reward functions."""

from typing import Any

import optax

from jaxbandits.base.pytree import Fields, FieldValue
from jaxbandits.contextual import Bandit, NonlinearArms, models, rules
from jaxbandits.reproduction.engine import Curves, Learner, Learners, Panel, Study
from jaxbandits.reproduction.experiments.classics.setting import PRESETS
from jaxbandits.reproduction.sentences import mean, observations

_SHAPES = {"h1": ("quadratic", "h1 = 10 (x'a)^2"), "h2": ("form", "h2 = x'A'A x"), "h3": ("cosine", "h3 = cos(3 x'a)")}
_DIM, _HIDDEN, _EVERY = 20, 50, 20
_ON: Fields = {"on": {name: title for name, (_, title) in _SHAPES.items()}, "place": "Section 7.1"}


def _adam(rate: float = 0.01) -> models.Optimizer:
    return models.Optimizer(make=optax.adam, hyperparameters={"learning_rate": rate})


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, panel
    trained: Fields = {"input_dim": _DIM, "capacity": horizon, "train_every": _EVERY, "n_steps": 20}

    def gradient(**changes: FieldValue) -> models.NeuralGradient:
        return models.NeuralGradient(
            **trained, n_hidden=_HIDDEN, ridge=1e-3, restarts=False, optimizer=_adam(), **changes
        )

    network = models.Network(**trained, hidden=(_HIDDEN,), batch=min(64, horizon), optimizer=_adam())
    langevin = models.LangevinNetwork(
        **trained, hidden=(_HIDDEN,), learning_rate=0.02, temperature=0.01, weight_decay=0.1
    )
    pairs: dict[str, tuple[Any, Any]] = {
        "uniform": (models.Linear(dim=_DIM), rules.EpsGreedy(eps=1.0)),
        "linear UCB": (models.Linear(dim=_DIM), rules.UCB()),
        "neural eps-greedy": (network, rules.EpsGreedy(eps=0.05)),
        "NeuralUCB": (gradient(), rules.UCB(beta=0.1)),
        "NeuralTS": (gradient(), rules.Thompson(scale=0.1)),
        "LMC-TS": (langevin, rules.Thompson()),
    }
    made: dict[str, Learner] = {label: Bandit(model=model, rule=rule) for label, (model, rule) in pairs.items()}
    return made


NEURAL_H1_H3 = Study("classics", "Zhou, Li & Gu, ICML 2020", horizon=3000, seeds=64, presets=PRESETS).experiment(
    "neural-h1-h3",
    "Figure 1",
    title="networks on quadratic functions and on a cosine",
    shows="Figure 1 of the paper compares NeuralUCB with linear and kernel learners on three synthetic functions of "
    "arms on the unit sphere. The paper states d = 20 and K = 4.",
    algorithms=_learners,
    panels=lambda horizon: {
        name: Panel(title, NonlinearArms(shape=shape, dim=_DIM)) for name, (shape, title) in _SHAPES.items()
    },
    record_points=30,
    claims=(
        *observations("learned", mean("NeuralUCB", "NeuralTS") / mean("uniform") < 0.5, **_ON,
                      says="{label} has less than half the regret of uniform play"),
        *observations("ahead-of-linear", mean("NeuralUCB", "NeuralTS", "LMC-TS") < mean("linear UCB"), **_ON,
                      says="{label} is ahead of UCB with a linear model"),
        *observations("exploration", mean("NeuralUCB", "NeuralTS") < mean("neural eps-greedy"), **_ON,
                      says="{label} is ahead of epsilon-greedy with a network"),
    ),
    notes=(
        "There are 3,000 rounds, where the paper has 10,000. The noise has standard deviation 1.",
        "On h3 we expect learners to fail: |x'a| is about 0.22, so most values of cos(3 x'a) lie close together. They "
        "differ by less than the noise, and 3,000 rounds are too few to learn them.",
        "As in their papers, NeuralUCB and NeuralTS have a symmetric initialisation, outputs scaled by sqrt(m), and "
        "weight decay towards the initial weights. They store only the diagonal of the matrix Z, have 50 hidden units, "
        "and take 20 steps of Adam every 20 rounds, starting from the weights of the last training. LMC-TS makes 20 "
        "Langevin steps every 20 rounds. Constants were chosen in a few runs on other seeds.",
        "The paper's figure was not at hand in print, so all claims count as ours.",
    ),
    figures=(Curves(),),
)
