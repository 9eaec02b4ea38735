"""Metadata of a run, which a result file stores as JSON: dictionaries and their types."""

from typing import TypedDict


class TimingInfo(TypedDict, total=False):
    """Cost of the trials of a label."""

    compile_s: float  # seconds
    run_s: float  # seconds, summed over workers
    rounds: int  # of all trials, those of an earlier run that was resumed left out
    ns_per_round: list[float]  # of every batch: wall time of its worker per round and trial


class PairInfo(TypedDict):
    """Pair of labels, or of points, at its last look (`analysis.pairs`)."""

    first: str
    second: str
    decided: bool
    comparable: bool
    mean: float  # of the differences, first less second
    low: float
    high: float
    seeds: int


class UntilInfo(TypedDict):
    """The end of a run with `until`."""

    metric: str
    level: float  # coverage of all intervals at all looks together
    looks: int  # at most
    margin: float
    look: int  # the last one
    seeds_per_look: int
    pairs: list[PairInfo]


class RunInfo(TypedDict, total=False):
    """Circumstances of a run."""

    versions: dict[str, str]  # of Python and of the packages that can change numbers
    devices: tuple[str, ...]
    workers: int
    wall_s: float  # seconds; of merged results their sum
    started_unix_s: float  # seconds since 1970; of merged results the first
    base_seed: int
    until: UntilInfo
