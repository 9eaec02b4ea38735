"""Off-policy evaluation: estimates of the mean reward of a policy or learner from the log of another policy."""

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxbandits.analysis import intervals
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.frames import Columns
from jaxbandits.base.labels import describe_names, shorten
from jaxbandits.data import off_policy
from jaxbandits.data.off_policy import Bounds, PolicyValue, PolicyValues
from jaxbandits.environments.data.logged_replay import LoggedReplay
from jaxbandits.environments.data.logs import Log
from jaxbandits.simulation import Meter, simulate
from jaxbandits.types import Algorithm

_RETURNED = {"policy": "probabilities", "model": "rewards"}  # what such a function must return
# Bootstrap intervals have the stated coverage from this effective sample size on, if at least this many events have a
# reward other than the most common reward.
_ENOUGH_REWARDS = 20
_ENOUGH = 50
_ROUNDING = 1e-6  # relative rounding error of weights, as of probabilities


def evaluate(  # noqa: PLR0913
    log: Log | ArrayLike,
    reward: object = None,
    propensity: ArrayLike | None = None,
    policy: object = None,
    *,
    actions: Sequence[Any] | None = None,
    model: object = None,
    level: float = 0.95,
    interval: str | None = None,
    largest: float | None = None,
    reward_range: tuple[float, float] | None = None,
    max_weight: float | None = None,
    seeds: int = 16,
) -> PolicyValues:
    """Estimate the mean reward of a policy, or of a learner, from a log: `evaluate(log, policy)`.

    Coverage of the intervals (tests/data/test_off_policy_promise.py):

    * "bootstrap", the hull of Student's interval and the bootstrap-t interval, covers the mean reward of the policy
      with a probability of at least `level` - 0.03, if rewards are 0 or 1, weights are at most 10, the effective sample
      size is at least 50, at least 20 events of positive weight have a reward other than the most common reward, and no
      warning is given. No interval that is computed from the log alone accounts for rewards or weights that are so rare
      that the log hardly contains them: if one reward in 400 is 1,000 and the others are 0 or 1, the interval covers
      the mean for half of all logs of 200 events.
    * "bernstein", the empirical Bernstein interval, has a coverage of at least `level` for any number of events and any
      distribution, if `max_weight` and `reward_range` are true bounds. For DR and switch-DR, the predictions of the
      model in any context must also lie between its smallest and largest prediction in the log.
    * "student" has the coverage `level` only in the limit of many events.

    The intervals of clipped IPS and switch-DR do not include the bias of these estimates.

    A learner is replayed on the log in the order of the events (`LoggedReplay`), and the estimate is the mean reward of
    the rounds that counted. The Student interval of this estimate is for the mean reward along the path that the
    learner took on this log. The learner's expected reward over random logs may lie far outside this interval, because
    the learner takes a different path on each log.

    A warning is issued if the effective sample size is below 50, if the mean of the importance weights is far from 1,
    or if the policy plays actions that are not in the log; and, unless the interval is "bernstein", if fewer than 20
    events of positive weight have a reward other than the most common reward, or if an interval has length zero.

    Args:
      log: a `Log`, with propensities unless a learner is evaluated; or `[n]` actions, followed by their rewards `[n]`,
        propensities `[n]` and the policy. In the second case `actions` gives the order of the actions.
      reward: `[n]` rewards, if `log` is an array; the policy, if `log` is a `Log`.
      propensity: `[n]` probability in (0, 1] with which each action was played, if `log` is an array.
      policy: probabilities of the actions, `[n, K]` or `[n, K, 1]` for each event or `[K]` for all events; a data frame
        whose columns, or a pandas Series whose index, are the names of the actions; a function that maps the contexts
        of the log to any of these; or a learner. Rows for events are in the order of the data frame that was given to
        `Log.from_frame`, even with `time=`; those that a function returns are in the order of the contexts.
      actions: names of all actions in the order of the columns of the policy, if `log` is an array.
      model: predicted rewards in the same forms as the policy, fitted to data other than the log, or by cross-fitting;
        if given, the table has rows for DR and switch-DR.
      level: level of the intervals, in (0, 1).
      interval: "bootstrap" (the default), "bernstein" or "student". For a learner, none of `interval`, `model`,
        `largest`, `reward_range` and `max_weight` can be given.
      largest: M, the largest weight in clipped IPS and switch-DR; by default sqrt(n).
      reward_range: smallest and largest possible reward, for "bernstein"; by default the smallest and largest reward in
        the log.
      max_weight: upper bound on the weights, for "bernstein". The default is the maximum over actions of the largest
        probability under the policy divided by the smallest propensity in the log; it is not a true bound if smaller
        propensities are possible.
      seeds: number of trials for which a learner is replayed.

    Returns:
      A table with a row (`PolicyValue`) for each estimator; its method `plot()` draws the intervals.

    Raises:
      InputError: if shapes do not match, if a number or weight is not finite, if probabilities are invalid, if the
        policy plays no logged action, if a reward or weight of the log is out of `reward_range` or above `max_weight`,
        or if the policy is an array but the order of the actions of the log is not known.
    """
    level = intervals.checked_level(level)
    if isinstance(log, Log):
        if propensity is not None or actions is not None or (policy is not None and reward is not None):
            raise InputError("evaluate takes a Log and a policy, or actions, rewards, propensities and a policy")
        policy = _frame_of_series(reward if policy is None else policy)
    else:
        policy = _frame_of_series(policy)
        log = _log_of_arrays(log, reward, propensity, policy, actions)
    if policy is None:
        raise InputError("evaluate needs a policy: probabilities of the actions, a function of contexts, or a learner")
    if all(hasattr(policy, method) for method in ("init", "select", "update")):
        of_policies = {
            "model": model,
            "interval": interval,
            "largest": largest,
            "reward_range": reward_range,
            "max_weight": max_weight,
        }
        given = [name for name, value in of_policies.items() if value is not None]
        if given:
            raise InputError(
                f"{', '.join(given)} can be given only with a policy, but a learner was given, which is replayed on "
                "the log"
            )
        return _evaluate_learner(log, cast(Algorithm, policy), level, ranges.integer("seeds", seeds))
    interval = "bootstrap" if interval is None else interval
    if log.propensity is None:
        raise InputError("evaluate needs the propensities of the log")
    if len(log) < 2:
        raise InputError(f"evaluate needs a log of at least 2 events, got {len(log)}")
    log, probabilities = _probabilities(log, policy)
    with np.errstate(over="ignore"):
        weight = probabilities[np.arange(len(log)), log.action] / log.propensity
    if np.isinf(weight).any():
        raise InputError(f"event {np.argmax(weight)} (from 0) has a propensity so small that its weight is infinite")
    if not weight.any():
        raise InputError("the policy gives probability 0 to the action of every event, so nothing can be estimated")
    if max_weight is not None and ranges.real("max_weight", max_weight, "(0, inf)") < weight.max() * (1.0 - _ROUNDING):
        raise InputError(
            f"max_weight must bound all weights, but it is {format_value(max_weight)} and the log has a weight of "
            f"{weight.max():.6g}"
        )
    found = off_policy.estimate_values(
        log,
        probabilities,
        None if model is None else _per_action("model", *_call("model", model, log), log),
        level=level,
        interval=interval,
        largest=np.sqrt(len(log)) if largest is None else ranges.real("largest", largest, "(0, inf)"),
        bounds=_bounds(log, probabilities, interval, reward_range, max_weight),
    )
    _warn(log, probabilities, weight)
    if interval != "bernstein":
        _warn_of_rare_rewards(log.reward[weight > 0.0], found)
    return found


