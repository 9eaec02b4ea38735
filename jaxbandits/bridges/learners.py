"""Learners of other packages as learners of one trial, for `play(each(lambda seed: ...), ...)`.

    play(each(lambda seed: RiverLearner(bandit.UCB(delta=1, seed=seed))), environment, horizon, seeds)

Each class translates between the two methods that `each` calls and those of one package. A fresh object of the other
package is needed for every trial, so the constructor is called inside `each`, with the seed of the trial.

Arms are the integers 0, ..., K - 1. The context is that of a `ContextObs`; where arms have features instead, learners
with one model for all arms receive these.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.types import ContextObs


def context_of(obs: Any) -> np.ndarray | None:
    """Return the context `[p]` of an observation; None where it shows none."""
    return np.asarray(obs.context) if isinstance(obs, ContextObs) else None


def features_of(obs: Any) -> np.ndarray | None:
    """Return the features `[K, d]` of the arms of an observation; None where they have none."""
    return obs.arms if obs.arms.ndim == 2 else None


def available(obs: Any) -> np.ndarray:
    """Return the numbers of the arms that may be played."""
    return np.arange(len(obs.arms)) if obs.mask is None else np.flatnonzero(obs.mask)


def _needs_context(obs: Any, package: str) -> np.ndarray:
    context = context_of(obs)
    if context is None:
        raise InputError(f"{package} needs a context for all arms, and this environment shows none")
    return context


class SklearnLearner:
    """Epsilon-greedy over scikit-learn models with `partial_fit` and `predict`.

    With a context there is a model for each arm, and an arm is played once before its model counts. With features of
    arms there is one model of them. `predict_proba`, where a model has it, gives the probability of its last class.
    """

    def __init__(
        self, make_model: Callable[[], Any], epsilon: float = 0.1, *, classes: Any = None, seed: int | None = None
    ):
        """Begin without data.

        Args:
          make_model: makes a model, such as `lambda: SGDRegressor()`.
          epsilon: probability of a uniform arm, in [0, 1].
          classes: of a classifier, all rewards that there are, such as `[0, 1]`; None for a regression.
          seed: of the uniform arms.
        """
        self._make_model, self._epsilon = make_model, ranges.real("epsilon", epsilon, "[0, 1]")
        self._more = {} if classes is None else {"classes": np.asarray(classes)}
        self._rng = np.random.default_rng(seed)
        self._models: dict[int, Any] = {}  # by arm; 0: of all arms

    def select(self, t: Any, obs: Any) -> int:
        """Play an arm that was never played, a uniform one, or the one with the largest prediction."""
        arms, features = available(obs), features_of(obs)
        untried = [arm for arm in arms if self._model_of(arm, features) not in self._models]
        if self._rng.random() < self._epsilon:
            return int(self._rng.choice(arms))
        if untried:
            return int(untried[0])
        if features is not None:
            return int(arms[np.argmax(self._predict(0, features[arms]))])
        context = _needs_context(obs, "SklearnLearner")
        return int(arms[np.argmax([self._predict(arm, context[None])[0] for arm in arms])])

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Fit the model of the arm."""
        features = features_of(obs)
        x = _needs_context(obs, "SklearnLearner") if features is None else features[index]
        model = self._models.setdefault(self._model_of(index, features), self._make_model())
        model.partial_fit(x[None], np.array([reward]), **self._more)

    def _model_of(self, arm: int, features: Any) -> int:
        return int(arm) if features is None else 0

    def _predict(self, model: int, x: np.ndarray) -> np.ndarray:
        fitted = self._models[int(model)]
        return fitted.predict_proba(x)[:, -1] if hasattr(fitted, "predict_proba") else fitted.predict(x)


class RiverLearner:
    """A policy of `river.bandit`; contextual ones receive the context as a dictionary from position to number."""

    def __init__(self, policy: Any):
        self._policy = policy
        self._reads_context = "context" in inspect.signature(policy.pull).parameters

    def select(self, t: Any, obs: Any) -> int:
        """Pull an arm among those that may be played."""
        return self._policy.pull(available(obs).tolist(), *self._context(obs))

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Pass the reward."""
        self._policy.update(index, *self._context(obs), reward)

    def _context(self, obs: Any) -> tuple[dict[int, float], ...]:
        if not self._reads_context:
            return ()
        return (dict(enumerate(_needs_context(obs, type(self._policy).__name__).tolist())),)


class MABWiserLearner:
    """A `mabwiser.mab.MAB` whose arms are the integers 0, ..., K - 1.

    MABWiser cannot predict before `fit`: each arm is played once, and the MAB is fitted to these rounds.
    """

    def __init__(self, mab: Any):
        self._mab, self._is_fitted = mab, False
        self._rounds: list[tuple[int, float, Any]] = []

    def select(self, t: Any, obs: Any) -> int:
        """Play an arm that was never played, or the one that the MAB predicts."""
        played = {index for index, _, _ in self._rounds}
        untried = [] if self._is_fitted else [arm for arm in available(obs).tolist() if arm not in played]
        if untried:
            return untried[0]
        if not self._is_fitted:
            self._fit(self._mab.fit, self._rounds)
            self._is_fitted, self._rounds = True, []
        context = context_of(obs)
        return self._mab.predict() if context is None else self._mab.predict(context[None])

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Pass the reward."""
        rounds = [(index, reward, context_of(obs))]
        if self._is_fitted:
            self._fit(self._mab.partial_fit, rounds)
        else:
            self._rounds += rounds

    def _fit(self, fit: Callable[..., Any], rounds: list[tuple[int, float, Any]]) -> None:
        index, reward, context = zip(*rounds, strict=True)
        fit(list(index), list(reward), *([] if context[0] is None else [np.stack(context)]))


