"""The best fixed point in hindsight of K, with or without `g_t(x) <= 0` for all t, for linear g_t (offline)."""

import numpy as np

from tests.reference.convex_sets import norm


def minimise(value, gradient, curvature, project, x, iterations, tol=1e-14):
    """FISTA with restarts where the value rises (O'Donoghue & Candes 2015); `curvature` bounds the Hessian's norm."""
    y, momentum, best = x, 1.0, value(x)
    for _ in range(iterations):
        new = project(y - gradient(y) / curvature)
        if value(new) > best:
            if momentum == 1.0:
                break
            y, momentum = x, 1.0
            continue
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        moved = norm(new - x)
        y = new + (momentum - 1.0) / after * (new - x)
        x, momentum, best = new, after, value(new)
        if moved <= tol * max(norm(x), 1.0) and momentum > 2.0:
            break
    return x


def feasible_comparator(value, gradient, curvature, project, A, b, x0, rho=1.0, outer=60, inner=200):
    """`min value` over K with `A x <= b` by the augmented Lagrangian.

    Args:
      value, gradient: the total loss; `curvature` bounds its Hessian.
      project: onto K.
      A: [T, d] and b: [T]: the constraints `A_t x <= b_t` (matrices as [T, m, n]).

    Returns:
      x, the multipliers [T], and the largest `A_t x - b_t`.
    """
    rows = np.asarray(A).reshape(len(A), -1)
    shape, mu = np.shape(x0), np.zeros(len(rows))
    total = curvature + rho * np.linalg.norm(rows, 2) ** 2
    x = np.array(x0, float)

    def push(x, mu):
        return np.maximum(0.0, mu + rho * (rows @ x.ravel() - b))

    for _ in range(outer):

        def lagrangian(x, mu=mu):
            return value(x) + np.sum(push(x, mu) ** 2) / (2.0 * rho)

        def slope(x, mu=mu):
            return gradient(x) + (rows.T @ push(x, mu)).reshape(shape)

        x = minimise(lagrangian, slope, total, project, x, inner)
        mu = push(x, mu)
    return x, mu, float(np.max(rows @ x.ravel() - b))
