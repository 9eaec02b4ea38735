"""Adapters that make learners of other packages playable by `play(each(lambda seed: ...), ...)`.

    play(each(lambda seed: RiverLearner(bandit.UCB(delta=1, seed=seed))), environment, horizon, seeds)

Each class translates the calls `select` and `update` of `each` into the methods of one package. Every trial needs a new
object of the other package; its constructor is therefore called inside `each`, with the seed of the trial.

Arms are the integers 0, ..., K - 1. The context is that of a `ContextObs`. If arms have features instead of a context,
learners with one model for all arms receive these features.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.types import ContextObs


def context_of(obs: Any) -> np.ndarray | None:
    """Return the context `[p]` of an observation, or None if it has no context."""
    return np.asarray(obs.context) if isinstance(obs, ContextObs) else None


def features_of(obs: Any) -> np.ndarray | None:
    """Return the features `[K, d]` of the arms of an observation, or None if the arms have no features."""
    return obs.arms if obs.arms.ndim == 2 else None


def available(obs: Any) -> np.ndarray:
    """Return the indices of the arms that may be played."""
    return np.arange(len(obs.arms)) if obs.mask is None else np.flatnonzero(obs.mask)


def _needs_context(obs: Any, package: str) -> np.ndarray:
    context = context_of(obs)
    if context is None:
        raise InputError(
            f"{package} needs a context that all arms share, but the observations of this environment contain none"
        )
    return context


def _best_arm(owner: object, arms: np.ndarray, values: Any) -> int:
    """Return the arm with the largest value, the first one if there are several.

    Raises:
      InputError: if a value is NaN, which `argmax` would take for the largest.
    """
    values = np.ravel(values)
    if np.isnan(values).any():
        arm = arms[np.argmax(np.isnan(values))]
        raise InputError(
            f"{type(owner).__name__}: the model returns NaN for arm {arm}; it must return numbers (a smaller learning "
            "rate may keep its weights finite)"
        )
    return int(arms[np.argmax(values)])


class SklearnLearner:
    """Epsilon-greedy learner with scikit-learn models that have `partial_fit` and `predict`.

    If the environment has a context, there is one model per arm, and every arm is played once before predictions are
    compared. If arms have features, there is a single model, whose inputs are the features of an arm. If a model has
    `predict_proba`, its prediction is the probability of the last class.
    """

    def __init__(
        self, make_model: Callable[[], Any], epsilon: float = 0.1, *, classes: Any = None, seed: int | None = None
    ):
        """Create a learner without data.

        Args:
          make_model: function that returns a model, such as `lambda: SGDRegressor()`.
          epsilon: probability of playing a uniformly random arm, in [0, 1].
          classes: all possible rewards, such as `[0, 1]`, if the models are classifiers; None for regression models.
          seed: seed of the random choices.
        """
        self._make_model, self._epsilon = make_model, ranges.real("epsilon", epsilon, "[0, 1]")
        self._more = {} if classes is None else {"classes": np.asarray(classes)}
        self._rng = np.random.default_rng(seed)
        self._models: dict[int, Any] = {}  # model of each arm; with features, the entry 0 is the model of all arms

    def select(self, t: Any, obs: Any) -> int:
        """Return a uniformly random arm, an arm that was never played, or the arm with the largest prediction."""
        arms, features = available(obs), features_of(obs)
        untried = [arm for arm in arms if self._model_of(arm, features) not in self._models]
        if self._rng.random() < self._epsilon:
            return int(self._rng.choice(arms))
        if untried:
            return int(untried[0])
        if features is not None:
            return _best_arm(self, arms, self._predict(0, features[arms]))
        context = _needs_context(obs, "SklearnLearner")
        return _best_arm(self, arms, [self._predict(arm, context[None])[0] for arm in arms])

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Update the model of the arm, or the single model, with the reward."""
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
    """Adapter for a `river.bandit` policy; a contextual policy receives the context as a dict from index to value."""

    def __init__(self, policy: Any):
        self._policy = policy
        self._reads_context = "context" in inspect.signature(policy.pull).parameters

    def select(self, t: Any, obs: Any) -> int:
        """Return the arm that the policy pulls, among those that may be played."""
        return self._policy.pull(available(obs).tolist(), *self._context(obs))

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Pass the arm and its reward to the policy."""
        self._policy.update(index, *self._context(obs), reward)

    def _context(self, obs: Any) -> tuple[dict[int, float], ...]:
        if not self._reads_context:
            return ()
        return (dict(enumerate(_needs_context(obs, type(self._policy).__name__).tolist())),)


class MABWiserLearner:
    """Adapter for a `mabwiser.mab.MAB` whose arms are the integers 0, ..., K - 1.

    MABWiser cannot predict before `fit`. Therefore each arm is first played once, and the MAB is fitted to these
    rounds.
    """

    def __init__(self, mab: Any):
        self._mab, self._is_fitted = mab, False
        self._rounds: list[tuple[int, float, Any]] = []

    def select(self, t: Any, obs: Any) -> int:
        """Return an arm that was never played, or the arm that the MAB predicts."""
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
        """Pass the arm and its reward to the MAB."""
        rounds = [(index, reward, context_of(obs))]
        if self._is_fitted:
            self._fit(self._mab.partial_fit, rounds)
        else:
            self._rounds += rounds

    def _fit(self, fit: Callable[..., Any], rounds: list[tuple[int, float, Any]]) -> None:
        index, reward, context = zip(*rounds, strict=True)
        fit(list(index), list(reward), *([] if context[0] is None else [np.stack(context)]))


class BayesianBanditsLearner:
    """Adapter for an `Agent` or `ContextualAgent` of bayesianbandits with the action tokens 0, ..., K - 1."""

    def __init__(self, agent: Any):
        self._agent = agent

    def select(self, t: Any, obs: Any) -> int:
        """Return the arm that the agent pulls."""
        return self._agent.pull(*self._context(obs))[0]

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Pass the reward and its arm to the agent; with a delay, this may not be the arm that was pulled last."""
        self._agent.select_for_update(index).update(*self._context(obs), np.array([reward]))

    def _context(self, obs: Any) -> tuple[np.ndarray, ...]:
        if "X" not in inspect.signature(self._agent.pull).parameters:
            return ()
        return (_needs_context(obs, type(self._agent).__name__)[None],)


