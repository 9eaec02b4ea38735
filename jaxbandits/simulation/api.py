"""The public way to run something: `simulate` one algorithm, `compare` several on paired seeds, `sweep` a grid."""

import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, shown, unknown_name
from jaxbandits.base.pytree import field_kind, set_field, validate
from jaxbandits.base.versions import versions
from jaxbandits.results.pairs import MOST
from jaxbandits.results.result import Result
from jaxbandits.simulation import collect, driver, identity
from jaxbandits.simulation import until as until_lib
from jaxbandits.simulation.checkpoint import Store
from jaxbandits.simulation.grid import Grid, Point, Points, checked_points
from jaxbandits.simulation.options import COUNT, MAX_SEED, Options, options
from jaxbandits.simulation.plan import ENVIRONMENT, Job, Plan, resolve_record_points
from jaxbandits.simulation.program import Device
from jaxbandits.simulation.until import Until
from jaxbandits.simulation.width import bytes_of_round, default_width


def simulate(
    algorithm: Any, environment: Any, horizon: int, seeds: int, *, record_points: Any = 100, **settings: Any
) -> Result:
    """Runs independent trials of one algorithm.

    Args:
      algorithm: an object with `init`, `select`, `update` (see `jaxbandits.types.Algorithm`).
      environment: an object with `init`, `observe`, `step`.
      horizon: rounds per trial, 1 to 2^31 - 1.
      seeds: number of trials; trial i depends on `seed` and `i` only, so more seeds keep the earlier ones.
      record_points: rounds at which values are reported: a number of even points, `"log"`, `("log", n)` or the rounds.
      **settings: see `Options`.

    Returns:
      A `Result` with one label, the name of the class.

    Raises:
      InputError: bad input, in one line.

    Example:
      >>> from jaxbandits import HeavyTailed, OFUL, simulate
      >>> env = HeavyTailed(dim=2, n_arms=10)
      >>> result = simulate(OFUL(dim=2), env, horizon=100, seeds=8, progress=False)
      >>> result.final("regret").shape  # [point, seed]
      (1, 8)
    """
    return compare(
        {type(algorithm).__name__: algorithm}, environment, horizon, seeds, record_points=record_points, **settings
    )


def compare(
    algorithms: Mapping[str, Any] | Sequence[Any],
    environment: Any,
    horizon: int | Mapping[str, int],
    seeds: int | Mapping[str, int],
    *,
    record_points: Any = 100,
    until: Until | str | None = None,
    **settings: Any,
) -> Result:
    """Runs several algorithms on the same instances and noise (paired seeds).

    What stands for one value below may be a mapping from every label to a value of its own: a slow learner runs fewer
    seeds, each learner its own environment.

    Args:
      algorithms: label to algorithm, or to a `Grid` (an algorithm and its points); a list is labelled by class names.
      environment: one value or label to value.
      horizon: rounds per trial; one value or label to value.
      seeds: trials per hyperparameter point; one value or label to value.
      record_points: as for `simulate`; one value or label to value.
      until: `"decided"`, or an `Until`: `seeds` are then added in groups until every pair of labels (and points) is
        decided, or ten groups were run; the error of all decisions together is at most 5 % (`simulation.until` says
        how). `result.pairs()` shows the outcome. A label whose pairs are all decided runs no further.
      **settings: see `Options`.

    Returns:
      A `Result` with one set of trials per label.

    Raises:
      InputError: bad input, in one line.
    """
    if until is not None:
        return _until(until_lib.checked(until), algorithms, environment, horizon, seeds, record_points, settings)
    chosen = options(**settings)
    devices = list(chosen.devices) if chosen.devices is not None else jax.local_devices()
    labelled = jobs_of(algorithms, environment, horizon, seeds, record_points, chosen, devices[0])
    plan = Plan(tuple(job for run in labelled for _, job in run.jobs), chosen.seed)
    how = {
        "devices": devices, "workers": chosen.workers, "seconds_per_call": chosen.seconds_per_call,
        "save_every": chosen.save_every, "progress": chosen.progress, "title": chosen.title,
    }  # fmt: skip
    begin = time.time()
    if chosen.checkpoint is None:
        output = driver.run(plan, **how)
    else:
        with Store(chosen.checkpoint, plan, identity.plan_spec(plan, devices)) as store:
            output = driver.run(plan, store=store, **how)
    outputs = iter(zip(output.rows, output.timing, strict=True))
    known: collect.Hindsight = {}
    trials = {}
    for run in labelled:
        spec = identity.job_spec(run.whole, plan.base_seed, devices)
        parts = [(positions, collect.trials_of(job, *next(outputs), known, spec)) for positions, job in run.jobs]
        trials[run.label] = collect.joined(parts, run.label)
    info = {
        "versions": versions(), "devices": output.devices, "workers": output.workers, "wall_s": output.wall_s,
        "started_unix_s": begin, "base_seed": plan.base_seed,
    }  # fmt: skip
    return Result(trials, info)


