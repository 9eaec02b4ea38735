"""Hvt-UCB (`hvt_ucb`, `hvt_estimator`) and OFUL (`oful`) as plain NumPy float64 loops, written from the papers.

Nothing incremental: V is summed and solved afresh, the projection goes through the eigenvectors of V and bisection.
"""

import numpy as np


def project(V, y, S):
    """argmin_{||th|| <= S} ||th - y||_V and its multiplier mu, from (V + mu I) th = V y."""
    n = np.sqrt(y @ y)
    if n <= S:
        return y.copy(), 0.0
    l, Q = np.linalg.eigh(V)
    c = Q.T @ y
    low, high = l[0] * (n / S - 1.0), l[-1] * (n / S - 1.0)  # all weights l/(l + mu) >= S/n, all <= S/n
    for _ in range(200):
        mu = 0.5 * (low + high)
        if np.sum((l * c / (l + mu)) ** 2) > S * S:
            low = mu
        else:
            high = mu
    return Q @ (l * c / (l + high)), high


class Hvt:
    """Algorithm 1 without arm selection; every quantity of every round is kept."""

    def __init__(self, dim, T, eps, S=1.0, L=1.0, lam=None, sigma_min=None, delta=None, alpha=4.0,
                 beta_scale=1.0, sigma_beta_scale=None, tau_scale=1.0, extra_sigma=False):  # fmt: skip
        self.lam = float(dim) if lam is None else lam
        self.sigma_min = 1 / np.sqrt(T) if sigma_min is None else sigma_min
        delta = 1 / (8 * T) if delta is None else delta
        self.S, self.alpha, self.eps = S, alpha, eps
        self.beta_scale, self.tau_scale, self.extra_sigma = beta_scale, tau_scale, extra_sigma
        self.sigma_beta_scale = beta_scale if sigma_beta_scale is None else sigma_beta_scale
        self.e = (1 - eps) / (2 * (1 + eps))
        self.kappa = dim * np.log(1 + L**2 * T / (self.sigma_min**2 * self.lam * alpha * dim))
        self.ell = np.log(2 * float(T) ** 2 / delta)
        self.tau0 = np.sqrt(2 * self.kappa) * np.log(3 * T) ** self.e / self.ell ** (1 / (1 + eps))
        self.theta, self.V, self.t = np.zeros(dim), self.lam * np.eye(dim), 0
        self.rows = []

    def beta(self, t):
        start = np.sqrt(self.lam * (2 + 4 * self.S**2))
        return start if t == 0 else 107 * self.ell * self.tau0 * float(t) ** self.e + start

    def scores(self, arms):
        widths = np.sqrt(np.einsum("kd,kd->k", arms, np.linalg.solve(self.V, arms.T).T))
        return arms @ self.theta + self.beta_scale * self.beta(self.t) * widths

    def update(self, x, r, nu):
        t, grow = self.t + 1, float(self.t + 1) ** self.e
        q = np.sqrt(x @ np.linalg.solve(self.V, x))
        third = np.sqrt(2 * self.sigma_beta_scale * self.beta(t - 1) / (self.tau0 * np.sqrt(self.alpha) * grow)) * q
        sigma = max(nu, self.sigma_min, third, 2 * np.sqrt(2) * q if self.extra_sigma else 0.0)
        w = q / (np.sqrt(self.alpha) * sigma)
        tau = np.inf if w == 0 else self.tau_scale * self.tau0 * np.sqrt(1 + w * w) / w * grow
        psi = np.clip((r - x @ self.theta) / sigma, -tau, tau)
        self.V = self.V + np.outer(x, x) / (self.alpha * sigma**2)
        y = self.theta + np.linalg.solve(self.V, x) * psi / sigma
        self.theta, mu = project(self.V, y, self.S)
        self.t = t
        row = {"theta": self.theta, "sigma": sigma, "tau": tau, "w": w, "psi": psi, "mu": mu, "third": third}
        self.rows.append(row | {"V": self.V, "beta": self.beta(t)})

    def trace(self):
        return {name: np.array([row[name] for row in self.rows]) for name in self.rows[0]}


