"""Off-policy estimators of the mean reward of a policy, from the log of another policy with known propensities.

    w_i        = pi(a_i | x_i) / p_i                                    importance weight of event i
    IPS        = mean(w r)                                              Horvitz & Thompson, 1952; unbiased
    clipped    = mean(min(w, M) r)                                      Ionides, 2008; M = sqrt(n)
    SNIPS      = sum(w r) / sum(w)                                      Swaminathan & Joachims, NeurIPS 2015
    DR         = mean(sum_k pi(k | x) q(x, k) + w (r - q(x, a)))        Dudik, Langford & Li, ICML 2011; unbiased
    switch-DR  = mean(sum_k pi(k | x) q(x, k) + w (r - q(x, a)) 1{w <= M})        Wang, Agarwal & Dudik, ICML 2017

p_i is the probability with which the logging policy played the action of event i, and q is a model of the rewards. IPS
and DR are unbiased if the propensities are correct, and positive for every action that pi plays; the more accurate q
is, the smaller is the variance of DR. Clipped IPS reduces weights above M to M, and switch-DR uses only the model for
events whose weights are above M. Both reduce the variance but add a bias, which the intervals do not include.
"""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxbandits.analysis import intervals
from jaxbandits.analysis.intervals import Estimate
from jaxbandits.analysis.result_table import ResultTable
from jaxbandits.analysis.table import number
from jaxbandits.base.errors import format_value, unknown_name
from jaxbandits.base.labels import describe_names, names_of_arms
from jaxbandits.environments.data.logs import Log

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REPLAY = "replay"  # method of the estimate for a learner
_COLUMNS = ("method", "mean reward", "interval", "ESS", "largest weight", "support")


class PolicyValue(NamedTuple):
    """Estimate of the mean reward of a policy.

    Attributes:
      method: "IPS", "clipped IPS", "SNIPS", "DR", "switch-DR", or "replay" for a learner.
      value: estimate of the mean reward.
      low: lower end of the interval. For a replay, the interval is for the mean reward along the path that the learner
        took on this log.
      high: upper end of the interval.
      ess: effective sample size, (sum w)^2 / sum w^2: the number of events of equal weight whose mean would be equally
        accurate. For a replay, `ess` is the mean number of rounds that counted, and the table omits it.
      largest_weight: largest importance weight; NaN for a replay.
      support: fraction of the policy's plays whose actions occur in the log.
    """

    method: str
    value: float
    low: float
    high: float
    ess: float
    largest_weight: float
    support: float

    @property
    def effective_events(self) -> float:
        """Deprecated name of `ess`."""
        warnings.warn("`effective_events` has been renamed: use `ess`", DeprecationWarning, stacklevel=2)
        return self.ess


