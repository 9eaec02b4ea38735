"""Statistics for claims: each maps the results of an experiment to an estimate with a confidence interval."""

from collections.abc import Callable

import numpy as np
from scipy import special

from jaxbandits.experiments.declare import Results
from jaxbandits.simulation.statistics import Estimate, t_interval

Statistic = Callable[[Results], Estimate]


def mean_difference(panel: str, first: str, second: str, factor: float = 1.0, metric: str = "regret") -> Statistic:
    """Mean over paired seeds of `first - factor * second`, final values of a metric."""

    def statistic(results: Results) -> Estimate:
        a, b, failed = _finals(results, panel, metric, first, second)
        return t_interval(a - factor * b)._replace(failed=failed)

    return statistic


def win_share(panel: str, first: str, second: str, metric: str = "regret") -> Statistic:
    """Share of paired seeds in which `first` ends below `second` (a tie counts half), with Wilson's interval."""

    def statistic(results: Results) -> Estimate:
        a, b, failed = _finals(results, panel, metric, first, second)
        return wilson(float(np.sum(a < b) + 0.5 * np.sum(a == b)), len(a))._replace(failed=failed)

    return statistic


def time_ratio(panel: str, first: str, second: str) -> Statistic:
    """Time per round of `first` over `second`, geometric mean over the pieces of one run."""

    def statistic(results: Results) -> Estimate:
        logs = [np.log(results[panel].timing[name]["ns_per_round"]) for name in (first, second)]
        n = min(map(len, logs))
        if n < 2:
            return Estimate(*map(np.asarray, (np.nan, -np.inf, np.inf)), n=len(results[panel].seeds))
        # Timed on the same cores, but not piece by piece: treated as independent (Welch, at the smaller n).
        spread = np.sqrt(sum(x.var(ddof=1) / len(x) for x in logs))
        centre, half = logs[0].mean() - logs[1].mean(), special.stdtrit(n - 1, 0.975) * spread
        return Estimate(*np.exp((centre, centre - half, centre + half)), n=len(results[panel].seeds))

    return statistic


def wilson(successes: float, n: int, level: float = 0.95) -> Estimate:
    """A share with Wilson's score interval."""
    z = special.ndtri(0.5 + level / 2.0)
    share = successes / n if n else np.nan
    centre = (successes + z * z / 2.0) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(n * share * (1.0 - share) + z * z / 4.0) if n else np.inf
    return Estimate(*map(np.asarray, (share, centre - half, centre + half)), n=n)


def _finals(results: Results, panel: str, metric: str, first: str, second: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Final values of two algorithms over the seeds where neither failed, and how many seeds that leaves out."""
    result = results[panel]
    a, b = (result.final(metric, name)[0] for name in (first, second))
    failed = result.failed(metric)[[result.algorithms.index(name) for name in (first, second)], 0].any(axis=0)
    return a[~failed], b[~failed], int(failed.sum())
