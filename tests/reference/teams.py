"""Players who share arms as plain NumPy float64 loops, written from the papers: each keeps all that it sensed.

`next_moves(rule, ...)` are the arms that a player may play next, and whether it has claimed its arm: draws are not
repeated. `MusicalChairs` and `SICMMAB` are one player each, with lists of arms and of messages.
"""

import numpy as np

from tests.reference.armed import KLUCB, kl_upper


def share(coins, arms):
    """Return what P players on some arms sense and receive, and whether they met; `coins` `[K]` are of all arms."""
    sensed = np.array([coins[a] for a in arms])
    met = np.array([sum(b == a for b in arms) > 1 for a in arms], float)
    return sensed, sensed * (1 - met), met


class Player:
    """KL-UCB on what one player learned."""

    def __init__(self, n_arms):
        self.history = KLUCB(n_arms, c=0.0)

    def index(self, t):
        return self.history.index(t)

    def learn(self, arm, value):
        self.history.update(arm, value)


def best_sets(index, size):
    """The arms that are among the `size` largest indices for sure, and those that may be, by a tie."""
    worst = np.sort(index)[::-1][size - 1]
    sure = set(np.flatnonzero(index > worst))
    tied = set(np.flatnonzero(index == worst))
    return (sure | tied, set()) if len(sure) + len(tied) == size else (sure, tied)


def next_moves(rule, index, before, arm, met, note, size):
    """The arms of the next round, and the notes that may follow (None: any).

    Args:
      rule: name of the learner.
      index: `[K]` of the coming round, inf of arms that were not played.
      before: `[K]` one round earlier.
      arm: that was played.
      met: whether the player met another one.
      note: 1 if it has claimed its arm; its rank from 0.
      size: M.
    """
    sure, tied = best_sets(index, size)
    possible = sure | tied
    if rule == "selfish":
        return set(np.flatnonzero(index == index.max())), {note}
    if rule == "rho_rand":
        ranks = set(range(size)) if met else {note}
        values = {np.sort(index)[::-1][rank] for rank in ranks}
        return {a for a in range(len(index)) if index[a] in values}, ranks
    cheaper = {a for a in possible if before[a] <= before[arm]} or possible
    outcomes = []
    if arm in possible:  # it is among the best, for sure or by a draw
        stays = not met or (rule == "mc_top_m" and note == 1)
        outcomes.append(({arm}, 1) if stays else (possible, 0))
    if arm not in sure:
        outcomes.append((cheaper if not tied else possible, 0))
    arms = set().union(*(arms for arms, _ in outcomes))
    return arms, {claim for _, claim in outcomes} if rule == "mc_top_m" else {note}


class MusicalChairs:
    """One player of Musical Chairs; `moves()` are the arms that it may play in the next round."""

    def __init__(self, n_arms, learning_rounds):
        self.n_arms, self.learning_rounds = n_arms, int(np.ceil(learning_rounds))
        self.rewards = [[] for _ in range(n_arms)]
        self.t = self.met = 0
        self.chair, self.best = None, list(range(n_arms))

    def moves(self):
        return {self.chair} if self.chair is not None else set(self.best)

    def learn(self, arm, reward, collided):
        self.t += 1
        if self.t > self.learning_rounds:
            if self.chair is None and not collided:
                self.chair = arm
            return
        if collided:
            self.met += 1
        else:
            self.rewards[arm].append(reward)
        if self.t == self.learning_rounds:
            alone = self.t - self.met
            number = self.n_arms
            if alone:
                number = round(np.log(alone / self.t) / np.log(1 - 1 / self.n_arms) + 1)
            means = [np.mean(r) if r else 0.0 for r in self.rewards]
            ordered = sorted(range(self.n_arms), key=lambda a: (-means[a], a))
            self.best = ordered[: min(max(number, 1), self.n_arms)]