def _until(
    until: Until,
    algorithms: Any,
    environment: Any,
    horizon: Any,
    seeds: Any,
    record_points: Any,
    settings: dict[str, Any],
) -> Result:
    """`compare` on groups of seeds."""
    chosen, labelled = options(**settings), _labelled(algorithms)
    count = sum(len(checked_points(one.points)) if isinstance(one, Grid) else 1 for one in labelled.values())
    if not 2 <= count <= MOST:
        raise InputError(f"until compares 2 to {MOST} labels and points in pairs, got {count}")
    values = {"environment": environment, "horizon": horizon, "record_points": record_points}
    each = {name: _per_label(name, value, labelled) for name, value in values.items()}

    def group(labels: list[str], first_seed: int, checkpoint: Any) -> Result:
        now = {name: {label: of[label] for label in labels} for name, of in each.items()}
        title = f"{chosen.title}, seeds from {first_seed:,} on".removeprefix(", ")
        own = {**settings, "first_seed": first_seed, "checkpoint": checkpoint, "title": title}
        learners = {label: labelled[label] for label in labels}
        return compare(learners, now["environment"], now["horizon"], seeds, record_points=now["record_points"], **own)

    seeds = seeds if isinstance(seeds, Mapping) else ranges.integer("seeds", seeds, COUNT)
    return until_lib.run(until, list(labelled), seeds, group, chosen.first_seed, chosen.checkpoint)


def sweep(
    algorithm: Any,
    environment: Any,
    horizon: int,
    seeds: int,
    *,
    grid: Points,
    record_points: Any = 100,
    **settings: Any,
) -> Result:
    """Runs an algorithm over a grid of its fields or the environment's, on top of seeds.

    Args:
      algorithm: the algorithm whose other fields stay as they are; or label to algorithm, each over the same grid (a
        `Grid` among them keeps its own points).
      environment: the environment.
      horizon: rounds per trial.
      seeds: trials per grid point; every point meets the same instances and noise.
      grid: field to values (their product is run), or a list of points, such as `zipped` and `product` make. A name is
        a field of the algorithm (`"beta_scale"`), dotted for nested ones; `"environment.noise.df"` is a field of the
        environment. Traced fields share one compiled program, values of static fields have one each.
      record_points: as for `simulate`.
      **settings: see `Options`.

    Returns:
      A `Result` with one label, the name of the class, or those given; and one point per grid point.

    Raises:
      InputError: bad input, in one line.
    """
    several = algorithm if isinstance(algorithm, Mapping) else {type(algorithm).__name__: algorithm}
    gridded = {label: one if isinstance(one, Grid) else Grid(one, grid) for label, one in several.items()}
    return compare(gridded, environment, horizon, seeds, record_points=record_points, **settings)


class Labelled(NamedTuple):
    """What a label runs."""

    label: str
    whole: Job  # with all points; run as it is when no static field is swept
    jobs: list[tuple[list[int], Job]]  # one for every combination of static values, and which points it holds


def jobs_of(
    algorithms: Any, environment: Any, horizon: Any, seeds: Any, record_points: Any, chosen: Options, device: Device
) -> list[Labelled]:
    """Checked jobs of every label: one, or one for every combination of values of static fields in its grid.

    Args:
      algorithms: as for `compare`, and so are the next four.
      environment: one value or label to value.
      horizon: one value or label to value.
      seeds: one value or label to value.
      record_points: one value or label to value.
      chosen: options.
      device: whose kind decides about the default width.

    Raises:
      InputError: bad input, in one line.
    """
    labelled = _labelled(algorithms)
    environments = _per_label("environment", environment, labelled)
    horizons = _per_label("horizon", horizon, labelled)
    n_seeds = _per_label("seeds", seeds, labelled)
    points_of = _per_label("record_points", record_points, labelled)
    runs = []
    for label, algorithm in labelled.items():
        of = f" of {label}"
        points: list[Point] = [{}]
        if isinstance(algorithm, Grid):
            algorithm, points = algorithm.algorithm, checked_points(algorithm.points)
        rounds = ranges.integer("horizon" + of * isinstance(horizon, Mapping), horizons[label], COUNT)
        count = ranges.integer("seeds" + of * isinstance(seeds, Mapping), n_seeds[label], f"[1, {MAX_SEED + 1}]")
        ranges.integer("first_seed", chosen.first_seed, f"[0, {MAX_SEED + 1 - count}]")
        _check_pair(label, algorithm, environments[label])
        settings = {
            "label": label, "horizon": rounds, "record_points": resolve_record_points(points_of[label], rounds),
            "n_seeds": count, "first_seed": chosen.first_seed, "meters": chosen.meters,
        }  # fmt: skip
        groups = _by_static_values(algorithm, environments[label], points)
        jobs = [(at, _job(alg, env, rows, chosen, device, settings)) for alg, env, at, rows in groups]
        base = {"algorithm": algorithm, "environment": environments[label], "points": tuple(points)}
        runs.append(Labelled(label, dataclasses.replace(jobs[0][1], **base), jobs))
    return runs


