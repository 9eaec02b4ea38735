"""Race the points of a grid: a point that a paired sequential test rejects plays no further seeds.

All points play the same seeds (common random numbers) in groups. After each group every point is
tested against the leader, the point with the smallest mean so far, on the differences d = x - (1 + tolerance) y per
seed, where x is the metric of the point and y that of the leader (if the leader's mean is negative, the factor is 1 -
tolerance). A point drops out once a test rejects "the mean of d is at most 0", or immediately if one of its trials
failed.

Two tests are made, each with half of the error:

* Student's test, corrected for skewness (`analysis.pairs.skewed_mean`), of whether the mean of d exceeds 4 / n times
  the range of the leader's n values, as if 4 (`_MORE`) further values of the leader were worse by that range. This test
  is fast if d varies little.
* A test by betting (I. Waudby-Smith & A. Ramdas, Estimating means of bounded random variables by betting, JRSS B
  2024): a wealth of 1 is divided equally between two bettors, who bet the shares b = 0.3 and b = 0.95 of it. Every seed
  multiplies the wealth of a bettor by 1 + b d / L, where L is the largest possible loss, and the test rejects when
  the sum reaches 1 / error. This test is fast if a point fails badly on some seeds, as learners with too small a radius
  do, since such failures make both the mean and the variance of d large. L is `_LARGEST` = 3 times the difference
  (1 + tolerance) max y - min(0, m), where m is the smallest value of any point. Gains are clipped at `_MOST` = 4 times
  L.

Error. Let p be the point that `best` would choose from the true means. Only a test against one of its K - 1 rivals can
drop p, and the hypothesis of each of these tests is true. Each rival has an equal part of the error, half of it for
each of the two tests. Student's test spends an equal part at each look, that is, after each group of seeds. The test by
betting need not divide its part among looks: by Ville's inequality, a wealth that does not grow in expectation ever
reaches 1 / error with probability at most `error`. So p drops out with probability at most `error`, for any dependence
of points and looks and any sequence of leaders, if Student's intervals keep their level and no later value of the
leader exceeds 3 times (`_LARGEST`) its largest earlier value. No distribution-free test can do without such an
assumption. The worst case is a best point whose values vary little, among rivals with the same mean and a long tail: a
rival whose tail has not yet appeared in the sample is then the leader. The table gives upper limits of the share of
races, in %, in which the best point then drops out at error = 5 %; coin (p) is a learner that fails on a share p of the
seeds (tests/engine/test_levels.py):

    points x seeds        2 x 64         10 x 64        10 x 128
    normal                5              5              5
    Student t (2.5)       5              5              5
    exponential           5              5              5
    lognormal (1)         5              5              5
    Pareto (2.5)          5              5              5
    lognormal (1.5)       5              5              5
    coin (0.3)            5              5              5
    coin (0.1)            25             90             90

No test can predict a failure that has not occurred on any seed. The first look comes after at least `FEWEST` = 16
seeds, and after enough seeds that a learner that fails on three seeds of ten has failed at least once with probability
1 - error / (K - 1). A point does not drop out if one more seed, on which the leader loses by the largest difference so
far, would suffice to make the point's mean as small as the leader's. A learner that fails on one seed of ten may still
win, as it may when the whole grid is played on few seeds.
"""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from jaxbandits.analysis import pairs
from jaxbandits.analysis.result_table import ResultTable, point_label
from jaxbandits.analysis.table import digits_of_fields, number, plain
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.engine.grid import ArrayValue, Grid, Point, list_points
from jaxbandits.engine.jobs import PerLabel
from jaxbandits.engine.options import COUNT, Settings, check_seeds, make_options
from jaxbandits.engine.program import share_traces
from jaxbandits.engine.progress import SECONDS_PER_LINE
from jaxbandits.simulation.comparison import Part, run_comparison
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import Environment

_FEWEST_TRIALS = 32  # smallest number of trials in a call
FEWEST = 16  # smallest number of seeds at the first look
_SHOWN = 0.3  # share of seeds on which a learner fails that the first look detects
_GROUP, _GROUPS = 4, 16  # smallest number of seeds in a group, and largest number of groups
_BETS = np.asarray([0.3, 0.95])  # shares of the wealth that are bet; each strategy begins with an equal part of it
_MOST, _LARGEST = 4.0, 3.0
_MORE = 4.0


class Candidate(NamedTuple):
    """One point of a grid at the end of a race.

    Attributes:
      point: mapping from fields to values.
      mean: mean of the metric over the seeds that the point played; infinite if a trial failed or has no value.
      seeds: number of seeds that the point played.
      outcome: "winner", "survivor", "worse" (dropped by the test) or "failed" (dropped because a trial
        failed or has no value).
      rival: the leading point at the time when this point was dropped as worse; None for other outcomes.
    """

    point: Point
    mean: float
    seeds: int
    outcome: str
    rival: Point | None = None


