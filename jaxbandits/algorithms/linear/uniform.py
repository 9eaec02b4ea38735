"""Uniform: play an available arm uniformly at random, as a baseline.

    play   arm number floor(u n), counted from 0, of the n available arms, u uniform on [0, 1)

The learner has no state and no update.
"""

from typing import ClassVar

import jax

from jaxbandits.base.pytree import pytree, static
from jaxbandits.numerics import rng
from jaxbandits.numerics.sampling import uniform_available
from jaxbandits.types import ArmDecision, ArmObs, Reward


@pytree
class Uniform:
    """Policy that plays uniformly at random, with one uniform draw per round, and does not learn.

    Guarantee:
      None. The expected regret is T times the mean gap of the arms.

    Deviations:
      None. A draw has 32 random bits, so that the probabilities have errors of at most 2^-32.

    References:
      Folklore.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "uniformly random play, a baseline for every comparison"
    environments: ClassVar[tuple[str, ...]] = ("linear/heavy_tailed",)
    reads_features: ClassVar[bool] = False
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")

    @classmethod
    def example(cls) -> "Uniform":
        return cls(dim=2)

    def init(self, key: jax.Array) -> tuple[()]:
        del key
        return ()

    def select(self, key: jax.Array, t: jax.Array, state: tuple[()], obs: ArmObs) -> ArmDecision:
        del t, state
        index = uniform_available(rng.random_words(key)[0], obs.arms.shape[0], obs.mask)
        return ArmDecision(index=index, x=obs.arms[index])

    def update(
        self, key: jax.Array, t: jax.Array, state: tuple[()], obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> tuple[()]:
        del key, t, obs, decision, feedback
        return state
