"""Time one driver in this process and print one JSON line; started by `benchmarks.peers` with its core pinned."""

import argparse
import json
import time

import numpy as np

from benchmarks.peers.drivers import DRIVERS
from benchmarks.peers.problems import CASES

OURS_TRIALS, FEWEST, MOST = 4096, 8, 2000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("driver", type=int)
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    driver = DRIVERS[arguments.driver]
    rounds = CASES[driver.case].horizon
    ours = driver.package == "jaxbandits"
    begin = time.process_time()
    driver.run(0, OURS_TRIALS if ours else 1, rounds)  # imports, compilation, caches
    first_s = time.process_time() - begin
    begin = time.process_time()
    driver.run(1, OURS_TRIALS if ours else 2, rounds)
    one_s = (time.process_time() - begin) / (OURS_TRIALS if ours else 2)
    trials = OURS_TRIALS if ours else int(np.clip(arguments.seconds / one_s, FEWEST, MOST))
    best = 0.0
    for seed in range(2, 5 if ours else 3):
        begin = time.process_time()
        regret = driver.run(seed, trials, rounds)
        best = max(best, trials * rounds / (time.process_time() - begin))
    error = regret.std(ddof=1) / trials**0.5
    print(json.dumps({"rate": best, "first_s": first_s, "trials": trials, "mean": regret.mean(), "error": error}))


if __name__ == "__main__":
    main()
