"""The exact optimum of `min_w max_q sum_i q_i b_i R_i(w)`, on the host in float64, certified by its duality gap.

q ranges over the weights of at most 1/k each: k = 1 is the maximal risk, larger k the mean of the k largest. An
environment says what its risks are by the dual alone: from q to `min_w sum_i q_i b_i R_i(w)` and the `b_i R_i` there,
which are the gradient of that concave function.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_STEPS, _STARTS = 8, 100  # of the solver at most, between two looks at the gap


class Optimum(NamedTuple):
    """What is known about the least value of `max_q`."""

    value: float  # reached by some w: an upper bound
    gap: float  # above the largest value of the dual that was met
    weights: np.ndarray  # [m] q of that value
    risks: np.ndarray  # [m] b_i R_i(w) of that w


def mean_of_largest(values: np.ndarray, k: int) -> float:
    """The mean of the k largest of `[m]` numbers."""
    return float(np.mean(np.sort(values)[-k:]))


def optimum(
    dual: Callable[[np.ndarray], tuple[float, np.ndarray]], n_groups: int, k: int = 1, tolerance: float = 1e-8
) -> Optimum:
    """The saddle value, by sequential quadratic programming on the dual.

    Args:
      dual: from q `[m]` to its value and gradient `[m]`.
      n_groups: m.
      k: 1 <= k <= m.
      tolerance: the gap at which to stop; what is reached is in the answer, whatever it is.
    """
    from scipy import optimize

    upper, lower, q = np.inf, -np.inf, np.full(n_groups, 1.0 / n_groups)
    least = q

    def descent(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal upper, least
        value, risks = dual(q)
        if mean_of_largest(risks, k) < upper:  # whatever q, some w has these risks
            upper, least = mean_of_largest(risks, k), risks
        return -value, -risks

    weights = q
    for _ in range(_STARTS):
        found = optimize.minimize(
            descent,
            q,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0 / k)] * n_groups,
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1.0, "jac": lambda q: np.ones(n_groups)},
            options={"ftol": 1e-16, "maxiter": _STEPS},
        )
        q = np.clip(found.x, 0.0, 1.0 / k)
        q = q / q.sum()  # the solver's own is off by a rounding error, and no lower bound then
        value = -descent(q)[0]
        if value > lower:
            lower, weights = value, q
        if upper - lower <= tolerance:
            break
    return Optimum(upper, max(0.0, upper - lower), weights, least)
