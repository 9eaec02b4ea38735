"""Learners of duels as plain NumPy float64 loops, written from the papers: every duel is kept.

`learner.update(t, i, j, won, available)` adds the duel of round t (from 0); what is chosen is a function of what was.
"""

import math

import numpy as np

from tests.reference.armed import kl


class Learner:
    """The duels so far."""

    def __init__(self, n_arms, **constants):
        self.K, self.duels = n_arms, []
        self.__dict__.update(constants)

    def update(self, t, i, j, won, available):
        self.duels.append((i, j, won))

    def wins(self, i, j):
        """Times that i beat j."""
        return sum(won if (a, b) == (i, j) else 1 - won for a, b, won in self.duels if {a, b} == {i, j} and a != b)

    def count(self, i, j):
        return sum({a, b} == {i, j} for a, b, _ in self.duels if a != b)

    def share(self, i, j):
        n = self.count(i, j)
        return self.wins(i, j) / n if n else 0.5

    def upper(self, t, i, j):
        """U_ij in round t + 1 of the paper; the lower bound of j against i is 1 - U_ij."""
        n = self.count(i, j)
        if i == j:
            return 0.5
        return self.wins(i, j) / n + math.sqrt(self.alpha * math.log(t + 1) / n) if n else 2.0

    def uppers(self, t):
        return np.array([[self.upper(t, i, j) for j in range(self.K)] for i in range(self.K)])


class RUCB(Learner):
    """Reference of rucb: the sets C and B."""

    best = frozenset()

    def sets(self, t, available):
        U, arms = self.uppers(t), np.flatnonzero(available)
        champions = {c for c in arms if all(U[c, j] >= 0.5 for j in arms)}
        best = self.best & champions
        return champions, frozenset(champions) if len(champions) == 1 else best

    def law(self, t, available):
        """Probabilities of the first arm."""
        champions, best = self.sets(t, available)
        p = np.zeros(self.K)
        if len(champions) == 1 or not champions:
            pool = champions or set(np.flatnonzero(available))
            p[list(pool)] = 1 / len(pool)
        elif best:
            p[list(champions - best)] = 0.5 / len(champions - best)
            p[list(best)] = 0.5
        else:
            p[list(champions)] = 1 / len(champions)
        return p

    def update(self, t, i, j, won, available):
        _, self.best = self.sets(t, available)
        super().update(t, i, j, won, available)


class DoubleTS(Learner):
    """Reference of double_ts: both arms for given samples."""

    is_plus = False

    def first(self, t, theta, available):
        U, arms = self.uppers(t), list(np.flatnonzero(available))
        score = {i: sum(U[i, j] >= 0.5 for j in arms if j != i) for i in arms}
        won = {i: sum(theta[i, j] > 0.5 for j in arms if j != i) for i in arms}
        candidates = [i for i in arms if score[i] == max(score.values())]
        most = max(won[i] for i in candidates)
        tied = [i for i in candidates if won[i] == most]
        if not self.is_plus:
            return tied[0]
        regret = {
            i: sum((2 * most - won[i] - won[j]) / kl(theta[i, j], 0.5 - theta[i, j]) for j in arms if j != i)
            for i in tied
        }
        return min(tied, key=regret.get)

    def second(self, t, first, theta, available):
        U = self.uppers(t)
        possible = [i for i in np.flatnonzero(available) if 1 - U[first, i] <= 0.5]
        return max(possible, key=lambda i: theta[i])


class RMED1(Learner):
    """Reference of rmed1: Algorithm 1, with its lists."""

    def __init__(self, n_arms, weight, first_duels=1):
        super().__init__(n_arms, weight=weight, first_duels=first_duels)
        self.left, self.following = set(range(n_arms)), set()
        pairs = [(i, j) for i in range(n_arms) for j in range(i + 1, n_arms)]
        self.opening = pairs * first_duels

    def divergence(self, i):
        others = [j for j in range(self.K) if j != i and self.share(i, j) <= 0.5]
        return sum(self.count(i, j) * kl(self.share(i, j), 0.5 - self.share(i, j)) for j in others)

    def likeliest(self, available):
        return min(np.flatnonzero(available), key=self.divergence)

    def opponent(self, t, arm, available):
        best = self.likeliest(available)
        others = [j for j in np.flatnonzero(available) if j != arm]
        beating = [j for j in others if self.share(arm, j) <= 0.5]
        if best in beating or not beating:
            return best
        return min(others, key=lambda j: self.share(arm, j))

    def pair(self, t, available):
        arms = np.flatnonzero(available)
        if t < len(self.opening):
            i, j = self.opening[t]
        else:
            i = next((a for a in arms if a in self.left), self.likeliest(available))
            j = self.opponent(t, i, available)
        return tuple(int(a if available[a] else arms[0]) for a in (i, j))

    def update(self, t, i, j, won, available):
        super().update(t, i, j, won, available)
        if t < len(self.opening):
            return
        self.left -= {i}
        value = [self.divergence(a) for a in range(self.K)]
        slack = math.log(t + 1) + self.weight * self.K**1.01
        least = min(value[a] for a in np.flatnonzero(available))
        self.following |= {a for a in range(self.K) if a not in self.left and value[a] - least <= slack}
        if not any(available[a] for a in self.left):
            self.left, self.following = self.following, set()


class RMED2FH(RMED1):
    """Reference of rmed2fh: Algorithm 2 with opponents fixed after the opening."""

    def update(self, t, i, j, won, available):
        super().update(t, i, j, won, available)
        if t == len(self.opening) - 1:
            met = [arm for a, b, _ in self.duels if a != b for arm in (a, b)]
            best = self.likeliest(np.isin(np.arange(self.K), met))
            self.rivals = [self.rival(a, best) for a in range(self.K)]

    def rival(self, a, best):
        def price(j):
            gaps = self.share(best, a) + self.share(best, j) - 1
            return max(gaps, 0.01) / kl(self.share(a, j), 0.5 - self.share(a, j))

        return min((j for j in range(self.K) if j != a and self.share(a, j) < 0.5), key=price, default=best)

    def opponent(self, t, arm, available):
        best, rival = self.likeliest(available), self.rivals[arm]
        beating = [j for j in np.flatnonzero(available) if j != arm and self.share(arm, j) <= 0.5]
        log_log = math.log(max(math.log(t + 1), 1) + 0.01)
        if best in beating and self.count(arm, best) <= self.count(arm, rival) / log_log:
            return best
        return rival if rival in beating else super().opponent(t, arm, available)
