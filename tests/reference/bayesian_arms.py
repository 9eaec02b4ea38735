"""Learners with beta posteriors over Bernoulli means as plain NumPy float64 loops, written from the papers.

As in `tests.reference.armed`, `index(t)` is what is compared before round t (from 0): indices, or probabilities.
"""

import numpy as np
from scipy import optimize, stats

from tests.reference.armed import Learner


class BetaArms(Learner):
    """Posteriors Beta(a, b) of the arms, from the prior Beta(1, 1)."""

    def posterior(self, i):
        x = self.rewards_of(i)
        return 1 + x.sum(), 1 + (1 - x).sum()


class GridIDS(BetaArms):
    """Posteriors as masses on G midpoints; sums over the grid, point by point and arm by arm."""

    def index(self, t):
        return np.concatenate(self.shortfall_and_gain())

    def shortfall_and_gain(self):
        K, G = self.K, self.n_points
        x = (np.arange(G) + 0.5) / G
        f, F, below = np.zeros((K, G)), np.zeros((K, G)), np.zeros((K, G))
        for i in range(K):
            f[i] = stats.beta.pdf(x, *self.posterior(i))
            f[i] /= f[i].sum()
            for g in range(G):  # half of the mass of a point lies below it
                F[i, g] = f[i, :g].sum() + 0.5 * f[i, g]
                below[i, g] = (x[:g] @ f[i, :g] + 0.5 * x[g] * f[i, g]) / max(F[i, g], 1e-300)
        mean = f @ x
        joint = np.array([f[i] * np.prod(np.delete(F, i, axis=0), axis=0) for i in range(K)])
        alpha, m = joint.sum(1) / joint.sum(), np.zeros((K, K))
        for i in range(K):
            for j in range(K):
                m[i, j] = joint[i] @ (x if i == j else below[j]) / joint[i].sum()
        best = alpha @ np.diag(m)
        return best - mean, self.information(alpha, m, mean)


class VIDS(GridIDS):
    """Reference of vids."""

    def information(self, alpha, m, mean):
        return np.array([sum(alpha[i] * (m[i, a] - mean[a]) ** 2 for i in range(self.K)) for a in range(self.K)])


class IDS(GridIDS):
    """Reference of ids."""

    def information(self, alpha, m, mean):
        kl = m * np.log(m / mean) + (1 - m) * np.log((1 - m) / (1 - mean))
        return alpha @ kl


def least_ratio(delta, gain):
    """Return the least (p'D)^2 / p'g over pairs of arms: the root of the derivative, 2 D'(q) g(q) = D(q) g'(q)."""
    K, best = len(delta), np.inf
    for i in range(K):
        for j in range(K):
            dd, dg = delta[i] - delta[j], gain[i] - gain[j]
            candidates = [0.0, 1.0]
            if dd * dg != 0:
                q = (delta[j] * dg - 2 * dd * gain[j]) / (dd * dg)
                candidates.append(np.clip(q, 0, 1))
            for q in candidates:
                value = (q * delta[i] + (1 - q) * delta[j]) ** 2 / (q * gain[i] + (1 - q) * gain[j])
                best = min(best, value)
    return best


class KnowledgeGradient(BetaArms):
    """Reference of knowledge_gradient: the best mean after one more reward, by cases, less the best mean."""

    def index(self, t):
        counts = np.array([self.posterior(i) for i in range(self.K)])
        mean = counts[:, 0] / counts.sum(1)
        found = []
        for k in range(self.K):
            expected = 0.0
            for reward, p in ((1, mean[k]), (0, 1 - mean[k])):
                after = counts.copy()
                after[k] += (reward, 1 - reward)
                expected += p * (after[:, 0] / after.sum(1)).max()
            found.append(mean[k] + (self.horizon - (t + 1)) * (expected - mean.max()))
        return np.array(found)


class OptimisticGittins(BetaArms):
    """Reference of optimistic_gittins: the root of the equation by Brent's method."""

    def index(self, t):
        gamma, found = 1 - 1 / (t + 1), []
        for i in range(self.K):
            a, b = self.posterior(i)
            mean = a / (a + b)

            def gap(level, a=a, b=b, mean=mean):
                above = mean * stats.beta.sf(level, a + 1, b) + level * stats.beta.cdf(level, a, b)
                return level - (1 - gamma) * mean - gamma * above

            found.append(optimize.brentq(gap, 0.0, 1.0, xtol=1e-14, rtol=1e-14) if t else mean)
        return np.array(found)
