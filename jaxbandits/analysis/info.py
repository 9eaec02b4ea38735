"""Metadata of a run, which a result file stores as JSON: dictionaries and their types."""

from typing import TypedDict


class TimingInfo(TypedDict, total=False):
    """Cost of the trials of a label."""

    compile_s: float  # seconds
    run_s: float  # seconds, summed over workers
    rounds: int  # summed over trials, without the rounds of an earlier run that was resumed
    ns_per_round: list[float]  # for every batch: wall time of its worker per round and trial


class PairInfo(TypedDict):
    """Comparison of two labels or points at the last look, as computed by `analysis.pairs`."""

    first: str
    second: str
    decided: bool
    comparable: bool
    mean: float  # mean of the differences, first less second
    low: float
    high: float
    seeds: int


class UntilInfo(TypedDict):
    """Outcome of a run with `until`."""

    metric: str
    level: float  # coverage of all intervals at all looks together
    looks: int  # largest number of looks
    margin: float
    look: int  # number of the last look
    seeds_per_look: int
    pairs: list[PairInfo]


class RunInfo(TypedDict, total=False):
    """Versions, devices and time of a run."""

    versions: dict[str, str]  # versions of Python and of the packages on which results depend
    devices: tuple[str, ...]
    workers: int
    wall_s: float  # wall time in seconds; for merged results the sum
    started_unix_s: float  # start in seconds since 1970; for merged results the earliest
    base_seed: int
    until: UntilInfo