@dataclasses.dataclass(frozen=True)
class Race:
    """Outcome of a race.

    Attributes:
      index: position of the winner in the grid.
      candidates: `[K]` every point of the grid with its mean, its seeds and the reason for dropping it; prints as a
        table.
      values: `[K, S]` the metric by point and seed; infinite for trials that failed or have no value, NaN on
        seeds that a point did not play.
      metric: name of the metric; small values are good.
      error: bound on the probability that the best point drops out (see `race`).
      tolerance: relative difference up to which means are equivalent.
      rounds: total number of rounds played.
      grid_rounds: number of rounds of the full grid on all seeds.
    """

    index: int
    candidates: ResultTable[Candidate]
    values: np.ndarray
    metric: str
    error: float
    tolerance: float
    rounds: int
    grid_rounds: int

    def __repr__(self) -> str:
        """Return the winner, the number of survivors and the share of the grid's rounds that was played."""
        share = 100.0 * self.rounds / self.grid_rounds
        left = f"{len(self.survivors)} of {len(self.candidates)} points left"
        mean = number(self.candidates[self.index].mean)
        return f"Race({self.winner}: mean {self.metric} {mean}; {left}; {share:.0f} % of the rounds of the grid)"

    @property
    def winner(self) -> Point:
        """The point that won."""
        return self.candidates[self.index].point

    @property
    def survivors(self) -> list[Point]:
        """Points that no test has rejected, including the winner, in the order of the grid."""
        return [entry.point for entry in self.candidates if entry.outcome in ("winner", "survivor")]

    @property
    def at_edge(self) -> bool:
        """True if a field of the winner has its smallest or largest value: the optimum may lie outside the grid."""
        return at_edge([entry.point for entry in self.candidates], self.winner)


