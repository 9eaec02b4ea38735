"""Logs in the formats of the Open Bandit Pipeline (obp) and of Vowpal Wabbit.

Logs of obp are dictionaries of arrays (obp 0.5, `obp.dataset`). The text format of Vowpal Wabbit has one line per event

    action:cost:probability | name:value name:value ...

where actions are numbered from 1 and the cost is the negative reward. If actions have features (`--cb_adf`), an event
has one line per action; a line `shared | ...` with the context, if any, precedes them, and an empty line follows.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.base import files, ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.environments.data.logs import Log

_BLANKS = re.compile(r"[ \t]+")  # characters between features; other blanks of Unicode may be part of a name
_MOST_FEATURES = 10_000  # largest number of features in a file; files with more contain hashed text
_NOT_IN_NAMES = str.maketrans(dict.fromkeys(" :|\t\n\r", "_"))


def log_from_obp(feedback: Mapping[str, Any], *, position: int | None = None) -> Log:
    """Convert a `bandit_feedback` of obp to a `Log`.

    Args:
      feedback: dictionary with `action` and `reward` `[n]` and `n_actions`, and optionally `pscore` `[n]`, `context`
        `[n, p]` and `position` `[n]`; other entries are not used.
      position: position whose events are returned; required if `feedback` has several positions, because rewards depend
        on the position.

    Raises:
      InputError: for missing entries, inconsistent shapes, a number of actions that is not whole, an unknown position,
        or several positions if `position` is None.
    """
    if not isinstance(feedback, Mapping):
        raise InputError(f"feedback must be a dictionary in the format of obp, got {format_value(feedback)}")
    for name in ("action", "reward", "n_actions"):
        if feedback.get(name) is None:
            raise InputError(f"feedback lacks {name!r}")
    columns = {name: feedback.get(name) for name in ("action", "reward", "pscore", "context")}
    positions = feedback.get("position")
    if positions is not None:
        if np.shape(positions) != np.shape(columns["action"]):
            raise InputError(
                f"feedback must have one position per event: action has shape {np.shape(columns['action'])}, but "
                f"position has shape {np.shape(positions)}"
            )
        found = np.unique(positions).tolist()
        if position is None and len(found) > 1:
            raise InputError(
                f"feedback has the positions {', '.join(map(str, found))}: choose one, such as position={found[0]}"
            )
        if position is not None:
            if not ranges.is_whole(position) or position not in found:
                raise InputError(f"position must be one of {', '.join(map(str, found))}, got {format_value(position)}")
            rows = np.asarray(positions) == position
            columns = {name: None if x is None else np.asarray(x)[rows] for name, x in columns.items()}
    n_actions = ranges.integer("n_actions of feedback", feedback["n_actions"])
    return Log.from_arrays(
        columns["action"], columns["reward"], columns["pscore"], columns["context"], actions=n_actions
    )


def log_to_obp(log: Log) -> dict[str, Any]:
    """Convert a log to a `bandit_feedback` of obp.

    A log without a context receives the constant context 1, because obp needs a context. If the log has no
    propensities, `pscore` is None.

    Raises:
      InputError: if the log has a context `[n, K, d]`, which the format of obp cannot represent.
    """
    if log.context is not None and log.context.ndim == 3:
        raise InputError("obp cannot store features of actions that change from event to event (context [n, K, d])")
    n = len(log)
    return {
        "n_rounds": n,
        "n_actions": log.n_actions,
        "action": log.action.astype(np.int64),
        "position": None,
        "reward": log.reward,
        "pscore": log.propensity,
        "context": np.ones((n, 1)) if log.context is None else log.context,
        "action_context": np.eye(log.n_actions),
        "expected_reward": None,
    }


def write_vw(log: Log, path: str | os.PathLike[str]) -> None:
    """Write a log as text for Vowpal Wabbit, for `--cb K`, or for `--cb_adf` if actions have features.

    In column names, spaces, tabs, line ends, `:` and `|` become `_`. The events of a log without a context have the
    feature `one` = 1, which `read_vw` returns as a context.

    Raises:
      InputError: if the log has no propensities, if the replacement gives two columns the same name, or if the path
        cannot be written.
    """
    if log.propensity is None:
        raise InputError("the log has no propensities, which Vowpal Wabbit needs")
    names = [name.translate(_NOT_IN_NAMES) for name in log.columns]
    for j, name in enumerate(names):
        if name in names[:j]:
            first, second = log.columns[names.index(name)], log.columns[j]
            raise InputError(f"columns {first!r} and {second!r} have the same name in the file, {name}: rename one")
    lines = []
    for i, (action, reward, propensity) in enumerate(zip(log.action, log.reward, log.propensity, strict=True)):
        cost = f"{-float(reward) + 0.0!r}:{float(propensity)!r}"  # + 0.0 turns -0.0 into 0.0
        if log.context is None or log.context.ndim == 2:
            features = "one:1" if log.context is None else _features(log.context[i], names)
            lines.append(f"{action + 1}:{cost} | {features}")
        else:
            for k, row in enumerate(log.context[i]):
                lines.append(f"{f'0:{cost} ' if k == action else ''}| {_features(row, names)}")
            lines.append("")
    files.write_atomically(files.path_of(path), ("\n".join(lines) + "\n").encode())


def _features(row: np.ndarray, names: list[str]) -> str:
    return " ".join(f"{names[j] if names else f'x{j}'}:{float(value)!r}" for j, value in enumerate(row))


def read_vw(path: str | os.PathLike[str], *, n_actions: int | None = None) -> Log:
    """Read a log from a text file for Vowpal Wabbit's contextual bandits.

    Each feature becomes a column of the context, which is 0 for events without the feature. The column name includes
    the namespace, as in `user^age`. A feature without a value counts as 1. The features of a `shared` line become
    columns of every action. As in Vowpal Wabbit, the values of a feature that occurs several times are added. Action k
    of the file is action k - 1 of the log.

    Args:
      path: path of the file.
      n_actions: K, number of actions; None: the largest action in the file, or the number of action lines per event.

    Raises:
      InputError: for an invalid label, several costs in an event, events with different numbers of actions, namespaces
        with weights, or more than 10,000 features; the message names the line at fault, if there is one.
    """
    text = read_lines(path)
    events, columns = [], {}
    is_adf = any(line.startswith(("shared", "|")) or line.startswith("0:") for line in text)
    for number, lines in _blocks(text, is_adf):
        events.append(_read_event(number, lines, columns, is_adf))
    return log_of_events(path, events, columns, is_adf, n_actions)


def read_lines(path: str | os.PathLike[str]) -> list[str]:
    """Return the lines of a text file, without the characters that end them.

    Raises:
      InputError: if the file does not exist, cannot be read, or is not encoded in UTF-8.
    """
    file = files.path_of(path)
    try:
        text = file.read_bytes().decode()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {number}: not encoded in UTF-8") from None
    # Not `splitlines`, which also splits at characters that names and texts may contain, such as U+2028.
    return [line.removesuffix("\r") for line in text.split("\n")]


def log_of_events(
    path: str | os.PathLike[str],
    events: list["Event"],
    columns: Mapping[str, int],
    is_adf: bool,
    n_actions: int | None = None,
) -> Log:
    """Return the log of the events of a file.

    Args:
      path: path of the file, for messages.
      events: the events in the order of the file.
      columns: dict from the name of a feature to its column.
      is_adf: True if each action has features, False if an event has features that all actions share.
      n_actions: K, number of actions; None: the smallest number that fits the events.

    Raises:
      InputError: if there are no events, if events have different numbers of actions, or if `n_actions` does not fit.
    """
    if not events:
        raise InputError(f"{path} has no events")
    counts = {event.n_actions for event in events}
    if is_adf and len(counts) > 1:
        raise InputError(
            f"{path}: events have {min(counts)} to {max(counts)} actions, but all events of a log must have the "
            "same number of actions"
        )
    k = counts.pop() if is_adf else max(*counts, 1 + max(event.action for event in events))
    if n_actions is not None:
        k = ranges.integer("n_actions", n_actions, f"[{k}, {k}]" if is_adf else f"[{k}, inf)")
    names = tuple(columns)
    rows = [_row(event.features[j], columns) for event in events for j in range(len(event.features))]
    shape = (len(events), k, len(names)) if is_adf else (len(events), len(names))
    context = np.array(rows).reshape(shape) if names else None
    return Log(
        action=np.array([event.action for event in events], np.int32),
        reward=np.array([event.reward for event in events]),
        propensity=np.array([event.propensity for event in events]),
        context=context,
        actions=tuple(map(str, range(k))),
        columns=names,
    )


class Event(NamedTuple):
    """Event of a log, as read from a file."""

    action: int
    reward: float
    propensity: float
    features: list[dict[str, float]]  # features of the event (one dict), or of each action
    n_actions: int  # 0 if the number of actions does not follow from the event


def _blocks(text: list[str], is_adf: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield for each event the number of its first line, and its lines."""
    block: list[str] = []
    for number, line in enumerate([*text, ""], start=1):
        if line.strip():
            block.append(line)
            if is_adf:
                continue
        if block:
            yield number - len(block) + (line.strip() != ""), block
            block = []


