"""K-armed learners as plain NumPy float64 loops, written from the papers: nothing incremental, every round is kept.

`learner.index(t)` is what is compared before round t (from 0): the index of every arm, or the probabilities; arms that
must be tried first have index inf. `learner.update(arm, reward, probability)` adds a round.
"""

import numpy as np
from scipy import stats


class Learner:
    """The rounds so far."""

    def __init__(self, n_arms, **constants):
        self.K, self.arms, self.rewards, self.drawn_with, self.masks = n_arms, [], [], [], []
        self.__dict__.update(constants)

    def update(self, arm, reward, probability=None, mask=True):
        self.arms.append(arm)
        self.rewards.append(reward)
        self.drawn_with.append(probability)
        self.masks.append(np.broadcast_to(mask, self.K))

    def estimates(self):
        """Estimated rewards of all arms in every round; those of arms that were not available are the learner's."""
        found = np.zeros((len(self.arms), self.K))
        for x, i, r, p, mask in zip(found, self.arms, self.rewards, self.drawn_with, self.masks, strict=True):
            x[i], x[~mask] = r / p, r
        return found

    def rewards_of(self, arm, first=0):
        return np.array([r for i, r in zip(self.arms[first:], self.rewards[first:], strict=True) if i == arm])

    def index(self, t):
        return np.array([self.of(t, self.rewards_of(i)) if len(self.rewards_of(i)) else np.inf for i in range(self.K)])


class UCB1(Learner):
    """Reference of ucb1."""

    exploration = 2.0

    def of(self, t, x):
        return x.mean() + np.sqrt(self.exploration * np.log(t) / len(x))


class UCBDelta(Learner):
    """Reference of ucb_delta."""

    def of(self, t, x):
        return x.mean() + self.noise_scale * np.sqrt(2 / len(x) * np.log(1 / self.delta))


class ChernoffUCB(Learner):
    """Reference of chernoff_ucb: k/m + sqrt(2 (k/m) L / m) + 2 L / m, L = log(1/delta), delta = sqrt(1/t)."""

    power = 0.5

    def of(self, t, x):
        k, m, L = x.sum(), len(x), np.log(t**self.power)
        return k / m + np.sqrt(2 * (k / m) * L / m) + 2 * L / m


class AOUCB(Learner):
    """Reference of ao_ucb."""

    def of(self, t, x):
        f = 1 + (t + 1) * np.log(t + 1) ** 2
        return x.mean() + self.noise_scale * np.sqrt(2 * np.log(f) / len(x))


class MOSS(Learner):
    """Reference of moss."""

    def of(self, t, x):
        log_plus = max(np.log(self.horizon / (self.K * len(x))), 0)
        return x.mean() + self.noise_scale * np.sqrt(4 / len(x) * log_plus)


class UCBV(Learner):
    """Reference of ucb_v."""

    def of(self, t, x):
        E = self.zeta * np.log(t + 1)
        return x.mean() + np.sqrt(2 * x.var() * E / len(x)) + 3 * self.c * self.reward_range * E / len(x)


class UCBTuned(Learner):
    """Reference of ucb_tuned."""

    def of(self, t, x):
        bound = x.var() + np.sqrt(2 * np.log(t) / len(x))
        return x.mean() + np.sqrt(np.log(t) / len(x) * min(1 / 4, bound))


class KLUCB(Learner):
    """Reference of kl_ucb."""

    def of(self, t, x):
        level = np.log(t) + self.c * np.log(max(np.log(t), 1))
        return kl_upper(min(max(x.mean(), 0), 1), level / len(x))


def kl(p, x):
    """kl(p, p + x), which does not cancel for small x."""
    below = -p * np.log1p(x / p) if p > 0 else 0.0
    above = -(1 - p) * np.log1p(-x / (1 - p)) if p < 1 else 0.0
    return below + above


def kl_upper(p, level):
    """The largest q with kl(p, q) <= level, by bisection."""
    low, high = 0.0, 1.0 - p
    for _ in range(200):
        x = 0.5 * (low + high)
        if x in (low, high):
            break
        low, high = (x, high) if kl(p, x) <= level else (low, x)
    return p + low


