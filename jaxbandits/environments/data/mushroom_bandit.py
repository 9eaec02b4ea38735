"""Mushroom bandit with a risky arm (Riquelme, Tucker & Snoek, ICLR 2018; Blundell et al., ICML 2015).

    arm 0: no mushroom is eaten, reward 0
    arm 1: reward `safe` if the mushroom is edible; if it is poisonous, `safe` with probability luck, else `harm`
    regret = sum_t (max(0, m_t) - E[reward_t | arm]),   m_t the mean reward of eating in round t

Rows are drawn from a table of features and labels. With the defaults, the reward for eating a poisonous mushroom has
mean -15 and variance 400, whereas the reward for eating an edible mushroom is always 5.
"""

import warnings
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, shared, static, validate
from jaxbandits.base.ranges import BOOL
from jaxbandits.environments.data import rows
from jaxbandits.environments.data.rows import Place
from jaxbandits.environments.datasets.labelled import check_examples
from jaxbandits.numerics import rng
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, Reward

_ARMS = 2


class MushroomTable(NamedTuple):
    """Table of mushrooms; all trials share one copy."""

    seen: ArrayLike  # [n, p]  features
    poisonous: ArrayLike  # [n]  bool, whether the mushroom is poisonous


class MushroomOutcome(NamedTuple):
    """Regret of a round against the better arm for its mushroom, and the reward."""

    regret: jax.Array  # []
    reward: jax.Array  # []


@pytree
class MushroomBandit:
    """Bandit on the rows of a table with two arms: not to eat the mushroom, or to eat it, which is risky.

    `MushroomBandit.from_table(*load_keel("mushroom", directory))` reads the table of KEEL, which has 5,644 rows; 2,156
    of them are poisonous mushrooms.

    Deviations:
      * [ours] Regret is computed from mean rewards; the authors' code compares with the realised reward of an oracle.
      * [printed] Rows are drawn with replacement by default, as in the authors' code.

    References:
      Carlos Riquelme, George Tucker, Jasper Snoek. Deep Bayesian Bandits Showdown. ICLR 2018, Section 5.3, and the
      authors' code.
      Charles Blundell, Julien Cornebise, Koray Kavukcuoglu, Daan Wierstra. Weight Uncertainty in Neural Networks. ICML
      2015, Section 5.3.
    """

    source: ClassVar[str] = "the mushroom task of Riquelme, Tucker & Snoek, ICLR 2018, on your own table"
    units: ClassVar = {"regret": "reward", "reward": "reward"}
    table: MushroomTable = shared(doc="rows of the table (constructed by from_table)")
    safe: ArrayLike = param(5.0, "(0, inf)", "reward for eating without harm")
    harm: ArrayLike = param(-35.0, "(-inf, 0)", "reward for eating a poisonous mushroom that does harm")
    luck: ArrayLike = param(0.5, "[0, 1]", "probability that a poisonous mushroom does no harm")
    order: str = static("iid", doc='"iid" (with replacement), "shuffled" (in every pass) or "given"')
    as_context: bool = static(False, BOOL, "whether observations are contexts [p] that both arms share")

    @classmethod
    def from_table(
        cls, features: object, labels: object, poisonous: str | int = "p", **settings: FieldValue
    ) -> "MushroomBandit":
        """Return the bandit for a table of features and labels.

        Args:
          features: `[n, p]` numbers, one row per mushroom; text columns must be one-hot encoded.
          labels: `[n]` labels, usually of two kinds.
          poisonous: label of poisonous mushrooms; mushrooms with other labels are edible.
          **settings: values of other fields, such as `as_context=True`.

        Raises:
          InputError: if shapes do not match, an entry is not a finite number, or no row has the label `poisonous`.
        """
        features, numbered = check_examples(features, labels)
        names = list(numbered.names)
        if not isinstance(poisonous, (str, int, np.integer)) or str(poisonous) not in names:
            raise InputError(
                f"poisonous must be one of the labels {format_value(names)[:60]}; got {format_value(poisonous)}"
            )
        is_poisonous = numbered.numbers == names.index(str(poisonous))
        if len(names) == 1:
            warnings.warn("MushroomBandit: all mushrooms are poisonous", stacklevel=2)
        made = cls(table=MushroomTable(features, is_poisonous), **settings)
        validate(made)
        return made

    @classmethod
    def example(cls) -> "MushroomBandit":
        return cls.from_table(np.eye(6, 2) + 0.5, ["e", "p", "e", "e", "p", "e"])

    def check(self) -> None:
        """Raise InputError if the table is invalid or the order is unknown."""
        if not isinstance(self.table, MushroomTable) or np.ndim(self.table.poisonous) != 1:
            raise InputError("MushroomBandit.table must be a MushroomTable, which from_table creates")
        if np.ndim(self.table.seen) != 2:
            raise InputError(f"MushroomBandit.table.seen must have shape [n, p], got {np.shape(self.table.seen)}")
        rows.check_fits("MushroomBandit.table.seen", self.table.seen, len(np.asarray(self.table.poisonous)), _ARMS)
        rows.check_order("order of MushroomBandit", self.order)

    @property
    def n_arms(self) -> int:
        """Number of arms, which is 2."""
        return _ARMS

    @property
    def dim(self) -> int:
        """Dimension of the observation: p with `as_context`, else the dimension 2 p of the arms."""
        dim = rows.dim_of(self.table.seen, _ARMS)
        return dim // _ARMS if self.as_context else dim

    def init(self, key: jax.Array) -> Place:
        return rows.begin(key, self.order, len(self.table.poisonous))

    def observe(self, key: jax.Array, t: jax.Array, state: Place) -> ArmObs | ContextObs:
        del key, t
        if self.as_context:
            return ContextObs.of(jnp.asarray(self.table.seen)[state.row], _ARMS)
        return rows.arms_of(self.table.seen, state, _ARMS)

    def step(
        self, key: jax.Array, t: jax.Array, state: Place, obs: Any, decision: ArmDecision
    ) -> tuple[Place, Reward, MushroomOutcome]:
        del obs
        row_key, coin_key = jax.random.split(key)
        is_poisonous = jnp.asarray(self.table.poisonous)[state.row]
        is_harmed = is_poisonous & (rng.uniforms(coin_key, 1)[0] >= self.luck)
        mean = jnp.where(is_poisonous, self.luck * self.safe + (1.0 - self.luck) * self.harm, self.safe)
        eats = decision.index == 1
        reward = jnp.where(eats, jnp.where(is_harmed, self.harm, self.safe), 0.0)
        regret = jnp.maximum(mean, 0.0) - jnp.where(eats, mean, 0.0)
        following = rows.follow(row_key, t, self.order, len(self.table.poisonous), state)
        return following, Reward(reward), MushroomOutcome(regret, reward)

    def admits(self, state: Place, obs: Any, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < _ARMS)
