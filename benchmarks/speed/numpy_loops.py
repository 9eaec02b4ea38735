"""Linear bandits in fast plain NumPy: for one seed, and for many seeds in one array.

These are the baselines of the speed table, and not the references of the tests. Per-round constants are computed before
the loop, noise is drawn in one call before the loop, inverses are kept by Sherman-Morrison updates, and the projection
runs only for points outside the ball. CRMM and MENU keep an arm for an epoch, so their loops take an epoch at a time.
"""

import math

import numpy as np

ALPHA, EPS, BETA_SCALE, TAU_SCALE, RADIUS = 4.0, 0.99, 2e-4, 0.1, 1.0
OFUL_SCALE, CRTM_SCALE, CRMM_SCALE, MENU_SCALE = 0.3, 3e-3, 3e-2, 3e-2
SCALES = {  # the same, as the library's fields
    "hvt_ucb": {"beta_scale": BETA_SCALE, "tau_scale": TAU_SCALE},
    "oful": {"beta_scale": OFUL_SCALE},
    "crtm": {"beta_scale": CRTM_SCALE, "threshold_scale": 1.0},
    "crmm": {"beta_scale": CRMM_SCALE},
    "menu": {"beta_scale": MENU_SCALE},
}
CRMM_PULLS, MENU_PULLS = 11, 51  # of an epoch


