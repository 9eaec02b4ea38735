"""Off-policy evaluation: what a policy would have earned, estimated from a log with propensities.

    w_i   = pi(a_i | x_i) / p_i                                       importance weight of event i
    IPS   = mean(w r)                                                 Horvitz & Thompson, 1952; unbiased
    SNIPS = sum(w r) / sum(w)                                         Swaminathan & Joachims, NeurIPS 2015
    DR    = mean(sum_k pi(k | x) q(x, k) + w (r - q(x, a)))           Dudik, Langford & Li, ICML 2011

p_i is the probability with which the logging policy played the action of event i, and q a model of rewards. IPS and DR
are unbiased if the propensities are true, and positive wherever pi is; the better q is, the less variance DR has.
"""

from typing import Any, NamedTuple

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.results import intervals
from jaxbandits.results.result_table import ResultTable
from jaxbandits.results.table import number


class PolicyValue(NamedTuple):
    """Estimate of the mean reward of a policy.

    Attributes:
      method: "IPS", "SNIPS" or "DR".
      value: the estimate.
      low: lower end of its interval.
      high: upper end of its interval.
      effective_events: (sum w)^2 / sum w^2: events of equal weight whose mean would be as accurate.
    """

    method: str
    value: float
    low: float
    high: float
    effective_events: float


def evaluate(
    action: Any, reward: Any, propensity: Any, policy: Any, *, model: Any = None, level: float = 0.95
) -> ResultTable[PolicyValue]:
    """Estimate the mean reward of a policy from a log of another one.

    Args:
      action: `[n]` the action of each event, from 0; or names, numbered in their sorted order, of which there are K.
      reward: `[n]` what it paid.
      propensity: `[n]` probability in (0, 1] with which the logging policy played it.
      policy: `[n, K]` probabilities with which the evaluated policy plays each action in each event.
      model: `[n, K]` predicted rewards, from data other than the log or by cross-fitting; adds the doubly robust row.
      level: of the intervals (Student's; of the linearised ratio for SNIPS).

    Returns:
      A row for IPS, for SNIPS and, with a model, for DR.

    Raises:
      InputError: for shapes that do not fit, numbers that are not finite, and probabilities that are none.
    """
    rewards, propensities = _array("reward", reward, 1), _array("propensity", propensity, 1)
    policy = _array("policy", policy, 2)
    actions = _array("action", _numbered(action, policy.shape[1]), 1)
    ranges.check_range("level", np.asarray(level), "(0, 1)")
    n, n_actions = policy.shape
    for name, array in (("action", actions), ("reward", rewards), ("propensity", propensities)):
        if array.shape != (n,):
            raise InputError(f"{name} must have one entry for each of the {n} rows of policy, got shape {array.shape}")
    if n < 2:
        raise InputError(f"a log of at least 2 events is needed, got {n}")
    if not (np.isin(actions, np.arange(n_actions))).all():
        bad = actions[~np.isin(actions, np.arange(n_actions))][0]
        raise InputError(f"action must hold whole numbers in [0, {n_actions}), got {bad:g}")
    ranges.check_range("propensity", propensities, "(0, 1]")
    ranges.check_range("policy", policy, "[0, 1]")
    if not np.allclose(policy.sum(axis=1), 1.0, atol=1e-6):
        row = int(np.argmax(~np.isclose(policy.sum(axis=1), 1.0, atol=1e-6)))
        raise InputError(f"rows of policy must sum to 1, but row {row} (from 0) sums to {policy[row].sum():g}")
    events, actions = np.arange(n), actions.astype(np.int64)
    weights = policy[events, actions] / propensities
    if not weights.any():
        raise InputError("the policy never plays an action of the log: nothing can be estimated")
    effective = weights.sum() ** 2 / (weights**2).sum()
    ratio = (weights * rewards).sum() / weights.sum()
    terms = {"IPS": weights * rewards, "SNIPS": ratio + weights * (rewards - ratio) / weights.mean()}
    if model is not None:
        predicted = _array("model", model, 2)
        if predicted.shape != policy.shape:
            raise InputError(f"model must have the shape of policy, {policy.shape}, got {predicted.shape}")
        terms["DR"] = (policy * predicted).sum(axis=1) + weights * (rewards - predicted[events, actions])
    found = []
    for method, values in terms.items():
        estimate = intervals.t_interval(values, level=level)
        found.append(PolicyValue(method, *map(float, (estimate.mean, estimate.low, estimate.high, effective))))
    header = ("method", "mean reward", f"{100 * level:g} % t-interval", "effective events")
    return ResultTable(found, header, lambda row: _cells(row))


def _numbered(action: Any, n_actions: int) -> Any:
    """Return actions that are names as numbers, in the sorted order of the names; others as they are."""
    if not isinstance(action, (list, tuple, np.ndarray)):
        return action
    names = np.asarray(action, dtype=object).ravel()
    if not len(names) or not all(isinstance(name, str) for name in names):
        return action
    known, numbers = np.unique(names.astype(str), return_inverse=True)
    if len(known) != n_actions:
        listed = ", ".join(known[:4]) + (", ..." if len(known) > 4 else "")
        raise InputError(
            f"action names {len(known)} actions ({listed}), but policy has {n_actions} columns: number them"
        )
    return numbers


def _cells(row: PolicyValue) -> list[str]:
    return [row.method, number(row.value), f"[{number(row.low)}, {number(row.high)}]", number(row.effective_events)]


def _array(name: str, value: Any, axes: int) -> np.ndarray:
    shape = {1: "(n,)", 2: "(n, K)"}[axes]
    try:
        array = ranges.floats(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers of shape {shape}, got {format_value(value)}") from None
    if array.ndim != axes or not array.size:
        raise InputError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite, but row {np.argwhere(~np.isfinite(array))[0][0]} (from 0) is not")
    return array