def _log_of_arrays(
    action: ArrayLike, reward: object, propensity: ArrayLike | None, policy: object, actions: Sequence[Any] | None
) -> Log:
    """Return a log of arrays, whose actions are in the order of the columns of the policy."""
    if _is_frame(action):
        raise InputError(
            "evaluate takes a Log or an array of actions, not a frame: create the log by "
            "Log.from_frame(frame, action=..., reward=..., ...)"
        )
    names: Any = actions
    if names is None and not callable(policy):
        names = Columns(policy).names if _is_frame(policy) else _columns_of(policy)
    log = Log.from_arrays(action, reward, propensity, actions=names)
    if log.is_sorted_text and actions is None and not _is_frame(policy):
        warnings.warn(
            "evaluate: the columns of the policy are assumed to be the actions in alphabetical order, "
            f"{shorten(log.actions)}: pass actions=[...] in the order of the columns",
            stacklevel=3,
        )
        return Log.from_arrays(action, reward, propensity, actions=log.actions)
    if isinstance(names, int) and 2 < names == 1 + np.count_nonzero(log.counts) and not log.counts[0]:
        warnings.warn(
            f"evaluate: actions 1 to {names - 1} are in the log, but 0 is not; the actions are assumed to be "
            f"numbered from 0 to {names - 1}: if they are numbered from 1 to {names}, pass actions=range(1, "
            f"{names + 1})",
            stacklevel=3,
        )
    return log


