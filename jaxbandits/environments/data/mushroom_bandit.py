"""Mushrooms as a bandit with a risky arm (Riquelme, Tucker & Snoek, ICLR 2018; Blundell et al., ICML 2015).

    arm 0: no mushroom is eaten, reward 0
    arm 1: reward `safe` if the mushroom is edible; if it is poisonous, `harm` or `safe` by a coin
    regret = sum_t max(0, m_t) - E[reward_t | arm],   m_t the mean reward of eating in round t

Rows are drawn from a table of features and labels. With the defaults, eating a poisonous mushroom pays -15 on average,
and its variance is 400, that of an edible one 0.
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
    """Mushrooms; all trials share one copy."""

    seen: ArrayLike  # [n, p]  features
    poisonous: ArrayLike  # [n]  bool


class MushroomOutcome(NamedTuple):
    """Regret of a round against the better arm of its mushroom, and the reward."""

    regret: jax.Array  # []
    reward: jax.Array  # []


@pytree
class MushroomBandit:
    """Bandit with two arms, of which one is risky, on the rows of a table.

    `MushroomBandit.from_table(*load_keel("mushroom", directory))` reads the table of KEEL: 5,644 rows, of which 2,156
    are poisonous.

    Deviations:
      * [ours] Regret is that of mean rewards; the authors' code compares with the realised reward of an oracle.
      * [printed] Rows are drawn with replacement by default, as in the authors' code.

    References:
      Carlos Riquelme, George Tucker, Jasper Snoek. Deep Bayesian Bandits Showdown. ICLR 2018, Section 5.3, and the
      authors' code.
      Charles Blundell, Julien Cornebise, Koray Kavukcuoglu, Daan Wierstra. Weight Uncertainty in Neural Networks. ICML
      2015, Section 5.3.
    """

    source: ClassVar[str] = "the mushroom task of Riquelme, Tucker & Snoek, ICLR 2018, on your own table"
    units: ClassVar = {"regret": "reward", "reward": "reward"}
    table: MushroomTable = shared(doc="the rows (constructed by from_table)")
    safe: ArrayLike = param(5.0, "(0, inf)", "reward of an edible mushroom, and of a poisonous one with luck")
    harm: ArrayLike = param(-35.0, "(-inf, 0)", "reward of a poisonous mushroom without luck")
    luck: ArrayLike = param(0.5, "[0, 1]", "probability that a poisonous mushroom does no harm")
    order: str = static("iid", doc='"iid" (with replacement), "shuffled" every pass, or "given"')
    as_context: bool = static(False, BOOL, "True: observations are contexts [n, p], common to both arms")

    @classmethod
    def from_table(
        cls, features: object, labels: object, poisonous: str | int = "p", **settings: FieldValue
    ) -> "MushroomBandit":
        """Build the bandit from features `[n, p]` and labels `[n]`.

        Args:
          features: one row per mushroom, numbers; text columns must be one-hot encoded.
          labels: `[n]` of two kinds.
          poisonous: the label of poisonous mushrooms; all others are edible.
          **settings: values of other fields, such as `as_context=True`.

        Raises:
          InputError: if shapes do not match, an entry is not a finite number, or no row has the label `poisonous`.
        """
        features, numbered = check_examples(features, labels)
        names = list(numbered.names)
        if not isinstance(poisonous, (str, int)) or str(poisonous) not in names:
            raise InputError(f"poisonous must be a label, {format_value(names)[:60]}; got {format_value(poisonous)}")
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
        """Raise InputError for an invalid table or an unknown order."""
        if not isinstance(self.table, MushroomTable) or np.ndim(self.table.poisonous) != 1:
            raise InputError("MushroomBandit.table must be a MushroomTable, as from_table makes it")
        if np.ndim(self.table.seen) != 2:
            raise InputError(f"MushroomBandit.table.seen must be [n, p], got shape {np.shape(self.table.seen)}")
        rows.check_fits("MushroomBandit.table.seen", self.table.seen, len(np.asarray(self.table.poisonous)), _ARMS)
        rows.check_order("order of MushroomBandit", self.order)

    @property
    def n_arms(self) -> int:
        """2: not to eat, and to eat."""
        return _ARMS

    @property
    def dim(self) -> int:
        """Dimension of the arms, 2 p; p with `as_context`."""
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
