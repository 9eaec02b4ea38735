"""Abstract index policies that choose the set or list of items with the largest indices, unobserved items first.

A concrete subclass defines the index of each item. In a cascade, only the items up to the first click are observed.
"""

import abc
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.estimation.items import check_items, item_sums, top_items
from jaxbandits.estimation.oracles import require_oracle
from jaxbandits.types import ArmObs, ItemRewards, SetDecision

_UNSEEN = 1e30  # above every index


@pytree
class SetPolicy(abc.ABC):
    """Abstract policy over counts and sums of the rewards of items; features of items are ignored.

    Items with fewer than `first_seen` observations come first, in turn and starting from item t mod L. Ties go to the
    first item.
    """

    feedback: ClassVar[type] = ItemRewards
    environments: ClassVar[tuple[str, ...]] = ("combinatorial/cascading_clicks",)
    first_seen: ClassVar[float] = 1.0  # number of observations of every item before its index is used; may be 0
    n_items: int = static(range="[1, inf)", doc="L, number of items")

    @abc.abstractmethod
    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        """Return the index of every item `[L]` in round t >= 0; it must be finite even for unobserved items."""

    @abc.abstractmethod
    def best(self, scores: jax.Array, mask: Any) -> jax.Array:
        """Return the items `[m]` of the best set for scores `[L]`; a mask `[L]` excludes unavailable items."""

    def init(self, key: jax.Array) -> Pulls:
        del key  # deterministic
        return Pulls(jnp.zeros(self.n_items), jnp.zeros(self.n_items))

    def select(self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs) -> SetDecision:
        check_items(obs.arms.shape[0], self.n_items)
        scores = self.index(key, t, state)
        if self.first_seen:
            turn = (jnp.arange(self.n_items, dtype=t.dtype) - t) % self.n_items
            scores = jnp.where(state.count < self.first_seen, _UNSEEN * (self.n_items - turn), scores)
        return SetDecision(self.best(scores, obs.mask))

    def update(
        self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs, decision: SetDecision, feedback: ItemRewards
    ) -> Pulls:
        del key, t, obs
        seen = jnp.where(feedback.seen, 1.0, 0.0)
        return Pulls(
            count=state.count + item_sums(decision.items, seen, self.n_items),
            total=state.total + item_sums(decision.items, jnp.where(feedback.seen, feedback.reward, 0.0), self.n_items),
        )


@pytree
class OraclePolicy(SetPolicy):
    """Abstract policy that plays the set that an oracle computes from the indices, and observes its items' rewards."""

    environments: ClassVar[tuple[str, ...]] = ("combinatorial/semi_bandit",)
    oracle: Any = param(doc="oracle of jaxbandits.oracles for the feasible sets, such as TopM")

    def check(self) -> None:
        """Raise InputError if the oracle is invalid or its number of items differs from `n_items`."""
        require_oracle(type(self).__name__, self.oracle, self.n_items)

    def best(self, scores: jax.Array, mask: Any) -> jax.Array:
        return self.oracle.best(scores, mask)


@pytree
class CascadePolicy(SetPolicy):
    """Abstract policy that lists the m items with the largest indices, in decreasing order."""

    list_size: int = static(range="[1, inf)", doc="m, number of positions in the list")

    def check(self) -> None:
        """Raise InputError for a list longer than the number of items."""
        if self.list_size > self.n_items:
            name = type(self).__name__
            raise InputError(f"{name}.list_size must be at most n_items={self.n_items}, got {self.list_size}")

    def best(self, scores: jax.Array, mask: Any) -> jax.Array:
        return top_items(scores, mask, self.list_size)
