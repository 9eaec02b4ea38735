"""Learners that identify the best arm, as plain NumPy loops written from the papers: every round is kept.

`arm()` is what is played next, `stopped()` whether the learner is done, `recommend()` the arm that it believes in.
"""

import math

import numpy as np
from scipy import integrate
from scipy import stats as st


def kl(p, q):
    """Divergence of Bernoulli laws with means p and q, by entry; differences that cancel are avoided."""
    p, q = np.broadcast_arrays(np.asarray(p, float), np.asarray(q, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.where(p > 0, -p * np.log1p((q - p) / p), 0.0)
        above = np.where(p < 1, -(1 - p) * np.log1p((p - q) / (1 - p)), 0.0)
    return below + above


def bound(p, level, end):
    """The q between p and `end` (0 or 1) with kl(p, q) = level, by bisection; `end` where there is none."""
    low, high = 0.0, 1.0
    for _ in range(60):
        s = 0.5 * (low + high)
        low, high = (s, high) if kl(p, p + s * (end - p)) <= level else (low, s)
    return p + low * (end - p)


class Identification:
    """The rounds so far."""

    def __init__(self, n_arms, **constants):
        self.K, self.arms, self.rewards = n_arms, [], []
        self.__dict__.update(constants)

    def update(self, arm, reward):
        self.arms.append(arm)
        self.rewards.append(reward)

    def counts_and_means(self, end=None):
        """Counts and means of the first `end` rounds."""
        arms, rewards = np.array(self.arms[:end], int), np.array(self.rewards[:end], float)
        N = np.array([(arms == i).sum() for i in range(self.K)])
        S = np.array([rewards[arms == i].sum() for i in range(self.K)])
        return N, S / np.maximum(N, 1)

    def recommend(self):
        return int(np.argmax(self.counts_and_means()[1]))


class LUCB(Identification):
    """Plays in pairs."""

    def contenders(self, end):
        N, m = self.counts_and_means(end)
        h = int(np.argmax(m))
        bounds = [self.bounds(N, m, i, end) for i in range(self.K)]
        U = [u if i != h else -np.inf for i, (_, u) in enumerate(bounds)]
        return h, int(np.argmax(U)), max(U) - bounds[h][0]

    def arm(self):
        n = len(self.arms)
        if n < self.K:
            return n
        is_second = (n - self.K) % 2
        return self.contenders(n - is_second)[is_second]

    def stopped(self):
        n = len(self.arms)
        return n >= self.K and (n - self.K) % 2 == 0 and self.contenders(n)[2] <= self.eps


class LUCB1(LUCB):
    """Reference of lucb1."""

    def bounds(self, N, m, i, end):
        stage = 1 + (end - self.K) // 2
        width = math.sqrt(math.log(1.25 * self.K * stage**4 / self.delta) / (2 * N[i]))
        return m[i] - width, m[i] + width


class KLLUCB(LUCB):
    """Reference of kl_lucb."""

    def bounds(self, N, m, i, end):
        if self.proven:
            x = math.log(405.5 * self.K * end**1.1 / self.delta)
            beta = x + math.log(x)
        else:
            beta = math.log((math.log(end) + 1) / self.delta)
        return bound(m[i], beta / N[i], 0.0), bound(m[i], beta / N[i], 1.0)


def evidence(N, m):
    """Z of Chernoff's stopping rule."""
    a, found = int(np.argmax(m)), np.inf
    for b in range(len(m)):
        if b != a:
            mid = (N[a] * m[a] + N[b] * m[b]) / (N[a] + N[b])
            found = min(found, N[a] * kl(m[a], mid) + N[b] * kl(m[b], mid))
    return found


def proportions(mu):
    """w* for a unique best arm, by a grid search for y that is refined, with a bisection for every arm inside."""
    mu = np.asarray(mu, float)
    a = int(np.argmax(mu))
    others = np.delete(mu, a)

    def shares(y):  # [n] -> [n, K - 1]  s = x / (1 + x)
        low, high = np.zeros((len(y), len(others))), np.ones((len(y), len(others)))
        for _ in range(70):
            s = 0.5 * (low + high)
            m = mu[a] - s * (mu[a] - others)
            is_low = kl(mu[a], m) + s / (1 - s) * kl(others, m) < y[:, None]
            low, high = np.where(is_low, s, low), np.where(is_low, high, s)
        return low

    low, high = 0.0, kl(mu[a], others).min()
    for _ in range(9):
        y = np.linspace(low, high, 66)[1:-1]
        m = mu[a] - shares(y) * (mu[a] - others)
        k = int((np.sum(kl(mu[a], m) / kl(others, m), axis=1) < 1).sum())
        edges = np.concatenate([[low], y, [high]])
        low, high = edges[k], edges[k + 1]
    s = shares(np.array([low]))[0]
    x = np.insert(s / (1 - s), a, 1.0)
    return x / x.sum()


class TrackAndStop(Identification):
    """Reference of track_and_stop."""

    def arm(self):
        n = len(self.arms)
        if n < self.K:
            return n
        N, m = self.counts_and_means()
        behind = np.flatnonzero(math.sqrt(n) - self.K / 2 > N)
        if len(behind):
            return int(behind[np.argmin(N[behind])])
        m = np.clip(m, 1e-6, 1 - 1e-6)
        best = m == m.max()
        w = best / best.sum() if best.sum() > 1 else proportions(m)
        return int(np.argmax(n * w - N))

    def stopped(self):
        N, m = self.counts_and_means()
        t = max(len(self.arms), 1)
        beta = math.log(2 * t * (self.K - 1) / self.delta) if self.proven else math.log((math.log(t) + 1) / self.delta)
        return bool((N > 0).all() and evidence(N, m) > beta)


def top_two_law(a, b, share):
    """Reference of top_two_thompson: probabilities of the arms for independent beta posteriors."""
    laws = [st.beta(*pair) for pair in zip(a, b, strict=True)]

    def is_best(i):
        others = [law for j, law in enumerate(laws) if j != i]
        return integrate.quad(lambda x: laws[i].pdf(x) * np.prod([law.cdf(x) for law in others]), 0, 1)[0]

    alpha = np.array([is_best(i) for i in range(len(laws))])
    second = [alpha[j] * sum(alpha[i] / (1 - alpha[i]) for i in range(len(laws)) if i != j) for j in range(len(laws))]
    return share * alpha + (1 - share) * np.array(second)


class SequentialHalving(Identification):
    """Reference of sequential_halving: the plan of a phase is made when it begins."""

    def __init__(self, n_arms, budget):
        super().__init__(n_arms)
        self.left, self.phases, self.budget = list(range(n_arms)), math.ceil(math.log2(n_arms)), budget
        self._plan()

    def _plan(self):
        times = self.budget // (len(self.left) * self.phases)
        self.plan, self.first = self.left * times, len(self.arms)

    def arm(self):
        return self.plan[len(self.arms) - self.first]

    def update(self, arm, reward):
        super().update(arm, reward)
        if len(self.arms) - self.first == len(self.plan):
            arms, rewards = np.array(self.arms[self.first :]), np.array(self.rewards[self.first :])
            means = {i: rewards[arms == i].mean() for i in self.left}
            kept = sorted(self.left, key=lambda i: (-means[i], i))[: -(-len(self.left) // 2)]
            self.left = sorted(kept)
            if len(self.left) > 1:
                self._plan()

    def stopped(self):
        return len(self.left) == 1