def _read_event(number: int, lines: list[str], columns: dict[str, int], is_adf: bool) -> Event:
    shared: dict[str, float] = {}
    features, labels = [], []
    for shift, line in enumerate(lines):
        where = f"line {number + shift}"
        label, bar, rest = line.partition("|")
        if not bar:
            raise InputError(f"{where} has no features; the format is action:cost:probability | name:value ...")
        found = _read_features(where, rest, columns)
        if is_adf and label.split()[:1] == ["shared"]:
            shared = found
            continue
        costs = [entry for entry in label.split() if ":" in entry]
        if costs:
            labels += [(where, len(features), entry) for entry in costs]
        features.append(found)
    if len(labels) != 1:
        raise InputError(f"line {number}: an event needs one action:cost:probability, got {len(labels)}")
    where, position, entry = labels[0]
    parts = entry.split(":")
    try:
        action, cost, propensity = int(parts[0]), float(parts[1]), float(parts[2])
    except (ValueError, IndexError):
        raise InputError(f"{where}: {entry!r} is not action:cost:probability") from None
    if is_adf:
        features = [add_features(shared, one) for one in features]
        return Event(position, -cost + 0.0, propensity, features, len(features))
    if action < 1:
        raise InputError(f"{where}: actions are numbered from 1, got {action}")
    return Event(action - 1, -cost + 0.0, propensity, features, 0)


