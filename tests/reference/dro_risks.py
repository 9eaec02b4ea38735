"""Risks of group DRO without sampling: the synthetic groups in closed form, Example 1, tables, and the duality gap."""

import functools

import numpy as np
import scipy.integrate
import scipy.optimize

HALF_NORMAL = np.sqrt(2.0 / np.pi)  # E|g|


def mean_of_largest(values, k=1):
    return np.mean(np.sort(values)[::-1][:k])


# The synthetic groups of section 7.1; a_i = (pi_i - 1/2) w*_i.


def _half_normal_mean(f):
    """E f(|g|)."""
    return scipy.integrate.quad(
        lambda g: 2.0 * f(g) * np.exp(-g * g / 2.0) / np.sqrt(2.0 * np.pi), 0.0, 40.0, limit=200
    )[0]


@functools.cache
def log_cosh(s):
    """H(s) = E log(2 cosh(s g / 2)) = s / sqrt(2 pi) + E log(1 + exp(-s |g|))."""
    return s * HALF_NORMAL / 2.0 + _half_normal_mean(lambda g: np.log1p(np.exp(-s * g)))


@functools.cache
def log_cosh_slope(s):
    """H'(s)."""
    return _half_normal_mean(lambda g: g / 2.0 * np.tanh(s * g / 2.0))


def synthetic_groups(rng, dim, m, rho, correct):
    """a [m, d]."""
    directions = rng.normal(size=(m + 1, dim))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    optima = directions[0] + rho * directions[1:]
    return (np.asarray(correct) - 0.5)[:, None] * optima / np.linalg.norm(optima, axis=1, keepdims=True)


def synthetic_risks(w, a):
    """R_i(w) = H(||w||) - sqrt(2/pi) <a_i, w>."""
    return log_cosh(float(np.linalg.norm(w))) - HALF_NORMAL * a @ w


def best_norm(pull, radius=np.inf):
    """argmin over 0 <= s <= radius of H(s) - sqrt(2/pi) s pull."""
    slope = HALF_NORMAL * pull
    if np.isfinite(radius) and log_cosh_slope(float(radius)) <= slope:
        return float(radius)
    high = 1.0
    while log_cosh_slope(high) < slope:
        high *= 2.0
    return scipy.optimize.brentq(lambda s: log_cosh_slope(s) - slope, 0.0, high, xtol=1e-14)


def least_synthetic_risk(q, a, radius=np.inf, b=None):
    """min over ||w|| <= radius of sum_i q_i b_i R_i(w)."""
    scaled = q if b is None else q * b
    pull = np.linalg.norm(scaled @ a) / np.sum(scaled)
    s = best_norm(pull, radius)
    return np.sum(scaled) * (log_cosh(s) - HALF_NORMAL * s * pull)


def synthetic_gap(w, q, a, radius, k=1):
    return mean_of_largest(synthetic_risks(w, a), k) - least_synthetic_risk(q, a, radius)


def synthetic_saddle(a, k=1, radius=np.inf):
    """(w*, q*, value): q* is the (capped) weighting with the shortest sum_i q_i a_i, w* lies along that sum."""
    m, gram = len(a), a @ a.T
    solution = scipy.optimize.minimize(
        lambda q: (q @ gram @ q, 2.0 * gram @ q),
        np.full(m, 1.0 / m),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0 / k)] * m,
        constraints={"type": "eq", "fun": lambda q: np.sum(q) - 1.0, "jac": lambda q: np.ones(m)},
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    q = solution.x
    mean = q @ a
    s = best_norm(np.linalg.norm(mean), radius)
    return s * mean / np.linalg.norm(mean), q, least_synthetic_risk(q, a, radius)


# Example 1: W = [0, 1], loss (w - z)^2, z ~ Bernoulli(mu_i).

EXAMPLE_1 = np.array([0.5, *np.arange(0.86, 1.005, 0.01)])  # mu, 16 groups


def example_1_risks(w, mu=EXAMPLE_1):
    """[..., m]."""
    w = np.asarray(w)[..., None]
    return w**2 - 2.0 * mu * w + mu


# Groups of rows: R_i is the mean over the rows of group i.


def table_risks(w, x, y, group, m, loss):
    losses, gradients = loss(w, x, y)
    return tuple(np.array([np.mean(part[group == i], axis=0) for i in range(m)]) for part in (losses, gradients))


def least_table_risk(q, x, y, group, loss, radius, smoothness, tolerance=1e-9, iterations=100_000):
    """(lower, upper) bounds on min over ||w|| <= radius of sum_i q_i R_i(w), at most `tolerance` apart: accelerated
    projected gradient with restarts, certified by its Frank-Wolfe gap, which convexity makes a bound."""
    w = momentum = np.zeros(x.shape[1])
    scale, best = 1.0, (-np.inf, np.inf)
    for _ in range(iterations):
        risks, slopes = table_risks(momentum, x, y, group, len(q), loss)
        value, gradient = q @ risks, q @ slopes
        lower = value - (gradient @ momentum + radius * np.linalg.norm(gradient))
        if np.linalg.norm(momentum) <= radius * (1 + 1e-15):
            best = max(best[0], lower), min(best[1], value)
        else:
            best = max(best[0], lower), best[1]
        if best[1] - best[0] <= tolerance:
            return best
        step = momentum - gradient / smoothness
        step *= min(1.0, radius / max(np.linalg.norm(step), 1e-300))
        if (momentum - step) @ (step - w) > 0:  # O'Donoghue & Candes: the momentum points uphill
            scale = 1.0
        following = (1 + np.sqrt(1 + 4 * scale**2)) / 2
        momentum, w, scale = step + (scale - 1) / following * (step - w), step, following
    raise RuntimeError(f"no certificate below {tolerance}: {best}")


def table_gap(w, q, x, y, group, loss, radius, smoothness, k=1, tolerance=1e-9):
    """(lower, upper) bounds on max_q' phi(w, q') - min_w' phi(w', q)."""
    risks, _ = table_risks(w, x, y, group, len(q), loss)
    lower, upper = least_table_risk(q, x, y, group, loss, radius, smoothness, tolerance)
    return mean_of_largest(risks, k) - upper, mean_of_largest(risks, k) - lower