class PolicyValues(ResultTable[PolicyValue]):
    """Table of estimates of the mean reward of a policy, with a row for each estimator."""

    def __init__(self, rows: list[PolicyValue], level: float, interval: str, actions: str = ""):
        """Create a table of estimates.

        Args:
          rows: the estimates.
          level: level of their intervals.
          interval: kind of the intervals, such as "bootstrap", "bernstein" or "student".
          actions: text with the number, order and names of the actions, which is printed below the table.
        """
        self.actions = actions
        header = [f"{100 * level:g} % {interval}" if name == "interval" else name for name in _COLUMNS]
        super().__init__(rows, header, _cells)

    def __repr__(self) -> str:
        """Return the table as text, followed by the names of the actions."""
        return super().__repr__() + (f"\n{self.actions}" if self.actions else "")

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw every estimate with its interval, and return the axes.

        Args:
          ax: axes to draw on; a new figure by default.
        """
        from jaxbandits.plots import curves

        ax = curves.axes(ax)
        for i, row in enumerate(self):
            look: dict[str, Any] = curves.look(i) | {"linestyle": ""}
            # The value can lie outside its interval, since "bernstein" intersects intervals with the range of rewards.
            centre = min(max(row.value, row.low), row.high)
            colour = look["color"]
            ax.errorbar(centre, i, xerr=[[centre - row.low], [row.high - centre]], capsize=2, color=colour)
            ax.plot(row.value, i, **look)
        values, lows, highs = (np.array([getattr(row, name) for row in self]) for name in ("value", "low", "high"))
        curves.mark_unbounded_intervals(ax, values, np.arange(len(self)), np.isinf(lows) | np.isinf(highs))
        ax.set_yticks(range(len(self)), [row.method for row in self])
        ax.set_ylim(len(self) - 0.5, -0.5)  # the first row on top, and no row on an edge of the axes
        ax.set_xlabel(f"mean reward, {self.header[2]} interval")
        ax.spines[["top", "right"]].set_visible(False)
        return ax


class Bounds(NamedTuple):
    """Bounds on weights and rewards, for empirical Bernstein intervals."""

    weight: float  # upper bound on the weights in any context; inf: unknown
    low: float  # lower bound on rewards
    high: float  # upper bound on rewards


def estimate_values(
    log: Log,
    policy: np.ndarray,
    model: np.ndarray | None,
    *,
    level: float,
    interval: str,
    largest: float,
    bounds: Bounds,
) -> PolicyValues:
    """Estimate the mean reward of a policy by every estimator of this module, and return the table of estimates.

    Args:
      log: log of n events, with propensities.
      policy: `[n, K]` probabilities of the actions under the policy.
      model: `[n, K]` predicted rewards; None omits DR and switch-DR.
      level: level of the intervals.
      interval: "bootstrap", "bernstein" or "student".
      largest: M, the largest weight in clipped IPS and switch-DR.
      bounds: bounds on weights and rewards.

    Raises:
      InputError: if the interval is unknown.
    """
    if interval not in _INTERVALS:
        raise unknown_name("interval", interval, _INTERVALS)
    events, action, reward = np.arange(len(log)), log.action, log.reward
    weight = policy[events, action] / np.asarray(log.propensity)
    is_logged = np.isin(np.arange(policy.shape[1]), action)
    shared = {
        "ess": effective_size(weight),
        "largest_weight": float(weight.max()),
        "support": float(policy[:, is_logged].sum(axis=1).mean()),
    }
    estimate = _INTERVALS[interval]
    clipped = bounds._replace(weight=min(bounds.weight, largest))
    found = {
        "IPS": estimate(weight * reward, None, 0.0, bounds, level),
        "clipped IPS": estimate(np.minimum(weight, largest) * reward, None, 0.0, clipped, level),
        "SNIPS": estimate(weight * reward, weight, 0.0, bounds, level),
    }
    if model is not None:
        direct = (policy * model).sum(axis=1)
        rest = weight * (reward - model[events, action])
        spread = float(np.ptp(model))
        residuals = bounds._replace(low=bounds.low - model.max(), high=bounds.high - model.min())
        found["DR"] = estimate(direct + rest, None, spread, residuals, level)
        small = residuals._replace(weight=clipped.weight)
        found["switch-DR"] = estimate(direct + np.where(weight <= largest, rest, 0.0), None, spread, small, level)
    values = [
        PolicyValue(method, *map(float, (row.mean, row.low, row.high)), **shared) for method, row in found.items()
    ]
    if interval == "bernstein":
        values = [_inside(row, bounds) for row in values]
    return PolicyValues(values, level, interval, describe_actions(log))


def effective_size(weight: np.ndarray) -> float:
    """Return the effective sample size (sum w)^2 / sum w^2 of weights `[n]`; 0 if all of them are 0."""
    scaled = np.ldexp(weight, -intervals.power_of_two(weight.max()))  # squares of weights above 1e154 would overflow
    return float(scaled.sum() ** 2 / (scaled**2).sum()) if weight.any() else 0.0


def describe_actions(log: Log) -> str:
    """Return text with the number, order and names of the actions; "" if the names are the numbers 0, ..., K - 1."""
    return describe_names("actions", log.actions) if names_of_arms(log.actions) else ""


def _inside(row: PolicyValue, bounds: Bounds) -> PolicyValue:
    """Return an estimate whose interval is intersected with the range of possible rewards."""
    low, high = max(row.low, bounds.low), min(row.high, bounds.high)
    return row._replace(low=min(low, bounds.high), high=max(high, bounds.low))


def _student(terms: np.ndarray, weight: np.ndarray | None, spread: float, bounds: Bounds, level: float) -> Estimate:
    """Estimate the mean of terms, or the ratio sum(terms) / sum(weights), with a (linearised) Student interval."""
    del spread, bounds
    if weight is None:
        return intervals.t_interval(terms, level=level)
    ratio = terms.sum() / weight.sum()
    return intervals.t_interval(ratio + (terms - weight * ratio) / weight.mean(), level=level)


def _bootstrap(terms: np.ndarray, weight: np.ndarray | None, spread: float, bounds: Bounds, level: float) -> Estimate:
    """Estimate the same quantity as `_student`, with the hull of Student's and the bootstrap-t interval."""
    del spread, bounds
    if weight is None:
        return intervals.mean_interval(terms, level)

    def gradient(means: np.ndarray) -> np.ndarray:
        return np.stack([1.0 / means[..., 1], -means[..., 0] / means[..., 1] ** 2], axis=-1)

    return intervals.smooth_interval(
        np.stack([terms, weight], axis=1), lambda means: means[..., 0] / means[..., 1], gradient, level
    )


