"""The public way to run something: `simulate` one algorithm, `compare` several on paired seeds, `sweep` a grid."""

import dataclasses
import itertools
import numbers
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypedDict, Unpack, get_args

import jax
import numpy as np

from jaxbandits.core.errors import InputError, unknown
from jaxbandits.core.pytree import as_arrays, replace, validate
from jaxbandits.core.versions import versions
from jaxbandits.results.result import Result
from jaxbandits.simulation import driver
from jaxbandits.simulation import meters as meters_lib
from jaxbandits.simulation import plan as plan_lib
from jaxbandits.simulation.checkpoint import Store
from jaxbandits.simulation.meters import Meter, Reduce
from jaxbandits.simulation.plan import Job, Plan
from jaxbandits.simulation.program import Device
from jaxbandits.types import Derives


class Options(TypedDict, total=False):
    """Settings shared by `simulate`, `compare` and `sweep`; `compare` documents them."""

    record: Any
    meters: Sequence[Meter]
    seed: int
    first_seed: int
    width: int | None
    devices: Sequence[Device] | None
    workers: int | None
    calls_of: int | None
    checkpoint: str | os.PathLike[str] | None
    progress: bool


Grid: TypeAlias = Mapping[str, Sequence[float]] | Sequence[Mapping[str, float]]

MAX_HORIZON = 2**31 - 1  # rounds are counted in int32
_WIDTH = {"cpu": 64}  # state of a piece stays in the L2 cache (performance notes in docs/performance.md)
_ACCELERATOR_WIDTH = 8192
# Loops over 8 trials are unrolled by LLVM and then round differently lane by lane (seen in float64); from 16 on every
# lane runs the same vector code, so a trial has the same bits wherever it stands in a piece. 32 leaves a margin.
_WIDTH_UNIT = 32


def simulate(algorithm: Any, environment: Any, horizon: int, seeds: int, **options: Unpack[Options]) -> Result:
    """Runs independent trials of one algorithm.

    Args:
      algorithm: an object with `init`, `select`, `update` (see `jaxbandits.types.Algorithm`).
      environment: an object with `init`, `observe`, `step`.
      horizon: rounds per trial, 1 to 2^31 - 1.
      seeds: number of trials; trial i depends on `seed` and `i` only, so more seeds keep the earlier ones.
      **options: as for `compare`.

    Returns:
      A `Result` with one algorithm and one hyperparameter point.

    Raises:
      InputError: bad input, in one line.

    Example:
      >>> from jaxbandits import HeavyTailed, OFUL, simulate
      >>> env = HeavyTailed(dim=2, n_arms=10)
      >>> result = simulate(OFUL(dim=2), env, horizon=100, seeds=8, progress=False)
      >>> result.final("regret").shape  # [algorithm, point, seed]
      (1, 1, 8)
    """
    return compare({type(algorithm).__name__: algorithm}, environment, horizon, seeds, **options)


def compare(
    algorithms: Mapping[str, Any] | Sequence[Any],
    environment: Any,
    horizon: int,
    seeds: int | Mapping[str, int],
    **options: Unpack[Options],
) -> Result:
    """Runs several algorithms on the same instances and noise (paired seeds).

    Args:
      algorithms: label to algorithm; a sequence is labelled by class names.
      environment: one environment for all, or label to environment.
      horizon: rounds per trial.
      seeds: trials per algorithm; or label to trials, where a slow learner runs the first few seeds only.
      **options: `record` (100 even points by default; a number, `"log"`, `("log", n)` or rounds), `meters` (extra
        `Meter`s), `seed` (base seed, 0), `first_seed` (global index of the first trial, 0), `width` (trials per piece),
        `devices`, `workers`, `calls_of` (record points per compiled call), `checkpoint` (directory: killed at any
        instant, the same call resumes bit for bit), `progress` (True).

    Returns:
      A `Result` with dimensions (algorithm, 1, seed, record).

    Raises:
      InputError: bad input, in one line.
    """
    return _run(_labelled(algorithms), environment, horizon, seeds, [{}], **options)


def sweep(
    algorithm: Any, environment: Any, horizon: int, seeds: int, *, grid: Grid, **options: Unpack[Options]
) -> Result:
    """Runs one algorithm over a grid of traced fields, on top of seeds; one compiled program serves the whole grid.

    Args:
      algorithm: the algorithm whose other fields stay as they are.
      environment: the environment.
      horizon: rounds per trial.
      seeds: trials per grid point; every point meets the same instances and noise.
      grid: field to values (their product is run), or a list of points. A name is a field of the algorithm
        (`"beta_scale"`), dotted for nested ones; `"environment.noise.df"` is a field of the environment.
      **options: as for `compare`.

    Returns:
      A `Result` with dimensions (1, point, seed, record).

    Raises:
      InputError: bad input, in one line.
    """
    return _run({type(algorithm).__name__: algorithm}, environment, horizon, seeds, _points(grid), **options)


