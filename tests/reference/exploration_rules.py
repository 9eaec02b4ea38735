"""Rules of exploration as plain NumPy functions, written from the papers.

Each takes what a model says of K arms (a dict: mean, width, draw, draws, noise, information, previous_epoch), which
arms are available, and the round t = 1, 2, ...; it returns the scores of the arms (-inf: not available), or their
probabilities.
"""

import numpy as np
from scipy.stats import norm

from tests.reference.bayesian_arms import least_ratio


def available_only(scores, mask):
    return np.where(mask, scores, -np.inf)


def greedy(said, mask, t):
    return available_only(said["mean"], mask)


def ucb(said, mask, t, beta):
    return available_only(said["mean"] + beta * said["width"], mask)


def thompson(said, mask, t, scale):
    return available_only(said["mean"] + scale * (said["draw"] - said["mean"]), mask)


def gp_ucb(said, mask, t, delta, discount):
    beta = 2 * np.log(len(mask) * t**2 * np.pi**2 / (6 * delta)) / discount
    return available_only(said["mean"] + np.sqrt(beta) * said["width"], mask)


def igp_ucb(said, mask, t, B, R, delta, scale):
    beta = B + R * np.sqrt(2 * (said["information"] + 1 + np.log(1 / delta)))
    return available_only(said["mean"] + scale * beta * said["width"], mask)


def gp_ts(said, mask, t, B, R, delta, scale):
    v = B + R * np.sqrt(2 * (said["information"] + 1 + np.log(2 / delta)))
    return available_only(said["mean"] + scale * v * (said["draw"] - said["mean"]), mask)


def knowledge_gradient(said, mask, t, horizon):
    """E[max(mean_k + s Z, rival)] - max(mean_k, rival) in closed form, by the law of the maximum of a normal."""
    found = np.full(len(mask), -np.inf)
    for k in np.flatnonzero(mask):
        rivals = [said["mean"][j] for j in np.flatnonzero(mask) if j != k]
        value = 0.0
        if rivals:
            s, gap = said["width"][k] ** 2 / np.hypot(said["width"][k], said["noise"]), said["mean"][k] - max(rivals)
            value = gap * norm.cdf(gap / s) + s * norm.pdf(gap / s) - max(gap, 0)
        found[k] = said["mean"][k] + (horizon - t) * value
    return found


def expected_improvement(said, mask, t, margin):
    gap = said["mean"] - said["mean"][mask].max() - margin
    return available_only(gap * norm.cdf(gap / said["width"]) + said["width"] * norm.pdf(gap / said["width"]), mask)


def eps_greedy(said, mask, t, eps, decay):
    eps = min(1, eps / t**decay)
    best = greedy(said, mask, t).argmax()
    return eps * mask / mask.sum() + (1 - eps) * (np.arange(len(mask)) == best)


def softmax(said, mask, t, temperature, decay):
    p = mask * np.exp((said["mean"] - said["mean"][mask].max()) * t**decay / temperature)
    return p / p.sum()


def inverse_gap(said, mask, gamma):
    best, p = greedy(said, mask, 0).argmax(), np.zeros(len(mask))
    for k in np.flatnonzero(mask):
        p[k] = 1 / (mask.sum() + gamma * (said["mean"][best] - said["mean"][k]))
    p[best] = 0
    p[best] = 1 - p.sum()
    return p


def square_cb(said, mask, t, scale, exponent):
    return inverse_gap(said, mask, scale * t**exponent)


def falcon(said, mask, t, scale, log_size, delta):
    n = said["previous_epoch"]
    return inverse_gap(said, mask, scale * np.sqrt(mask.sum() * n / (log_size + np.log(n / delta))) if n else 1.0)


def elimination(said, mask, t, beta):
    lower, upper = said["mean"] - beta * said["width"], said["mean"] + beta * said["width"]
    kept = mask & (upper >= lower[mask].max())
    return kept / kept.sum()


def shortfall_and_gain(said, mask, by_variance):
    """Of the draws themselves: means, and variances between or within the groups of draws by their best arm."""
    draws, K = said["draws"], len(mask)
    best = np.where(mask, draws, -np.inf).argmax(1)
    shortfall = np.where(mask, draws, -np.inf).max(1).mean() - draws.mean(0)
    gain = np.zeros(K)
    for i in set(best):
        group = draws[best == i]
        share = len(group) / len(draws)
        if by_variance:
            gain += share * (group.mean(0) - draws.mean(0)) ** 2
        else:
            noise = said["noise"] ** 2
            total = ((draws - draws.mean(0)) ** 2).mean(0)
            gain += 0.5 * share * np.log((total + noise) / (group.var(0) + noise))
    return shortfall, gain


def ratio_and_least(p, said, mask, by_variance):
    """Return the information ratio of probabilities p and the least one over all p; of one best arm its p and None."""
    delta, gain = shortfall_and_gain(said, mask, by_variance)
    best = np.where(mask, said["draws"], -np.inf).argmax(1)
    if (best == best[0]).all():
        return p[best[0]], None
    return (p @ delta) ** 2 / (p @ gain), least_ratio(delta[mask], gain[mask])
