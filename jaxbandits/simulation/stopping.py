"""Group-sequential test, which adds seeds in groups until every pair of contestants is decided.

A contestant is a label, or a hyperparameter point of a label. A look is the evaluation after a group of seeds. At each
look, every pair has a confidence interval for its mean paired difference. A pair is decided once its interval excludes
zero, and comparable once its interval lies within a margin around zero, if a margin was given.

Each of n pairs has the share 1 / n of the error `1 - level` and spends it over the looks by the function of O'Brien and
Fleming, which spends little at the first looks. The shares of all looks and pairs add up to `1 - level`. The
probability that any interval misses its mean at any look, and hence that any decision is wrong, is therefore at most
`1 - level` for any dependence of looks and pairs, if each interval keeps its level. For this the intervals are
corrected for skewness (`analysis.pairs`). Without such spending, a test at 5 % at each of ten looks would err in about
a fifth of all runs.

Upper limits of the probability of a wrong decision in %, at level 0.95, among four learners with the same mean whose
losses have the same law and scales 1, 0.5, 0.1 and 0.01 (tests/engine/test_levels.py); "10 of 50" means up to ten
groups of 50 seeds each:

    groups                10 of 50       10 of 20       4 of 16
    normal                5              5              5
    Student t (2.5)       5              5              5
    exponential           5              5              5
    lognormal (1)         5              5              5
    Pareto (2.5)          5              5              8
    lognormal (1.5)       5              7              14
"""

import dataclasses
import itertools
from collections.abc import Mapping
from pathlib import Path

from jaxbandits.analysis import intervals, pairs
from jaxbandits.analysis.info import PairInfo, RunInfo, UntilInfo
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.engine.grid import Grid, list_points
from jaxbandits.engine.jobs import Algorithms, PerLabel, label_algorithms, per_label
from jaxbandits.engine.options import Options, check_seeds
from jaxbandits.engine.plan import RecordPoints
from jaxbandits.engine.program import share_traces
from jaxbandits.results.merge import join
from jaxbandits.results.result import Result
from jaxbandits.simulation.comparison import Part, run_comparison
from jaxbandits.types import Environment

DECIDED = "decided"


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """Rule by which `compare(until=...)` stops adding seeds.

    Attributes:
      metric: name of the scalar metric whose values at the horizon are compared; None: the first metric.
      looks: largest number of groups of seeds. The argument `seeds` of `compare` is the size of a group, which should
        be at least 50 for skewed metrics.
      level: lower bound on the probability that no decision is wrong, in (0, 1). The documentation of
        `jaxbandits.simulation.stopping` has the measured error for skewed metrics.
      margin: an irrelevant difference, in units of the metric: a pair whose interval lies within `margin` of zero is
        comparable and needs no more seeds. With 0, indistinguishable learners stay undecided until the last look.
    """

    metric: str | None = None
    looks: int = 10
    level: float = 0.95
    margin: float = 0.0

    def __post_init__(self) -> None:
        """Check all values; raise `InputError` if one is invalid."""
        if self.metric is not None and (not isinstance(self.metric, str) or not self.metric):
            raise InputError(
                f"metric must be the name of a metric, or None for the first, got {format_value(self.metric)}"
            )
        object.__setattr__(self, "looks", ranges.integer("looks", self.looks, "[1, 1000]"))
        object.__setattr__(self, "level", intervals.checked_level(self.level))
        object.__setattr__(self, "margin", ranges.real("margin", self.margin, "[0, inf)"))


def check_rule(until: object) -> StoppingRule:
    """Return the rule for the argument `until` of `compare`.

    Raises:
      InputError: for anything but "decided" and a `StoppingRule`.
    """
    if isinstance(until, StoppingRule):
        return until
    if not isinstance(until, str) or until != DECIDED:
        raise InputError(f"until must be {DECIDED!r} or StoppingRule(...), got {format_value(until)}")
    return StoppingRule()


