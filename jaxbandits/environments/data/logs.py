"""Logs of bandits: contexts, actions, rewards and the probabilities (propensities) of the actions.

    log = Log.from_frame(frame, action="ad", reward="clicked", propensity="p", context=["age", "hour"],
                         actions=["banner", "popup", "email"])

In policies, replays and tables, actions are numbered 0, ..., K - 1 in the order of `actions`.
"""

import dataclasses
import datetime
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.frames import Columns, constant_columns
from jaxbandits.base.labels import Labels, describe_names, number_labels, shorten, warn_if_distinct
from jaxbandits.base.pytree import Fields
from jaxbandits.base.text import count_of
from jaxbandits.environments.data import rows

_STANDARD_ERRORS = 5.0  # largest deviation of a mean from its expectation, in standard errors, without a warning
_UNSEEN = 15.0  # an event with this expected number of occurrences is absent with probability 3e-7 (5 standard errors)
_ROUNDING = 0.02  # relative rounding error that propensities may have
_MOST_ACTIONS = 10**6  # largest number of actions, since each action has a name
_FEWEST = 50  # smallest number of events for which propensities are checked


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Log:
    """Sequence of the events of a bandit, stored on the host; constructed by `from_frame` or `from_arrays`.

    Attributes:
      action: `[n]` int32, index of the action that was played.
      reward: `[n]` float64, reward of this action.
      propensity: `[n]` probability in (0, 1] with which this action was drawn; None if unknown, which replays treat as
        1/K.
      context: `[n, p]` contexts or `[n, K, d]` features of the actions; None for no context.
      actions: `[K]` names; `actions[k]` is the name of action k.
      columns: `[p]` names of the columns of the context; empty if they have no names.
      is_sorted_text: True if the names are in alphabetical order because no order was given.
      order: `[n]` row of each event in the data frame, from 0; None if the events are in the order of the rows.

    Raises:
      InputError: if shapes do not match or a number is out of range.
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
        """Check the arrays, and warn about values that are valid but probably not intended."""
        n = len(self.reward)
        for name in ("action", "reward", "propensity"):
            part = getattr(self, name)
            if part is not None and part.shape != (n,):
                raise InputError(
                    f"a log must have one entry per event: reward has {n}, but {name} has shape {part.shape}"
                )
        ranges.check_range("reward", self.reward, "(-inf, inf)")
        if self.propensity is not None:
            ranges.check_range("propensity", self.propensity, "(0, 1]")
            _check_propensities(self.propensity, self.action, self.actions)
        rows.check_fits("context", self.context, n, self.n_actions)
        warn_if_distinct("Log", "events", n, "actions", int(np.count_nonzero(self.counts)))
        if self.is_sorted_text and self.context is not None and self.context.ndim == 3:
            warnings.warn(
                "Log: the arms of context [n, K, d] are assumed to be the "
                f"{describe_names('actions', self.actions)}: pass actions=[...] in the order of the arms",
                stacklevel=4,
            )
        if self.context is not None and self.context.ndim == 2 and n > 1:
            for k, value in constant_columns(self.context):
                which = f"column {self.columns[k]!r}" if self.columns else f"column {k} (from 0)"
                warnings.warn(f"Log: {which} of the context is {value:g} in all {n:,} events", stacklevel=4)

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        action: str,
        reward: str,
        propensity: str | None = None,
        context: Sequence[str] = (),
        actions: Sequence[Any] | None = None,
        time: str | None = None,
    ) -> "Log":
        """Return the log of a data frame with one event per row.

        Args:
          frame: a pandas, polars or pyarrow data frame, or a mapping of arrays.
          action: name of the column with the actions that were played, which are names or whole numbers such as ids.
          reward: name of the column with the rewards of these actions.
          propensity: name of the column with the probabilities with which these actions were drawn.
          context: names of the columns of the context, which contain numbers; an empty list means no context. Other
            columns are not used.
          actions: all actions, in the order of their numbers 0, ..., K - 1, including actions that were never played.
            By default, they are the categories of a categorical column; otherwise whole numbers in ascending order, or
            text in alphabetical order, which tables then mention. Pass the actions if their order matters.
          time: name of a column of numbers or dates by which events are sorted; by default they are in the order of the
            rows. Policies and models with one row per event must still be in the order of the frame.

        Raises:
          InputError: if a column is unknown, an entry is missing (the message names row and column), or a value is out
            of range.
        """
        columns = Columns(frame)
        labels = columns.labels("action", action, actions, "actions")
        contexts = columns.matrix("context", context) if _has_columns(context) else None
        parts: Fields = {
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
        reward: object,
        propensity: object = None,
        context: object = None,
        *,
        actions: Sequence[Any] | int | None = None,
    ) -> "Log":
        """Return a log that is made from arrays.

        Args:
          action: `[n]` actions that were played, as names or whole numbers.
          reward: `[n]` rewards of these actions.
          propensity: `[n]` probabilities with which these actions were drawn; None if unknown.
          context: `[n, p]` contexts or `[n, K, d]` features of the actions; None for no context.
          actions: all actions in the order of their numbers, as in `from_frame`; or their number K, if `action`
            contains numbers from 0 to K - 1 or all K names, which are then sorted.

        Raises:
          InputError: if shapes are inconsistent, an entry is missing, or a value is out of range.
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
        """Return text with the sizes, the names of the actions, and the ranges of the numbers."""
        parts = [count_of(len(self), "event"), describe_names("actions", self.actions)]
        parts.append(f"mean reward {self.reward.mean():.4g} in [{self.reward.min():g}, {self.reward.max():g}]")
        if self.propensity is not None:
            parts.append(f"propensity in [{self.propensity.min():.3g}, {self.propensity.max():.3g}]")
        if self.context is not None:
            parts.append(f"context {shorten(self.columns) if self.columns else self.context.shape[1:]}")
        return f"Log({'; '.join(parts)})"

    @property
    def n_actions(self) -> int:
        """K, number of actions."""
        return len(self.actions)

    @property
    def counts(self) -> np.ndarray:
        """Number of events with each action, `[K]`."""
        return np.bincount(self.action, minlength=self.n_actions)


