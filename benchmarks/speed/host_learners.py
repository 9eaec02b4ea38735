"""Measure rounds per CPU second of learners in Python on five coins: `python -m benchmarks.speed.host_learners`.

The learners are UCB1 in NumPy for all trials, UCB1 as a class for one trial behind `each`, and the compiled UCB1. They
play the same arms. CPU seconds count all threads, so that other processes on the machine have little effect. The rates
are medians of five runs. The column "trials" has the number of trials side by side; the compiled learner plays 1,024
trials in batches of 64.
"""

import statistics
import time

import jax
import numpy as np

from jaxbandits import armed, each, play, simulate

COINS = armed.BernoulliArms.from_means([0.9, 0.8, 0.5, 0.4, 0.2])
K = 5


class UCB1:
    """UCB1 of W trials."""

    def start(self, n_trials, n_arms, dim, seeds):
        self.count, self.total = np.zeros((n_trials, n_arms)), np.zeros((n_trials, n_arms))
        self.trials = np.arange(n_trials)

    def select(self, t, obs):
        played = np.maximum(self.count, 1.0)
        index = self.total / played + np.sqrt(2.0 * np.log(max(t, 1)) / played)
        return np.argmax(np.where(self.count == 0, np.inf, index), axis=1)

    def update(self, t, obs, index, reward):
        self.count[self.trials, index] += 1.0
        self.total[self.trials, index] += reward


class PlainUCB1:
    """UCB1 of one trial, in plain Python."""

    def __init__(self, seed):
        self.count, self.total = [0] * K, [0.0] * K

    def select(self, t, obs):
        if 0 in self.count:
            return self.count.index(0)
        log_t = 2.0 * np.log(t)
        scores = [total / n + (log_t / n) ** 0.5 for total, n in zip(self.total, self.count, strict=True)]
        return scores.index(max(scores))

    def update(self, t, obs, index, reward):
        self.count[index] += 1
        self.total[index] += reward


def rate(run, rounds: int) -> float:
    """Return rounds per CPU-second, without compilation."""
    run()
    rates = []
    for _ in range(5):
        begin = time.process_time()
        run()
        rates.append(rounds / (time.process_time() - begin))
    return statistics.median(rates)


def main() -> None:
    """Print the table."""
    jax.config.update("jax_enable_x64", True)
    cases = [("NumPy, all trials", UCB1, w, 2_000_000 // w) for w in (64, 1024, 16_384)]
    cases += [("plain class, each", lambda: each(PlainUCB1), w, 20_000 // w) for w in (1, 64)]
    print(f"{'learner':20} {'trials':>7} {'M rounds/s':>12}")
    for name, make, w, horizon in cases:
        found = rate(lambda: play(make(), COINS, horizon, w, record_points=1, progress=False), w * horizon)  # noqa: B023
        print(f"{name:20} {w:7} {found / 1e6:12.3g}")
    compiled = rate(lambda: simulate(armed.UCB1(n_arms=K), COINS, 20_000, 1024, workers=1, progress=False), 20_480_000)
    print(f"{'compiled':20} {64:7} {compiled / 1e6:12.3g}")


if __name__ == "__main__":
    main()
