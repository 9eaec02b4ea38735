"""Players who share arms as plain NumPy float64 loops, written from the papers: each keeps all that it sensed.

`next_moves(rule, ...)` are the arms that a player may play next, and whether it has claimed its arm: draws are not
repeated.
"""

import numpy as np

from tests.reference.armed import KLUCB


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
