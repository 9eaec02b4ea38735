"""Group DRO on the rows of a labelled table, where the risk of a group is its mean loss.

    iid:   a row of group i is drawn uniformly, with replacement
    once:  every trial visits the rows of each group once, in a random order

The risk $R_i$ is the mean loss over all rows of group i. If `held_out` rows of every group are set aside, $R_i$ is the
mean loss over these rows, and the draws are from the other rows.
"""

import itertools
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, shared, static
from jaxbandits.domains.points import Point
from jaxbandits.environments.datasets.groups import Groups
from jaxbandits.environments.dro import draws, group_losses
from jaxbandits.numerics import rng
from jaxbandits.types import Gradient, GroupDecision

_ORDERS = ("iid", "once")
_BLOCK = 4096  # rows whose losses are evaluated together at record points


class Rows(NamedTuple):
    """Rows of the table, sorted by group; all trials share one copy."""

    features: ArrayLike  # [n, d]
    labels: ArrayLike  # [n]


class GroupDataState(NamedTuple):
    """Order of the rows in a trial, and number of rows drawn."""

    order: jax.Array | None  # [n] int32, rows sorted by group, held-out rows first; None for "iid" without held_out
    met: jax.Array | None  # [m] int32, number of rows drawn from each group; None unless the order is "once"


class GroupDataOutcome(NamedTuple):
    """Metrics of a round, which the run sums."""

    samples: jax.Array  # []  number of rows drawn
    group_samples: jax.Array  # [m]  number of rows drawn from each group
    overdrawn: jax.Array  # [m]  number of these rows that were reused because the group had no unused row
    loss: jax.Array  # []  mean loss of these rows at w_t