@share_traces()
def race(
    grid: Grid | Mapping[str, Grid],
    environment: PerLabel[Environment],
    horizon: PerLabel[int],
    seeds: int,
    *,
    metric: str | None = None,
    error: float = 0.05,
    tolerance: float = 0.0,
    **settings: Unpack[Settings],
) -> Race:
    """Find the point of a grid with the smallest mean of a metric in fewer rounds than the whole grid would take.

    Points that a paired sequential test rejects drop out (see the documentation of the module
    `jaxbandits.simulation.racing`). The best point drops out with probability at most `error`, provided that values are
    no more skewed than lognormal values with sigma = 1.5, and that a learner that fails on some seeds fails on at least
    three of ten. Among survivors whose means are within `tolerance` of the smallest one, the winner is the point whose
    values are nearest to 1, the neutral value of a multiplier.

    Args:
      grid: a `Grid`; or a mapping from labels to grids with the same points, for several problems, over which the
        metric is averaged.
      environment: one environment, or a mapping from labels to environments. With one grid and several environments the
        grid runs on each of them, and the metric is averaged over them.
      horizon: rounds per trial; one value, or a mapping from labels to values.
      seeds: trials per point, for points that stay in the race to its end. Points drop out after 16 seeds at the
        earliest, so that with fewer seeds the whole grid is played.
      metric: name of a scalar metric, whose values at the horizon are compared; None: the first metric of the first
        label.
      error: largest probability that the best point drops out, in (0, 0.5].
      tolerance: relative tolerance, in [0, 1): points whose means differ by less than this share of the smallest mean
        are equivalent, and a point drops out only if it is worse by more than this share.
      **settings: see `Options`; with `checkpoint`, each group of seeds has a subdirectory there.

    Returns:
      A `Race`. If every point had a failed trial, its winner is the first point, with an infinite mean.

    Raises:
      InputError: if an argument is invalid.

    Example:
      >>> from jaxbandits import Grid, HeavyTailed, OFUL, race
      >>> grid = Grid(OFUL(dim=2), {"beta_scale": [0.01, 0.1, 1.0]})
      >>> found = race(grid, HeavyTailed(dim=2, n_arms=10), horizon=50, seeds=16, progress=False)
      >>> list(found.winner), found.rounds <= found.grid_rounds
      (['beta_scale'], True)
    """
    seeds = ranges.integer("seeds", seeds, COUNT)
    error = ranges.real("error", error, "(0, 0.5]")
    tolerance = ranges.real("tolerance", tolerance, "[0, 1)")
    chosen = make_options(**settings)
    check_seeds(chosen.first_seed, seeds, f"{seeds:,} seeds")
    grids = _label_grids(grid, environment)
    points = list_points(next(iter(grids.values())).points)
    rounds = 0  # rounds of one seed of one point, summed over labels
    quiet_since = time.perf_counter()  # beginning of the race, or of the last group that leaves lines or a bar

    def play(active: np.ndarray, first: int, count: int) -> np.ndarray:
        nonlocal metric, rounds, quiet_since
        some = [points[i] for i in active]
        title = f"{chosen.title}, {len(some)} points, {first + count} of {seeds} seeds".removeprefix(", ")
        group = settings | Settings(first_seed=chosen.first_seed + first, title=title)
        if chosen.checkpoint is not None:
            group["checkpoint"] = Path(chosen.checkpoint) / f"seeds-{first + count}"
        learners = {label: Grid(one.algorithm, some) for label, one in grids.items()}
        with own_settings():
            options = make_options(**group)
            is_quiet = time.perf_counter() - quiet_since < SECONDS_PER_LINE  # groups may be short, and the race long
            quiet_since = quiet_since if is_quiet else time.perf_counter()
            part = Part(is_first=first == 0, brief=is_quiet, compares=True, of_first_label=True)
            result = run_comparison(learners, environment, horizon, count, 1, options, metric=metric, part=part)
        metric = result[next(iter(grids))].metric() if metric is None else metric
        rounds = sum(trials.horizon for trials in result.trials.values())
        scores = []
        for label, trials in result.trials.items():
            if trials.get(metric).ndim > 3:
                axes = ", ".join(trials.axis_names(trials.metric(metric)))
                raise InputError(
                    f"metric {metric!r} of {label} is a vector with axes ({axes}); a race needs a scalar metric"
                )
            scores.append(np.where(trials.usable(metric), trials.final(metric), np.inf))
        return np.mean(scores, axis=0)

    values, rivals = race_values(play, len(points), seeds, error, tolerance)
    played = np.count_nonzero(~np.isnan(values), axis=1)
    means = [float(row[:n].mean()) for row, n in zip(values, played, strict=True)]
    left = [i for i in range(len(points)) if i not in rivals] or list(range(len(points)))
    winner = left[best([points[i] for i in left], [means[i] for i in left], tolerance)]
    rows = []
    for i, point in enumerate(points):
        rival = rivals.get(i)
        outcome = "survivor" if i not in rivals else "failed" if rival is None else "worse"
        outcome = "winner" if i == winner else outcome
        rows.append(Candidate(point, means[i], int(played[i]), outcome, None if rival is None else points[rival]))
    header = [*points[0], f"mean {str(metric).replace('_', ' ')}", "seeds", "outcome"]
    return Race(
        index=winner,
        candidates=ResultTable(rows, header, functools.partial(_cells, digits_of_fields(points))),
        values=values,
        metric=str(metric),
        error=error,
        tolerance=tolerance,
        rounds=rounds * int(played.sum()),
        grid_rounds=rounds * values.size,
    )


