"""Cascades, duels, teams and restarts in fast plain NumPy: all seeds in one array, a single seed in one row.

Every function plays the problem of `build` for S seeds and returns the pseudo-regrets `[S]`.
"""

import math
from typing import Any

import numpy as np

from benchmarks.speed.numpy_armed import kl_upper

ITEMS, PLACES, ATTRACTION, GAP = 16, 4, 0.2, 0.15
PLAYERS, MEANS = 6, np.arange(1, 10) / 10.0
DUELISTS, ALPHA = 6, 0.51
PERIOD, HORIZON = 10, 5000
PHASES = np.array(((0.3, 0.5, 0.9), (0.3, 0.2, 0.9), (0.3, 0.2, 0.1), (0.7, 0.2, 0.1), (0.7, 0.5, 0.1)))
_FIRST = 1e30  # above every index

Draws = np.random.Generator


def build(algorithm: str) -> tuple[Any, Any]:
    """Return the learner and the environment of the library."""
    from jaxbandits import armed, combinatorial, duels, teams

    if algorithm == "mc_top_m":
        learner = teams.MCTopM.theory(n_arms=len(MEANS), n_players=PLAYERS)
        return learner, teams.SharedArms.from_means(MEANS, PLAYERS)
    if algorithm == "double_ts":
        return duels.DoubleTS(n_arms=DUELISTS), duels.DuelingArms.arxiv()
    if algorithm == "glr":
        policy = armed.KLUCB(n_arms=PHASES.shape[1])
        learner = armed.Restarting.glr(policy=policy, horizon=HORIZON, changes=len(PHASES) - 1)
        return learner, armed.SwitchingArms.from_phases(PHASES, _starts())
    sizes = {"n_items": ITEMS, "list_size": PLACES}
    learner = {"cascade_ucb1": combinatorial.CascadeUCB1, "cascade_kl_ucb": combinatorial.CascadeKLUCB}[algorithm]
    return learner(**sizes), combinatorial.CascadingClicks.with_gap(**sizes, attraction=ATTRACTION, gap=GAP)


def regret(algorithm: str, rounds: int, rng: Draws, seeds: int = 1) -> np.ndarray:
    """Run an algorithm on several seeds; return their pseudo-regrets `[S]`."""
    if algorithm in ("cascade_ucb1", "cascade_kl_ucb"):
        return _cascade(algorithm == "cascade_kl_ucb", rounds, rng, seeds)
    return {"mc_top_m": _mc_top_m, "double_ts": _double_ts, "glr": _glr}[algorithm](rounds, rng, seeds)


def _starts() -> np.ndarray:
    return np.arange(len(PHASES)) * HORIZON // len(PHASES)


def _first_ones(count: np.ndarray, t: int) -> np.ndarray:
    """Return scores `[..., K]` that order arms without an observation, beginning with arm t mod K; 0 for other arms."""
    n = count.shape[-1]
    return np.where(count < 1.0, _FIRST * (n - (np.arange(n) - t) % n), 0.0)


def _cascade(by_kl: bool, rounds: int, rng: Draws, seeds: int) -> np.ndarray:
    values = np.where(np.arange(ITEMS) < PLACES, ATTRACTION, ATTRACTION - GAP)
    attraction = rng.permuted(np.tile(values, (seeds, 1)), axis=1)
    best, row, place = 1.0 - (1.0 - ATTRACTION) ** PLACES, np.arange(seeds)[:, None], np.arange(PLACES)
    count, total, out = np.zeros((seeds, ITEMS)), np.zeros((seeds, ITEMS)), np.zeros(seeds)
    for t in range(rounds):
        n = np.maximum(count, 1.0)
        if by_kl:
            level = math.log(t + 1) + 3.0 * math.log(max(math.log(t + 1), 1.0)) if t else 0.0
            index = kl_upper(total / n, level / n)
        else:
            index = total / n + np.sqrt(1.5 * math.log(max(t, 1)) / n)
        scores = np.where(count < 1.0, _first_ones(count, t), index)
        items = np.argsort(-scores, axis=1, kind="stable")[:, :PLACES]
        shown = attraction[row, items]
        coins = rng.random((seeds, PLACES)) < shown
        click = np.where(coins.any(axis=1), coins.argmax(axis=1), PLACES)[:, None]
        count[row, items] += place <= click
        total[row, items] += place == click
        out += best - (1.0 - np.prod(1.0 - shown, axis=1))
    return out