class Oful:
    """Theorem 2 of Abbasi-Yadkori, Pal & Szepesvari."""

    def __init__(self, dim, R, delta, S=1.0, lam=None, beta_scale=1.0):
        self.lam = float(dim) if lam is None else lam
        self.R, self.delta, self.S, self.beta_scale = R, delta, S, beta_scale
        self.V, self.b = self.lam * np.eye(dim), np.zeros(dim)
        self.rows = []

    @property
    def theta(self):
        return np.linalg.solve(self.V, self.b)

    @property
    def radius(self):
        dim = len(self.b)
        log_ratio = np.linalg.slogdet(self.V)[1] - dim * np.log(self.lam)
        root = np.sqrt(2 * (0.5 * log_ratio - np.log(self.delta)))
        return self.beta_scale * (self.R * root + np.sqrt(self.lam) * self.S)

    def scores(self, arms):
        widths = np.sqrt(np.einsum("kd,kd->k", arms, np.linalg.solve(self.V, arms.T).T))
        return arms @ self.theta + self.radius * widths

    def update(self, x, r, nu):
        del nu
        self.V = self.V + np.outer(x, x)
        self.b = self.b + r * x
        self.rows.append({"theta": self.theta, "radius": self.radius, "V": self.V})

    trace = Hvt.trace


def replay(learner, X, r, nu):
    """Feeds a recorded trace."""
    for row in zip(X, r, nu, strict=True):
        learner.update(*row)
    return learner.trace()


def instance(rng, T, K, d, law="student", fixed=False, decades=0.0, available=None):
    """A recorded instance: arms [T, K, d], mask [T, K], theta*, noise [T], nu [T] (nu at eps = 0.99 or 0.49)."""
    arms = rng.uniform(-1, 1, (1 if fixed else T, K, d))
    arms = np.broadcast_to(arms / np.sqrt((arms**2).sum(-1).max()), (T, K, d)).copy()
    theta = rng.uniform(-1, 1, d)
    theta /= np.sqrt(theta @ theta)
    u = rng.uniform(size=T)
    noise, nu = {
        "student": lambda: (rng.standard_t(2.1, T), 4.387787),
        "gauss": lambda: (rng.standard_normal(T), 1.0),
        "pareto": lambda: ((1 - u) ** (-1 / 1.5) - 3.0, 28.603659),
        "lomax": lambda: ((1 - u) ** (-1 / 1.5) - 1.0 - 2.0, 28.603659),
        "fisk": lambda: ((u / (1 - u)) ** (1 / 1.5) - 2.41839915, 28.644800),
        "none": lambda: (np.zeros(T), 0.0),
    }[law]()
    factor = 10 ** rng.uniform(0, decades, T) if decades else np.ones(T)
    mask = np.ones((T, K), bool)
    if available is not None:
        mask = np.argsort(rng.uniform(size=(T, K)), axis=1) < available
    return arms, mask, theta, factor * noise, factor * nu


def forced_trace(rng, T, dim, figure, settled):
    """Forced plays x [T, d], rewards [T] and nu [T], exact in float32 so that both precisions see the same numbers.

    figure 1: Student 2.1, told nu = 1.31. Figure 4: Student 1.7 times a scale over 2.5 decades, told its moment of
    order 1.69. Arms are drawn anew every round, or (`settled`) in all but 2 % of the rounds from 200 on are one and
    the same, as a bandit plays them.
    """
    arms, _, theta, noise, nu = instance(rng, T, 1, dim)
    x = arms[:, 0]
    if settled:
        stays = (np.arange(T) >= 200) & (rng.uniform(size=T) > 0.02)
        x[stays] = theta + 0.1 * rng.standard_normal(dim)
    if figure == 4:
        scale = 10 ** rng.uniform(0, 2.5, T)
        noise, nu = scale * rng.standard_t(1.7, T), scale * 18.711180
    else:
        nu = np.full(T, 1.31)
    x = x.astype(np.float32).astype(float)
    return x, (x @ theta + noise).astype(np.float32).astype(float), nu.astype(np.float32).astype(float)
