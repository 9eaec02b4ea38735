"""Time one case in this process and print one JSON line; started by `benchmarks.speed` with its cores pinned."""

import argparse
import json
import time
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks.speed.cases import CASES, TRIALS, build, numpy_regret


def seconds_a_round(run: Callable[[int], float], short: int, long: int) -> float:
    """Return the seconds per additional round, from runs of two lengths, the best of three runs each.

    The fixed cost of a call, about 0.1 s for the check of changed code, cancels.

    Args:
      run: function from a number of rounds to the seconds that they take.
      short: number of rounds.
      long: larger number of rounds.
    """
    return (min(run(long) for _ in range(3)) - min(run(short) for _ in range(3))) / (long - short)


def _simulator(case, trials: int) -> dict[str, float]:
    """Return rounds per CPU second, without compilation and without the fixed cost of a call."""
    from jaxbandits import simulate

    algorithm, environment = build(case)
    settings = {"workers": 1, "progress": False, "record_points": 1}
    horizon = case.horizon if trials >= 256 else max(case.horizon, 16_000)
    first = simulate(algorithm, environment, horizon, trials, **settings)

    def run(rounds: int) -> float:
        begin = time.process_time()
        simulate(algorithm, environment, rounds, trials, **settings)
        return time.process_time() - begin

    return {
        "cpu": trials / seconds_a_round(run, horizon, 4 * horizon),
        "compile_s": first[type(algorithm).__name__].timing["compile_s"],
        f"{case.metric}_per_round": float(np.mean(first.final(case.metric))) / horizon,
    }


def _numpy(case, seeds: int) -> dict[str, float]:
    """Return rounds per CPU second of the NumPy loop (seeds = 1), or of the NumPy version over several seeds."""
    rng = np.random.default_rng(0)
    rounds = case.numpy_rounds if seeds == 1 else max(20, case.numpy_trial_rounds // seeds)
    best, regret = 0.0, 0.0
    for _ in range(3):
        begin = time.process_time()
        regret = float(np.mean(numpy_regret(case, rounds, rng, None if seeds == 1 else seeds)))
        best = max(best, rounds * seeds / (time.process_time() - begin))
    return {"cpu": best, f"{case.metric}_per_round": regret / rounds}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("case", type=int)
    parser.add_argument("--float64", action="store_true")
    parser.add_argument("--trials", type=int, nargs="*", default=list(TRIALS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # few seeds are the point here
    import jax

    jax.config.update("jax_enable_x64", arguments.float64)
    jax.config.update("jax_enable_compilation_cache", False)  # compile times are measured
    case = CASES[arguments.case]
    out = {"device": jax.devices()[0].device_kind, "simulator": {}, "numpy": {}}
    for trials in arguments.trials:
        out["simulator"][trials] = _simulator(case, trials)
    compiled = [run["compile_s"] for run in out["simulator"].values()]
    out["compile_s"] = max(compiled)
    out["numpy"] = {seeds: _numpy(case, seeds) for seeds in (1, 256, 1024)}
    print(json.dumps(out))


if __name__ == "__main__":
    main()
