"""The weights player of group DRO in plain NumPy: steps on the (capped) simplex and samplers fed by given uniforms."""

import numpy as np


def log_sum_exp(a):
    largest = np.max(a)
    return largest + np.log(np.sum(np.exp(a - largest)))


def project(log_p, k=1):
    """KL projection of an unnormalised p onto {0 <= q_i <= 1/k, sum q = 1}: sort, then the one-sided test."""
    s, cap = np.sort(log_p)[::-1], -np.log(k)
    for j in range(k):  # j coordinates at the cap; j = k - 1 needs no test
        log_c = np.log1p(-j / k) - log_sum_exp(s[j:])
        if j == k - 1 or log_c + s[j] <= cap:
            return np.exp(np.minimum(log_p + log_c, cap))
    raise AssertionError("k >= 1")


def project_by_bisection(log_p, k=1):
    """The same projection from its definition alone: log c with sum min(c p_i, 1/k) = 1 by bisection."""
    cap = -np.log(k)
    low, high = -log_sum_exp(log_p), cap - np.sort(log_p)[::-1][k - 1]
    for _ in range(200):
        middle = (low + high) / 2
        total = np.sum(np.exp(np.minimum(log_p + middle, cap)))
        low, high = (low, middle) if total > 1 else (middle, high)
    return np.exp(np.minimum(log_p + high, cap))


def algorithm_8(p, k):
    """The capped projection as printed. Its two-sided test leaves ties and lost digits without an answer."""
    p = np.asarray(p, float)
    if np.sum(p) == 1 and np.max(p) <= 1 / k:
        return p
    order = np.argsort(p)  # ascending
    s, m, whole = np.append(p[order], np.inf), len(p), np.sum(p)
    for b in range(m, m - k, -1):  # s[b:] are at the cap
        c = (1 - (m - b) / k) / (whole - np.sum(s[b:m]))
        if c * s[b - 1] < 1 / k <= c * s[b]:
            return np.minimum(c * p, 1 / k)
    return np.where(p != 0, 1 / k, 0.0)


def mirror(q, exponent, k=1):
    """q exp(exponent), projected: Hedge for k = 1."""
    with np.errstate(divide="ignore"):
        return project(np.log(q) + exponent, k)


def tsallis(q, loss_step):
    """The step of 1/2-Tsallis entropy: 1/sqrt(q') = 1/sqrt(q) + loss_step + lambda."""
    beta = 1 / np.sqrt(q) + loss_step
    low, high = 1 - np.min(beta), np.sqrt(len(q)) - np.min(beta)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum((beta + middle) ** -2.0) > 1 else (low, middle)
    return (beta + high) ** -2.0


def inverse_cdf(q, u):
    return int(min(np.searchsorted(np.cumsum(q), u, side="right"), len(q) - 1))


def uniform_index(m, u):
    return int(min(np.floor(u * m), m - 1))


def dep_round(q, k, u, eps=1e-12):
    """Algorithm 9: k indices, index i among them with probability k q_i; u [m - 1], entry b - 1 is the pair with b."""
    p, a = k * np.asarray(q, float), 0

    def fractional(value):
        return eps < value < 1 - eps

    for b in range(1, len(p)):
        if not fractional(p[a]):
            a = b
        elif fractional(p[b]):
            up, down = min(1 - p[a], p[b]), min(p[a], 1 - p[b])
            if u[b - 1] < down / (up + down):
                p[a], p[b] = p[a] + up, p[b] - up
            else:
                p[a], p[b] = p[a] - down, p[b] + down
            a = a if fractional(p[a]) else b
    return np.sort(np.argsort(-p, kind="stable")[:k])


def systematic(q, k, u):
    """k indices from one uniform, with the marginals of `dep_round`."""
    ends = np.cumsum(k * np.asarray(q, float))
    ends[-1] = k
    picks = np.floor(ends - u) > np.floor(np.append(0.0, ends[:-1]) - u)
    return np.flatnonzero(picks)