def _job(
    algorithm: Any, environment: Any, points: list[Point], chosen: Options, device: Device, settings: dict[str, Any]
) -> Job:
    for obj in (algorithm, environment):
        validate(obj)
    dims = [getattr(obj, "dim", None) for obj in (algorithm, environment)]
    if None not in dims and dims[0] != dims[1]:
        raise InputError(f"{settings['label']} has dim={dims[0]}, but the environment has dim={dims[1]}")
    job = Job(algorithm=algorithm, environment=environment, points=tuple(points), width=chosen.width or 1, **settings)
    if chosen.width is not None:
        return job
    return job.of_width(default_width(bytes_of_round(driver.trial_of(job, device)), device))


def _by_static_values(
    algorithm: Any, environment: Any, points: list[Point]
) -> list[tuple[Any, Any, list[int], list[Point]]]:
    """Algorithm, environment, positions and points of every combination of static values, in order of appearance."""
    static = [field for field in points[0] if _kind(algorithm, environment, field) == "static"]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, point in enumerate(points):
        groups.setdefault(tuple((type(point[field]), point[field]) for field in static), []).append(i)
    made = []
    for positions in groups.values():
        pair = {"algorithm": algorithm, "environment": environment}
        for field in static:
            role = "environment" if field.startswith(ENVIRONMENT) else "algorithm"
            pair[role] = set_field(pair[role], field.removeprefix(ENVIRONMENT), points[positions[0]][field])
        made.append((*pair.values(), positions, [points[i] for i in positions]))
    return made


def _kind(algorithm: Any, environment: Any, field: str) -> str:
    """The kind of a swept field: static or traced.

    Raises:
      InputError: when it does not exist, is shared data, or holds an object.
    """
    of_environment, plain = field.startswith(ENVIRONMENT), field.removeprefix(ENVIRONMENT)
    owner, other = (environment, algorithm) if of_environment else (algorithm, environment)
    if not _has(owner, plain) and _has(other, plain):
        name = plain if of_environment else ENVIRONMENT + plain
        has = f"{type(owner).__name__} has no field {plain!r}, but {type(other).__name__} has"
        raise InputError(f"{has}: name it {name!r}")
    kind = field_kind(owner, plain)
    if kind == "shared":
        raise InputError(
            f"{type(owner).__name__}: {field} is shared data (one copy serves all trials): no grid over it"
        )
    if kind == "object":
        raise InputError(f"{type(owner).__name__}: {field} holds an object; name one of its fields: {field}.<field>")
    return kind


def _has(obj: Any, field: str) -> bool:
    try:
        field_kind(obj, field)
    except InputError:
        return False
    return True


_METHODS = {
    "algorithm": ("init", "select", "update", "feedback"),
    "environment": ("init", "observe", "step"),
}


def _check_pair(label: str, algorithm: Any, environment: Any) -> None:
    """An algorithm and an environment, in this order."""
    if hasattr(algorithm, "step") and not hasattr(algorithm, "select"):
        raise InputError(f"algorithm {label!r} is an environment: the algorithm comes first, the environment second")
    for obj, role in ((algorithm, "algorithm"), (environment, "environment")):
        methods = _METHODS[role]
        missing = [method for method in methods if not hasattr(obj, method)]
        if isinstance(obj, type) or missing or not dataclasses.is_dataclass(obj):
            what = f"the class {obj.__name__}: make an instance of it" if isinstance(obj, type) else type(obj).__name__
            need = f"a frozen pytree (see jaxbandits.pytree) with {', '.join(methods)}"
            of = f" of {label!r}" if role == "environment" else f" {label!r}"
            raise InputError(f"{role}{of} must be {need}; got {what}")


def _labelled(algorithms: Any) -> dict[str, Any]:
    if isinstance(algorithms, Mapping):
        labelled = dict(algorithms)
    elif not isinstance(algorithms, (list, tuple)):
        alone = " (`simulate` runs one)" if hasattr(algorithms, "select") else ""
        raise InputError(
            f"algorithms must be a mapping from label to algorithm, or a list{alone}, got {shown(algorithms)}"
        )
    else:
        classes = [type(a.algorithm if isinstance(a, Grid) else a).__name__ for a in algorithms]
        labelled = dict(zip(classes, algorithms, strict=True))
        if len(labelled) < len(algorithms):
            raise InputError("two algorithms of one class: pass a mapping from label to algorithm")
    if not labelled:
        raise InputError("compare needs at least one algorithm")
    for label in labelled:
        if not isinstance(label, str) or not label:
            raise InputError(f"a label must be text, got {shown(label)}")
    return labelled


def _per_label(name: str, value: Any, labels: Mapping[str, Any]) -> dict[str, Any]:
    """A value of its own for every label."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(labels, value)
    for label in value:
        if label not in labels:
            raise unknown_name(f"label in {name}", label, labels)
    for label in labels:
        if label not in value:
            raise InputError(f"{name} lacks {label!r}")
    return dict(value)
