"""Bandit on a table of all rewards; in classification, an arm pays 1 if it is the label of the row, else 0.

    round t uses row i_t:   reward_t = R[i_t, a_t]
    regret            = sum_t (max_k R[i_t, k] - R[i_t, a_t])      against the best arm of every row
    fixed_arm_regret  = max_k sum_t R[i_t, k] - sum_t R[i_t, a_t]  against the best arm of all rows

In classification `regret` is the number of mistakes, since the best arm of a row is its label.
"""

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError
from jaxbandits.base.frames import Columns, constant_columns
from jaxbandits.base.labels import Labels, describe_names, names_of_arms, warn_if_distinct
from jaxbandits.base.pytree import ArrayLike, FieldValue, pytree, shared, static, validate
from jaxbandits.base.ranges import BOOL
from jaxbandits.base.text import count_of
from jaxbandits.environments.data import rows
from jaxbandits.environments.data.rows import Place
from jaxbandits.environments.datasets.files import Path
from jaxbandits.environments.datasets.labelled import check_examples, load_labelled
from jaxbandits.estimation.arms import largest
from jaxbandits.types import ArmDecision, ArmObs, ContextObs, Reward


class RewardTable(NamedTuple):
    """Features and rewards of every row; all trials share one copy."""

    seen: ArrayLike | None  # [n, p] contexts; [n, K, d] features of the arms; None: the arms are unit vectors
    rewards: ArrayLike  # [n, K]


class TableOutcome(NamedTuple):
    """Rewards and regrets of a round; regrets are differences of rewards, since differences of sums would cancel."""

    regret: jax.Array  # []  largest reward of the row minus the reward
    reward: jax.Array  # []  reward of the arm played
    best_reward: jax.Array  # []  largest reward of the row
    arm_regret: jax.Array  # [K]  largest reward of the row minus the reward of every arm