def _mc_top_m(rounds: int, rng: Draws, seeds: int) -> np.ndarray:
    n_arms, best_sum = len(MEANS), np.sort(MEANS)[-PLAYERS:].sum()
    shape, row = (seeds, PLAYERS, n_arms), np.arange(seeds)[:, None]
    count, total, before = np.zeros(shape), np.zeros(shape), np.full(shape, _FIRST)
    arm, is_fixed = rng.integers(n_arms, size=(seeds, PLAYERS)), np.zeros((seeds, PLAYERS), bool)
    player, out = np.arange(PLAYERS), np.zeros(seeds)
    for t in range(rounds):
        coins = rng.random((seeds, n_arms)) < MEANS
        collided = (arm[:, :, None] == arm[:, None]).sum(axis=2) > 1
        out += best_sum - (MEANS[arm] * ~collided).sum(axis=1)
        count[row, player, arm] += 1.0
        total[row, player, arm] += coins[row, arm]
        n = np.maximum(count, 1.0)
        index = np.where(count < 1.0, _FIRST, kl_upper(total / n, math.log(t + 1) / n))
        ties = rng.random(shape)
        order = np.lexsort((-ties, -index))
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.broadcast_to(np.arange(n_arms), shape), axis=2)
        best = rank < PLAYERS
        is_in = np.take_along_axis(best, arm[:, :, None], axis=2)
        narrow = best & (before <= np.take_along_axis(before, arm[:, :, None], axis=2))
        narrow = np.where(narrow.any(axis=2, keepdims=True), narrow, best)
        pool = np.where(is_in, best, narrow)
        drawn = np.where(pool, rng.random(shape), -1.0).argmax(axis=2)  # uniform among the pool
        stays = is_in[:, :, 0] & (~collided | is_fixed)
        arm, is_fixed, before = np.where(stays, arm, drawn), stays, index
    return out


def _double_ts(rounds: int, rng: Draws, seeds: int) -> np.ndarray:
    from jaxbandits.duels import DuelingArms

    preferences = np.asarray(DuelingArms.arxiv().preferences)
    order = rng.permuted(np.tile(np.arange(DUELISTS), (seeds, 1)), axis=1)
    p = preferences[order[:, :, None], order[:, None]]
    loss = (preferences[0] - 0.5)[order]
    row, (i, j) = np.arange(seeds), np.triu_indices(DUELISTS, 1)
    wins, out = np.zeros((seeds, DUELISTS, DUELISTS)), np.zeros(seeds)
    theta, off = np.full(wins.shape, 0.5), ~np.eye(DUELISTS, dtype=bool)
    for t in range(rounds):
        n = wins + wins.transpose(0, 2, 1)
        upper = np.where(n > 0, wins / np.maximum(n, 1) + np.sqrt(ALPHA * math.log(t + 1) / np.maximum(n, 1)), 2.0)
        scores = (off & (upper >= 0.5)).sum(axis=2)
        theta[:, i, j] = rng.beta(1.0 + wins[:, i, j], 1.0 + wins[:, j, i])
        theta[:, j, i] = 1.0 - theta[:, i, j]
        won = (off & (theta > 0.5)).sum(axis=2)
        first = np.where(scores == scores.max(axis=1, keepdims=True), won, -1).argmax(axis=1)
        mine, theirs = wins[row, :, first], wins[row, first]  # of every arm against the first, and the reverse
        against = rng.beta(1.0 + mine, 1.0 + theirs)
        against[row, first] = 0.5
        possible = upper[row, :, first] >= 0.5
        possible[row, first] = True
        second = np.where(possible, against, -1.0).argmax(axis=1)
        won_first = rng.random(seeds) < p[row, first, second]
        differ = first != second
        wins[row, np.where(won_first, first, second), np.where(won_first, second, first)] += differ
        out += 0.5 * (loss[row, first] + loss[row, second])
    return out


def _glr(rounds: int, rng: Draws, seeds: int) -> np.ndarray:
    n_arms, n_changes = PHASES.shape[1], len(PHASES) - 1
    factor, shape, row = n_changes * n_arms, (seeds, n_arms), np.arange(seeds)
    share = 0.05 * math.sqrt(factor * math.log(HORIZON) / HORIZON)
    turn, log_delta = int(n_arms / share), -0.5 * math.log(factor * HORIZON)
    count, total, since, out = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(seeds)
    counts = np.zeros((-(-rounds // PERIOD), *shape))
    totals = np.zeros_like(counts)
    for t in range(rounds):
        means = PHASES[min(t * len(PHASES) // HORIZON, n_changes)]
        n = np.maximum(count, 1.0)
        index = kl_upper(total / n, np.log(np.maximum(t - since, 1.0)) / n)
        arm = np.where(count < 1.0, _first_ones(count, t), index).argmax(axis=1)
        if t % turn < n_arms:
            arm = np.full(seeds, t % turn)
        coin = rng.random(seeds) < means[arm]
        count[row, arm] += 1.0
        total[row, arm] += coin
        out += means.max() - means[arm]
        if t % PERIOD == PERIOD - 1:
            rows = t // PERIOD
            before, sums, ends = counts[:rows], totals[:rows], (np.arange(rows) + 1)[:, None, None] * PERIOD
            later = count - before
            is_split = (ends > since) & (before > 0.0) & (later > 0.0)
            mean = total / np.maximum(count, 1.0)
            left, right = sums / np.maximum(before, 1.0), (total - sums) / np.maximum(later, 1.0)
            ratio = np.where(is_split, before * _kl(left, mean) + later * _kl(right, mean), 0.0).max(
                axis=0, initial=0.0
            )
            level = math.log(3.0) + 1.5 * np.log(np.maximum(count, 1.0)) - log_delta
            counts[rows], totals[rows] = count, total
            changed = (ratio >= level) & (count > 1.0)
            count[changed], total[changed], since[changed] = 0.0, 0.0, t + 1
    return out


def _kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the Kullback-Leibler divergence of Bernoulli distributions."""
    p, q = np.clip(p, 1e-12, 1.0 - 1e-12), np.clip(q, 1e-12, 1.0 - 1e-12)
    return p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))