class BayesUCB(Learner):
    """Reference of bayes_ucb."""

    def index(self, t):
        tail = min(1 / ((t + 1) * np.log(self.horizon) ** self.c), 0.5)
        x = [self.rewards_of(i) for i in range(self.K)]
        return np.array([stats.beta.isf(tail, 1 + r.sum(), 1 + (1 - r).sum()) for r in x])


class RobustUCB(Learner):
    """Reference of robust_ucb."""

    def of(self, t, x):
        l = np.log((2.0 ** np.ceil(np.log2(max(t + 1, 2)))) ** 2)
        e, s = self.eps, np.arange(1, len(x) + 1)
        kept = np.abs(x) <= (self.moment_bound * s / l) ** (1 / (1 + e))
        width = 4 * self.moment_bound ** (1 / (1 + e)) * (l / len(x)) ** (e / (1 + e))
        return np.sum(x * kept) / len(x) + self.scale * width


class MedianOfMeansUCB(Learner):
    """Reference of median_of_means_ucb."""

    def of(self, t, x):
        level, e, n = np.log(np.exp(1 / 8) * (t + 1.0) ** 2), self.eps, len(x)
        k = max(1, min(int(8 * level), n // 2, self.n_bins // 2))
        N = 1
        while 2 * N * k <= n:
            N *= 2
        assert n // N >= k and n / (2 * k) < N  # what the proof of Lemma 2 needs
        means = [x[N * j : N * (j + 1)].mean() for j in range(n // N)]
        width = (12 * self.moment_bound) ** (1 / (1 + e)) * (16 * level / n) ** (e / (1 + e))
        return np.median(means) + self.scale * width


class CatoniUCB(Learner):
    """Reference of catoni_ucb."""

    def of(self, t, x):
        l, v, N = min(np.log((t + 1.0) ** 2), self.n_bins / 8), self.variance_bound, 1
        while len(x) > N * self.n_bins:
            N *= 2
        means = x[: len(x) // N * N].reshape(-1, N).mean(axis=1)
        n = len(means)
        if n < 4 * l:
            return np.inf
        alpha = np.sqrt(2 * l / (n * (v / N) * (1 + 2 * l / (n - 2 * l)))) if l else 1e-9
        return catoni(means, alpha) + self.scale * 2 * np.sqrt(v * l / (n * N))


def catoni(x, alpha):
    """The root of sum psi(alpha (x - m)), by bisection."""
    low, high = x.min(), x.max()
    for _ in range(90):
        m = 0.5 * (low + high)
        z = alpha * (x - m)
        low, high = (m, high) if np.sum(np.sign(z) * np.log(1 + np.abs(z) + z**2 / 2)) > 0 else (low, m)
    return 0.5 * (low + high)


class ETC(Learner):
    """Reference of etc."""

    def index(self, t):
        explored = [self.rewards_of(i)[: self.exploration] for i in range(self.K)]
        return np.array([x.mean() if len(x) == self.exploration else np.inf for x in explored])


class DUCB(Learner):
    """Reference of d_ucb."""

    def index(self, t):
        weights = self.discount ** np.arange(len(self.arms))[::-1]
        arms, rewards = np.array(self.arms, int), np.array(self.rewards)
        N = np.array([weights[arms == i].sum() for i in range(self.K)])
        S = np.array([(weights * rewards)[arms == i].sum() for i in range(self.K)])
        with np.errstate(divide="ignore", invalid="ignore"):
            width = 2 * self.reward_bound * np.sqrt(self.xi * np.log(max(N.sum(), 1)) / N)
            return np.where(N > 0, S / N + width, np.inf)


class SWUCB(Learner):
    """Reference of sw_ucb."""

    def index(self, t):
        first = max(0, len(self.arms) - self.window)
        log = np.log(min(t, self.window)) if t else 0.0
        seen = [self.rewards_of(i, first) for i in range(self.K)]
        width = [self.reward_bound * np.sqrt(self.xi * log / len(x)) if len(x) else np.inf for x in seen]
        return np.array([x.mean() + w if len(x) else np.inf for x, w in zip(seen, width, strict=True)])


class DKLUCB(Learner):
    """Reference of d_kl_ucb."""

    def index(self, t):
        weights = self.discount ** np.arange(len(self.arms))[::-1]
        arms, rewards = np.array(self.arms, int), np.array(self.rewards)
        N = np.array([weights[arms == i].sum() for i in range(self.K)])
        log = np.log(max(N.sum(), 1))
        level = log + self.c * np.log(max(log, 1))
        S = [(weights * rewards)[arms == i].sum() for i in range(self.K)]
        return np.array([kl_upper(s / n, level / n) if n > 0 else np.inf for s, n in zip(S, N, strict=True)])


class DKLUCBOfThesis(Learner):
    """Reference of D-kl-UCB in the code behind Tables 6.2 and 6.3 of Besson (2019): counts in an array of integers."""

    def index(self, t):
        counts, sums, delays = np.zeros(self.K, dtype=int), np.zeros(self.K), np.zeros(self.K, dtype=int)
        for i, r in zip(self.arms, self.rewards, strict=True):
            decay = self.discount ** (1 + delays[i])
            counts[i] = decay * counts[i] + 1
            sums[i] = decay * sums[i] + r
            delays += 1
            delays[i] = 0
        level = np.log(counts.sum()) if counts.any() else 0.0
        means = [s / n if n else np.nan for s, n in zip(sums, counts, strict=True)]
        return np.array([np.inf if np.isnan(x) else kl_upper(x, level) if x < 1 else (x + 1) / 2 for x in means])


class SWKLUCB(Learner):
    """Reference of sw_kl_ucb."""

    def index(self, t):
        first = max(0, len(self.arms) - self.window)
        log = np.log(min(t, self.window)) if t else 0.0
        level = log + self.c * np.log(max(log, 1))
        seen = [self.rewards_of(i, first) for i in range(self.K)]
        return np.array([kl_upper(x.mean(), level / len(x)) if len(x) else np.inf for x in seen])


class DiscountedTS(Learner):
    """Reference of discounted_ts: both parameters of the posterior of each arm, arms first."""

    def index(self, t):
        successes, failures = np.zeros(self.K), np.zeros(self.K)
        for i, r in zip(self.arms, self.rewards, strict=True):
            successes, failures = self.discount * successes, self.discount * failures
            successes[i], failures[i] = successes[i] + r, failures[i] + 1 - r
        return np.concatenate([self.prior_success + successes, self.prior_failure + failures])


class DiscountedTSOfThesis(Learner):
    """Reference of the code behind Tables 6.2 and 6.3 of Besson (2019): a round discounts the arm played K times."""

    def index(self, t):
        successes, failures = np.zeros(self.K), np.zeros(self.K)
        for i, r in zip(self.arms, self.rewards, strict=True):
            successes[i], failures[i] = self.discount * successes[i] + r, self.discount * failures[i] + 1 - r
            for _ in range(self.K - 1):
                successes[i], failures[i] = self.discount * successes[i], self.discount * failures[i]
        return np.concatenate([self.prior_success + successes, self.prior_failure + failures])


class Exp3S(Learner):
    """Reference of exp3_s: weights as the paper has them, from all ones."""

    def index(self, t):
        w, g = np.ones(self.K), self.exploration
        for gain in self.estimates():
            w = w * np.exp(g * gain / self.K) + np.e * self.sharing / self.K * w.sum()
        return (1 - g) * w / w.sum() + g / self.K


class REXP3(Learner):
    """Reference of rexp3: the weights of the rounds since the last multiple of D."""

    def index(self, t):
        w, g = np.ones(self.K), self.exploration
        first = t // self.period * self.period
        for gain in self.estimates()[first:]:
            w *= np.exp(g * gain / self.K)
        return (1 - g) * w / w.sum() + g / self.K


class EpsGreedy(Learner):
    """Reference of eps_greedy."""

    def of(self, t, x):
        return x.mean()

    def exploration(self, t):
        return min(1.0, self.rate * self.K / (self.gap**2 * (t + 1)))


class Thompson(Learner):
    """Reference of thompson_beta and thompson_gaussian."""

    def beta(self, i, prior_success, prior_failure, reshaping):
        """Both parameters of arm i."""
        x = self.rewards_of(i)
        return (prior_success + x.sum()) / reshaping, (prior_failure + (1 - x).sum()) / reshaping

    def gaussian(self, i, noise_scale):
        """Mean and standard deviation of arm i."""
        x = self.rewards_of(i)
        return x.sum() / (len(x) + 1), noise_scale / np.sqrt(len(x) + 1)


class Exp3(Learner):
    """Reference of exp3 with a fixed learning rate."""

    def losses(self, gamma=0.0):
        L = np.zeros(self.K)
        for i, r, p, mask in zip(self.arms, self.rewards, self.drawn_with, self.masks, strict=True):
            L[i] += (1 - r) / (p + gamma)
            L[~mask] += (1 - r) * p / (p + gamma)
        return L

    def index(self, t, gamma=0.0):
        L = self.losses(gamma)
        w = np.exp(-self.learning_rate * (L - L.min()))
        return w / w.sum()


class Exp3IX(Exp3):
    """Reference of exp3_ix."""

    def index(self, t):
        return super().index(t, self.learning_rate / 2)


class AnytimeExp3(Exp3):
    """Reference of exp3 with its decreasing learning rate."""

    def index(self, t):
        self.learning_rate = np.sqrt(np.log(self.K) / ((t + 1) * self.K))
        return super().index(t)


class Exp4(Learner):
    """Reference of exp4: Algorithm 11 of Lattimore & Szepesvari, in rewards; every round is kept."""

    def __init__(self, n_arms, M, learning_rate, gamma):
        super().__init__(n_arms, M=M, learning_rate=learning_rate, gamma=gamma)
        self.advice = []

    def left(self, advice, mask):
        """Return the advice on the available arms; an expert who named none of them advises all equally."""
        rows = [np.where(mask, e, 0.0) if (e * mask).sum() > 0 else mask.astype(float) for e in advice]
        return np.array([row / row.sum() for row in rows])

    def probabilities(self, t, advice, mask):
        eta = np.sqrt(np.log(self.M) / ((t + 1) * self.K)) if self.learning_rate is None else self.learning_rate
        X = np.zeros(self.M)
        for E, i, r, p in zip(self.advice, self.arms, self.rewards, self.drawn_with, strict=True):
            estimate = np.ones(self.K)
            estimate[i] -= (1 - r) / (p + self.gamma)
            X += E @ estimate
        Q = np.exp(eta * (X - X.max()))
        return Q / Q.sum() @ self.left(advice, mask)

    def update(self, arm, reward, probability, advice, mask):
        super().update(arm, reward, probability, mask)
        self.advice.append(self.left(advice, mask))


class PerItem:
    """Reference of per_item with UCB1: the rewards of every item, whatever arm it stands behind."""

    def __init__(self):
        self.paid = {}

    def index(self, t, items):
        paid = [self.paid.get(item, []) for item in items]
        return np.array([np.mean(x) + np.sqrt(2 * np.log(t) / len(x)) if x else np.inf for x in paid])

    def update(self, item, reward):
        self.paid.setdefault(item, []).append(reward)


class TsallisINF(Exp3):
    """Reference of tsallis_inf."""

    def index(self, t):
        return tsallis(self.losses(), 2 / np.sqrt(t + 1))


def tsallis(L, eta):
    """4 (eta (L - x))^-2 with sum 1, x by bisection between bounds at which the sum is at most and at least 1."""
    low, high = L.min() - 2 * np.sqrt(len(L)) / eta, L.min() - 2 / eta
    for _ in range(200):
        x = 0.5 * (low + high)
        low, high = (x, high) if np.sum(4 / (eta * (L - x)) ** 2) < 1 else (low, x)
    return 4 / (eta * (L - low)) ** 2
