"""Bounds for K arms with all constants: Lai & Robbins; Lattimore & Szepesvari; Garivier & Kaufmann; duels."""

import math
from collections.abc import Sequence

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError

_HALVINGS = 60  # number of bisection steps, enough for float64
_BELOW_ONE = math.nextafter(1.0, 0.0)  # largest float below 1


def divergence(p: float, q: float) -> float:
    """Return kl(p, q), the divergence of Bernoulli distributions with p and q in [0, 1]; it may be infinite."""
    if q in (0.0, 1.0):
        return 0.0 if p == q else math.inf
    return _excess(p, q) + _excess(1.0 - p, 1.0 - q)


def _excess(a: float, b: float) -> float:
    """Return a log(a / b) - a + b >= 0 for a >= 0 and b > 0, without cancellation if both numbers are close."""
    if a == 0.0:
        return b
    change = (b - a) / a
    return a * (change - math.log1p(change)) if abs(change) < 0.5 else a * math.log(a / b) - a + b


def lai_robbins(means: Sequence[float]) -> float:
    """Return C = sum_i (mu* - mu_i) / kl(mu_i, mu*); the regret of a consistent policy is at least about C log T.

    Raises:
      InputError: unless `means` are numbers in [0, 1].
    """
    means = _probabilities("means", means, "(K,)").tolist()
    best = max(means)
    return sum((best - mean) / divergence(mean, best) for mean in means if mean < best)


def duel_constant(preferences: np.ndarray, *, against_winner: bool = False) -> float:
    """Return C for duels; the regret of a consistent policy is at least about C log T (Komiyama et al., Theorem 1).

    C is the sum, over all arms i except the Condorcet winner 1, of the smallest (e_i + e_j) / (2 kl(p_ij, 1/2)) over
    the arms j that beat i, with e_i = p_1i - 1/2.

    Args:
      preferences: `[K, K]` p_ij, the probability that i beats j, with a Condorcet winner.
      against_winner: if True, j is always the Condorcet winner, as in the bound for RMED1 (Theorem 3).

    Raises:
      InputError: if p_ij + p_ji is not 1, or if no arm beats all others with a probability above 1/2.
    """
    preferences = _probabilities("preferences", preferences, "(K, K)")
    if preferences.shape[0] != preferences.shape[1] or np.abs(preferences + preferences.T - 1.0).max() > 1e-6:
        raise InputError("preferences must have shape [K, K] with p_ij + p_ji = 1, hence 1/2 on the diagonal")
    winner = int(np.argmax((preferences > 0.5).sum(axis=1)))
    if not (np.delete(preferences[winner], winner) > 0.5).all():
        raise InputError("preferences must have a Condorcet winner, an arm that beats every other arm")
    gap, total = preferences[winner] - 0.5, 0.0
    for i, row in enumerate(preferences):
        opponents = [winner] if against_winner else np.flatnonzero(row < 0.5)
        if i != winner:
            total += min((gap[i] + gap[j]) / (2.0 * divergence(float(row[j]), 0.5)) for j in opponents)
    return float(total)


def etc_regret(gap: float, horizon: int, exploration: int) -> float:
    """Return the exact expected regret of ETC for two Gaussian arms with variance 1.

    After m = `exploration` plays of each arm, the difference of the empirical means is N(D, 2 / m) for D = `gap`, so
    that the worse arm is chosen with probability Phi(-D sqrt(m / 2)).

    Raises:
      InputError: if the horizon is shorter than the exploration, which takes 2 m rounds.
    """
    if horizon < 2 * exploration:
        raise InputError(f"horizon must be at least {2 * exploration} (twice the exploration), got {horizon}")
    wrong = 0.5 * math.erfc(0.5 * gap * math.sqrt(exploration))
    return gap * (exploration + (horizon - 2 * exploration) * wrong)


