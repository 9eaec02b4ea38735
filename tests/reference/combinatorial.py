"""Learners of lists and sets as plain NumPy float64 loops, written from the papers: every round is kept.

`learner.index(t)` is what is compared before round t (from 0); items that must be tried first have index inf.
`learner.update(items, rewards, seen)` adds a round. `feasible` sets are enumerated, not searched.
"""

import itertools

import numpy as np


class Learner:
    """The observations of every item so far."""

    def __init__(self, n_items, **constants):
        self.L, self.seen = n_items, [[] for _ in range(n_items)]
        self.__dict__.update(constants)

    def update(self, items, rewards, seen):
        for item, reward, is_seen in zip(items, rewards, seen, strict=True):
            if item >= 0 and is_seen:
                self.seen[item].append(reward)

    def index(self, t):
        return np.array([self.of(t, np.array(x)) if x else np.inf for x in self.seen])


class UCB1(Learner):
    """Reference of cascade_ucb1: U_t(e) with c_{t-1, T}, t from 1."""

    def of(self, t, x):
        return x.mean() + np.sqrt(self.exploration * np.log(max(t, 1)) / len(x))


class KLUCB(Learner):
    """Reference of cascade_kl_ucb: the largest q with T kl(w, q) <= log t + c log log t, t from 1, by bisection."""

    def of(self, t, x):
        level = (np.log(t + 1) + self.c * np.log(max(np.log(t + 1), 1.0))) / len(x)
        mean = min(max(x.mean(), 0.0), 1.0)
        low, high = 0.0, 1.0 - mean
        for _ in range(200):
            shift = 0.5 * (low + high)
            if shift in (low, high):
                break
            low, high = (shift, high) if kl(mean, shift) <= level else (low, shift)
        return mean + low


def kl(p, x):
    """kl(p, p + x), which does not cancel for small x."""
    below = -p * np.log1p(x / p) if p > 0 else 0.0
    above = -(1 - p) * np.log1p(-x / (1 - p)) if p < 1 else 0.0
    return below + above


class PBMUCB:
    """Reference of pbm_ucb: every display of an item, by position, and whether it was clicked."""

    def __init__(self, n_items, examination, eps):
        self.displays, self.examination, self.eps = [[] for _ in range(n_items)], examination, eps

    def update(self, items, clicks):
        for position, (item, click) in enumerate(zip(items, clicks, strict=True)):
            if item >= 0:
                self.displays[item].append((self.examination[position], click))

    def index(self, t):
        """Indices of round t + 1, with the bound of Hoeffding for N variables that are divided by n."""
        found = []
        for displays in self.displays:
            n = sum(kappa for kappa, _ in displays)
            clicks = sum(click for _, click in displays)
            delta = (1 + self.eps) * np.log(t + 1)
            found.append(clicks / n + np.sqrt(len(displays) / n) * np.sqrt(delta / (2 * n)) if displays else np.inf)
        return np.array(found)


class RidgeOfSums:
    """Reference of full_bandit_ts: the posterior of ridge regression, from all sets and their sums."""

    def __init__(self, n_items, ridge):
        self.n_items, self.ridge, self.rows, self.sums = n_items, ridge, [], []

    def update(self, items, total):
        self.rows.append([float(e in items) for e in range(self.n_items)])
        self.sums.append(total)

    def posterior(self):
        """Mean `[L]` and covariance `[L, L]` for noise of variance 1."""
        x = np.array(self.rows).reshape(len(self.rows), self.n_items)
        precision = self.ridge * np.eye(self.n_items) + x.T @ x
        return np.linalg.solve(precision, x.T @ np.array(self.sums)), np.linalg.inv(precision)


class Beta(Learner):
    """Reference of cascade_ts: both parameters of every posterior."""

    def parameters(self):
        x = [np.clip(seen, 0.0, 1.0) for seen in self.seen]
        return (
            np.array([self.prior_success + y.sum() for y in x]),
            np.array([self.prior_failure + (1.0 - y).sum() for y in x]),
        )


def best_list(index, mask, m):
    """The available items of the m largest indices, found one after the other."""
    left, chosen = [e for e in range(len(index)) if mask[e]], []
    while left and len(chosen) < m:
        e = max(left, key=lambda e: index[e])
        left.remove(e)
        chosen.append(e)
    return chosen


def click_probability(attraction):
    """The probability that some item of a list is clicked, by adding up all outcomes."""
    total = 0.0
    for coins in itertools.product((0, 1), repeat=len(attraction)):
        p = np.prod([w if c else 1 - w for w, c in zip(attraction, coins, strict=True)])
        total += p * any(coins)
    return total