def number_actions(
    action: Any, actions: Any = None, name: str = "action", count: str = "the number of actions"
) -> Labels:
    """Return the index of each event's action, and the names of the actions, as `Labels`.

    Args:
      action: `[n]` actions of the events, as names or whole numbers.
      actions: all actions, in the order of their numbers; or their number K, in which case whole numbers from 0 to K -
        1 are used unchanged, and other values are numbered in sorted order; or None, as in `labels.number_labels`.
      name: name of `action` in error messages.
      count: name of K in error messages.

    Raises:
      InputError: if an entry is invalid, or if only K is given and the number of different entries is not K.
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
            f"{name} has {len(labels.names)} different actions ({shorten(labels.names)}), but {count} is "
            f"{n_actions}: pass actions=[...] with all of them in order, or number them from 0 to {n_actions - 1}"
        )
    return labels


def _has_columns(context: object) -> bool:
    if isinstance(context, str) or not isinstance(context, Sequence):
        raise InputError(f"context must be a list of column names, got {format_value(context)}")
    return len(context) > 0


def _order(column: Any) -> np.ndarray:
    """Return the order of the rows that sorts a column of numbers or dates; the sort is stable."""
    array = np.asarray(column)
    is_whole = array.dtype.kind in "iu" or (array.dtype == object and all(map(ranges.is_whole, array.flat)))
    if is_whole and array.ndim == 1 and array.size and not np.ma.is_masked(column):
        return np.argsort(array, kind="stable")  # nanoseconds since 1970 are not exact in float64
    is_date = array.dtype.kind == "M"
    missing = np.isnat(array) if is_date else np.array([ranges.is_missing(entry) for entry in array.flat], bool)
    if array.dtype.kind not in "MO" or not (is_date or ranges.holds_dates(array[~missing])):
        return np.argsort(ranges.floats("time", column, "(n,)"), kind="stable")
    if missing.any():
        raise InputError(f"time must have no missing entries, but {ranges.place(missing)} is missing")
    if not is_date:  # dates in the same time zone compare by wall-clock time, in which one hour occurs twice a year
        instants = [when.astimezone(datetime.UTC) if getattr(when, "tzinfo", None) else when for when in array]
        array = np.fromiter(instants, object, len(array))
    try:
        return np.argsort(array, kind="stable")
    except TypeError as error:
        raise InputError(f"time must be dates that can be compared: {error}") from None


def _check_propensities(propensity: np.ndarray, action: np.ndarray, actions: tuple[str, ...]) -> None:
    """Warn if the propensities cannot be the probabilities with which the actions were drawn.

    For correct propensities, the mean of 1{action = a} / p over events has the expectation P(a may be played) <= 1, and
    the expectation of the mean of 1/p is the mean number of actions that may be played, which is at most K. Moreover,
    for each event with p > 1/2 there are on average (1 - p) / p events with other actions, whose propensities are below
    1/2.
    """
    n, k, inverse = len(propensity), len(actions), 1.0 / propensity
    if n < _FEWEST:
        return
    mean, sums, squares = inverse.mean(), *(np.bincount(action, terms, k) for terms in (inverse, inverse**2))
    error, errors = inverse.std() / np.sqrt(n), np.sqrt(np.maximum(squares / n - (sums / n) ** 2, 0.0) / n)
    others = np.sum(inverse[propensity > 0.5] - 1.0)
    has_too_few_others = others - np.count_nonzero(propensity < 0.5) > _STANDARD_ERRORS * np.sqrt(others)
    above = sums / n - 1.0 - _margin(1.0, errors, n)
    worst = int(np.argmax(above))
    if has_too_few_others or mean > k + _margin(k, error, n):
        what = (
            f"the mean of 1/propensity is {mean:.3g} (standard error {error:.2g}); if the propensities were the "
            "probabilities of the actions that were played, it would be about the number of actions that can be "
            f"played, but there are {k} actions, {np.count_nonzero(sums)} of them in the log"
        )
    elif above[worst] > 0.0:
        what = (
            f"1/propensity, summed over the events with action {actions[worst]!r} and divided by all {n:,}, is "
            f"{sums[worst] / n:.3g} (standard error {errors[worst]:.2g}); if the propensities were the "
            "probabilities of the actions that were played, it would be at most about 1"
        )
    else:
        return
    warnings.warn(f"Log: {what}", stacklevel=5)


def _margin(expected: float, error: Any, n: int) -> Any:
    """Return the largest excess of a mean of n terms 1{..} / p over its expectation for which no warning is issued.

    The margin has three parts. The first is 5 standard errors: since the terms are skewed to the right, the mean rarely
    exceeds its expectation by 5 of its estimated standard errors. The second covers p > 1/2, where the rare terms are
    0: up to `_UNSEEN` such terms may be absent with probability 3e-7, and each of them would change the sum by at most
    2. The third is 2 % for rounded propensities, such as 0.33 for 1/3.
    """
    return _STANDARD_ERRORS * error + 2.0 * _UNSEEN / n + _ROUNDING * expected