class ContextualBanditsLearner:
    """Adapter for a policy of `contextualbandits.online` (D. Cortes), fitted row by row with `partial_fit`.

    If the policy has a `base_algorithm`, it must be created with `batch_train=True`.
    """

    def __init__(self, policy: Any):
        self._policy, self._is_fitted = policy, False

    def select(self, t: Any, obs: Any) -> int:
        """Return the arm that the policy predicts; before the first reward, return the first available arm."""
        context = _needs_context(obs, type(self._policy).__name__)
        return int(np.ravel(self._policy.predict(context[None]))[0]) if self._is_fitted else int(available(obs)[0])

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Update the policy with the context, the arm and its reward."""
        context = _needs_context(obs, type(self._policy).__name__)
        self._policy.partial_fit(context[None], np.array([index]), np.array([reward]))
        self._is_fitted = True


class ObpLearner:
    """Adapter for an Open Bandit Pipeline (obp) policy with `select_action` and `update_params`, for one position."""

    def __init__(self, policy: Any):
        self._policy = policy
        self._reads_context = "context" in inspect.signature(policy.select_action).parameters

    def select(self, t: Any, obs: Any) -> int:
        """Return the action that the policy selects for the first position."""
        return int(np.ravel(self._policy.select_action(*self._context(obs)))[0])

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Pass the action and its reward to the policy."""
        self._policy.update_params(index, reward, *self._context(obs))

    def _context(self, obs: Any) -> tuple[np.ndarray, ...]:
        return (_needs_context(obs, type(self._policy).__name__)[None],) if self._reads_context else ()


class CobaLearner:
    """Adapter for a learner of coba.

    The actions passed to coba are tuples of the features of the arms. If the environment has a context instead, they
    are one-hot codes of the arms, such as `(1, 0, 0)`; if it has neither, they are the indices of the arms. Arms with
    the same features are one action, for which the first of them is played.
    """

    def __init__(self, learner: Any):
        from coba import SafeLearner  # pyright: ignore[reportMissingImports]

        # `SafeLearner` accepts every form of prediction that coba allows.
        self._learner = SafeLearner(learner)
        self._rounds: dict[int, tuple[Any, ...]] = {}  # predictions of the rounds whose rewards are pending

    def select(self, t: Any, obs: Any) -> tuple[int, float]:
        """Return the arm of the action that the learner predicts, and its probability."""
        arms, actions = available(obs), self._actions(obs)
        # coba identifies an action by its value: if a value occurred twice, each would have a share of its probability.
        action, probability, more = self._learner.predict(self._context(obs), list(dict.fromkeys(actions)))
        self._rounds[int(t)] = action, probability, more
        return int(arms[actions.index(action)]), 1.0 if probability is None else float(probability)

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Pass the action of the round and its reward to the learner."""
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
    """Epsilon-greedy learner with a PyTorch module that takes one optimiser step on the squared error of each reward.

    The module maps a context `[p]` to values `[K]` of the arms, or the features of arms `[K, d]` to their values `[K]`.
    """

    def __init__(self, module: Any, optimizer: Callable[[Any], Any], epsilon: float = 0.1, *, seed: int | None = None):
        """Create a learner with the given module.

        Args:
          module: a `torch.nn.Module`.
          optimizer: function that maps the parameters of the module to an optimiser, such as
            `lambda p: torch.optim.SGD(p, lr=0.1)`.
          epsilon: probability of playing a uniformly random arm, in [0, 1].
          seed: seed of the random choices.
        """
        import torch  # pyright: ignore[reportMissingImports]

        self._torch, self._module, self._optimizer = torch, module, optimizer(module.parameters())
        self._epsilon, self._rng = ranges.real("epsilon", epsilon, "[0, 1]"), np.random.default_rng(seed)

    def select(self, t: Any, obs: Any) -> int:
        """Return a uniformly random arm, or the arm with the largest value."""
        arms = available(obs)
        if self._rng.random() < self._epsilon:
            return int(self._rng.choice(arms))
        with self._torch.no_grad():
            return _best_arm(self, arms, self._values(obs).numpy()[arms])

    def update(self, t: Any, obs: Any, index: int, reward: float) -> None:
        """Take one optimiser step on the loss `(value of the arm - reward)^2`."""
        self._optimizer.zero_grad()
        ((self._values(obs)[index] - reward) ** 2).backward()
        self._optimizer.step()

    def _values(self, obs: Any) -> Any:
        features = features_of(obs)
        x = _needs_context(obs, "TorchLearner") if features is None else features
        values = self._module(self._torch.tensor(x, dtype=self._torch.get_default_dtype()))
        return values if features is None else values.reshape(len(x))