def _columns_of(policy: object) -> int | None:
    try:
        shape = np.asarray(policy).shape
    except Exception:  # the rows have different lengths: `_per_action` raises the error
        return None
    return shape[1] if len(shape) > 1 else shape[0] if shape else None


def _is_frame(value: object) -> bool:
    return isinstance(value, Mapping) or hasattr(value, "columns") or hasattr(value, "column_names")


def _probabilities(log: Log, policy: object) -> tuple[Log, np.ndarray]:
    """Return the log, with its actions in the order of the columns of the policy, and the probabilities `[n, K]`."""
    policy, order = _call("policy", policy, log)
    policy = _frame_of_series(policy)
    if _is_frame(policy) and log.is_sorted_text:
        columns = list(map(str, Columns(policy).names))
        absent = [name for name in log.actions if name not in columns]
        if absent:
            raise InputError(f"policy has no column for the action {absent[0]!r}; its columns are {shorten(columns)}")
        position = np.array([columns.index(name) for name in log.actions], np.int32)
        context = log.context
        if context is not None and context.ndim == 3 and len(columns) == len(log.actions):
            context = context[:, np.argsort(position)]  # its arms were in alphabetical order
        log = dataclasses.replace(
            log, action=position[log.action], actions=tuple(columns), context=context, is_sorted_text=False
        )
    found = _per_action("policy", policy, order, log)
    ranges.check_range("policy", found, "[0, 1]")
    totals = found.sum(axis=1)
    if not np.allclose(totals, 1.0, atol=1e-6):
        row = int(np.argmax(~np.isclose(totals, 1.0, atol=1e-6)))
        raise InputError(f"rows of policy must sum to 1, but row {row} (from 0) sums to {totals[row]:g}")
    return log, found