_LEAST_REPEATS = 3  # of a learner that uses up its time


class RoundTimes(NamedTuple):
    """Measured time per round against the number of rounds already played."""

    width: int  # trials side by side
    stops: np.ndarray  # [n] rounds finished at the end of each measured stretch; the first begins at 0
    ns: dict[str, np.ndarray]  # per label [its repeats, n], nanoseconds per round and trial; noise may pass zero
    state_bytes: dict[str, int]  # per label, what the algorithm carries from round to round, of one trial

    def at(self, label: str, t: float) -> np.ndarray:
        """`[repeats]` nanoseconds per round and trial around round `t`, interpolated between stretches."""
        middles = self.stops - np.diff(self.stops, prepend=0) / 2.0
        return np.asarray([np.interp(t, middles, row) for row in self.ns[label]])


def time_rounds(
    algorithms: Mapping[str, Any] | Sequence[Any],
    environment: Any,
    horizon: int,
    *,
    width: int = 1,
    repeats: int = 30,
    patience: float = 5.0,
    stretches: int = 10,
    progress: bool = True,
) -> RoundTimes:
    """Times rounds from first to last on one thread, without compilation and without the cost of calling a program.

    Every stretch is two calls of a compiled program: all of its rounds but one, then that one. The second is nearly all
    cost of the call; its median over a trial is taken off the first, which leaves noise where a stretch takes less than
    a call (half a millisecond). Learners take turns, repeat by repeat: what slows
    the machine down for a while slows all of them down.

    Args:
      algorithms: as for `compare`.
      environment: as for `compare`; its rounds are part of what is timed.
      horizon: rounds per trial.
      width: trials side by side in one program, 1 for a single trial.
      repeats: independent pieces of `width` trials.
      patience: seconds after which a learner takes no further turn, once it had three.
      stretches: equal parts of the horizon that are timed each by its own.
      progress: a bar on standard error.

    Raises:
      InputError: bad input, in one line.
    """
    algorithms = _labelled(algorithms)
    horizon = whole_number("horizon", horizon, 1, MAX_HORIZON)
    width, repeats = whole_number("width", width, 1), whole_number("repeats", repeats, 1)
    jobs = tuple(_job(k, a, _environment_of(environment, k), [{}], width) for k, a in algorithms.items())
    stretches = min(whole_number("stretches", stretches, 1), max(1, horizon // 2))
    stops = plan_lib.record_points(stretches, horizon)
    calls = np.setdiff1d(np.union1d(stops - 1, stops), [0])
    plan = Plan(jobs, ({},), horizon, calls, first_seed=0, base_seed=0, width=width, meters=())
    for job in jobs:  # a program's first calls are slower than all later ones
        few = dataclasses.replace(plan, jobs=(job,), horizon=3, stops=np.arange(1, 4))
        driver.run(few, workers=1, calls_of=1, progress=False)
    ns: dict[str, list[np.ndarray]] = {job.name: [] for job in jobs}
    spent = dict.fromkeys(ns, 0.0)
    for repeat in range(repeats):
        turn = tuple(job for job in jobs if repeat < _LEAST_REPEATS or spent[job.name] < patience)
        trials = dataclasses.replace(plan, jobs=turn, first_seed=repeat * width)
        output = driver.run(trials, workers=1, calls_of=1, progress=progress and repeat < _LEAST_REPEATS)
        for job, timing in zip(turn, output.timing, strict=True):
            spent[job.name] += timing.run_s
            ns[job.name].append(_net(np.asarray([call[2] for call in timing.calls]), np.diff(calls, prepend=0)))
    arrays = {name: np.stack(rows) for name, rows in ns.items()}
    return RoundTimes(width, stops, arrays, {job.name: _state_bytes(job.algorithm) for job in jobs})


def _net(ns: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """`[n]` nanoseconds per round of n stretches, from those of `[2 n]` calls: all rounds but one, then that one."""
    if len(ns) == 1:  # a horizon of one round: nothing to tell the call from the round
        return ns
    long, rounds, cost = ns[::2], rounds[::2], np.median(ns[1::2])
    return np.where(rounds > 1, (long * rounds - cost) / np.maximum(rounds - 1, 1), long)


def _state_bytes(algorithm: Any) -> int:
    state = jax.eval_shape(lambda key: as_arrays(algorithm).init(key), jax.random.key(0))
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))


def _run(
    algorithms: Mapping[str, Any],
    environment: Any,
    horizon: int,
    seeds: int | Mapping[str, int],
    points: list[dict[str, float]],
    *,
    record: Any = 100,
    meters: Sequence[Meter] = (),
    seed: int = 0,
    first_seed: int = 0,
    width: int | None = None,
    devices: Sequence[Device] | None = None,
    workers: int | None = None,
    calls_of: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Result:
    horizon = whole_number("horizon", horizon, 1, MAX_HORIZON)
    n_seeds = _seeds_of(seeds, algorithms)
    seed = whole_number("seed", seed, 0, 2**32 - 1)
    first_seed = whole_number(
        "first_seed", first_seed, 0, 2**31 - max(n_seeds.values())
    )  # global seed indices are int32
    if devices is not None and not (isinstance(devices, (list, tuple)) and devices):
        raise InputError(f"devices must be a list of JAX devices, got {devices!r}")
    platform = (devices[0] if devices else jax.devices()[0]).platform
    width = whole_number("width", _WIDTH.get(platform, _ACCELERATOR_WIDTH) if width is None else width, 1)
    if width % _WIDTH_UNIT:
        raise InputError(f"width must be a multiple of {_WIDTH_UNIT}, got {width}")
    workers = None if workers is None else whole_number("workers", workers, 1)
    calls_of = None if calls_of is None else whole_number("calls_of", calls_of, 1)
    jobs = tuple(
        _job(name, algorithm, _environment_of(environment, name), points, n_seeds[name])
        for name, algorithm in algorithms.items()
    )
    stops = plan_lib.record_points(record, horizon)
    plan = Plan(jobs, tuple(points), horizon, stops, first_seed, seed, width, _checked_meters(meters))
    settings = {"devices": devices, "workers": workers, "calls_of": calls_of, "progress": progress}
    begin = time.time()
    if checkpoint is None:
        output = driver.run(plan, **settings)
    else:
        with Store(checkpoint, plan) as store:
            output = driver.run(plan, store=store, **settings)
    return _result(plan, output, begin)


def _result(plan: Plan, output: driver.Output, begin: float) -> Result:
    per_job = [_job_values(job, blocks) for job, blocks in zip(plan.jobs, output.blocks, strict=True)]
    per_seed = np.ones((len(plan.points), plan.n_seeds), bool)
    healthy = np.stack([_filled(values.pop("healthy").all(axis=-1), per_seed) for values in per_job])
    names = list(dict.fromkeys(name for values in per_job for name in values))
    absent = np.full((len(plan.points), plan.n_seeds, len(plan.stops)), np.nan)
    values = {name: np.stack([_filled(values.get(name), absent) for values in per_job]) for name in names}
    units = {name: unit for job in plan.jobs for name, unit in getattr(job.environment, "units", {}).items()}
    timing = {job.name: dataclasses.asdict(t) for job, t in zip(plan.jobs, output.timing, strict=True)}
    info = {
        "spec": plan.spec(), "versions": versions(), "devices": output.devices, "workers": output.workers,
        "wall_s": output.wall_s, "started_unix_s": begin,
    }  # fmt: skip
    seeds = np.arange(plan.first_seed, plan.first_seed + plan.n_seeds)
    labels = tuple(job.name for job in plan.jobs)
    trials = np.asarray([job.n_seeds for job in plan.jobs])
    return Result(values, labels, plan.points, seeds, trials, plan.stops, healthy, units, timing, info)


def _filled(values: np.ndarray | None, like: np.ndarray) -> np.ndarray:
    """`values` `[H, s, ...]` followed by entries of `like` `[H, S, ...]` for the seeds this algorithm did not run."""
    return like if values is None else np.concatenate([values, like[:, values.shape[1] :]], axis=1)


def _job_values(job: Job, blocks: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Values `[H, S, M]` at record points by name: derived ones first, then sums, maxima, snapshots."""
    keys = sorted(blocks, key=meters_lib.order)  # "reduce:name"
    values = {key.partition(":")[2]: meters_lib.over_blocks(key, blocks[key]) for key in keys}
    derived = job.environment.derive(values) if isinstance(job.environment, Derives) else {}
    if derived.keys() & values.keys():
        raise InputError(f"{job.name}: derived metrics hide others: {', '.join(derived.keys() & values.keys())}")
    return {**derived, **values}


def _job(name: str, algorithm: Any, environment: Any, points: list[dict[str, float]], n_seeds: int) -> Job:
    """Checks an algorithm and an environment and gives every traced leaf a leading axis of hyperparameter points."""
    for obj, role, methods in (
        (algorithm, "algorithm", ("init", "select", "update", "feedback")),
        (environment, "environment", ("init", "observe", "step")),
    ):
        missing = [method for method in methods if not hasattr(obj, method)]
        if isinstance(obj, type) or missing or not dataclasses.is_dataclass(obj):
            what = f"the class {obj.__name__}: make an instance of it" if isinstance(obj, type) else type(obj).__name__
            need = f"a frozen pytree (see jaxbandits.pytree) with {', '.join(methods)}"
            raise InputError(f"{role} {name!r} must be {need}; got {what}")
        validate(obj)
    dims = [getattr(obj, "dim", None) for obj in (algorithm, environment)]
    if None not in dims and dims[0] != dims[1]:
        raise InputError(f"{name} has dim={dims[0]}, but the environment has dim={dims[1]}")
    algorithm, environment = (plan_lib.broadcast_points(obj, len(points)) for obj in (algorithm, environment))
    for field in points[0]:
        column = np.asarray([point[field] for point in points])
        if field.startswith("environment."):
            environment = replace(environment, field.removeprefix("environment."), column)
        else:
            algorithm = replace(algorithm, field, column)
    if points[0]:
        validate(algorithm)
        validate(environment)
        algorithm, environment = jax.tree.map(np.asarray, as_arrays((algorithm, environment)))
    return Job(name, algorithm, environment, n_seeds)


def _labelled(algorithms: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
    if isinstance(algorithms, Mapping):
        labelled = dict(algorithms)
    elif not isinstance(algorithms, (list, tuple)):
        raise InputError(f"algorithms must be a mapping from label to algorithm, or a list, got {algorithms!r}")
    else:
        labelled = {type(algorithm).__name__: algorithm for algorithm in algorithms}
        if len(labelled) < len(algorithms):
            raise InputError("two algorithms of one class: pass a mapping from label to algorithm")
    if not labelled:
        raise InputError("compare needs at least one algorithm")
    return labelled


def _environment_of(environment: Any, label: str) -> Any:
    if not isinstance(environment, Mapping):
        return environment
    if label not in environment:
        raise unknown("environment for algorithm", label, environment)
    return environment[label]


def _seeds_of(seeds: int | Mapping[str, int], labels: Mapping[str, Any]) -> dict[str, int]:
    """Trials per label."""
    if not isinstance(seeds, Mapping):
        return dict.fromkeys(labels, whole_number("seeds", seeds, 1))
    for label in [*(name for name in seeds if name not in labels), *(name for name in labels if name not in seeds)]:
        raise unknown("algorithm in seeds", label, labels) if label in seeds else InputError(f"seeds lacks {label!r}")
    return {label: whole_number(f"seeds of {label}", seeds[label], 1) for label in labels}


def _points(grid: Grid) -> list[dict[str, float]]:
    try:
        if isinstance(grid, Mapping):
            columns = {name.removeprefix("algorithm."): np.atleast_1d(values) for name, values in grid.items()}
            points = [dict(zip(columns, map(float, row), strict=True)) for row in itertools.product(*columns.values())]
        else:
            points = [{k.removeprefix("algorithm."): float(v) for k, v in point.items()} for point in grid]
        if len(points) and len(points[0]) < len(grid if isinstance(grid, Mapping) else grid[0]):
            raise InputError("grid names one field twice")
    except (AttributeError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"grid must map field names to lists of numbers, or be a list of points, got {grid!r}"
        ) from None
    if not points or not points[0] or any(point.keys() != points[0].keys() for point in points):
        raise InputError(
            "grid must name at least one field, with at least one value each, the same fields in each point"
        )
    return points


def _checked_meters(meters: Sequence[Meter]) -> tuple[Meter, ...]:
    if not isinstance(meters, (list, tuple)) or not all(isinstance(meter, Meter) for meter in meters):
        raise InputError(f"meters must be Meter objects in a list, got {meters!r}")
    for meter in meters:
        if meter.reduce not in get_args(Reduce):
            raise InputError(
                f"meter {meter.name!r}: reduce must be one of {', '.join(get_args(Reduce))}, got {meter.reduce!r}"
            )
    names = [meter.name for meter in meters]
    if len(set(names)) < len(names):
        raise InputError(f"meters must have different names, got {', '.join(names)}")
    return tuple(meters)


def whole_number(name: str, value: Any, low: int, high: int | None = None) -> int:
    """`value` as an int within bounds.

    Raises:
      InputError: naming the setting, the value and what is allowed.
    """
    allowed = f"a whole number of at least {low}" if high is None else f"a whole number from {low} to {high}"
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise InputError(f"{name} must be {allowed}, got {value!r}")
    whole = int(value)
    if whole < low or (high is not None and whole > high):
        raise InputError(f"{name} must be {allowed}, got {value!r}")
    return whole
