"""The same algorithms in plain NumPy, written for speed: one seed at a time, and vectorised over seeds.

These are the baselines of the speed table, not the references of the tests: per-round constants are hoisted, noise is
drawn in one call before the loop, inverses are kept by Sherman-Morrison, and the projection runs only where needed.
"""

import math

import numpy as np

ALPHA, EPS, BETA_SCALE, TAU_SCALE, RADIUS = 4.0, 0.99, 2e-4, 0.1, 1.0
OFUL_SCALE = 0.3


def instance(dim: int, n_arms: int, seeds: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Arms `[S, K, d]` divided by the largest norm, unit parameters `[S, d]`."""
    arms = rng.uniform(-1, 1, (seeds, n_arms, dim))
    arms /= np.linalg.norm(arms, axis=2).max(1)[:, None, None]
    theta = rng.uniform(-1, 1, (seeds, dim))
    return arms, theta / np.linalg.norm(theta, axis=1, keepdims=True)


def oful_one(dim, n_arms, rounds, horizon, noise_scale, df, rng):
    """OFUL, one seed; returns pseudo-regret."""
    arms, theta_star = (x[0] for x in instance(dim, n_arms, 1, rng))
    means, noise = arms @ theta_star, rng.standard_t(df, rounds)
    inverse, moment = np.eye(dim) / dim, np.zeros(dim)
    log_ratio, offset, regret, best = -2.0 * math.log(1.0 / (8.0 * horizon)), math.sqrt(dim), 0.0, means.max()
    for t in range(rounds):
        radius = OFUL_SCALE * (noise_scale * math.sqrt(log_ratio) + offset)
        scores = arms @ (inverse @ moment) + radius * np.sqrt(np.einsum("kd,kd->k", arms @ inverse, arms))
        k = int(scores.argmax())
        x = arms[k]
        u = inverse @ x
        width = x @ u
        inverse -= np.outer(u, u / (1.0 + width))
        moment += (means[k] + noise[t]) * x
        log_ratio += math.log1p(width)
        regret += best - means[k]
    return regret


def oful_many(dim, n_arms, rounds, horizon, noise_scale, df, rng, seeds):
    """OFUL, all seeds in one array; returns mean pseudo-regret."""
    arms, theta_star = instance(dim, n_arms, seeds, rng)
    means = np.einsum("skd,sd->sk", arms, theta_star)
    inverse, moment = np.tile(np.eye(dim) / dim, (seeds, 1, 1)), np.zeros((seeds, dim))
    log_ratio, offset = np.full(seeds, -2.0 * math.log(1.0 / (8.0 * horizon))), math.sqrt(dim)
    row, regret, best = np.arange(seeds), np.zeros(seeds), means.max(1)
    for _ in range(rounds):
        radius = OFUL_SCALE * (noise_scale * np.sqrt(log_ratio) + offset)
        theta = np.matmul(inverse, moment[..., None])[..., 0]
        widths = np.sqrt(np.einsum("skd,skd->sk", np.matmul(arms, inverse), arms))
        k = (np.matmul(arms, theta[..., None])[..., 0] + radius[:, None] * widths).argmax(1)
        x, mean = arms[row, k], means[row, k]
        u = np.matmul(inverse, x[..., None])[..., 0]
        width = np.einsum("sd,sd->s", x, u)
        inverse -= u[:, :, None] * (u / (1.0 + width)[:, None])[:, None, :]
        moment += (mean + rng.standard_t(df, seeds))[:, None] * x
        log_ratio += np.log1p(width)
        regret += best - mean
    return regret.mean()


def _hvt_constants(dim, horizon):
    sigma_min, ell = horizon**-0.5, math.log(2.0 * horizon**2 * 8.0 * horizon)
    kappa = dim * math.log1p(horizon / (sigma_min**2 * dim * ALPHA * dim))
    exponent = (1 - EPS) / (2 * (1 + EPS))
    tau0 = math.sqrt(2 * kappa) * math.log(3 * horizon) ** exponent / ell ** (1 / (1 + EPS))
    return sigma_min, ell, tau0, exponent, math.sqrt(dim * (2 + 4 * RADIUS**2))


def hvt_ucb_one(dim, n_arms, rounds, horizon, noise_scale, df, rng):
    """Hvt-UCB, one seed; returns pseudo-regret."""
    arms, theta_star = (x[0] for x in instance(dim, n_arms, 1, rng))
    means, noise = arms @ theta_star, rng.standard_t(df, rounds)
    sigma_min, ell, tau0, exponent, beta0 = _hvt_constants(dim, horizon)
    inverse, theta, regret, best, root = np.eye(dim) / dim, np.zeros(dim), 0.0, means.max(), math.sqrt(ALPHA)
    for t in range(rounds):
        beta = BETA_SCALE * (beta0 + (107 * ell * tau0 * t**exponent if t else 0.0))
        k = int((arms @ theta + beta * np.sqrt(np.einsum("kd,kd->k", arms @ inverse, arms))).argmax())
        x, now = arms[k], (t + 1) ** exponent
        u = inverse @ x
        q = math.sqrt(x @ u)
        sigma = max(noise_scale, sigma_min, math.sqrt(2 * beta / (tau0 * root * now)) * q)
        w = q / (root * sigma)
        tau = TAU_SCALE * tau0 * math.sqrt(1 + w * w) / w * now
        psi = min(max((means[k] + noise[t] - x @ theta) / sigma, -tau), tau)
        inverse -= np.outer(u, u / (ALPHA * sigma**2 * (1 + w * w)))
        theta = theta + u * (psi / (sigma * (1 + w * w)))
        if theta @ theta > RADIUS**2:
            theta = _project(inverse, theta)
        regret += best - means[k]
    return regret


def _project(inverse, y):
    """Nearest point of the ball in the norm of V, by Newton on the secular equation in the eigenbasis."""
    values, vectors = np.linalg.eigh(inverse)
    c, mu = vectors.T @ y, 0.0
    for _ in range(24):
        x = c / (1 + mu * values)
        norm_sq = x @ x
        norm = math.sqrt(norm_sq)
        if norm <= RADIUS * (1 + 1e-12):
            break
        mu += (norm / RADIUS - 1) * norm_sq / (x * x * values / (1 + mu * values)).sum()
    return vectors @ (c / (1 + mu * values))


def hvt_ucb_many(dim, n_arms, rounds, horizon, noise_scale, df, rng, seeds):
    """Hvt-UCB, all seeds in one array; returns mean pseudo-regret."""
    arms, theta_star = instance(dim, n_arms, seeds, rng)
    means = np.einsum("skd,sd->sk", arms, theta_star)
    sigma_min, ell, tau0, exponent, beta0 = _hvt_constants(dim, horizon)
    inverse, theta = np.tile(np.eye(dim) / dim, (seeds, 1, 1)), np.zeros((seeds, dim))
    row, regret, best, root = np.arange(seeds), np.zeros(seeds), means.max(1), math.sqrt(ALPHA)
    for t in range(rounds):
        beta = BETA_SCALE * (beta0 + (107 * ell * tau0 * t**exponent if t else 0.0))
        widths = np.sqrt(np.einsum("skd,skd->sk", np.matmul(arms, inverse), arms))
        k = (np.matmul(arms, theta[..., None])[..., 0] + beta * widths).argmax(1)
        x, mean, now = arms[row, k], means[row, k], (t + 1) ** exponent
        u = np.matmul(inverse, x[..., None])[..., 0]
        q = np.sqrt(np.einsum("sd,sd->s", x, u))
        sigma = np.maximum(max(noise_scale, sigma_min), math.sqrt(2 * beta / (tau0 * root * now)) * q)
        w = q / (root * sigma)
        tau = TAU_SCALE * tau0 * np.sqrt(1 + w * w) / w * now
        residual = mean + rng.standard_t(df, seeds) - np.einsum("sd,sd->s", x, theta)
        psi = np.clip(residual / sigma, -tau, tau)
        inverse -= u[:, :, None] * (u / (ALPHA * sigma**2 * (1 + w * w))[:, None])[:, None, :]
        theta = theta + u * (psi / (sigma * (1 + w * w)))[:, None]
        for s in np.flatnonzero(np.einsum("sd,sd->s", theta, theta) > RADIUS**2):
            theta[s] = _project(inverse[s], theta[s])
        regret += best - mean
    return regret.mean()


ONE = {"oful": oful_one, "hvt_ucb": hvt_ucb_one}
MANY = {"oful": oful_many, "hvt_ucb": hvt_ucb_many}
