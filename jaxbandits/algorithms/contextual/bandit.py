"""Contextual bandit learner built from an exploration rule and a reward model.

    select   the rule chooses an arm from the model's predictions for the arms of the round
    update   the model learns from the reward of the arm played

Models are in `estimation.models` and rules are in `algorithms.contextual.rules`, one per file. An incompatible pair,
such as a UCB rule with a model that has no widths, is rejected. The cost per round is the sum of the costs of the rule
and the model.
"""

from typing import Any, ClassVar

import jax

from jaxbandits.algorithms.contextual.rules.ucb import UCB
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import param, pytree
from jaxbandits.estimation.arms import check_count
from jaxbandits.estimation.models.protocol import check_model
from jaxbandits.estimation.models.ridge import Ridge
from jaxbandits.types import ArmDecision, Obs, Reward, State

_REMEDIES = {
    "width": "models with widths include Linear, Ridge, GaussianProcess, SubspaceNetwork, Ensemble(model=...)",
    "sample": "models with draws include Linear, Ridge, GaussianProcess, Ensemble(model=...)",
    "noise": "models with a standard deviation of rewards include Linear, Ridge, GaussianProcess",
    "information": "models with an information gain are Linear, Ridge, GaussianProcess",
    "previous_epoch": "models.DoublingEpochs(model=...) runs any model in epochs",
}


@pytree
class Bandit:
    """Contextual bandit learner in two parts: `Bandit(model=models.Ridge(n_arms=3, dim=2), rule=rules.UCB())`.

    Guarantee:
      The guarantee of the rule holds if the errors of the model satisfy the assumptions of the rule.

    Deviations:
      * [ours] Several known algorithms are pairs of a model and a rule: LinUCB is `Ridge` with `UCB`, LinTS is `Linear`
        with `Thompson`, GP-UCB is `GaussianProcess` with `GPUCB`, neural-linear Thompson sampling is `NeuralLinear`
        with `Thompson`, NeuralUCB is `NeuralGradient` with `UCB`, NeuralTS is `NeuralGradient` with `Thompson`, and
        LMC-TS is `LangevinNetwork` with `Thompson`.

    References:
      Carlos Riquelme, George Tucker, Jasper Snoek. Deep Bayesian Bandits Showdown: An Empirical Comparison of Bayesian
      Deep Networks for Thompson Sampling. ICLR 2018: comparison of models under a fixed rule.
      Niranjan Srinivas, Andreas Krause, Sham Kakade, Matthias Seeger. Gaussian Process Optimization in the Bandit
      Setting: No Regret and Experimental Design. ICML 2010: optimism with a Gaussian process.
      Dylan Foster, Alexander Rakhlin. Beyond UCB: Optimal and Efficient Contextual Bandits with Regression Oracles.
      ICML 2020: a rule for any regression method.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "a reward model and an exploration rule, after Riquelme, Tucker & Snoek, ICLR 2018"
    environments: ClassVar[tuple[str, ...]] = ("contextual/linear_contexts",)
    model: Any = param(doc="reward model (jaxbandits.contextual.models)")
    rule: Any = param(doc="exploration rule (jaxbandits.contextual.rules)")

    @classmethod
    def example(cls) -> "Bandit":
        return cls(model=Ridge(n_arms=3, dim=2), rule=UCB())

    def check(self) -> None:
        """Raise InputError for an invalid model or rule, or if the model lacks a method that the rule needs."""
        check_model("Bandit.model", self.model)
        if not hasattr(self.rule, "decide") or isinstance(self.rule, type):
            raise InputError(f"Bandit.rule must be a rule such as rules.UCB(), got {format_value(self.rule)}")
        for method in self.rule.needs:
            if not hasattr(self.model, method):
                hint = _REMEDIES.get(method)
                raise InputError(
                    f"{type(self.rule).__name__} needs a model with {method!r}, which {type(self.model).__name__} "
                    f"lacks{'' if hint is None else f': {hint}'}"
                )

    @property
    def reads_context(self) -> bool:
        """True if the model reads a context that all arms share."""
        return self.model.reads_context

    @property
    def reads_features(self) -> bool:
        """True if the model reads features of arms."""
        return not self.model.reads_context

    @property
    def dim(self) -> int | None:
        """Dimension of the model's input; None if the model accepts any dimension."""
        return getattr(self.model, "dim", None)

    @property
    def capacity(self) -> int | None:
        """Number of rounds that the history of the model holds; None: no limit."""
        return getattr(self.model, "capacity", None)

    @property
    def min_width(self) -> int | None:
        """Smallest number of trials per batch for which the model is fast; None if the model does not say."""
        return getattr(self.model, "min_width", None)

    def init(self, key: jax.Array) -> State:
        return self.model.init(key)

    def init_from_obs(self, state: State, obs: Obs) -> State:
        """Return the initial state that the model's `init_from_obs` computes from the arms of round 0.

        The state is returned unchanged if the model lacks this method or the rule does not use its result.
        """
        is_for_widths = getattr(self.model, "init_from_obs_is_for_widths", False)
        if not hasattr(self.model, "init_from_obs") or (is_for_widths and "width" not in self.rule.needs):
            return state
        return self.model.init_from_obs(state, obs)

    def select(self, key: jax.Array, t: jax.Array, state: State, obs: Obs) -> ArmDecision:
        n_arms = getattr(self.model, "n_arms", None)
        if n_arms is not None:
            check_count(obs.arms, n_arms)
        return self.rule.decide(key, t, self.model, state, obs)

    def update(
        self, key: jax.Array, t: jax.Array, state: State, obs: Obs, decision: ArmDecision, feedback: Reward
    ) -> Any:
        return self.model.update(key, t, state, obs, decision, feedback.reward)