class BayesianBanditsLearner:
    """An `Agent` or `ContextualAgent` of bayesianbandits whose tokens are the integers 0, ..., K - 1."""

    def __init__(self, agent: Any):
        self._agent = agent

    def select(self, t: Any, obs: Any) -> int:
        """Pull an arm."""
        return self._agent.pull(*self._context(obs))[0]

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Pass the reward to the arm that it belongs to, which under a delay is not the last one."""
        self._agent.select_for_update(index).update(*self._context(obs), np.array([reward]))

    def _context(self, obs: Any) -> tuple[np.ndarray, ...]:
        if "X" not in inspect.signature(self._agent.pull).parameters:
            return ()
        return (_needs_context(obs, type(self._agent).__name__)[None],)


class ContextualBanditsLearner:
    """A policy of `contextualbandits.online` (D. Cortes), fitted row by row with `partial_fit`.

    With a `base_algorithm` it needs `batch_train=True`.
    """

    def __init__(self, policy: Any):
        self._policy, self._is_fitted = policy, False

    def select(self, t: Any, obs: Any) -> int:
        """Play the arm that the policy predicts; before the first reward the first arm that may be played."""
        context = _needs_context(obs, type(self._policy).__name__)
        return int(np.ravel(self._policy.predict(context[None]))[0]) if self._is_fitted else int(available(obs)[0])

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Fit the policy to one row."""
        context = _needs_context(obs, type(self._policy).__name__)
        self._policy.partial_fit(context[None], np.array([index]), np.array([reward]))
        self._is_fitted = True


class ObpLearner:
    """A policy of the Open Bandit Pipeline (obp) with `select_action` and `update_params`, of one position."""

    def __init__(self, policy: Any):
        self._policy = policy
        self._reads_context = "context" in inspect.signature(policy.select_action).parameters

    def select(self, t: Any, obs: Any) -> int:
        """Play the action that the policy selects for the first position."""
        return int(np.ravel(self._policy.select_action(*self._context(obs)))[0])

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Pass the reward."""
        self._policy.update_params(index, reward, *self._context(obs))

    def _context(self, obs: Any) -> tuple[np.ndarray, ...]:
        return (_needs_context(obs, type(self._policy).__name__)[None],) if self._reads_context else ()


class CobaLearner:
    """A learner of coba.

    Its actions are tuples: the features of the arms, or with a context a 1 at the place of the arm, as in `(1, 0, 0)`.
    They are integers where an environment shows neither.
    """

    def __init__(self, learner: Any):
        from coba import SafeLearner  # pyright: ignore[reportMissingImports]

        # It reads every form of prediction that coba allows.
        self._learner = SafeLearner(learner)
        self._rounds: dict[int, tuple[Any, ...]] = {}  # action, probability and more of rounds without a reward

    def select(self, t: Any, obs: Any) -> tuple[int, float]:
        """Play the action that the learner predicts, with its probability."""
        arms, actions = available(obs), self._actions(obs)
        action, probability, more = self._learner.predict(self._context(obs), actions)
        self._rounds[int(t)] = action, probability, more
        return int(arms[actions.index(action)]), 1.0 if probability is None else float(probability)

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Pass the reward."""
        action, probability, more = self._rounds.pop(int(t))
        self._learner.learn(self._context(obs), action, reward, probability, **more)

    def _context(self, obs: Any) -> tuple[float, ...] | None:
        context = context_of(obs)
        return None if context is None else tuple(context.tolist())

    def _actions(self, obs: Any) -> list[Any]:
        features, arms = features_of(obs), available(obs)
        if features is None and context_of(obs) is None:
            return arms.tolist()
        rows = np.eye(len(obs.arms), dtype=int) if features is None else features
        return [tuple(row) for row in rows[arms].tolist()]


class TorchLearner:
    """Epsilon-greedy over a PyTorch module, with a step of an optimiser on the squared error after each reward.

    The module maps a context `[p]` to a value for each arm `[K]`, or features of arms `[K, d]` to values `[K]`.
    """

    def __init__(self, module: Any, optimizer: Callable[[Any], Any], epsilon: float = 0.1, *, seed: int | None = None):
        """Begin with the module as it is.

        Args:
          module: a `torch.nn.Module`.
          optimizer: from the parameters to an optimiser, such as `lambda p: torch.optim.SGD(p, lr=0.1)`.
          epsilon: probability of a uniform arm, in [0, 1].
          seed: of the uniform arms.
        """
        import torch  # pyright: ignore[reportMissingImports]

        self._torch, self._module, self._optimizer = torch, module, optimizer(module.parameters())
        self._epsilon, self._rng = ranges.real("epsilon", epsilon, "[0, 1]"), np.random.default_rng(seed)

    def select(self, t: Any, obs: Any) -> int:
        """Play a uniform arm, or the one with the largest value."""
        arms = available(obs)
        if self._rng.random() < self._epsilon:
            return int(self._rng.choice(arms))
        with self._torch.no_grad():
            return int(arms[np.argmax(self._values(obs).numpy()[arms])])

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Take a step of the optimiser on `(value of the arm - reward)^2`."""
        self._optimizer.zero_grad()
        ((self._values(obs)[index] - reward) ** 2).backward()
        self._optimizer.step()

    def _values(self, obs: Any) -> Any:
        features = features_of(obs)
        x = _needs_context(obs, "TorchLearner") if features is None else features
        values = self._module(self._torch.tensor(x, dtype=self._torch.get_default_dtype()))
        return values if features is None else values.reshape(len(x))