def race_values(
    play: Callable[[np.ndarray, int, int], np.ndarray], n_points: int, seeds: int, error: float, tolerance: float
) -> tuple[np.ndarray, dict[int, int | None]]:
    """Play groups of seeds and drop points after each group: the statistics of a race, without the simulation.

    Args:
      play: function from positions `[k]` of points, the first seed (counted from 0) and the number of seeds n to values
        `[k, n]`, not finite for failed trials.
      n_points: K, number of points.
      seeds: S, number of seeds of a point that does not drop out.
      error: bound on the probability that the best point drops out.
      tolerance: relative difference up to which points are equivalent.

    Returns:
      `[K, S]` values, infinite for failed trials and NaN for trials that were not played; and a dict from the position
      of each point that dropped out to the position of the leader that beat it, or to None if the point failed.
    """
    values = np.full((n_points, seeds), np.nan)
    active, rivals, end = np.arange(n_points), {}, 0
    group = max(_GROUP, -(-seeds // _GROUPS))
    first = max(FEWEST, math.ceil(math.log(max(n_points - 1, 1) / error) / -math.log1p(-_SHOWN)))
    looks = 1 + -(-max(seeds - first, 0) // group)  # largest number of looks
    alpha = 0.5 * error / max(n_points - 1, 1)  # error of either test against one rival
    while end < seeds and len(active) > 1:
        # If few points are left, a group has more seeds, since a call with fewer trials does not cost less.
        more = max(group, _FEWEST_TRIALS // len(active)) if end else max(group, first)
        begin, end = end, min(seeds, end + more)
        found = play(active, begin, end - begin)
        values[active, begin:end] = np.where(np.isfinite(found), found, np.inf)
        failed = ~np.isfinite(found).all(axis=1)
        rivals |= dict.fromkeys(active[failed].tolist())
        active = active[~failed]
        if end < first or not len(active):
            continue
        seen = values[active, :end]
        leader = int(np.argmin(seen.mean(axis=1)))
        factor = 1.0 + math.copysign(tolerance, seen[leader].mean())
        difference = seen - factor * seen[leader]
        loss = factor * float(seen[leader].max()) - min(float(seen.min()), 0.0)
        worse = log_wealth(difference, _LARGEST * loss) >= -math.log(alpha)
        missing = factor * _MORE / end * float(np.ptp(seen[leader]))
        is_constant = np.ptp(difference, axis=1) == 0.0  # a deterministic problem
        low = np.where(is_constant, difference[:, 0], pairs.skewed_mean(difference, 2.0 * alpha / looks).low)
        worse |= low > missing
        worse &= difference.sum(axis=1) > difference.max()
        rivals |= dict.fromkeys(active[worse].tolist(), int(active[leader]))
        active = active[~worse]
    return values, rivals


def log_wealth(difference: np.ndarray, loss: float) -> np.ndarray:
    """Return the log-wealth `[K]` of a bettor against "the mean is at most 0" with initial wealth 1.

    Under that hypothesis, the probability that the log-wealth ever reaches `log(1 / alpha)` is at most alpha (Ville's
    inequality).

    Args:
      difference: `[K, n]` differences, each at least `-loss`.
      loss: largest possible loss on a seed; if it is 0, no bet is placed.
    """
    if loss <= 0.0:
        return np.zeros(len(difference))
    gain = np.minimum(difference / loss, _MOST)
    wealth = np.log1p(_BETS[:, None, None] * gain).sum(axis=-1)  # [bets, K]
    return np.logaddexp.reduce(wealth, axis=0) - math.log(len(_BETS))


def best(points: Sequence[Mapping[str, Any]], means: Sequence[float] | np.ndarray, tolerance: float = 0.0) -> int:
    """Return the position of the smallest mean; among means within the tolerance, of the point nearest to 1.

    Args:
      points: mappings from fields to values; the distance of a point from 1 is the Euclidean norm of the logarithms of
        its numbers, while flags, names and arrays are ignored.
      means: mean of each point; infinite if a trial failed.
      tolerance: relative tolerance, as a share of the absolute value of the smallest mean.

    Returns:
      The position; the first position if several points are equally near; 0 if no mean is finite.
    """
    least = min(means)
    if not math.isfinite(least):
        return 0
    limit = least + tolerance * abs(least)
    alike = [i for i, mean in enumerate(means) if mean <= limit]
    return min(alike, key=lambda i: _distance_from_one(points[i]))


def at_edge(points: Sequence[Mapping[str, Any]], point: Mapping[str, Any]) -> bool:
    """Return True if a field with several values has its smallest or largest value at the point."""
    for field, value in point.items():
        values = {other[field] for other in points if _is_number(other[field])}
        if len(values) > 1 and _is_number(value) and value in (min(values), max(values)):
            return True
    return False


def _distance_from_one(point: Mapping[str, Any]) -> float:
    values = [value for value in point.values() if _is_number(value)]
    return math.hypot(*(math.log(value) if value > 0.0 else math.inf for value in values))


def _is_number(value: object) -> bool:
    return not isinstance(value, (bool, str, ArrayValue))


def _label_grids(grid: Grid | Mapping[str, Grid], environment: PerLabel[Environment]) -> dict[str, Grid]:
    """Return the grid of every label, after a check that all grids have the same points, at least two."""
    if isinstance(grid, Grid):
        labels = list(environment) if isinstance(environment, Mapping) else [type(grid.algorithm).__name__]
        grid = dict.fromkeys(labels, grid)
    if not isinstance(grid, Mapping) or not grid or not all(isinstance(one, Grid) for one in grid.values()):
        raise InputError(
            f"race needs a Grid(algorithm, points) or a mapping from labels to Grids, got {format_value(grid)}"
        )
    points = [list_points(one.points) for one in grid.values()]
    if any(other != points[0] for other in points[1:]):
        raise InputError("all grids of a race must have the same points")
    if len(points[0]) < 2:
        raise InputError("a race needs at least two points, got 1")
    return dict(grid)


def _cells(digits: Mapping[str, int], entry: Candidate) -> list[str]:
    reason = "" if entry.rival is None else f" than {point_label('', entry.rival, digits)[2:-1]}"
    values = [plain(value, digits[field]) for field, value in entry.point.items()]
    return [*values, number(entry.mean), str(entry.seeds), entry.outcome + reason]
