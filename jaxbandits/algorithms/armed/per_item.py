"""Index policy for arms whose items are replaced: an arm with a new item is treated as never played.

    T_i, S_i   plays and total reward of the item of arm i, both 0 for a new item
    play       the arm that the policy chooses for these T_i, S_i

Delayed feedback for an item that has been replaced is dropped, in whatever order feedback arrives. The cost per round
is $O(K)$ plus that of the policy.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import IndexPolicy, Pulls
from jaxbandits.algorithms.armed.ucb1 import UCB1
from jaxbandits.base import trees
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.types import ArmDecision, ArmObs, AssumesNoiseScale, ItemObs, Reward


class ItemState(NamedTuple):
    """Counts and sums of the rewards of the current items, and the numbers that identify these items."""

    pulls: Pulls
    items: jax.Array  # [K] int32, numbers of the items that `pulls` counts
    latest: jax.Array  # [] int32, latest round whose feedback has arrived, the round of these items; -1: none


@pytree
class PerItem:
    """Index policy for arms whose items are replaced, such as news articles.

    Guarantee:
      The guarantee of the policy holds while no item is replaced.

    Deviations:
      None.

    References:
      Olivier Chapelle, Lihong Li. An Empirical Evaluation of Thompson Sampling. NIPS 2011, Section 4: the setting.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "the setting of Chapelle & Li, NIPS 2011, for any index policy"
    environments: ClassVar[tuple[str, ...]] = ("armed/retiring_arms",)
    policy: Any = param(doc="index policy of jaxbandits.armed that keeps counts and sums of rewards, such as UCB1")

    @classmethod
    def example(cls) -> "PerItem":
        return cls(policy=UCB1(n_arms=5))

    def check(self) -> None:
        """Raise InputError for a policy whose state holds more than counts and sums."""
        is_policy = isinstance(self.policy, IndexPolicy)
        if not is_policy or not isinstance(jax.eval_shape(self.policy.init, jax.random.key(0)), Pulls):
            raise InputError(
                "PerItem.policy must be an index policy of jaxbandits.armed that keeps counts and sums of rewards, "
                f"such as UCB1, KLUCB or ThompsonBeta, got {format_value(self.policy)}"
            )

    @property
    def n_arms(self) -> int:
        """Number K of arms."""
        return self.policy.n_arms

    @property
    def sub_gaussian_scale(self) -> ArrayLike | None:
        """Sub-Gaussian constant R of the policy; None if the policy does not use R."""
        return self.policy.sub_gaussian_scale if isinstance(self.policy, AssumesNoiseScale) else None

    def init(self, key: jax.Array) -> ItemState:
        return ItemState(self.policy.init(key), jnp.full(self.n_arms, -1, jnp.int32), jnp.int32(-1))

    def select(self, key: jax.Array, t: jax.Array, state: ItemState, obs: ArmObs) -> ArmDecision:
        return self.policy.select(key, t, _pulls_of(state, _items(obs)), obs)

    def update(
        self, key: jax.Array, t: jax.Array, state: ItemState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> ItemState:
        played = _items(obs)
        items = jnp.where(t >= state.latest, played, state.items)  # random delays: an earlier round may come later
        old = _pulls_of(state, items)
        new = self.policy.update(key, t, old, obs, decision, feedback)
        is_kept = played[decision.index] == items[decision.index]
        latest = jnp.maximum(jnp.asarray(t, jnp.int32), state.latest)
        return ItemState(trees.where(is_kept, new, old), items, latest)


def _items(obs: ArmObs) -> jax.Array:
    """Return the item numbers `[K]` of an observation; arms without items have constant numbers."""
    if isinstance(obs, ItemObs):
        return obs.arms.astype(jnp.int32)
    return jnp.arange(obs.arms.shape[0], dtype=jnp.int32)


def _pulls_of(state: ItemState, items: jax.Array) -> Pulls:
    """Return the counts and sums of items `[K]`, 0 for items that are new."""
    is_same = state.items == items
    return Pulls(jnp.where(is_same, state.pulls.count, 0.0), jnp.where(is_same, state.pulls.total, 0.0))
