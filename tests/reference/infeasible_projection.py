"""Close infeasible projection by a linear oracle (Garber & Kretzu, COLT 2022, Algorithms 2 and 3)."""

from tests.reference.convex_sets import inner, norm


def separate(domain, x, y, eps):
    """Algorithm 2: a point of K that is near y or whose gap certifies a hyperplane; with the oracle calls made."""
    calls = 0
    while True:
        v = domain.lmo(x - y)
        calls += 1
        gap = inner(x - y, x - v)
        if gap <= eps or inner(x - y, x - y) <= 3.0 * eps:
            return x, calls
        x = x + min(max(gap / inner(v - x, v - x), 0.0), 1.0) * (v - x)


def close_infeasible_projection(domain, x0, y0, eps, radius=None):
    """Algorithm 3: `(x in K, y)` with `||x - y||^2 <= 3 eps` and y no farther than y0 from any point of K.

    Returns x, y, the oracle calls of each separation.
    """
    R = domain.outer if radius is None else radius
    y = y0 / max(1.0, norm(y0) / R)
    d0, x, calls = norm(x0 - y0) ** 2, x0, []
    if d0 <= 3.0 * eps:
        return x0, y, calls
    step = 2.0 * eps / d0
    while True:
        x, made = separate(domain, x, y, eps)
        calls.append(made)
        if norm(x - y) ** 2 <= 3.0 * eps:
            return x, y, calls
        y = y - step * (y - x)