@pytree
class GroupData:
    """Labelled table with groups, constructed by `from_table` from a table of `environments.datasets`.

    A model is a vector `[d]` for linear losses, and any pytree of arrays for the loss `Custom`.

    The summed metrics are `samples`, `group_samples` [m], `loss` and `overdrawn` [m]. At record points, the metrics of
    a recommendation (w, q) are `risk` [m], `max_risk` and `mean_risk`, with `top_k` > 1 also `top_k_risk`, and with
    `weights` b also `weighted_max_risk`.

    With the order "once", a group whose rows have all been drawn starts again from its first row. The repeated draws
    are counted in `overdrawn`. A round with a repeated draw is inadmissible, and summaries warn of inadmissible rounds.
    """

    source: ClassVar[str] = (
        "your own labelled rows with groups, and UCI Adult; Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 7"
    )
    axes: ClassVar = draws.AXES | {"overdrawn": ("group",)}
    units: ClassVar = draws.units(("overdrawn",))
    rows: Rows = shared(doc="rows, sorted by group (constructed by from_table)")
    sizes: tuple[int, ...] = static(range="[1, inf)", doc="[m] number of rows of each group")
    names: tuple[str, ...] = static(doc="[m] names of the groups")
    dataset: str = static("user", doc="name of the data in figures")
    loss: Any = param(factory=group_losses.Logistic, doc="loss of a row: Logistic, Squared, Hinge or Custom")
    order: str = static("iid", doc='"iid" (with replacement) or "once" (in a random order)')
    held_out: int = static(
        0,
        "[0, inf)",
        doc="number of rows per group that are held out to compute risks; 0 to compute them from all rows",
    )
    top_k: int = static(1, "[1, inf)", doc="k, number of largest risks that are averaged")
    weights: ArrayLike | None = param(None, "(0, inf)", "[m] b, factors of the risks; None for 1")
    loss_scale: ArrayLike = param(1.0, "(0, inf)", "factor of losses, gradients and risks")

    @classmethod
    def from_table(cls, table: Groups, **settings: FieldValue) -> "GroupData":
        """Return the environment for a table, which the loaders of `environments.datasets.groups` return.

        Args:
          table: features, labels and groups. For a loss with signed labels, there must be two distinct labels, which
            are mapped to -1 and 1 in ascending order.
          **settings: values of other fields.

        Raises:
          InputError: if the labels or a setting are invalid.
        """
        if not isinstance(table, Groups):
            raise InputError(f"table must be a Groups object, got {type(table).__name__}")
        by_group = np.concatenate(table.rows())
        signed = getattr(settings.get("loss", group_losses.Logistic()), "signed", False)
        labels = group_losses.signed_labels(table.labels) if signed else table.labels
        return cls(
            rows=Rows(table.features[by_group], labels[by_group]),
            sizes=tuple(map(int, table.sizes)),
            names=table.names,
            dataset=table.source,
            **settings,
        )

    @classmethod
    def example(cls) -> "GroupData":
        return cls.from_table(Groups.from_arrays(np.eye(8, 3), [0, 1, 1, 0, 1, 0, 1, 0], [0, 0, 1, 1, 2, 2, 3, 3]))

    def check(self) -> None:
        """Raise `InputError` if fields are inconsistent."""
        if not isinstance(self.rows, Rows):
            raise InputError(
                f"GroupData.rows must be a Rows object, which from_table creates, got {type(self.rows).__name__}"
            )
        shapes = [np.shape(part) for part in self.rows]
        if len(shapes[0]) != 2 or not shapes[0][1] or shapes != [(sum(self.sizes), shapes[0][1]), (sum(self.sizes),)]:
            raise InputError(
                f"GroupData.rows must have features [n, d] and labels [n] with n = {sum(self.sizes)}, got shapes "
                f"{shapes}"
            )
        if not isinstance(self.names, tuple) or list(map(type, self.names)) != [str] * len(self.sizes):
            raise InputError(
                f"GroupData.names must be a tuple of the names of {len(self.sizes)} groups, got "
                f"{format_value(self.names)}"
            )
        if not isinstance(self.dataset, str) or not self.dataset:
            raise InputError(f"GroupData.dataset must be the name of the data, got {format_value(self.dataset)}")
        if self.order not in _ORDERS:
            raise unknown_name("order of GroupData", self.order, _ORDERS)
        least = int(np.argmin(self.sizes))
        if self.sizes[least] <= self.held_out:
            raise InputError(
                f"GroupData.held_out must leave at least one row in every group, but {self.names[least]!r} has only "
                f"{self.sizes[least]}"
            )
        for member in ("values", "gradients", "signed", "linear"):
            if not hasattr(self.loss, member):
                raise InputError(f"GroupData.loss must have {member!r}, which {type(self.loss).__name__} lacks")
        if self.loss.signed and not np.isin(self.rows.labels, (-1.0, 1.0)).all():
            raise InputError("GroupData.rows must have labels -1 and 1 for this loss (see from_table)")
        draws.check_objective("GroupData", self.n_groups, self.top_k, self.weights)

    @property
    def n_groups(self) -> int:
        """m, number of groups."""
        return len(self.sizes)

    @property
    def dim(self) -> int | None:
        """Dimension d of a linear model; None if the loss is not linear."""
        return self.rows.features.shape[1] if self.loss.linear else None

    @property
    def budgets(self) -> tuple[int, ...]:
        """Number n_i of rows of each group that may be drawn, `[m]`."""
        return tuple(size - self.held_out for size in self.sizes)

    def init(self, key: jax.Array) -> GroupDataState:
        if self.order == "iid" and not self.held_out:
            return GroupDataState(None, None)
        keys = jax.random.split(key, self.n_groups)
        parts = [
            first + jax.random.permutation(keys[i], jnp.arange(size, dtype=jnp.int32))
            for i, (first, size) in enumerate(zip(self._firsts, self.sizes, strict=True))
        ]
        met = jnp.zeros(self.n_groups, jnp.int32) if self.order == "once" else None
        return GroupDataState(jnp.concatenate(parts), met)

    def observe(self, key: jax.Array, t: jax.Array, state: GroupDataState) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: GroupDataState, obs: None, decision: GroupDecision
    ) -> tuple[GroupDataState, Gradient, GroupDataOutcome]:
        del t, obs
        row = self._draw_rows(key, state, decision)
        x, y = jnp.asarray(self.rows.features)[row], jnp.asarray(self.rows.labels)[row]
        loss, grad = self.loss.gradients(decision.play, x, y)
        drawn = draws.drawn_of(decision)
        factor = self.loss_scale * drawn
        loss = loss * factor
        grad = jax.tree.map(lambda leaf: group_losses.scaled_rows(leaf, factor), grad)
        counts, over = draws.counts(decision, self.n_groups), jnp.zeros(self.n_groups)
        if state.met is not None:
            over = self._overdrawn(state.met, counts)
            state = state._replace(met=state.met + counts.astype(jnp.int32))
        samples = jnp.sum(drawn)
        mean = jnp.sum(loss) / jnp.maximum(samples, 1.0)
        return state, Gradient(loss=loss, grad=grad), GroupDataOutcome(samples, counts, over, mean)

    def admits(self, state: GroupDataState, obs: None, decision: GroupDecision) -> jax.Array:
        """Return True if all group indices are in range and, with the order "once", no group runs out of rows."""
        del obs
        exist = draws.groups_exist(decision.group, self.n_groups)
        if state.met is None:
            return exist
        return exist & (jnp.sum(self._overdrawn(state.met, draws.counts(decision, self.n_groups))) == 0)

    def at_record(self, state: GroupDataState, recommendation: tuple[Point, jax.Array] | None) -> dict[str, jax.Array]:
        if recommendation is None:
            return {}
        return draws.measures(self.risks(state, recommendation[0]), self.top_k, self.weights)

    def risks(self, state: GroupDataState, w: Point) -> jax.Array:
        """Return the mean losses `[m]` of a model over the held-out rows of each group, or over all rows."""
        each = zip(self._firsts, self.sizes, strict=True)
        if not self.held_out or state.order is None:
            return self.loss_scale * jnp.stack([self._mean_loss(w, first, size) for first, size in each])
        chosen = jnp.stack([state.order[first : first + self.held_out] for first, _ in each]).ravel()
        x, y = jnp.asarray(self.rows.features)[chosen], jnp.asarray(self.rows.labels)[chosen]
        values = self.loss.values(w, x, y).reshape(self.n_groups, self.held_out)
        return self.loss_scale * jnp.mean(values, axis=1)

    @property
    def _firsts(self) -> tuple[int, ...]:
        return (0, *itertools.accumulate(self.sizes[:-1]))

    def _draw_rows(self, key: jax.Array, state: GroupDataState, decision: GroupDecision) -> jax.Array:
        """Return the row numbers `[Q]` of a decision."""
        group = decision.group
        budget = draws.per_group(np.asarray(self.budgets, np.int32), group)
        first = draws.per_group(np.asarray(self._firsts, np.int32) + np.int32(self.held_out), group)
        if state.met is None:
            place = rng.randints(key, budget, len(group))
        else:
            met = draws.per_group(state.met, group) + draws.places(decision, self.n_groups).astype(jnp.int32)
            place = lax.rem(met, jnp.broadcast_to(budget, met.shape))
        row = first + place
        return row if state.order is None else state.order[row]

    def _overdrawn(self, met: jax.Array, counts: jax.Array) -> jax.Array:
        """Return for each group how many of its `counts` next rows exceed its budget, `[m]`."""
        left = jnp.maximum(jnp.asarray(self.budgets, jnp.int32) - met, 0)
        return jnp.maximum(counts - left.astype(counts.dtype), 0.0)

    def _mean_loss(self, w: Point, first: int, size: int) -> jax.Array:
        """Return the mean loss over consecutive rows, block by block, so that memory for one block suffices."""
        block = min(size, _BLOCK)
        features, labels = jnp.asarray(self.rows.features), jnp.asarray(self.rows.labels)

        def add(i: jax.Array, total: jax.Array) -> jax.Array:
            start = jnp.minimum(first + i * block, first + size - block)
            fresh = jnp.arange(block) >= first + i * block - start  # the last block may overlap the one before it
            x, y = (lax.dynamic_slice_in_dim(part, start, block) for part in (features, labels))
            return total + jnp.sum(jnp.where(fresh, self.loss.values(w, x, y), 0.0))

        return lax.fori_loop(0, -(-size // block), add, jnp.zeros((), float)) / size
