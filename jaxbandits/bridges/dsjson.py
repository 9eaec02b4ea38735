"""Logs in the format `dsjson` of Vowpal Wabbit's decision service, in which each line is an event in JSON.

    {"_label_cost": -1.0, "_label_probability": 0.8, "_label_Action": 2, "_labelIndex": 1,
     "a": [2, 1], "p": [0.8, 0.2], "c": {"user": {"age": 30}, "_multi": [{"ad": {"price": 1}}, {"ad": {"price": 2}}]}}

`_label_Action` numbers the actions from 1 and `_labelIndex` from 0; the cost is the negative reward. `a` lists the
actions, starting with the action played, and `p` lists their probabilities. `c` contains the features: `_multi` has a
list with the features of each action, and all other features are shared by the actions. The names of nested objects are
joined, as in `user^age`; the name of a list entry is its index. As in Vowpal Wabbit, `true` counts as 1, whereas
`false`, `null` and entries whose names begin with `_` are not features.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxbandits.base import files, ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.bridges.logs import Event, add_features, check_count, log_of_events, read_lines
from jaxbandits.environments.data.logs import Log

_ACTION = "action"  # namespace of the features that `write_dsjson` writes for actions without features
_TOLERANCE = 1e-3  # tolerance for probabilities, which other programs write with few digits


def write_dsjson(log: Log, path: str | os.PathLike[str]) -> None:
    """Write a log as dsjson, for `vw --dsjson --cb_adf`.

    A context `[n, p]` is written as shared features, and action k receives the feature `action^k` = 1. A context
    `[n, K, d]` is written as features of the actions. Since a log has only the probability of the action played, `p`
    divides the remaining probability equally among the other actions; Vowpal Wabbit does not learn from these numbers.

    Raises:
      InputError: if the log has no propensities, if a column name, or its part after `^`, begins with `_`, if a column
        of a context `[n, p]` has a name that begins with `action^`, if there is only one action and a propensity is
        not 1, or if the path cannot be written.
    """
    if log.propensity is None:
        raise InputError("the log has no propensities, which the format dsjson needs")
    for name in log.columns:
        if any(key.startswith("_") for key in _path(log, name)):
            raise InputError(
                f"column {name!r}: in dsjson, the name of a feature cannot begin with _, nor can its part after ^"
            )
        if name.startswith(f"{_ACTION}^") and (log.context is None or log.context.ndim == 2):
            raise InputError(f"column {name!r}: names that begin with {_ACTION}^ identify the actions in the file")
    k, lines = log.n_actions, []
    if k == 1 and (np.abs(log.propensity - 1.0) > _TOLERANCE).any():
        raise InputError(
            "in dsjson, the probabilities of all actions must add up to 1: a log with one action needs propensities of "
            f"1, got {float(log.propensity.min()):g}"
        )
    for i, (action, reward, propensity) in enumerate(zip(log.action.tolist(), log.reward, log.propensity, strict=True)):
        others = [other + 1 for other in range(k) if other != action]
        event = {
            "_label_cost": -float(reward) + 0.0,  # + 0.0 turns -0.0 into 0.0
            "_label_probability": float(propensity),
            "_label_Action": action + 1,
            "_labelIndex": action,
            "a": [action + 1, *others],
            "p": [float(propensity), *[(1.0 - float(propensity)) / (k - 1) for _ in others]],
            "c": _context(log, i),
        }
        lines.append(json.dumps(event))
    files.write_atomically(files.path_of(path), ("\n".join(lines) + "\n").encode())


def _context(log: Log, i: int) -> dict[str, Any]:
    """Return the object `c` with the features of event i."""
    if log.context is not None and log.context.ndim == 3:
        return {"_multi": [_features(log, row) for row in log.context[i]]}
    shared = {} if log.context is None else _features(log, log.context[i])
    return {**shared, "_multi": [{_ACTION: {str(k): 1}} for k in range(log.n_actions)]}


def _features(log: Log, row: np.ndarray) -> dict[str, Any]:
    """Return the features of a row as a dict; a name such as `user^age` becomes the entry `age` of a dict `user`."""
    found: dict[str, Any] = {}
    for j, value in enumerate(row.tolist()):
        *namespace, name = _path(log, log.columns[j] if log.columns else f"x{j}")
        features = found.setdefault(namespace[0], {}) if namespace else found
        features[name] = value
    return found


def _path(log: Log, name: str) -> list[str]:
    """Return the keys of a feature: `user` and `age` for `user^age`, unless there is a column `user`."""
    namespace, separator, rest = name.partition("^")
    return [namespace, rest] if separator and namespace and namespace not in log.columns else [name]


def read_dsjson(path: str | os.PathLike[str]) -> Log:
    """Read a log from a dsjson file whose features are numbers.

    If each action has exactly one feature, which no other action has and whose value is 1 in all events, this feature
    merely identifies the action; the context of the log is then `[n, p]`, the shared features. Otherwise the context is
    `[n, K, d]`, the shared features together with the features of each action; as in Vowpal Wabbit, the values of a
    feature in both are added. A feature that is missing in an event is 0. Action k of the file is action k - 1 of the
    log. Events with `_skipLearn` are omitted.

    Args:
      path: path of the file.

    Raises:
      InputError: for invalid JSON, a missing or inconsistent label, features that are text, two features of one name,
        events with different numbers of actions, slates, dropped events (`pdrop`), or more than 10,000 features. The
        message names the line at fault, if there is one.
    """
    shared: list[dict[str, float]] = []
    events: list[Event] = []
    columns: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip():
            event = _parse(f"line {number}", line)
            if event.get("_skipLearn") is not True:
                features, actions = _read_features(f"line {number}", event["c"], columns)
                shared.append(features)
                events.append(_read_event(f"line {number}", event, actions))
    own = [event.features for event in events]
    names = {name for features in own[0] for name in features} if _are_names(own) else set()
    if names and not any(names & features.keys() for features in shared):
        columns = {name: j for j, name in enumerate(name for name in columns if name not in names)}
        named = [event._replace(features=[features]) for event, features in zip(events, shared, strict=True)]
        return log_of_events(path, named, columns, is_adf=False)
    joined = [
        event._replace(features=[add_features(features, one) for one in event.features])
        for event, features in zip(events, shared, strict=True)
    ]
    return log_of_events(path, joined, columns, is_adf=True)


def _are_names(features: list[list[dict[str, float]]]) -> bool:
    """Return True if in all events the features only identify the actions: one per action, different, with value 1."""
    if not features or any(actions != features[0] for actions in features):
        return False
    names = [name for action in features[0] for name, value in action.items() if value == 1.0]
    return all(len(action) == 1 for action in features[0]) and len(set(names)) == len(features[0])


def _parse(where: str, line: str) -> dict[str, Any]:
    """Return the JSON object of a line, after checking that it has features with a list of actions."""

    def unique(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(entries)
        if len(found) < len(entries):  # JSON readers keep the last one, and Vowpal Wabbit adds features
            names = [name for name, _ in entries]
            raise InputError(f"{where}: two entries have the name {next(n for n in names if names.count(n) > 1)!r}")
        return found

    try:
        event = json.loads(line, parse_constant=_refuse_constant, parse_int=_parse_int, object_pairs_hook=unique)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{where} is not JSON: {error}") from None
    if not isinstance(event, dict) or not isinstance(event.get("c"), dict):
        raise InputError(f"{where} has no features: it must be an object with an object c")
    if "_slots" in event["c"] or "_outcomes" in event:
        raise InputError(f"{where} is a slate with several slots, but an event of a log has only one action")
    if not isinstance(event["c"].get("_multi"), list) or not event["c"]["_multi"]:
        raise InputError(f"{where} has no actions: c must have a list _multi with the features of each action")
    if event.get("pdrop"):
        raise InputError(
            f"{where}: events were dropped with probability pdrop, and a log has no weights to correct for this"
        )
    return event


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a valid JSON number")


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) < 16 else float(digits)  # longer integers have more digits than a float


def _read_event(where: str, event: dict[str, Any], features: list[dict[str, float]]) -> Event:
    """Return an event with the features of its actions.

    Raises:
      InputError: if the label or the probabilities are invalid; the message names the line.
    """
    k = len(features)
    action = _number(where, event, "_label_Action")
    if not ranges.is_whole(action) or not 1 <= action <= k:
        raise InputError(f"{where}: _label_Action must be a whole number in [1, {k}], got {format_value(action)}")
    if event.get("_labelIndex", action - 1) != action - 1:
        index = format_value(event["_labelIndex"])
        raise InputError(f"{where}: _label_Action {action} must have _labelIndex {action - 1}, got {index}")
    propensity = _number(where, event, "_label_probability")
    actions, probabilities = event.get("a"), event.get("p")
    if actions is not None and probabilities is not None:
        if not _are_numbers(actions) or not _are_numbers(probabilities) or len(actions) != len(probabilities):
            raise InputError(f"{where}: a and p must be lists of numbers with the same length")
        if abs(sum(probabilities) - 1.0) > _TOLERANCE:
            raise InputError(f"{where}: the probabilities p must sum to 1, but sum to {sum(probabilities):.6g}")
        found = [p for number, p in zip(actions, probabilities, strict=True) if number == action]
        if len(found) != 1 or abs(found[0] - propensity) > _TOLERANCE:
            raise InputError(
                f"{where}: a and p must contain action {action} with its _label_probability, {propensity:g}"
            )
    return Event(int(action) - 1, -_number(where, event, "_label_cost") + 0.0, propensity, features, k)


def _number(where: str, event: dict[str, Any], name: str) -> Any:
    if not _are_numbers([event.get(name)]):
        raise InputError(f"{where}: {name} must be a number, got {format_value(event.get(name))}")
    return event[name]


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in values)


def _read_features(
    where: str, context: dict[str, Any], columns: dict[str, int]
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """Return the shared features and the features of each action; new names are added to `columns`."""
    found = []
    for value in (context, *context["_multi"]):
        features: dict[str, float] = {}
        for name, number in _leaves(where, None, value):
            if name in features:
                raise InputError(f"{where}: two features have the name {name!r}")
            features[name] = number
            columns.setdefault(name, len(columns))
        found.append(features)
    check_count(where, columns)
    return found[0], found[1:]


def _leaves(where: str, name: str | None, value: Any) -> Iterator[tuple[str, float]]:
    """Yield the name and the value of each feature in a JSON value; `name` is None for a whole object."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in items:
            if key == "_text":
                raise InputError(f"{where}: _text is text, but features must be numbers")
            if not str(key).startswith("_"):
                yield from _leaves(where, str(key) if name is None else f"{name}^{key}", entry)
    elif isinstance(value, str):
        what = "an action" if name is None else f"feature {name!r}"
        raise InputError(f"{where}: {what} is text, {format_value(value)}, but features must be numbers")
    elif value is not None and value is not False:
        if name is None:
            raise InputError(f"{where}: the features of an action must be an object, got {format_value(value)}")
        yield name, float(value)
