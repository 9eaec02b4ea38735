"""Index policies that forget when a test finds a change, as plain NumPy float64 loops: every round is kept.

`learner.index(t)` is the index of every arm before round t (from 0), inf for arms that must be tried;
`learner.update(t, arm, reward)` adds a round and returns the arms that are forgotten after it.
"""

import numpy as np

from tests.reference.armed import kl, kl_upper


class Restarting:
    """KL-UCB since the last restart of each arm, and a test of the rewards since then.

    Args:
      n_arms: K.
      test: from the learner, the round and the arm played to the arms that have changed.
      is_local: whether only these are forgotten.
      exploration: w.
    """

    def __init__(self, n_arms, test, is_local=True, exploration=0.0):
        self.K, self.test, self.is_local, self.w = n_arms, test, is_local, exploration
        self.since, self.seen = [0] * n_arms, [[] for _ in range(n_arms)]  # seen: (round, reward)

    def rewards_of(self, arm):
        return np.array([reward for _, reward in self.seen[arm]])

    def index(self, t):
        index = np.full(self.K, np.inf)
        for i in range(self.K):
            if len(x := self.rewards_of(i)):
                level = np.log(max(t - self.since[i], 1)) / len(x)
                index[i] = kl_upper(min(max(x.mean(), 0.0), 1.0), level)
        return index

    def forced_arm(self, t):
        """The arm that round t explores; None: it does not."""
        if not self.w:
            return None
        arm = t % int(np.floor(self.K / self.w))
        return arm if arm < self.K else None

    def update(self, t, arm, reward):
        self.seen[arm].append((t, reward))
        changed = set(self.test(self, t, arm))
        forgets = changed if self.is_local else set(range(self.K)) if changed else set()
        for i in forgets:
            self.since[i], self.seen[i] = t + 1, []
        return forgets


def glr(delta, period):
    """The likelihood ratio test of every arm at the ends of periods, split at the ends of earlier ones."""

    def test(learner, t, arm):
        del arm
        if t % period != period - 1:
            return []
        return [i for i in range(learner.K) if _ratio(learner, i, t, period) >= _threshold(len(learner.seen[i]), delta)]

    return test


def _threshold(n, delta):
    return np.log(3.0 * n**1.5 / delta) if n > 1 else np.inf


def _ratio(learner, arm, t, period):
    rounds, x = np.array([r for r, _ in learner.seen[arm]], int), np.clip(learner.rewards_of(arm), 0.0, 1.0)
    best = 0.0
    for end in range(period, t + 1, period):  # the first `end` rounds before, the others after
        s, n = int((rounds < end).sum()), len(x)
        if 0 < s < n:
            mean, before, after = x.mean(), x[:s].mean(), x[s:].mean()
            best = max(best, s * kl(before, mean - before) + (n - s) * kl(after, mean - after))
    return best


def half_windows(window, threshold):
    """Newer and older half of the last w rewards of the arm played."""

    def test(learner, t, arm):
        del t
        x = learner.rewards_of(arm)[-window:]
        half = window // 2
        return [arm] if len(x) == window and abs(x[half:].sum() - x[:half].sum()) > threshold else []

    return test


def cusum(threshold, drift, baseline):
    """Both walks of the arm played, after its first M rewards."""

    def test(learner, t, arm):
        del t
        x = learner.rewards_of(arm)
        if len(x) <= baseline:
            return []
        u, up, down = x[:baseline].mean(), 0.0, 0.0
        for reward in x[baseline:]:
            up, down = max(0.0, up + reward - u - drift), max(0.0, down + u - reward - drift)
        return [arm] if max(up, down) > threshold else []

    return test


def oracle(means, starts):
    """The arms whose mean differs in the next round."""
    changes = {start: np.flatnonzero(np.diff(means, axis=0)[p - 1]) for p, start in enumerate(starts) if p}
    return lambda learner, t, arm: list(changes.get(t + 1, []))
