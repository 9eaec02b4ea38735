"""The exact optimum of `min_w max_q sum_i q_i b_i R_i(w)`, on the host in float64, certified by its duality gap.

q ranges over the weights of at most 1/k each: $k = 1$ is the maximal risk, larger k the mean of the k largest. An
environment says what its risks are by the dual alone: from q to `min_w sum_i q_i b_i R_i(w)` and the `b_i R_i` there,
which are the gradient of that concave function.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_STEPS, _STARTS = 8, 100  # of the solver at most, between two looks at the gap


class Optimum(NamedTuple):
    """The minimum of `max_q` with its certified error."""

    value: float  # reached by some w: an upper bound
    gap: float  # above the largest value of the dual that was met
    weights: np.ndarray  # [m] q of that value
    risks: np.ndarray  # [m] b_i R_i(w) of that w


def mean_of_largest(values: np.ndarray, k: int) -> float:
    """Return the mean of the k largest of `[m]` numbers."""
    return float(np.mean(np.sort(values)[-k:]))


def shortest(gram: np.ndarray, k: int = 1, tolerance: float = 1e-14) -> np.ndarray:
    """Return the weights q `[m]`, at most 1/k each, with the shortest `sum_i q_i a_i`, from the products `[m, m]` of a.

    P. Wolfe, "Finding the nearest point in a polytope", Math. Programming 11 (1976). The corners of the polytope are
    the means of k of the a_i; the nearest point of the affine hull of some of them is found over and over, the corner
    that lies farthest on its other side joins, and those with weights below 0 leave.
    """

    def corner(products: np.ndarray) -> np.ndarray:
        found = np.zeros(len(gram))
        found[np.argsort(products)[:k]] = 1.0 / k
        return found

    corners, c = corner(np.diag(gram))[None], np.ones(1)
    enough = tolerance * np.max(np.diag(gram))
    for _ in range(100 * len(gram)):  # it ends by itself, but for rounding
        q = c @ corners
        products = gram @ q
        new = corner(products)
        if q @ products - new @ products <= enough or (corners == new).all(axis=1).any():
            break
        corners, c = np.vstack([corners, new]), np.append(c, 0.0)
        while True:
            among = corners @ gram @ corners.T
            level = np.trace(among) / len(c)  # any number gives the same answer, but 0 has none where that is 0
            nearest = np.linalg.lstsq(among + level, np.ones(len(c)))[0]  # corners may depend on each other by rounding
            nearest /= nearest.sum()
            leaves = nearest <= tolerance
            if not leaves.any():
                c = nearest
                break
            part = np.where(leaves, c / np.maximum(c - nearest, 1e-300), np.inf)  # of the way, until it is at 0
            c = c + min(1.0, part.min()) * (nearest - c)
            stays = np.arange(len(c)) != np.argmin(part)
            corners, c = corners[stays], c[stays] / c[stays].sum()
    return c @ corners


def optimum(
    dual: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    k: int = 1,
    tolerance: float = 1e-8,
) -> Optimum:
    """Return the saddle value, by sequential quadratic programming on the dual, unless the start is good enough.

    Args:
      dual: function from q `[m]` to its value and gradient `[m]`.
      start: `[m]` the first q.
      k: 1 <= k <= m.
      tolerance: the gap at which to stop; the result contains the gap that was reached.
    """
    from scipy import optimize

    n_groups, q = len(start), start
    upper, lower, least = np.inf, -np.inf, q

    def descent(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal upper, least
        value, risks = dual(q)
        if mean_of_largest(risks, k) < upper:  # whatever q, some w has these risks
            upper, least = mean_of_largest(risks, k), risks
        return -value, -risks

    weights = q
    for _ in range(_STARTS):
        q = np.clip(q, 0.0, 1.0 / k)
        q = q / q.sum()  # a solver's own is off by a rounding error, and no lower bound then
        value = -descent(q)[0]
        if value > lower:
            lower, weights = value, q
        if upper - lower <= tolerance:
            break
        q = optimize.minimize(
            descent,
            q,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0 / k)] * n_groups,
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1.0, "jac": lambda q: np.ones(n_groups)},
            options={"ftol": 1e-16, "maxiter": _STEPS},
        ).x
    return Optimum(upper, max(0.0, upper - lower), weights, least)
