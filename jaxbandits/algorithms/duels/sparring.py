"""Sparring: each arm of a duel is chosen by a separate K-armed learner (Ailon, Karnin & Joachims, ICML 2014).

    first  chosen by a learner whose reward is 1 if the first arm wins, else 0
    second chosen by another learner of the same class, whose reward is 1 if the second arm wins, else 0

With Tsallis-INF, the preset `theory`, this is Versatile-DB (Saha & Gaillard, ICML 2022). The cost per round is that of
two learners.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.tsallis_inf import TsallisINF
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import param, pytree
from jaxbandits.types import ArmDecision, ArmObs, PairDecision, Preference, Reward


class SparringState(NamedTuple):
    """States of the two learners."""

    first: Any
    second: Any


@pytree
class Sparring:
    """Reduction of dueling bandits with arbitrary preferences to a game of two bandit learners.

    Guarantee:
      With Tsallis-INF, the expected regret after T rounds is $O(sqrt(K T))$ for arbitrary preferences, and $O(sum_i log
      T / D_i)$ for fixed preferences with a Condorcet winner (Saha & Gaillard, Theorem 1).

    Deviations:
      * [reconstructed] The learning rates of Versatile-DB are assumed to be those of Tsallis-INF; they are not checked
        against the paper.

    References:
      Nir Ailon, Zohar Karnin, Thorsten Joachims. Reducing Dueling Bandits to Cardinal Bandits. ICML 2014,
      arXiv:1405.3396: sparring.
      Aadirupa Saha, Pierre Gaillard. Versatile Dueling Bandits: Best-of-both World Analyses for Learning from Relative
      Preferences. ICML 2022, arXiv:2202.06694.
    """

    feedback: ClassVar[type] = Preference
    source: ClassVar[str] = "Ailon, Karnin & Joachims, ICML 2014; Saha & Gaillard, ICML 2022 (Versatile-DB)"
    environments: ClassVar[tuple[str, ...]] = ("duels/dueling_arms",)
    policy: Any = param(doc="learner of jaxbandits.armed that chooses each arm of the duel, such as TsallisINF")

    @classmethod
    def theory(cls, *, n_arms: int, **changes: Any) -> "Sparring":
        """Use Tsallis-INF for both players (Versatile-DB)."""
        return cls(**{"policy": TsallisINF(n_arms=n_arms)} | changes)

    @classmethod
    def example(cls) -> "Sparring":
        return cls.theory(n_arms=5)

    def check(self) -> None:
        """Raise InputError for learners whose feedback is not a reward."""
        if getattr(self.policy, "feedback", None) is not Reward or not hasattr(self.policy, "n_arms"):
            raise InputError(
                f"Sparring.policy must be a learner of jaxbandits.armed, such as TsallisINF or UCB1, got "
                f"{format_value(self.policy)}"
            )

    def init(self, key: jax.Array) -> SparringState:
        return SparringState(*map(self.policy.init, jax.random.split(key)))

    def select(self, key: jax.Array, t: jax.Array, state: SparringState, obs: ArmObs) -> PairDecision:
        keys = jax.random.split(key)
        first, second = (self.policy.select(k, t, own, obs) for k, own in zip(keys, state, strict=True))
        probability = None if first.probability is None else jnp.stack([first.probability, second.probability])
        return PairDecision(first.index, second.index, probability)

    def update(
        self, key: jax.Array, t: jax.Array, state: SparringState, obs: ArmObs, decision: PairDecision,
        feedback: Preference,
    ) -> SparringState:  # fmt: skip
        p = (None, None) if decision.probability is None else decision.probability
        arms, rewards = (decision.first, decision.second), (feedback.won, 1.0 - feedback.won)
        players = zip(jax.random.split(key), state, arms, p, rewards, strict=True)
        return SparringState(
            *(
                self.policy.update(k, t, own, obs, ArmDecision(arm, obs.arms[arm], share), Reward(won))
                for k, own, arm, share, won in players
            )
        )