class SICMMAB:
    """One player of SIC-MMAB; `moves()` are the arms that it may play in the next round."""

    def __init__(self, n_arms, horizon, *, bounds, skips):
        self.n_arms, self.horizon, self.bounds, self.skips = n_arms, horizon, bounds, skips
        self.t = self.step = 0
        self.stage, self.seat, self.chair = "fixation", None, None
        self.rank, self.players, self.phase = 0, 1, 1
        self.active = list(range(n_arms))
        self.own, self.total, self.n = np.zeros(n_arms), np.zeros(n_arms), 0

    def _script(self):
        """All (sender, receiver, arm, bit) of the communication phase, in order."""
        players = range(self.players)
        return [
            (i, other, arm, bit)
            for i in players
            for other in players
            if other != i
            for arm in self.active
            for bit in range(self.phase + 1)
        ]

    def moves(self):
        if self.stage == "fixation":
            return {self.seat} if self.seat is not None else set(range(self.n_arms))
        if self.stage == "estimation":
            hops = max(0, self.step - 2 * self.seat + 1)
            return {(self.seat + hops) % self.n_arms}
        if self.stage == "exploration":
            return {self.active[(self.rank + 1 + self.step) % len(self.active)]}
        if self.stage == "communication":
            sender, receiver, arm, bit = self.script[self.step]
            is_one = sender == self.rank and int(self.own[arm]) >> bit & 1
            return {self.active[receiver if is_one else self.rank]}
        return {self.chair}

    def learn(self, arm, sensed, collided):
        self.t += 1
        self.step += 1
        if self.stage != "exploitation":
            getattr(self, f"_{self.stage}")(arm, sensed, collided)

    def _fixation(self, arm, _, collided):
        if self.seat is None and not collided:
            self.seat = arm
        if self.step >= np.ceil(np.e * self.n_arms * np.log(self.horizon)):
            self.seat = arm if self.seat is None else self.seat
            self.stage, self.step = "estimation", 0

    def _estimation(self, _, __, collided):
        if collided:
            self.players += 1
            self.rank += self.step <= 2 * self.seat
        if self.step == 2 * self.n_arms:
            self.players = min(self.players, self.n_arms)
            self.rank = min(self.rank, self.players - 1)
            self.phase = 1 + int(np.ceil(np.log2(self.players))) if self.skips else 1
            self.stage, self.step = "exploration", 0

    def _exploration(self, arm, sensed, _):
        self.own[arm] += min(max(sensed, 0.0), 1.0)
        if self.step == 2**self.phase * len(self.active):
            self.script = self._script()
            self.stage, self.step = "communication", 0
            if self.script:  # what it sends is what it counts
                self.own = np.floor(self.own)
            self.total = self.total + self.own
            if not self.script:
                self._decide()

    def _communication(self, _, __, collided):
        sender, _, about, bit = self.script[self.step - 1]
        if collided and sender != self.rank:
            self.total[about] += 2**bit
        if self.step == len(self.script):
            self._decide()

    def _bounds(self):
        low, high = {}, {}
        for a in self.active:
            mean = self.total[a] / self.n
            if self.bounds == "kl":
                mean = min(max(mean, 0.0), 1.0)
                half = float(kl_upper(mean, np.log(self.t) / self.n)) - mean
            else:
                half = np.sqrt(2 * np.log(self.horizon) / self.n)
            low[a], high[a] = mean - half, mean + half
        return low, high

    def _decide(self):
        self.n += self.players * 2**self.phase
        low, high = self._bounds()
        accepted, rejected = [], []
        for a in self.active:
            if sum(high[b] <= low[a] for b in self.active) >= len(self.active) - self.players:
                accepted.append(a)
            elif sum(low[b] >= high[a] for b in self.active) >= self.players:
                rejected.append(a)
        self.active = [a for a in self.active if a not in accepted + rejected]
        self.players -= len(accepted)
        if self.rank < len(accepted):
            self.stage, self.chair = "exploitation", accepted[self.rank]
            return
        self.rank -= len(accepted)
        self.phase += 1
        self.own = np.zeros(self.n_arms)
        self.stage, self.step = "exploration", 0