def _read_features(where: str, text: str, columns: dict[str, int]) -> dict[str, float]:
    """Return the features after the first bar of a line as a dict; new names are added to `columns`."""
    found: dict[str, float] = {}
    for part in text.split("|"):
        words = [word for word in _BLANKS.split(part) if word]
        namespace = ""
        if words and not _BLANKS.match(part):
            namespace = words.pop(0) + "^"
            if ":" in namespace:
                raise InputError(f"{where}: namespaces with weights cannot be read, got {namespace[:-1]!r}")
        for word in words:
            name, colon, value = word.partition(":")
            try:
                number = float(value) if colon else 1.0
            except ValueError:
                raise InputError(f"{where}: feature {word!r} is not name:number") from None
            found[namespace + name] = found.get(namespace + name, 0.0) + number
            columns.setdefault(namespace + name, len(columns))
    check_count(where, columns)
    return found


def add_features(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """Return the features of two dicts; the values of a feature in both are added, as Vowpal Wabbit does."""
    return {**one, **{name: one.get(name, 0.0) + value for name, value in other.items()}}


def check_count(where: str, columns: Mapping[str, int]) -> None:
    """Raise `InputError` if a file has more than 10,000 features; the message begins with `where`."""
    if len(columns) > _MOST_FEATURES:
        raise InputError(f"{where}: more than {_MOST_FEATURES:,} features (such as hashed words) are not supported")


def _row(features: Mapping[str, float], columns: Mapping[str, int]) -> np.ndarray:
    row = np.zeros(len(columns))
    for name, value in features.items():
        row[columns[name]] = value
    return row
