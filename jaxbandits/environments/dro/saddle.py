"""Optimum of `min_w max_q sum_i q_i b_i R_i(w)`, computed on the host in float64 and certified by its duality gap.

q ranges over weights of at most 1/k each: $k = 1$ gives the maximal risk, and larger k the mean of the k largest risks.
An environment specifies its risks through the dual function, which maps q to `min_w sum_i q_i b_i R_i(w)` and to the
`b_i R_i` at the minimiser, which are the gradient of this concave function.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

_STEPS, _STARTS = 8, 100  # iterations of the solver between two checks of the gap, and largest number of checks


class Optimum(NamedTuple):
    """Upper bound on `min_w max_q sum_i q_i b_i R_i(w)`, with its certified error."""

    value: float  # upper bound on the optimum, which some model w attains
    gap: float  # difference between `value` and the largest value of the dual function that was found
    weights: np.ndarray  # [m] q at which the dual function has this largest value
    risks: np.ndarray  # [m] b_i R_i(w) of the model w


def mean_of_largest(values: np.ndarray, k: int) -> float:
    """Return the mean of the k largest of the numbers `[m]`."""
    return float(np.mean(np.sort(values)[-k:]))


def shortest(gram: np.ndarray, k: int = 1, tolerance: float = 1e-14) -> np.ndarray:
    """Return the weights q `[m]`, at most 1/k each, that minimise ||sum_i q_i a_i||, given the Gram matrix.

    This is the method of P. Wolfe, "Finding the nearest point in a polytope", Math. Programming 11 (1976), for the
    polytope whose corners are the means of k of the a_i. Each iteration finds the point nearest to 0 in the affine hull
    of the current corners, adds the corner with the smallest inner product with this point, and removes corners whose
    weights are negative.
    """

    def corner(products: np.ndarray) -> np.ndarray:
        found = np.zeros(len(gram))
        found[np.argsort(products)[:k]] = 1.0 / k
        return found

    corners, c = corner(np.diag(gram))[None], np.ones(1)
    enough = tolerance * np.max(np.diag(gram))
    for _ in range(100 * len(gram)):  # a safeguard; the loop ends earlier unless rounding errors prevent it
        q = c @ corners
        products = gram @ q
        new = corner(products)
        if q @ products - new @ products <= enough or (corners == new).all(axis=1).any():
            break
        corners, c = np.vstack([corners, new]), np.append(c, 0.0)
        while True:
            among = corners @ gram @ corners.T
            level = np.trace(among) / len(c)  # any positive shift gives the same solution
            nearest = np.linalg.lstsq(among + level, np.ones(len(c)))[0]  # corners may be nearly linearly dependent
            nearest /= nearest.sum()
            leaves = nearest <= tolerance
            if not leaves.any():
                c = nearest
                break
            part = np.where(
                leaves, c / np.maximum(c - nearest, 1e-300), np.inf
            )  # fraction of the step at which each weight becomes 0
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
    """Maximise the dual function by sequential quadratic programming, and return the optimum with its duality gap.

    Args:
      dual: function that maps q `[m]` to the value of the dual function and its gradient `[m]`.
      start: `[m]` initial q.
      k: number with 1 <= k <= m; the weights are at most 1/k.
      tolerance: duality gap at which to stop; the result contains the gap that was reached.
    """
    from scipy import optimize

    n_groups, q = len(start), start
    upper, lower, least = np.inf, -np.inf, q

    def descent(q: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal upper, least
        value, risks = dual(q)
        if mean_of_largest(risks, k) < upper:  # these risks are attained by some model w
            upper, least = mean_of_largest(risks, k), risks
        return -value, -risks

    weights = q
    for _ in range(_STARTS):
        q = np.clip(q, 0.0, 1.0 / k)
        q = q / q.sum()  # rounding errors in the sum would invalidate the lower bound
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
