"""Uniform: an available arm uniformly at random each round, the floor that every learner must beat.

    play the floor(u n)-th of the n available arms, u uniform on [0, 1)

No state, no update.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.core import linalg, rng
from jaxbandits.core.fusion import once
from jaxbandits.core.pytree import pytree, static
from jaxbandits.types import ArmDecision, ArmObs, Reward


@pytree
class Uniform:
    """Plays at random and learns nothing; one uniform draw a round, any form of arm set.

    Guarantee:
      None: expected regret grows as T times the mean gap.

    Deviations:
      None. A single draw has 24 bits, so probabilities are exact to 2^-24.

    References:
      Folklore.
    """

    feedback: ClassVar[type] = Reward
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")

    def init(self, key: jax.Array) -> tuple[()]:
        del key
        return ()

    def select(self, key: jax.Array, t: jax.Array, state: tuple[()], obs: ArmObs) -> ArmDecision:
        del t, state
        u = rng.uniform(key)
        if isinstance(obs.arms, tuple):
            return _running_pick(u, obs.arms, obs.mask)
        n_arms = jax.tree.leaves(obs.arms)[0].shape[0]
        index = jnp.floor(u * n_arms).astype(jnp.int32)
        if obs.mask is not None:
            rank = jnp.cumsum(obs.mask)  # [K] available arms up to and including k
            index = jnp.argmax(rank > jnp.floor(u * rank[-1])).astype(jnp.int32)
        return ArmDecision(index=index, x=jax.tree.map(lambda a: a[index], obs.arms))

    def update(
        self, key: jax.Array, t: jax.Array, state: tuple[()], obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> tuple[()]:
        del key, t, obs, decision, feedback
        return state


def _running_pick(u: jax.Array, arms: tuple[Any, ...], mask: Any) -> ArmDecision:
    """The same over unrolled arms, by a running count (no gather, no reduction over a tiny axis)."""
    available = [jnp.ones((), bool)] * len(arms) if mask is None else [mask[k] for k in range(len(arms))]
    count = sum((a.astype(u.dtype) for a in available[1:]), available[0].astype(u.dtype))
    to_skip = once(jnp.floor(u * count))
    index, x = jnp.zeros((), jnp.int32), arms[0]
    for k, (arm, here) in enumerate(zip(arms, available, strict=True)):
        hit = here & (to_skip == 0)
        index, x = jnp.where(hit, k, index), linalg.where(hit, arm, x)
        to_skip = to_skip - here.astype(u.dtype)
    return once(ArmDecision(index=index, x=x))
