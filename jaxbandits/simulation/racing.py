"""Race the points of a grid: those that a paired sequential test has decided against play no further seeds.

All points play the same seeds (common random numbers), a group of them at a time. After each group every point is
tested against the leader, the point with the smallest mean so far, on the differences d = x - (1 + tolerance) y per
seed (x the metric of the point, y that of the leader; 1 - tolerance where the leader's mean is negative). A point drops
out once a test rejects "the mean of d is at most 0"; at once when one of its trials failed.

Two tests share the error:

* Student's, corrected for skewness (`results.pairs.skewed`), of d less `_MORE` / n times the range of the leader's n
  values, as if it were to have so many more of them that are a range worse: quick where d varies little.
* A test by betting (I. Waudby-Smith & A. Ramdas, Estimating means of bounded random variables by betting, JRSS B
  2024): a bettor with wealth 1 multiplies it by 1 + b d / L on every seed, for a share b in (0, 1) and the largest
  possible loss L, and the test rejects once the wealth reaches 1 / error. It is quick where a point fails badly on some
  seeds, which makes the mean of d large and its variance larger still: so does regret where a radius is too small. L is
  `_LARGEST` times (1 + tolerance) max y, less the least value of any point if that is negative; gains above `_MOST` L
  count as that.

Error. Let b be the point that `best` takes when it is given the true means. Only a test against one of its K - 1
rivals can drop it, and against each of them its hypothesis is true. Each rival has an equal part of the error, half of
it for either test. Student's has an equal part at each look; betting needs no such division, since by Ville's
inequality a wealth that does not grow in the mean reaches 1 / error at any time with that probability at most. So b
drops out with a probability of at most `error`, however points and looks depend on each other and whoever leads when:
as far as Student's intervals keep their level, and no later value of the leader is above `_LARGEST` times those that it
has shown. No distribution-free test can do without such an assumption. The worst case is a best point that varies
little among rivals with the same mean and a long tail: the one that has not yet shown its tail leads. The best point
drops out there in so many races in %, at most, at error = 5 %; a coin (p) is a learner that fails on a share p of the
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

No test foresees a failure that no seed has shown. Nothing is decided before `FEWEST` seeds, nor before so many that a
learner that fails on three seeds of ten has done so with probability 1 - error / (K - 1). No point drops out that would
be level with the leader after one more seed on which the leader is behind by the largest difference that any point has
shown. A learner that fails on one seed of ten may still win against one that never does, as it may in a grid
of few seeds.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from jaxbandits.analysis import pairs
from jaxbandits.analysis.result_table import ResultTable, point_label
from jaxbandits.analysis.table import number, plain
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.engine.grid import Grid, Point, list_points
from jaxbandits.engine.options import COUNT, Settings, make_options
from jaxbandits.simulation.api import compare

_FEWEST_TRIALS = 32  # of a call
FEWEST = 16  # seeds of the first look, at least
_SHOWN = 0.3  # share of failures that the first look shows
_GROUP, _GROUPS = 4, 16  # seeds of a group at least, and groups at most
_BETS = np.asarray([0.3, 0.95])  # an equal part of the wealth for each
_MOST, _LARGEST = 4.0, 3.0
_MORE = 4.0


class Candidate(NamedTuple):
    """One point of a grid at the end of a race.

    Attributes:
      point: field to value.
      mean: mean of the metric over the seeds that it played; infinite if a trial failed.
      seeds: number of seeds that it played.
      outcome: "winner", "survivor", "worse" (dropped by the test) or "failed" (dropped because a trial failed).
      rival: the point that led when this one dropped as worse, else None.
    """

    point: Point
    mean: float
    seeds: int
    outcome: str
    rival: Point | None = None


@dataclasses.dataclass(frozen=True)
class Race:
    """The outcome of a race.

    Attributes:
      index: position of the winner in the grid.
      candidates: `[K]` every point of the grid with its mean, its seeds and why it dropped; prints itself as a table.
      values: `[K, S]` the metric by point and seed, NaN where a point had dropped out.
      metric: name of the metric, least is best.
      error: probability that the best point drops out, at most (see `race`).
      tolerance: relative; means that close are alike.
      rounds: played in all.
      grid_rounds: that every point would have played on every seed.
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
        """Return the winner, what is left and what was saved."""
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
        """Points that no test has decided against, the winner among them, in the order of the grid."""
        return [entry.point for entry in self.candidates if entry.outcome in ("winner", "survivor")]

    @property
    def at_edge(self) -> bool:
        """True if a field of the winner has the least or the largest of its values: the best may lie beyond."""
        return at_edge([entry.point for entry in self.candidates], self.winner)


