"""The best fixed point in hindsight of K, with or without `g_t(x) <= 0` for all t, for linear g_t (offline)."""

import numpy as np

from tests.reference.convex_sets import norm


def minimise(gradient, curvature, project, x, iterations, tol=1e-15):
    """FISTA with restarts where a step goes against the momentum (O'Donoghue & Candes 2015), which needs no values.

    Where values only decided, a difference below their rounding would end the search at half the digits. `curvature`
    bounds the Hessian's norm.
    """
    y, momentum = x, 1.0
    for _ in range(iterations):
        new = project(y - gradient(y) / curvature)
        step, after = new - x, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        done = norm(new - y) <= tol * max(norm(x), 1.0)
        if np.sum((y - new) * step) > 0.0:
            y, momentum = new, 1.0
        else:
            y, momentum = new + (momentum - 1.0) / after * step, after
        x = new
        if done:
            break
    return x


def feasible_comparator(value, gradient, curvature, project, A, b, x0, rho=1.0, outer=60, inner=1000):
    """`min value` over K with `A x <= b` by the augmented Lagrangian.

    `rho` grows where a step does not bring the violation down fourfold: with a fixed one, instances whose solution lies
    on both boundaries at a small angle are off by 1e-2 after 60 steps.

    Args:
      value, gradient: the total loss, of which the search needs the gradient only; `curvature` bounds its Hessian.
      project: onto K.
      A: [T, d] and b: [T]: the constraints `A_t x <= b_t` (matrices as [T, m, n]).

    Returns:
      x, the multipliers [T], and the largest `A_t x - b_t`.
    """
    del value
    rows = np.asarray(A).reshape(len(A), -1)
    shape, mu = np.shape(x0), np.zeros(len(rows))
    steepness, violation = np.linalg.norm(rows, 2) ** 2, np.inf
    x = np.array(x0, float)

    def push(x, mu, rho):
        return np.maximum(0.0, mu + rho * (rows @ x.ravel() - b))

    for _ in range(outer):

        def slope(x, mu=mu, rho=rho):
            return gradient(x) + (rows.T @ push(x, mu, rho)).reshape(shape)

        x = minimise(slope, curvature + rho * steepness, project, x, inner)
        mu, before, violation = push(x, mu, rho), violation, max(0.0, np.max(rows @ x.ravel() - b))
        if violation > max(0.25 * before, 1e-9):
            rho *= 4.0
    return x, mu, float(np.max(rows @ x.ravel() - b))
