"""Explore, then commit (Robbins 1952; Lattimore & Szepesvari, Bandit Algorithms, 2020, Algorithm 1).

    play   every arm m times in turn, then argmax_i m_i forever

Here $m_i$ is the mean reward of arm i in the first m K rounds. Notation: m is the field `exploration`. The cost per
round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.base import ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree
from jaxbandits.types import ArmDecision, ArmObs, Reward


@pytree
class ETC(IndexPolicy):
    """Explore-then-commit policy, whose regret is sublinear if m suits the gaps and the number of rounds.

    Guarantee:
      If rewards are independent and 1-sub-Gaussian, the gaps are $D_i$ and there are $n >= m K$ rounds, then the
      expected regret is at most $m sum_i D_i + (n - m K) sum_i D_i exp(-m D_i^2 / 4)$ (Theorem 6.1).

    Deviations:
      * [ours] An arm that is not available in its turn is explored later. Ties go to the first arm.
      * [ours] An m that is not a whole number is rounded up.

    References:
      Herbert Robbins. Some Aspects of the Sequential Design of Experiments. Bulletin of the AMS 58, 1952.
      Tor Lattimore, Csaba Szepesvari. Bandit Algorithms. Cambridge University Press, 2020, Algorithm 1, Theorem 6.1,
      Eq. (6.5).
    """

    source: ClassVar[str] = "Robbins 1952; Lattimore & Szepesvari, Bandit Algorithms, 2020, Algorithm 1"
    counts_all: ClassVar[bool] = False  # rewards after the exploration are ignored
    exploration: ArrayLike = param(range="[1, inf)", doc="m, number of plays of every arm before the commitment")

    @classmethod
    def theory(cls, *, gap: ArrayLike, horizon: ArrayLike, n_arms: int = 2, **changes: FieldValue) -> "ETC":
        """Use Eq. (6.5), m = max(1, ceil(4 / D^2 log(n D^2 / 4))), for two arms with gap D and horizon n."""
        gap = ranges.numbers("gap", gap, "[1e-9, 1e9]")
        horizon = ranges.numbers("horizon", horizon, "[1, 1e18]")
        square = np.square(gap)
        exploration = np.maximum(1.0, np.ceil(4.0 / square * np.log(horizon * square / 4.0)))
        return cls(**{"n_arms": n_arms, "exploration": exploration} | changes)

    @classmethod
    def example(cls) -> "ETC":
        return cls(n_arms=5, exploration=3.0)

    @property
    def first_pulls(self) -> ArrayLike:
        """Number of plays of every arm before the index is used."""
        return self.exploration

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key, t
        return state.mean

    def update(
        self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> Pulls:
        del key, t, obs
        explores = state.count[decision.index] < self.exploration
        count = state.count.at[decision.index].add(jnp.where(explores, 1.0, 0.0))
        return Pulls(count, state.total.at[decision.index].add(jnp.where(explores, feedback.reward, 0.0)))