def etc_bound(gap: float, horizon: int) -> float:
    """Return the bound (6.6) of Lattimore & Szepesvari on the regret of ETC with the m of (6.5), for gap > 0."""
    gap, horizon = ranges.real("gap", gap, "(0, inf)"), ranges.integer("horizon", horizon)
    log_term = max(0.0, math.log(horizon * gap * gap / 4.0))
    return min(horizon * gap, gap + 4.0 / gap * (1.0 + log_term))


def ucb_bound(gap: float, horizon: int) -> float:
    """Return the bound 3 D + 16 log n / D of Lattimore & Szepesvari, Theorem 7.1, for two arms with gap D > 0."""
    gap, horizon = ranges.real("gap", gap, "(0, inf)"), ranges.integer("horizon", horizon)
    return 3.0 * gap + 16.0 * math.log(horizon) / gap


def optimal_proportions(means: Sequence[float]) -> tuple[np.ndarray, float]:
    """Return w* `[K]` and T* of Garivier & Kaufmann (Theorem 5) for Bernoulli arms with a unique best arm.

    The expected stopping time of a learner with error probability at most delta is at least T* kl(delta, 1 - delta)
    (Theorem 1). As in the paper, two nested bisections solve g_b = y for x_b(y), and F(y) = 1 for y; g_b, x_b and F are
    defined in `algorithms.explore.proportions`.

    Raises:
      InputError: unless the means are numbers in [0, 1], and there are at least two arms, only one of which has the
        largest mean.
    """
    means = _probabilities("means", means, "(K,)").tolist()
    best = int(np.argmax(means))
    if len(means) < 2 or sorted(means)[-2] == means[best]:
        raise InputError(f"means must have one largest entry and at least one other entry, got {list(means)}")
    top, others = means[best], [mean for i, mean in enumerate(means) if i != best]

    def parts(mean: float, x: float) -> tuple[float, float]:
        middle = (top + x * mean) / (1.0 + x)
        return divergence(top, middle), divergence(mean, middle)

    def ratio(mean: float, y: float) -> float:
        """Return the x that solves kl(top, m) + x kl(mean, m) = y."""
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):  # bisection on x / (1 + x)
            share = min(0.5 * (low + high), _BELOW_ONE)  # x is infinite at 1, which midpoints reach by rounding
            over, under = parts(mean, share / (1.0 - share))
            low, high = (share, high) if over + share / (1.0 - share) * under < y else (low, share)
        return low / (1.0 - low)

    def is_below(y: float) -> bool:
        """Return whether F(y) < 1, and hence whether y is below the solution."""
        total = 0.0
        for mean in others:
            over, under = parts(mean, ratio(mean, y))
            total += over / under
        return total < 1.0

    low, high = 0.0, min(divergence(top, mean) for mean in others)
    if math.isinf(high):  # all other means are 0
        high = top
        while is_below(high):
            high *= 2.0
    for _ in range(_HALVINGS):
        y = 0.5 * (low + high)
        low, high = (y, high) if is_below(y) else (low, y)
    x = np.array([1.0 if i == best else ratio(mean, low) for i, mean in enumerate(means)])
    return x / x.sum(), float(x.sum() / low)


def least_stopping_time(means: Sequence[float], delta: float) -> float:
    """Return T* kl(delta, 1 - delta), a lower bound on the expected stopping time (Garivier & Kaufmann, Thm 1).

    For delta >= 1/2 the result is 0, since the proof needs delta <= 1/2: a learner that guesses one of two arms without
    playing is right with probability 1/2.
    """
    delta = ranges.real("delta", delta, "(0, 1)")
    time = optimal_proportions(means)[1]
    return time * divergence(delta, 1.0 - delta) if delta < 0.5 else 0.0


def _probabilities(name: str, values: Sequence[float] | np.ndarray, shape: str) -> np.ndarray:
    """Return numbers in [0, 1] as a float64 array; raise InputError for any others."""
    values = ranges.floats(name, values, shape)
    ranges.check_range(name, values, "[0, 1]")
    return values
