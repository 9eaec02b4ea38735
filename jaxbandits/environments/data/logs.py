"""Logs: what was shown, which action was played, what it paid, and with which probability it was played.

    log = Log.from_frame(frame, action="ad", reward="clicked", propensity="p", context=["age", "hour"],
                         actions=["banner", "popup", "email"])

A number k stands for the k-th of `actions`, everywhere: in policies, in replays, in tables.
"""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.frames import Columns, constant_columns
from jaxbandits.base.labels import Labels, listed, number_labels
from jaxbandits.environments.data import rows

_STANDARD_ERRORS = 5.0  # between what propensities average to and what they must, before a warning
_MOST_ACTIONS = 10**6  # each has a name
_FEWEST = 50  # events from which that is looked at


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Log:
    """Events of a bandit in their order, on the host; made by `from_frame` or `from_arrays`.

    Attributes:
      action: `[n]` int32, number of the action that was played.
      reward: `[n]` float64, what it paid.
      propensity: `[n]` probability in (0, 1] with which it was played; None: unknown, taken for 1/K in replays.
      context: `[n, p]` contexts or `[n, K, d]` features of the actions; None: no context.
      actions: `[K]` names in their order.
      columns: `[p]` names of the columns of the context, if they have any.
      is_sorted_text: True if nobody chose the order of the names: it is alphabetical.
      order: `[n]` row of the frame, from 0, that each event was; None: the events are in the order of the rows.

    Raises:
      InputError: for shapes that do not fit and numbers out of range.
    """

    action: np.ndarray
    reward: np.ndarray
    actions: tuple[str, ...]
    propensity: np.ndarray | None = None
    context: np.ndarray | None = None
    columns: tuple[str, ...] = ()
    is_sorted_text: bool = False
    order: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check, and warn of what is possible and hardly meant."""
        n = len(self.reward)
        for name in ("action", "propensity"):
            part = getattr(self, name)
            if part is not None and part.shape != (n,):
                raise InputError(f"a log must have one entry an event: reward has {n}, {name} {part.shape}")
        if self.propensity is not None:
            ranges.check_range("propensity", self.propensity, "(0, 1]")
            _check_propensities(self.propensity, self.action, self.actions)
        rows.check_fits("context", self.context, n, self.n_actions)
        if self.context is not None and self.context.ndim == 2 and n > 1:
            for k, value in constant_columns(self.context):
                which = f"column {self.columns[k]!r}" if self.columns else f"column {k} (from 0)"
                warnings.warn(f"Log: {which} of the context is {value:g} in all {n:,} events", stacklevel=4)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        action: str,
        reward: str,
        propensity: str | None = None,
        context: Sequence[str] = (),
        actions: Sequence[Any] | None = None,
        time: str | None = None,
    ) -> "Log":
        """Take a log from a data frame, a row an event.

        Args:
          frame: of pandas, polars or pyarrow, or a mapping of arrays.
          action: column of the action that was played: names, or whole numbers such as ids.
          reward: column of what it paid.
          propensity: column of the probability with which it was played.
          context: columns of numbers that describe the event; none: no context. No other column is used.
          actions: all actions in their order, those that were never played too. None: the categories of a categorical
            column, whole numbers in their order; other text is sorted, which every table says, and must be given where
            the order matters.
          time: column of numbers or dates by which events are put in order; None: as they stand. Policies and models
            with a row for each event keep the order of the frame.

        Raises:
          InputError: for unknown columns, missing entries (with row and column), and values out of range.
        """
        columns = Columns(frame)
        labels = columns.labels("action", action, actions, "actions")
        contexts = columns.matrix("context", context) if _given(context) else None
        parts: dict[str, Any] = {
            "action": labels.numbers,
            "reward": columns.numbers("reward", reward),
            "propensity": None if propensity is None else columns.numbers("propensity", propensity),
            "context": contexts,
        }
        order = None if time is None else _order(columns.column("time", time))
        if order is not None:
            parts = {name: part if part is None else part[order] for name, part in parts.items()}
        names = tuple(map(str, context)) if contexts is not None else ()
        return cls(**parts, actions=labels.names, columns=names, is_sorted_text=labels.is_sorted_text, order=order)

    @classmethod
    def from_arrays(
        cls,
        action: Any,
        reward: Any,
        propensity: Any = None,
        context: Any = None,
        *,
        actions: Sequence[Any] | int | None = None,
    ) -> "Log":
        """Take a log from arrays.

        Args:
          action: `[n]` names, or whole numbers.
          reward: `[n]` what they paid.
          propensity: `[n]` probabilities with which they were played; None: unknown.
          context: `[n, p]` contexts or `[n, K, d]` features of the actions.
          actions: as in `from_frame`; or K, when `action` holds numbers from 0 to K - 1, or names in sorted order.

        Raises:
          InputError: for shapes that do not fit, missing entries and values out of range.
        """
        labels = number_actions(action, actions)
        return cls(
            action=labels.numbers,
            reward=ranges.floats("reward", reward, "(n,)"),
            propensity=None if propensity is None else ranges.floats("propensity", propensity, "(n,)"),
            context=None if context is None else ranges.floats("context", context, "(n, p)", "(n, K, d)"),
            actions=labels.names,
            is_sorted_text=labels.is_sorted_text,
        )

    def __len__(self) -> int:
        """Return n, the number of events."""
        return len(self.reward)

    def __repr__(self) -> str:
        """Return sizes, the actions in their order, and ranges."""
        order = " in alphabetical order" if self.is_sorted_text else ""
        parts = [f"{len(self):,} events", f"{self.n_actions:,} actions{order}: {listed(self.actions)}"]
        parts.append(f"mean reward {self.reward.mean():.4g} in [{self.reward.min():g}, {self.reward.max():g}]")
        if self.propensity is not None:
            parts.append(f"propensity in [{self.propensity.min():.3g}, {self.propensity.max():.3g}]")
        if self.context is not None:
            parts.append(f"context {listed(self.columns) if self.columns else self.context.shape[1:]}")
        return f"Log({'; '.join(parts)})"

    @property
    def n_actions(self) -> int:
        """K, the number of actions."""
        return len(self.actions)

    @property
    def counts(self) -> np.ndarray:
        """`[K]` events with each action."""
        return np.bincount(self.action, minlength=self.n_actions)


def number_actions(
    action: Any, actions: Any = None, name: str = "action", count: str = "the number of actions"
) -> Labels:
    """Number the actions of events.

    Args:
      action: `[n]` names or whole numbers.
      actions: all actions in their order; or K: whole numbers from 0 to K - 1 are what they are, K other ones are
        numbered in their order; None: as `labels.number_labels`.
      name: what errors call `action`.
      count: what errors call K.

    Raises:
      InputError: for entries that are none, and where fewer or more than K occur and no order is given.
    """
    is_count = isinstance(actions, (int, np.integer)) and not isinstance(actions, bool)
    if not is_count:
        names: Any = actions
        return number_labels(name, action, names, "actions")
    n_actions = ranges.integer(count, actions, f"[1, {_MOST_ACTIONS}]")
    labels = number_labels(name, action)
    fraction = next((text for text in labels.names if not labels.is_text and "." in text), None)
    if fraction is not None:
        raise InputError(f"{name} must hold names or whole numbers, got {fraction}")
    if not labels.is_text and all(text.isdigit() and int(text) < n_actions for text in labels.names):
        positions = np.array([int(text) for text in labels.names], np.int32)
        return Labels(positions[labels.numbers], tuple(map(str, range(n_actions))))
    if len(labels.names) != n_actions:
        raise InputError(
            f"{name} has {len(labels.names)} different actions ({listed(labels.names)}), but {count} is {n_actions}: "
            f"give all of them in their order, actions=[...], or number them from 0 to {n_actions - 1}"
        )
    return labels


def _given(context: Any) -> bool:
    if isinstance(context, str) or not isinstance(context, Sequence):
        raise InputError(f"context must be a list of columns, got {format_value(context)}")
    return len(context) > 0


def _order(column: Any) -> np.ndarray:
    """Return the rows in the order of a column of numbers or dates; equal ones as they stand."""
    array = np.asarray(column)
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise InputError(f"time must have no missing entries, but {ranges.place(np.isnat(array))} is missing")
        return np.argsort(array, kind="stable")
    return np.argsort(ranges.floats("time", column, "(n,)"), kind="stable")


def _check_propensities(propensity: np.ndarray, action: np.ndarray, actions: tuple[str, ...]) -> None:
    """Warn where the mean of 1/p is not what it must be: the number of actions that can be played.

    It lies between the number of actions in the log and that of all of them.
    """
    n, inverse, logged = len(propensity), 1.0 / propensity, len(np.unique(action))
    error = inverse.std() / np.sqrt(n)
    away = max(inverse.mean() - len(actions), logged - inverse.mean())
    if n < _FEWEST or away <= _STANDARD_ERRORS * error + 1e-6:
        return
    warnings.warn(
        f"Log: 1/propensity averages {inverse.mean():.3g} (standard error {error:.2g}), but with the probabilities of "
        f"the actions that were played it averages the number of playable ones; there are {len(actions)} actions, "
        f"{logged} of them in the log",
        stacklevel=5,
    )