def race(
    grid: Grid | Mapping[str, Grid],
    environment: Any,
    horizon: int | Mapping[str, int],
    seeds: int,
    *,
    metric: str | None = None,
    error: float = 0.05,
    tolerance: float = 0.0,
    **settings: Unpack[Settings],
) -> Race:
    """Find the point of a grid with the smallest mean of a metric in fewer rounds than the whole grid would take.

    Points that a paired sequential test has decided against drop out; the documentation of the module
    `jaxbandits.simulation.racing` says how. The best point drops out with a probability of at most `error`, as long as
    values are at most as skewed as lognormal ones of sigma 1.5 and learners that fail now and then do so on three seeds
    of ten or more. Of survivors whose means are within `tolerance` of the least one the winner is that whose values are
    nearest to 1, the place of a multiplier that changes nothing.

    Args:
      grid: an algorithm and its points; or label to grid, the same points in each, for several problems whose mean
        decides.
      environment: one value, or label to value (also with one grid: then that grid on each, and their mean decides).
      horizon: rounds per trial; one value or label to value.
      seeds: trials per point, for points that stay in the race to its end. Points drop out after 16 seeds at
        the earliest: with fewer the whole grid is played.
      metric: a scalar metric, its value at the horizon decides; None: the first of the environment.
      error: probability that the best point drops out, in (0, 0.5].
      tolerance: relative to the smallest mean, in [0, 1); points whose means differ by less are equivalent, and drop
        out only when they are worse by more.
      **settings: see `Options`; with `checkpoint`, each group of seeds has a directory there.

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
    grids = _label_grids(grid, environment)
    points = list_points(next(iter(grids.values())).points)
    rounds = 0  # of one seed of one point, on all labels together

    def play(active: np.ndarray, first: int, count: int) -> np.ndarray:
        nonlocal metric, rounds
        some = [points[i] for i in active]
        title = f"{chosen.title}, {len(some)} points, {first + count} of {seeds} seeds".removeprefix(", ")
        group = settings | Settings(first_seed=chosen.first_seed + first, title=title)
        if chosen.checkpoint is not None:
            group["checkpoint"] = Path(chosen.checkpoint) / f"seeds-{first + count}"
        learners = {label: Grid(one.algorithm, some) for label, one in grids.items()}
        result = compare(learners, environment, horizon, count, record_points=1, **group)
        metric = result[next(iter(grids))].metric() if metric is None else metric
        rounds = sum(trials.horizon for trials in result.trials.values())
        scores = []
        for label, trials in result.trials.items():
            if trials.get(metric).ndim > 3:
                axes = ", ".join(trials.axis_names(trials.metric(metric)))
                raise InputError(f"metric {metric!r} of {label} is a vector ({axes}): a race needs a number")
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
        candidates=ResultTable(rows, header, _cells),
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
    """Play groups of seeds and drop points after each: the statistics of a race, without simulation.

    Args:
      play: function from positions `[k]` of points, the first seed (counted from 0) and the number of seeds n to values
        `[k, n]`, not finite where a trial failed.
      n_points: K.
      seeds: S, of a point that does not drop out.
      error: probability that the best point drops out, at most.
      tolerance: relative; points are worse only if they are by more than that.

    Returns:
      `[K, S]` values, infinite where a trial failed and NaN where nothing was played; and for each point that dropped
      out the position of the leader that it was worse than, None if it failed.
    """
    values = np.full((n_points, seeds), np.nan)
    active, rivals, end = np.arange(n_points), {}, 0
    group = max(_GROUP, -(-seeds // _GROUPS))
    first = max(FEWEST, math.ceil(math.log(max(n_points - 1, 1) / error) / -math.log1p(-_SHOWN)))
    looks = 1 + -(-max(seeds - first, 0) // group)  # at most
    alpha = 0.5 * error / max(n_points - 1, 1)  # of either test against one rival
    while end < seeds and len(active) > 1:
        # Of a few points more seeds: a call of few trials costs as much.
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
    """Return the logarithm of what a bettor against "the mean is at most 0" has made of a wealth of 1.

    Under that hypothesis it ever reaches `log(1 / alpha)` with a probability of at most alpha (Ville's inequality).

    Args:
      difference: `[K, n]` at least `-loss`.
      loss: the most that can be lost on a seed; where it is 0, nothing is bet.
    """
    if loss <= 0.0:
        return np.zeros(len(difference))
    gain = np.minimum(difference / loss, _MOST)
    wealth = np.log1p(_BETS[:, None, None] * gain).sum(axis=-1)  # [bets, K]
    return np.logaddexp.reduce(wealth, axis=0) - math.log(len(_BETS))


def best(points: Sequence[Mapping[str, Any]], means: Sequence[float] | np.ndarray, tolerance: float = 0.0) -> int:
    """Return the position of the smallest mean; of means within the tolerance, that of the point nearest to 1.

    Args:
      points: field to value; nearness is that of logarithms, all numbers together. Flags and names do not count.
      means: mean of each point; infinite if a trial failed.
      tolerance: relative, of the size of the smallest mean.

    Returns:
      The position; the first one of equally near points, and if no mean is finite.
    """
    least = min(means)
    if not math.isfinite(least):
        return 0
    limit = least + tolerance * abs(least)
    alike = [i for i, mean in enumerate(means) if mean <= limit]
    return min(alike, key=lambda i: _distance_from_one(points[i]))


def at_edge(points: Sequence[Mapping[str, Any]], point: Mapping[str, Any]) -> bool:
    """Return True if a field with several values takes the least or the largest of them at the point."""
    for field, value in point.items():
        values = {other[field] for other in points}
        if len(values) > 1 and not isinstance(value, (bool, str)) and value in (min(values), max(values)):
            return True
    return False


def _distance_from_one(point: Mapping[str, Any]) -> float:
    values = [value for value in point.values() if not isinstance(value, (bool, str))]
    return math.hypot(*(math.log(value) if value > 0.0 else math.inf for value in values))


def _label_grids(grid: Any, environment: Any) -> dict[str, Grid]:
    """Return label to grid, checked: at least two points, the same ones for every label."""
    if isinstance(grid, Grid):
        labels = list(environment) if isinstance(environment, Mapping) else [type(grid.algorithm).__name__]
        grid = dict.fromkeys(labels, grid)
    if not isinstance(grid, Mapping) or not grid or not all(isinstance(one, Grid) for one in grid.values()):
        raise InputError(f"race needs a Grid(algorithm, points), or label to Grid, got {format_value(grid)}")
    points = [list_points(one.points) for one in grid.values()]
    if any(other != points[0] for other in points[1:]):
        raise InputError("all grids of a race must have the same points")
    if len(points[0]) < 2:
        raise InputError("a race needs at least two points, got 1")
    return dict(grid)


def _cells(entry: Candidate) -> list[str]:
    reason = "" if entry.rival is None else f" than {point_label('', entry.rival)[2:-1]}"
    values = [plain(value) for value in entry.point.values()]
    return [*values, number(entry.mean), str(entry.seeds), entry.outcome + reason]