def _call(name: str, value: object, log: Log) -> tuple[object, np.ndarray | None]:
    """Return what a function returns for the contexts, or any other value unchanged, and the order of the rows."""
    if not callable(value) or _is_frame(value):
        return value, log.order
    if log.context is None:
        raise InputError(f"a {name} that is a function needs a log with contexts")
    try:
        return value(log.context), None  # the rows are in the order of the log
    except Exception as error:  # the function is the user's
        raise InputError(
            f"the {name} is called once with the contexts of all events, an array of shape "
            f"{np.shape(log.context)}, and must return an array [n, K] of "
            f"{_RETURNED[name]}; it raised {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        ) from error


def _per_action(name: str, value: object, order: np.ndarray | None, log: Log) -> np.ndarray:
    """Return an array `[n, K]` with columns in the order of the actions and rows in the order of the log's events."""
    n, k = len(log), log.n_actions
    value = _frame_of_series(value, log.actions)
    _check_index(name, value, n)
    if _is_frame(value):
        columns = Columns(value)
        named = {str(column): column for column in columns.names}
        if named.keys() != set(log.actions):
            odd = next(iter(sorted(named.keys() ^ set(log.actions))))
            raise InputError(
                f"{name} must have one column for each action, {shorten(log.actions)}; {odd!r} is "
                + ("not an action" if odd in named else "missing")
            )
        value = columns.matrix(name, [named[action] for action in log.actions])
        value = value[0] if len(value) == 1 else value
    elif log.is_sorted_text:
        raise InputError(
            f"the columns of {name} cannot be matched to the actions of the log, which are text in alphabetical "
            f"order ({shorten(log.actions)}): pass Log.from_frame all actions in the order of the columns, "
            f"actions=[...], or pass {name} as a data frame whose columns are named like the actions"
        )
    found = ranges.floats(name, value, "(n, K)", "(K,)", "(n, K, 1)")
    found = found[:, :, 0] if found.ndim == 3 and found.shape[2] == 1 else found
    found = np.broadcast_to(found, (n, k)) if found.shape == (k,) else found
    if found.shape != (n, k):
        raise InputError(
            f"{name} must have a row for each of the {n} events and a column for each of the "
            f"{describe_names('actions', log.actions)}; got shape {found.shape}"
        )
    return found if order is None else found[order]


def _check_index(name: str, value: object, n_events: int) -> None:
    """Raise InputError if the index of a pandas object is not 0, 1, ..., as rows are matched to events by position."""
    parts: Iterable[Any] = value.values() if isinstance(value, Mapping) else [value]
    for part in parts:
        if hasattr(part, "iloc") and len(part) == n_events > 1 and not _has_default_index(part.index):
            raise InputError(
                f"{name} has a row for each event, but its index is not 0, 1, 2, ...: put the rows in the order of "
                f"the log, and pass {name}.reset_index(drop=True)"
            )


def _frame_of_series(value: object, actions: Sequence[str] = ()) -> object:
    """Convert a pandas Series that is indexed by names to a frame with one row; return other values unchanged.

    The default index 0, 1, 2, ... consists of names only if they are the names of the actions, in any order.
    """
    series: Any = value
    if not hasattr(series, "iloc") or np.ndim(series) != 1:
        return value
    if _has_default_index(series.index) and set(map(str, series.index)) != set(actions):
        return value
    if not series.index.is_unique:
        raise InputError(f"name {series.index[series.index.duplicated()][0]!r} occurs twice in the index of a Series")
    return {name: np.array([entry]) for name, entry in series.items()}


def _has_default_index(index: Sequence[Any]) -> bool:
    """Return True if the index of a pandas object is 0, 1, 2, ..."""
    return np.array_equal(np.asarray(index), np.arange(len(index)))


def _bounds(
    log: Log, policy: np.ndarray, interval: str, reward_range: tuple[float, float] | None, max_weight: float | None
) -> Bounds:
    """Return the given bounds, or bounds that are computed from the log and the policy."""
    if reward_range is None:
        low, high = float(log.reward.min()), float(log.reward.max())
        if low == high and interval == "bernstein":
            raise InputError(
                f'all rewards in the log are {low:g}, so the range that interval="bernstein" needs cannot be taken '
                "from them: pass the range of possible rewards, reward_range=(least, largest) with least < largest"
            )
    else:
        pair = ranges.floats("reward_range", reward_range, "(2,)")
        if pair.shape != (2,) or not pair[0] < pair[1]:
            raise InputError(
                f"reward_range must be (least, largest) with least < largest, got {format_value(reward_range)}"
            )
        low, high = map(float, pair)
        ranges.check_range("reward", log.reward, f"[{low!r}, {high!r}]")
    if max_weight is not None:
        return Bounds(ranges.real("max_weight", max_weight, "(0, inf)"), low, high)
    least, most = np.full(log.n_actions, np.inf), policy.max(axis=0)
    np.minimum.at(least, log.action, log.propensity)
    found = np.divide(
        most, np.where(np.isinf(least), 0.0, least), out=np.full(len(most), np.inf), where=~np.isinf(least)
    )
    return Bounds(float(np.where(most > 0.0, found, 0.0).max()), low, high)


def _warn(log: Log, policy: np.ndarray, weight: np.ndarray) -> None:
    """Issue a warning for each problem that makes the estimates unreliable."""
    never = np.flatnonzero((log.counts == 0) & (policy.max(axis=0) > 0.0))
    if len(never):
        share = policy[:, never].sum(axis=1).mean()
        names = shorten([log.actions[k] for k in never])
        warnings.warn(
            f"evaluate: the policy plays actions that never occur in the log ({names}) with probability "
            f"{share:.2%}: their rewards are unknown, and IPS counts them as 0",
            stacklevel=3,
        )
    wrong = off_policy.describe_weights(weight)
    if wrong is not None and not len(never):
        warnings.warn(
            f"evaluate: {wrong}: either the propensities are wrong, or the policy often plays actions that are rare "
            "in the log",
            stacklevel=3,
        )
    ess = off_policy.effective_size(weight)
    if ess < _ENOUGH:
        warnings.warn(
            f"evaluate: the effective sample size is {ess:.3g} of {len(log):,} events, and below {_ENOUGH}, "
            'intervals may cover less often than their level says; interval="bernstein" with max_weight and '
            "reward_range guarantees its level",
            stacklevel=3,
        )


def _warn_of_rare_rewards(reward: np.ndarray, found: PolicyValues) -> None:
    """Warn if too few rewards differ from the most common reward, so that bootstrap intervals may be too short."""
    values, counts = np.unique(reward, return_counts=True)
    others = len(reward) - counts.max()
    flat = [row.method for row in found if row.low == row.high]
    if others >= _ENOUGH_REWARDS and not flat:
        return
    what = (
        (
            f"only {others} of the {len(reward):,} events with a positive weight have a reward other than "
            f"{values[counts.argmax()]:g} (fewer than {_ENOUGH_REWARDS})"
        )
        if others < _ENOUGH_REWARDS
        else f"the interval has width 0 for {shorten(flat)}"
    )
    warnings.warn(
        f'evaluate: {what}, so intervals may cover less often than their level says; interval="bernstein" with '
        "reward_range and max_weight guarantees its level",
        stacklevel=3,
    )


def _evaluate_learner(log: Log, learner: Algorithm, level: float, seeds: int) -> PolicyValues:
    """Replay a learner, and return the mean reward of the rounds that counted, averaged over trials."""
    replay = LoggedReplay.from_log(log, as_context=getattr(learner, "reads_context", False))
    is_logged = jnp.asarray(log.counts > 0, float)
    # In float32, sums of uncentred rewards lose digits, and their squares cancel, overflow or underflow. The unit is a
    # power of two about as large as the range of the rewards; rewards of 0 and 1 stay whole numbers with exact sums.
    limits = np.finfo(jnp.result_type(float))  # beyond them the unit or its reciprocal, by which XLA multiplies, is 0
    unit = float(np.ldexp(1.0, np.clip(np.frexp(np.ptp(log.reward))[1], limits.minexp, limits.maxexp - 2)))
    centre = jnp.asarray(np.round(log.reward.mean() / unit) * unit, float)
    deviation: Callable[[Any], Any] = lambda r: (r.outcome.reward - centre) / unit * r.outcome.counted  # noqa: E731
    square: Callable[[Any], Any] = lambda r: deviation(r) ** 2  # noqa: E731
    logged: Callable[[Any], Any] = lambda r: is_logged[r.decision.index]  # noqa: E731
    meters = [Meter("deviation", deviation), Meter("squared_deviation", square), Meter("logged", logged)]
    run = simulate(learner, replay, len(log), seeds, record_points=1, progress=False, meters=meters)
    trials = next(iter(run.trials.values()))
    support = float(trials.final("logged")[0].mean()) / len(log)
    never = np.flatnonzero(log.counts == 0)
    if len(never):
        warnings.warn(
            f"evaluate: the log never contains {shorten([log.actions[k] for k in never])}, but the learner plays "
            f"such actions in {1 - support:.2%} of its rounds: these rounds never count, and the learner learns "
            "nothing from them",
            stacklevel=3,
        )
    names = ("counted", "deviation", "squared_deviation")
    count, deviations, squares = (trials.final(name)[0] for name in names)
    failed = trials.failures("mean_reward")[0]
    good = (count > 1) & ~failed
    if failed.all():
        raise InputError(
            "in every trial of the learner, its state or a reward is NaN or infinite; the rewards of the log are as "
            f"large as {np.abs(log.reward).max():.3g}, and the replay computes in {jnp.result_type(float)}"
        )
    if not good.any():
        raise InputError(
            "in every trial of the learner, fewer than two events count: the log cannot evaluate this learner"
        )
    count, shift = count[good], deviations[good] / count[good]
    spread = np.sqrt(np.maximum(squares[good] / count - shift**2, 0.0) * count / (count - 1))
    quantiles = [intervals.student_quantile(int(n) - 1, 0.5 + level / 2.0) for n in count]
    # The mean of estimates from the same log is at least as accurate as a single estimate.
    half = float(np.mean(quantiles * spread / np.sqrt(count)))
    value, half = float(centre) + unit * float(shift.mean()), unit * half
    row = PolicyValue(off_policy.REPLAY, value, value - half, value + half, float(count.mean()), np.nan, support)
    return PolicyValues([row], level, "student, for the path on this log", off_policy.describe_actions(log))