def instance(dim: int, n_arms: int, seeds: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw arms `[S, K, d]`, divided by the largest norm, and unit parameters `[S, d]`."""
    arms = rng.uniform(-1, 1, (seeds, n_arms, dim))
    arms /= np.linalg.norm(arms, axis=2).max(1)[:, None, None]
    theta = rng.uniform(-1, 1, (seeds, dim))
    return arms, theta / np.linalg.norm(theta, axis=1, keepdims=True)


def optimistic_one(arms, theta, inverse, radius):
    """Return the arm with the largest upper confidence bound."""
    return int((arms @ theta + radius * np.sqrt(np.einsum("kd,kd->k", arms @ inverse, arms))).argmax())


def optimistic_many(arms, theta, inverse, radius):
    """Return the arms `[S]` of `optimistic_one` for all seeds; the radius is a number or `[S, 1]`."""
    widths = np.sqrt(np.einsum("skd,skd->sk", np.matmul(arms, inverse), arms))
    return (np.matmul(arms, theta[..., None])[..., 0] + radius * widths).argmax(1)


def project(inverse, y, radius):
    """Return the nearest points of the ball in the norms of V, given V^{-1}, for one or many points outside the ball.

    The method is Newton's iteration on the secular equation in the eigenbasis.
    """
    values, frame = np.linalg.eigh(inverse)
    c, mu = np.matmul(np.swapaxes(frame, -1, -2), y[..., None])[..., 0], 0.0
    for _ in range(24):
        scale = 1.0 + mu * values
        x = c / scale
        norm_sq = np.einsum("...d,...d->...", x, x)[..., None]
        excess = np.sqrt(norm_sq) / radius - 1.0
        if excess.max() <= 1e-12:
            break
        mu = mu + excess * norm_sq / np.einsum("...d,...d->...", x * x, values / scale)[..., None]
    return np.matmul(frame, x[..., None])[..., 0]


def project_where_outside(inverse, theta, radius):
    """Project those rows of theta `[S, d]` that lie outside the ball, in place."""
    out = np.flatnonzero(np.einsum("sd,sd->s", theta, theta) > radius**2)
    if out.size:
        theta[out] = project(inverse[out], theta[out], radius)


def oful_one(dim, n_arms, rounds, horizon, noise_scale, df, rng):
    """Run OFUL on one seed; return its pseudo-regret."""
    arms, theta_star = (x[0] for x in instance(dim, n_arms, 1, rng))
    means, noise = arms @ theta_star, rng.standard_t(df, rounds)
    inverse, moment = np.eye(dim) / dim, np.zeros(dim)
    log_ratio, offset, regret, best = -2.0 * math.log(1.0 / (8.0 * horizon)), math.sqrt(dim), 0.0, means.max()
    for t in range(rounds):
        radius = OFUL_SCALE * (noise_scale * math.sqrt(log_ratio) + offset)
        k = optimistic_one(arms, inverse @ moment, inverse, radius)
        x = arms[k]
        u = inverse @ x
        width = x @ u
        inverse -= np.outer(u, u / (1.0 + width))
        moment += (means[k] + noise[t]) * x
        log_ratio += math.log1p(width)
        regret += best - means[k]
    return regret


def oful_many(dim, n_arms, rounds, horizon, noise_scale, df, rng, seeds):
    """Run OFUL on all seeds in one array; return their pseudo-regrets `[S]`."""
    arms, theta_star = instance(dim, n_arms, seeds, rng)
    means = np.einsum("skd,sd->sk", arms, theta_star)
    inverse, moment = np.tile(np.eye(dim) / dim, (seeds, 1, 1)), np.zeros((seeds, dim))
    log_ratio, offset = np.full(seeds, -2.0 * math.log(1.0 / (8.0 * horizon))), math.sqrt(dim)
    row, regret, best = np.arange(seeds), np.zeros(seeds), means.max(1)
    for _ in range(rounds):
        radius = OFUL_SCALE * (noise_scale * np.sqrt(log_ratio) + offset)
        k = optimistic_many(arms, np.matmul(inverse, moment[..., None])[..., 0], inverse, radius[:, None])
        x, mean = arms[row, k], means[row, k]
        u = np.matmul(inverse, x[..., None])[..., 0]
        width = np.einsum("sd,sd->s", x, u)
        inverse -= u[:, :, None] * (u / (1.0 + width)[:, None])[:, None, :]
        moment += (mean + rng.standard_t(df, seeds))[:, None] * x
        log_ratio += np.log1p(width)
        regret += best - mean
    return regret


def _hvt_constants(dim, horizon):
    sigma_min, ell = horizon**-0.5, math.log(2.0 * horizon**2 * 8.0 * horizon)
    kappa = dim * math.log1p(horizon / (sigma_min**2 * dim * ALPHA * dim))
    exponent = (1 - EPS) / (2 * (1 + EPS))
    tau0 = math.sqrt(2 * kappa) * math.log(3 * horizon) ** exponent / ell ** (1 / (1 + EPS))
    return sigma_min, ell, tau0, exponent, math.sqrt(dim * (2 + 4 * RADIUS**2))


def hvt_ucb_one(dim, n_arms, rounds, horizon, noise_scale, df, rng):
    """Run Hvt-UCB on one seed; return its pseudo-regret."""
    arms, theta_star = (x[0] for x in instance(dim, n_arms, 1, rng))
    means, noise = arms @ theta_star, rng.standard_t(df, rounds)
    sigma_min, ell, tau0, exponent, beta0 = _hvt_constants(dim, horizon)
    inverse, theta, regret, best, root = np.eye(dim) / dim, np.zeros(dim), 0.0, means.max(), math.sqrt(ALPHA)
    for t in range(rounds):
        beta = BETA_SCALE * (beta0 + (107 * ell * tau0 * t**exponent if t else 0.0))
        k = optimistic_one(arms, theta, inverse, beta)
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
            theta = project(inverse, theta, RADIUS)
        regret += best - means[k]
    return regret


def hvt_ucb_many(dim, n_arms, rounds, horizon, noise_scale, df, rng, seeds):
    """Run Hvt-UCB on all seeds in one array; return their pseudo-regrets `[S]`."""
    arms, theta_star = instance(dim, n_arms, seeds, rng)
    means = np.einsum("skd,sd->sk", arms, theta_star)
    sigma_min, ell, tau0, exponent, beta0 = _hvt_constants(dim, horizon)
    inverse, theta = np.tile(np.eye(dim) / dim, (seeds, 1, 1)), np.zeros((seeds, dim))
    row, regret, best, root = np.arange(seeds), np.zeros(seeds), means.max(1), math.sqrt(ALPHA)
    for t in range(rounds):
        beta = BETA_SCALE * (beta0 + (107 * ell * tau0 * t**exponent if t else 0.0))
        k = optimistic_many(arms, theta, inverse, beta)
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
        project_where_outside(inverse, theta, RADIUS)
        regret += best - mean
    return regret


def _crtm_constants(dim, horizon, noise_scale):
    """Return threshold and radius."""
    scale, growth = noise_scale + RADIUS, horizon ** ((1 - EPS) / (2 * (1 + EPS)))
    level, potential = math.log(4.0 * horizon**2), dim * math.log1p(horizon / dim**2)
    threshold = 2.0 * math.sqrt(potential) * scale * growth / level ** (1 / (1 + EPS))
    spread = level ** (EPS / (1 + EPS)) * scale * growth
    return threshold, CRTM_SCALE * math.sqrt(896.0 * potential * spread**2 + 2.0 * dim + 48.0 * potential)


def crtm_one(dim, n_arms, rounds, horizon, noise_scale, df, rng):
    """Run CRTM by least squares on one seed; return its pseudo-regret."""
    arms, theta_star = (x[0] for x in instance(dim, n_arms, 1, rng))
    means, noise = arms @ theta_star, rng.standard_t(df, rounds)
    threshold, radius = _crtm_constants(dim, horizon, noise_scale)
    inverse, theta, regret, best = np.eye(dim) / dim, np.zeros(dim), 0.0, means.max()
    for t in range(rounds):
        k = optimistic_one(arms, theta, inverse, radius)
        x, reward = arms[k], means[k] + noise[t]
        u = inverse @ x
        width_sq = x @ u
        gain = u / (1.0 + width_sq)
        if math.sqrt(width_sq / (1.0 + width_sq)) * abs(reward) > threshold:
            reward = 0.0
        inverse -= np.outer(gain, u)
        theta += gain * (reward - x @ theta)
        regret += best - means[k]
    return regret


def crtm_many(dim, n_arms, rounds, horizon, noise_scale, df, rng, seeds):
    """Run CRTM by least squares on all seeds in one array; return their pseudo-regrets `[S]`."""
    arms, theta_star = instance(dim, n_arms, seeds, rng)
    means = np.einsum("skd,sd->sk", arms, theta_star)
    threshold, radius = _crtm_constants(dim, horizon, noise_scale)
    inverse, theta = np.tile(np.eye(dim) / dim, (seeds, 1, 1)), np.zeros((seeds, dim))
    row, regret, best = np.arange(seeds), np.zeros(seeds), means.max(1)
    for _ in range(rounds):
        k = optimistic_many(arms, theta, inverse, radius)
        x, mean = arms[row, k], means[row, k]
        reward = mean + rng.standard_t(df, seeds)
        u = np.matmul(inverse, x[..., None])[..., 0]
        width_sq = np.einsum("sd,sd->s", x, u)
        gain = u / (1.0 + width_sq)[:, None]
        reward[np.sqrt(width_sq / (1.0 + width_sq)) * np.abs(reward) > threshold] = 0.0
        inverse -= gain[:, :, None] * u[:, None, :]
        theta += gain * (reward - np.einsum("sd,sd->s", x, theta))[:, None]
        regret += best - mean
    return regret


def _crmm_radius(dim, horizon, noise_scale):
    epochs, spread_sq = horizon // CRMM_PULLS, (4.0 ** (1 / (1 + EPS)) * noise_scale) ** 2
    potential = dim * math.log1p(epochs / dim**2)
    log_term = 0.5 * math.log1p(4.0 * epochs) + math.log(horizon)
    return CRMM_SCALE * math.sqrt(dim + 1.0 + 2.0 * spread_sq * log_term + 4.0 * (4.0 + spread_sq) * potential)


def crmm_one(dim, n_arms, rounds, horizon, noise_scale, df, rng):
    """Run CRMM by least squares on one seed, an epoch at a time; return its pseudo-regret."""
    arms, theta_star = (x[0] for x in instance(dim, n_arms, 1, rng))
    means, noise = arms @ theta_star, rng.standard_t(df, rounds)
    radius, middle = _crmm_radius(dim, horizon, noise_scale), CRMM_PULLS // 2
    inverse, theta, regret, best = np.eye(dim) / dim, np.zeros(dim), 0.0, means.max()
    for start in range(0, rounds, CRMM_PULLS):
        k = optimistic_one(arms, theta, inverse, radius)
        x, pulls = arms[k], noise[start : start + CRMM_PULLS]
        regret += (best - means[k]) * len(pulls)
        if len(pulls) == CRMM_PULLS:
            u = inverse @ x
            gain = u / (1.0 + x @ u)
            inverse -= np.outer(gain, u)
            theta += gain * (means[k] + np.partition(pulls, middle)[middle] - x @ theta)
    return regret


def crmm_many(dim, n_arms, rounds, horizon, noise_scale, df, rng, seeds):
    """Run CRMM by least squares on all seeds in one array, an epoch at a time; return their pseudo-regrets `[S]`."""
    arms, theta_star = instance(dim, n_arms, seeds, rng)
    means = np.einsum("skd,sd->sk", arms, theta_star)
    radius, middle = _crmm_radius(dim, horizon, noise_scale), CRMM_PULLS // 2
    inverse, theta = np.tile(np.eye(dim) / dim, (seeds, 1, 1)), np.zeros((seeds, dim))
    row, regret, best = np.arange(seeds), np.zeros(seeds), means.max(1)
    for start in range(0, rounds, CRMM_PULLS):
        k = optimistic_many(arms, theta, inverse, radius)
        x, mean = arms[row, k], means[row, k]
        pulls = rng.standard_t(df, (min(CRMM_PULLS, rounds - start), seeds))
        regret += (best - mean) * len(pulls)
        if len(pulls) == CRMM_PULLS:
            u = np.matmul(inverse, x[..., None])[..., 0]
            gain = u / (1.0 + np.einsum("sd,sd->s", x, u))[:, None]
            inverse -= gain[:, :, None] * u[:, None, :]
            median = mean + np.partition(pulls, middle, axis=0)[middle]
            theta += gain * (median - np.einsum("sd,sd->s", x, theta))[:, None]
    return regret


def _menu_radius(dim, epochs, noise_scale):
    if epochs == 0:
        return MENU_SCALE * math.sqrt(dim)
    growth = epochs ** ((1 - EPS) / (2 * (1 + EPS)))
    return MENU_SCALE * 3.0 * ((9.0 * dim) ** (1 / (1 + EPS)) * noise_scale * growth + math.sqrt(dim))


def _most_central(inverse, moments):
    """Return the index of the regression with the least median distance to the others; moments `[..., k, d]`."""
    points = np.matmul(moments, np.linalg.cholesky(inverse))  # their Euclidean distances are the estimates' in V
    gap = points[..., :, None, :] - points[..., None, :, :]
    squared = np.einsum("...d,...d->...", gap, gap)
    middle = [MENU_PULLS // 2, MENU_PULLS // 2 + 1]  # of the 50 others; 0 is the distance to itself
    return np.sqrt(np.partition(squared, middle, axis=-1)[..., middle]).sum(-1).argmin(-1)


def menu_one(dim, n_arms, rounds, horizon, noise_scale, df, rng):
    """Run MENU on one seed, an epoch at a time; return its pseudo-regret."""
    del horizon
    arms, theta_star = (x[0] for x in instance(dim, n_arms, 1, rng))
    means, noise = arms @ theta_star, rng.standard_t(df, rounds)
    inverse, moments = np.eye(dim) / dim, np.zeros((MENU_PULLS, dim))
    theta, regret, best = np.zeros(dim), 0.0, means.max()
    for epoch, start in enumerate(range(0, rounds, MENU_PULLS)):
        k = optimistic_one(arms, theta, inverse, _menu_radius(dim, epoch, noise_scale))
        x, pulls = arms[k], noise[start : start + MENU_PULLS]
        regret += (best - means[k]) * len(pulls)
        if len(pulls) == MENU_PULLS:
            u = inverse @ x
            inverse -= np.outer(u, u / (1.0 + x @ u))
            moments += np.outer(means[k] + pulls, x)
            theta = inverse @ moments[_most_central(inverse, moments)]
    return regret


def menu_many(dim, n_arms, rounds, horizon, noise_scale, df, rng, seeds):
    """Run MENU on all seeds in one array, an epoch at a time; return their pseudo-regrets `[S]`."""
    del horizon
    arms, theta_star = instance(dim, n_arms, seeds, rng)
    means = np.einsum("skd,sd->sk", arms, theta_star)
    inverse, moments = np.tile(np.eye(dim) / dim, (seeds, 1, 1)), np.zeros((seeds, MENU_PULLS, dim))
    theta, row, regret, best = np.zeros((seeds, dim)), np.arange(seeds), np.zeros(seeds), means.max(1)
    for epoch, start in enumerate(range(0, rounds, MENU_PULLS)):
        k = optimistic_many(arms, theta, inverse, _menu_radius(dim, epoch, noise_scale))
        x, mean = arms[row, k], means[row, k]
        pulls = rng.standard_t(df, (min(MENU_PULLS, rounds - start), seeds))
        regret += (best - mean) * len(pulls)
        if len(pulls) == MENU_PULLS:
            u = np.matmul(inverse, x[..., None])[..., 0]
            inverse -= u[:, :, None] * (u / (1.0 + np.einsum("sd,sd->s", x, u))[:, None])[:, None, :]
            moments += (mean + pulls).T[:, :, None] * x[:, None, :]
            chosen = moments[row, _most_central(inverse, moments)]
            theta = np.matmul(inverse, chosen[..., None])[..., 0]
    return regret


ONE = {"oful": oful_one, "hvt_ucb": hvt_ucb_one, "crtm": crtm_one, "crmm": crmm_one, "menu": menu_one}
MANY = {"oful": oful_many, "hvt_ucb": hvt_ucb_many, "crtm": crtm_many, "crmm": crmm_many, "menu": menu_many}