@share_traces()
def run_until_decided(
    rule: StoppingRule,
    algorithms: Algorithms,
    environment: PerLabel[Environment],
    horizon: PerLabel[int],
    seeds: PerLabel[int],
    record_points: PerLabel[RecordPoints],
    options: Options,
) -> Result:
    """Run groups of seeds, each for the labels with an undecided pair; the arguments are those of `compare`.

    Returns:
      The merged result; its `info["until"]` holds the rule, the number of groups played, and each pair at its last
      look.

    Raises:
      InputError: if `seeds` is a mapping or less than 2, if the seeds of all groups exceed the largest seed index, if
        there are fewer than two or too many contestants, and as for `run_comparison`.
    """
    labelled = label_algorithms(algorithms)
    n_contestants = sum(len(list_points(a.points)) if isinstance(a, Grid) else 1 for a in labelled.values())
    if not 2 <= n_contestants <= pairs.MOST:
        raise InputError(
            f"until compares labels and points in pairs; there must be between 2 and {pairs.MOST} of them, got "
            f"{n_contestants}"
        )
    environments = per_label("environment", environment, labelled)
    horizons = per_label("horizon", horizon, labelled)
    all_record_points = per_label("record_points", record_points, labelled)
    if isinstance(seeds, Mapping):
        raise InputError("with `until`, seeds must be one number for all labels, the number of seeds in a group")
    seeds = ranges.integer("seeds of a group", seeds, "[2, inf)")  # an interval needs two
    check_seeds(options.first_seed, rule.looks * seeds, f"{rule.looks} groups of {seeds:,} seeds")

    results: list[Result] = []
    # Keyed by label and position of the point, since points may print alike; a decided pair no longer changes.
    latest: dict[tuple[tuple[str, int], tuple[str, int]], pairs.Pair] = {}
    metric, active = "", list(labelled)
    for look in range(rule.looks):
        results.append(
            run_comparison(
                {label: labelled[label] for label in active},
                {label: environments[label] for label in active},
                {label: horizons[label] for label in active},
                seeds,
                {label: all_record_points[label] for label in active},
                _group_options(options, look, seeds),
                metric=rule.metric,
                part=Part(is_first=look == 0, compares=True),
            )
        )
        metric, trials = join(results).labels_with_metric(rule.metric)
        if missing := [label for label in labelled if label not in trials]:  # known only now for metrics in hindsight
            raise InputError(f"{missing[0]} has no metric {metric!r}, by which the learners are compared")
        everyone = {(label, c.point): c for label in trials for c in pairs.contestants({label: trials[label]}, None)}
        found = pairs.pairs(list(everyone.values()), metric, rule.level, rule.looks, seeds, rule.margin)
        for who, pair in zip(itertools.combinations(everyone, 2), found, strict=True):
            if who not in latest or not latest[who].is_settled:
                latest[who] = pair
        unsettled = {label for who, pair in latest.items() if not pair.is_settled for label, _ in who}
        active = [label for label in labelled if label in unsettled]
        if not active:
            break
    merged = join(results)
    until = UntilInfo(
        metric=metric,
        level=rule.level,
        looks=rule.looks,
        margin=rule.margin,
        look=len(results),
        seeds_per_look=seeds,
        pairs=[_describe(pair) for pair in latest.values()],
    )
    return dataclasses.replace(merged, info=merged.info | RunInfo(until=until))


def _group_options(options: Options, look: int, seeds: int) -> Options:
    """Return the options of a group of seeds, which follows the previous group."""
    first_seed = options.first_seed + look * seeds
    title = f"{options.title}, seeds from {first_seed:,} on".removeprefix(", ")
    checkpoint = None if options.checkpoint is None else Path(options.checkpoint) / f"look-{look + 1}"
    return dataclasses.replace(options, first_seed=first_seed, title=title, checkpoint=checkpoint)


def _describe(pair: pairs.Pair) -> PairInfo:
    difference = pair.difference
    return PairInfo(
        first=pair.first,
        second=pair.second,
        decided=pair.decided,
        comparable=pair.comparable,
        mean=float(difference.mean),
        low=float(difference.low),
        high=float(difference.high),
        seeds=difference.n,
    )