def _bernstein(terms: np.ndarray, weight: np.ndarray | None, spread: float, bounds: Bounds, level: float) -> Estimate:
    """Estimate the same with a two-sided empirical Bernstein interval (Maurer & Pontil, COLT 2009, Theorem 4).

        |mean - E| <= sqrt(2 V ln(4 / delta) / n) + 7 b ln(4 / delta) / (3 (n - 1))

    V is the sample variance, and all terms lie in an interval of length b. A term is a weight times a reward (or
    residual) within its bounds, plus a prediction whose range has the length `spread`. For a ratio, the interval
    consists of all x for which the interval for the mean of w (r - x) contains 0.
    """
    n = len(terms)
    low, high = min(bounds.low, 0.0), max(bounds.high, 0.0)
    length = spread + bounds.weight * (high - low)
    logarithm = np.log(4.0 / (1.0 - intervals.checked_level(level)))
    if weight is None:
        half = np.sqrt(2.0 * terms.var(ddof=1) * logarithm / n) + 7.0 * length * logarithm / (3.0 * (n - 1))
        return Estimate(*map(np.asarray, (terms.mean(), terms.mean() - half, terms.mean() + half)), n=n)
    ratio = terms.sum() / weight.sum()
    length = bounds.weight * (bounds.high - bounds.low)  # length of the range of w (r - x) for x between the bounds
    grid = np.linspace(bounds.low, bounds.high, 2001)
    centre = terms.mean() - grid * weight.mean()
    covariance = np.cov(terms, weight)
    variance = covariance[0, 0] - 2.0 * grid * covariance[0, 1] + grid**2 * covariance[1, 1]
    half = np.sqrt(2.0 * np.maximum(variance, 0.0) * logarithm / n) + 7.0 * length * logarithm / (3.0 * (n - 1))
    kept = grid[~(np.abs(centre) > half)]  # all x if the weights overflow, so that `half` is NaN
    kept = kept if len(kept) else np.asarray([ratio])  # the interval lies between two neighbours of the grid
    step = grid[1] - grid[0]
    return Estimate(*map(np.asarray, (ratio, min(kept.min() - step, ratio), max(kept.max() + step, ratio))), n=n)


_INTERVALS: dict[str, Callable[..., Estimate]] = {
    "bootstrap": _bootstrap,
    "bernstein": _bernstein,
    "student": _student,
}


def _cells(row: PolicyValue) -> list[str]:
    interval = f"[{number(row.low)}, {number(row.high)}]"
    weights = ["-", "-"] if row.method == REPLAY else [number(row.ess), number(row.largest_weight)]
    return [row.method, number(row.value), interval, *weights, f"{number(100.0 * row.support)}%"]


def describe_weights(weight: np.ndarray) -> str | None:
    """Return a message if the mean weight differs from 1 by more than 0.05 and 5 standard errors, else None."""
    n, mean = len(weight), weight.mean()
    error = weight.std() / np.sqrt(n)
    if abs(mean - 1.0) <= max(5.0 * error, 0.05):
        return None
    return f"the importance weights average {format_value(round(float(mean), 3))} (standard error {error:.2g}), not 1"
