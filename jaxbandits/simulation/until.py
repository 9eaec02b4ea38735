"""Seeds added in groups until every pair of contestants is decided: a group-sequential test.

After each group the mean paired difference of every pair gets an interval; a pair is decided once it leaves zero out,
and comparable once it lies within a margin around zero, if one was given.
Of the error `1 - level` each of n pairs has an n-th, which it spends over the looks after the manner of O'Brien and
Fleming: little at first, when there are few seeds. What all looks and pairs spend adds up to `1 - level`, so that the
probability that any interval ever misses its mean, hence that any decision is wrong, is at most that, however looks and
pairs depend on each other; as far as each interval keeps its level, for which they are corrected for skewness
(`results.pairs`). Unlike a test that is repeated at 5 % until it says yes, which errs in a third of all runs.
"""

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, shown
from jaxbandits.results import intervals, pairs
from jaxbandits.results.merge import merge
from jaxbandits.results.result import Result

DECIDED = "decided"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Until:
    """When `compare` has seen enough.

    Attributes:
      metric: the scalar metric that decides, at the horizon; None: the first.
      looks: groups of seeds at most, each as large as `seeds` says (50 or more, where quantities are skewed).
      level: probability that no decision is wrong, in (0, 1).
      margin: in units of the metric, a difference that does not matter: a pair whose interval lies within `margin` of
        zero is comparable, and needs no more seeds. 0: equal learners run to the last look.
    """

    metric: str | None = None
    looks: int = 10
    level: float = 0.95
    margin: float = 0.0

    def __post_init__(self) -> None:
        """Checks every value."""
        object.__setattr__(self, "looks", ranges.integer("looks", self.looks, "[1, 1000]"))
        object.__setattr__(self, "level", intervals.checked_level(self.level))
        object.__setattr__(self, "margin", float(ranges.numbers("margin", self.margin, "[0, inf)")))


def checked(until: Any) -> Until:
    """The setting of `compare`.

    Raises:
      InputError: for anything but "decided" and an `Until`.
    """
    if isinstance(until, Until):
        return until
    if until != DECIDED:
        raise InputError(f"until must be {DECIDED!r} or Until(...), got {shown(until)}")
    return Until()


def run(
    until: Until,
    labels: list[str],
    seeds: Any,
    compare: Callable[[list[str], int, Path | None], Result],
    first_seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Result:
    """Groups of seeds, each for the labels that have an undecided pair.

    Args:
      until: when to stop.
      labels: who is compared.
      seeds: how many a group has.
      compare: runs labels from a seed on, with a directory for its checkpoint.
      first_seed: the first seed of the first group.
      checkpoint: directory with one checkpoint per group; None: no checkpoints.

    Returns:
      One result; its `info["until"]` holds the settings, the number of groups, and every pair at its last look.

    Raises:
      InputError: for seeds that differ from label to label, and as `compare`.
    """
    if isinstance(seeds, Mapping):
        raise InputError("with until, seeds is the size of a group, one number for all labels")

    def under(name: str) -> Path | None:
        return None if checkpoint is None else Path(checkpoint) / name

    results: list[Result] = []
    latest: dict[tuple[str, str], pairs.Pair] = {}  # as they were when they were decided, or are by now
    metric = ""
    active = labels
    for look in range(until.looks):
        results.append(compare(active, first_seed + look * seeds, under(f"look-{look + 1}")))
        metric, of = merge(results).measured(until.metric)
        contestants = {label: pairs.contestants({label: trials}, None) for label, trials in of.items()}
        who = [one for each in contestants.values() for one in each]
        found = pairs.pairs(who, metric, until.level, until.looks, seeds, until.margin)
        latest |= {pair[:2]: pair for pair in found if not (pair[:2] in latest and latest[pair[:2]].settled)}
        waiting = {name for pair in latest.values() if not pair.settled for name in pair[:2]}
        active = [label for label in labels if any(one.name in waiting for one in contestants.get(label, ()))]
        if not active:
            break
    whole = merge(results)
    said = [{"first": pair.first, "second": pair.second, "decided": pair.decided,
             "comparable": pair.comparable, "mean": float(pair.difference.mean),
             "low": float(pair.difference.low), "high": float(pair.difference.high), "seeds": pair.difference.n}
            for pair in latest.values()]  # fmt: skip
    info = {"metric": metric, "level": until.level, "looks": until.looks, "margin": until.margin, "look": len(results),
            "seeds_per_look": int(seeds), "pairs": said}  # fmt: skip
    return dataclasses.replace(whole, info=whole.info | {"until": info})