@pytree
class TableBandit:
    """Bandit on the rows of a table that has the rewards of all arms.

    The features of arm k are the context `[p]` in block k of a vector `[K p]`, so that a linear learner has one weight
    vector per arm (dim = K p). With `as_context` the observation is the context itself (`ContextObs`), for learners
    with one model per arm (`jaxbandits.contextual`). With the order "iid", rows are drawn with replacement. With
    "shuffled", every pass of every trial is a new permutation of the rows, which takes n integers per trial in the
    state. With "given", all trials repeat the rows of the table cyclically.
    """

    source: ClassVar[str] = "your own labelled rows (CSV, npz, LIBSVM, ARFF) or table of all rewards as a bandit"
    axes: ClassVar = dict.fromkeys(("arm_regret", "arm_reward"), ("arm",))
    units: ClassVar = dict.fromkeys(
        ("regret", "fixed_arm_regret", "reward", "best_reward", "arm_regret", "arm_reward"), "reward"
    )
    table: RewardTable = shared(doc="rows of the table (constructed by from_table, from_rewards or from_file)")
    order: str = static("iid", doc='"iid" (with replacement), "shuffled" (in every pass) or "given"')
    as_context: bool = static(False, BOOL, "whether observations are contexts [p] that all arms share")
    classes: tuple[str, ...] = static((), doc="names of the arms 0, ..., K - 1; () if these numbers are the names")

    @classmethod
    def from_table(
        cls, features: object, labels: object, classes: Sequence[Any] | None = None, **settings: FieldValue
    ) -> "TableBandit":
        """Return a classification bandit, in which features are contexts and arm k pays 1 if the label is class k.

        Args:
          features: `[n, p]` one row per example.
          labels: `[n]` whole numbers or text, of at least two kinds.
          classes: all labels in the order of the arms; by default the categories of a categorical array, otherwise the
            sorted distinct labels.
          **settings: values of other fields, such as `order="given"`.

        Raises:
          InputError: if shapes do not match, an entry is missing, or there is only one label.
        """
        return cls._from_labels(*check_examples(features, labels, classes), settings)

    @classmethod
    def _from_labels(cls, features: np.ndarray, labels: Labels, settings: dict[str, Any]) -> "TableBandit":
        n, n_classes = len(labels.numbers), len(labels.names)
        if n_classes < 2:
            raise InputError(f"labels must have at least two different values, got {n_classes}")
        warn_if_distinct("TableBandit", "rows", n, "labels, each of which is an arm", n_classes)
        rewards = labels.numbers[:, None] == np.arange(n_classes)
        made = cls(table=RewardTable(features, rewards), classes=names_of_arms(labels.names), **settings)
        validate(made)
        return made

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        label: str,
        features: Sequence[str],
        classes: Sequence[Any] | None = None,
        **settings: FieldValue,
    ) -> "TableBandit":
        """Return a classification bandit for a data frame.

        Args:
          frame: a pandas, polars or pyarrow data frame, or a mapping of arrays.
          label: name of the column with the labels, which are whole numbers or text.
          features: names of the columns of the context, which contain numbers; other columns are not used.
          classes: all labels in the order of the arms; None as in `from_table`.
          **settings: values of other fields, such as `order="given"`.

        Raises:
          InputError: if a column is unknown, an entry is missing (the message names row and column), a feature is text,
            or there is only one label.
        """
        columns = Columns(frame)
        context = columns.matrix("features", features)
        for k, value in constant_columns(context):
            warnings.warn(f"TableBandit: column {features[k]!r} is {value:g} in all rows", stacklevel=2)
        return cls._from_labels(context, columns.labels("label", label, classes, "classes"), settings)

    @classmethod
    def from_file(cls, path: Path, label: str | int = -1, *, order: str = "iid", **reading: Any) -> "TableBandit":
        """Return a classification bandit for a CSV, npz, LIBSVM or ARFF file; to select columns, use `from_frame`.

        Args:
          path: path of the file, whose extension determines the format.
          label: name or index of the column with the labels.
          order: order of the rows.
          **reading: `standardise`, `intercept`, `header` and `delimiter`, as in `datasets.labelled.load_labelled`.

        Raises:
          InputError: if the file cannot be read; the message names the file and the line.
        """
        return cls.from_table(*load_labelled(path, label, **reading), order=order)

    @classmethod
    def from_rewards(cls, rewards: Any, seen: Any = None, **settings: FieldValue) -> "TableBandit":
        """Return a bandit for a table of all rewards.

        Args:
          rewards: `[n, K]` reward of every arm in every row.
          seen: contexts `[n, p]`, or features of the arms `[n, K, d]`; by default the arms are the unit vectors.
          **settings: values of other fields.

        Raises:
          InputError: if shapes do not match or an entry is not a finite number.
        """
        rewards = ranges.floats("rewards", rewards, "(n, K)")
        seen = None if seen is None else ranges.floats("seen", seen, "(n, p)", "(n, K, d)")
        rows.check_fits("seen", seen, *rewards.shape)
        made = cls(table=RewardTable(seen, rewards), **settings)
        validate(made)
        return made

    @classmethod
    def example(cls) -> "TableBandit":
        return cls.from_table(np.eye(6, 2) + 0.5, ["a", "b", "c", "c", "c", "a"])

    def check(self) -> None:
        """Raise InputError if the table is invalid or the order is unknown."""
        if not isinstance(self.table, RewardTable) or np.ndim(self.table.rewards) != 2:
            raise InputError("TableBandit.table must be a RewardTable, which from_table and from_rewards create")
        rows.check_fits("TableBandit.table.seen", self.table.seen, *np.shape(self.table.rewards))
        rows.check_order("order of TableBandit", self.order)
        rows.check_names("TableBandit.classes", self.classes, self.n_arms)
        if self.as_context and (self.table.seen is None or np.ndim(self.table.seen) != 2):
            raise InputError("TableBandit.as_context is for contexts of shape (n, p), but the table has none")

    def __repr__(self) -> str:
        """Return text with the sizes, the names of the classes, and the settings."""
        n, k = np.shape(self.table.rewards)
        arms = describe_names("classes", self.classes) if self.classes else count_of(k, "arm")
        return f"TableBandit({count_of(n, 'row')}; {arms}; {rows.describe(self)})"

    @property
    def n_arms(self) -> int:
        """K, number of arms."""
        return self.table.rewards.shape[1]

    @property
    def dim(self) -> int:
        """Dimension of the observation: p with `as_context`; otherwise d, the dimension of the arms.

        For contexts `[p]` it is d = K p, and without contexts d = K.
        """
        dim = rows.dim_of(self.table.seen, self.n_arms)
        return dim // self.n_arms if self.as_context else dim

    @property
    def reward_range(self) -> tuple[float, float]:
        """Smallest and largest reward in the table."""
        rewards = np.asarray(self.table.rewards)
        return float(rewards.min()), float(rewards.max())

    def init(self, key: jax.Array) -> Place:
        return rows.begin(key, self.order, self.table.rewards.shape[0])

    def observe(self, key: jax.Array, t: jax.Array, state: Place) -> ArmObs | ContextObs:
        del key, t
        if self.as_context:
            return ContextObs.of(jnp.asarray(self.table.seen)[state.row], self.n_arms)
        return rows.arms_of(self.table.seen, state, self.n_arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: Place, obs: ArmObs, decision: ArmDecision
    ) -> tuple[Place, Reward, TableOutcome]:
        del obs
        paid = jnp.asarray(self.table.rewards)[state.row].astype(jnp.result_type(float))
        reward, best = paid[decision.index], largest(paid)
        following = rows.follow(key, t, self.order, self.table.rewards.shape[0], state)
        return following, Reward(reward), TableOutcome(best - reward, reward, best, best - paid)

    def admits(self, state: Place, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return `fixed_arm_regret` (against the best arm of all rows), and `arm_reward`, the reward of every arm."""
        return {
            "fixed_arm_regret": values["regret"] - values["arm_regret"].min(axis=-1),
            "arm_reward": values["best_reward"][..., None] - values["arm_regret"],
        }
