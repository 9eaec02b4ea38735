"""Check the arguments of `compare` label by label, and make the jobs of a run."""

import dataclasses
import functools
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.exact import exact_key
from jaxbandits.base.pytree import field_kind, set_field, validate
from jaxbandits.engine.driver import trace_job
from jaxbandits.engine.grid import Arrays, Grid, Point, list_points, split_arrays
from jaxbandits.engine.options import COUNT, MAX_SEED, Options
from jaxbandits.engine.plan import ENVIRONMENT, Job, RecordPoints, resolve_record_points
from jaxbandits.engine.program import TraceCache
from jaxbandits.engine.width import bytes_of_round, default_width, least_width
from jaxbandits.programs.compilation import Device
from jaxbandits.tracing.settings import own_settings
from jaxbandits.types import Algorithm, ArmDecision, BoundsHorizon, Environment

T = TypeVar("T")
PerLabel: TypeAlias = T | Mapping[str, T]  # one value for all labels, or a mapping from labels to values
Algorithms: TypeAlias = Mapping[str, Algorithm | Grid] | Sequence[Algorithm | Grid]


class LabelJobs(NamedTuple):
    """Jobs of one label."""

    label: str
    whole: Job  # job with all points; it is run undivided if no static field is swept
    jobs: list[tuple[list[int], Job]]  # for every combination of static values: the positions of its points, its job


@own_settings()
def make_jobs(
    algorithms: Algorithms,
    environment: PerLabel[Environment],
    horizon: PerLabel[int],
    seeds: PerLabel[int],
    record_points: PerLabel[RecordPoints],
    options: Options,
    device: Device,
    traces: TraceCache | None = None,
) -> list[LabelJobs]:
    """Check the arguments of `compare` and return the jobs of every label.

    A label has one job, or one for every combination of values of static fields in its grid.

    Args:
      algorithms: as for `compare`.
      environment: one value, or a mapping from labels to values.
      horizon: one value, or a mapping from labels to values.
      seeds: one value, or a mapping from labels to values.
      record_points: one value, or a mapping from labels to values.
      options: settings of the run.
      device: device whose kind determines the default width.
      traces: traces of this run.

    Raises:
      InputError: if an argument is invalid.
    """
    labelled = label_algorithms(algorithms)
    environments = per_label("environment", environment, labelled)
    horizons = per_label("horizon", horizon, labelled)
    seed_counts = per_label("seeds", seeds, labelled)
    all_record_points = per_label("record_points", record_points, labelled)
    label_jobs = []
    for label, algorithm in labelled.items():
        points: list[Point] = [{}]
        arrays: Arrays = {}
        if isinstance(algorithm, Grid):
            points, arrays = split_arrays(list_points(algorithm.points))
            algorithm = algorithm.algorithm
        suffix = f" of {label}"
        rounds = ranges.integer("horizon" + suffix * isinstance(horizon, Mapping), horizons[label], COUNT)
        n_seeds = _number_of_seeds("seeds" + suffix * isinstance(seeds, Mapping), seed_counts[label])
        ranges.integer("first_seed", options.first_seed, f"[0, {MAX_SEED + 1 - n_seeds}]")
        _check_roles(label, algorithm, environments[label])
        whole = Job(
            label=label,
            algorithm=algorithm,
            environment=environments[label],
            points=tuple(points),
            horizon=rounds,
            record_points=resolve_record_points(all_record_points[label], rounds),
            n_seeds=n_seeds,
            first_seed=options.first_seed,
            meters=tuple(options.meters),
            width=1 if options.width is None else options.width,
            compile=options.compile,
            arrays=arrays,
        )
        _check_arrays(whole)
        jobs = [
            (positions, _checked_job(job, options.width, device, traces)) for positions, job in _by_static_values(whole)
        ]
        label_jobs.append(LabelJobs(label, dataclasses.replace(whole, width=jobs[0][1].width), jobs))
    return label_jobs


def _number_of_seeds(name: str, seeds: Any) -> int:
    if isinstance(seeds, list | tuple | range | set) or getattr(seeds, "ndim", 0):
        raise InputError(
            f"{name} must be the number of seeds, got {format_value(seeds)}; first_seed is the first of them"
        )
    return ranges.integer(name, seeds, f"[1, {MAX_SEED + 1}]")


def default_label(algorithm: object) -> str:
    """Return the name of an object's class, or of a class itself: the label of an algorithm that has no other label."""
    return (algorithm if isinstance(algorithm, type) else type(algorithm)).__name__


def label_algorithms(algorithms: Algorithms) -> dict[str, Algorithm | Grid]:
    """Map labels to algorithms or `Grid`s; the elements of a list are labelled by class names.

    Raises:
      InputError: if the argument is neither a mapping nor a list, or is empty, if a list has two algorithms of one
        class, or if a label is not text that can be written to files.
    """
    if isinstance(algorithms, Mapping):
        labelled = dict(algorithms)
    elif not isinstance(algorithms, (list, tuple)):
        hint = " (`simulate` runs a single algorithm)" if hasattr(algorithms, "select") else ""
        raise InputError(
            f"algorithms must be a mapping from labels to algorithms, or a list of algorithms{hint}, got "
            f"{format_value(algorithms)}"
        )
    else:
        classes = [default_label(a.algorithm if isinstance(a, Grid) else a) for a in algorithms]
        labelled = dict(zip(classes, algorithms, strict=True))
        if len(labelled) < len(algorithms):
            raise InputError("two algorithms in the list have the same class: pass a mapping from labels to algorithms")
    if not labelled:
        raise InputError("compare needs at least one algorithm")
    for label in labelled:
        if not isinstance(label, str) or not label:
            raise InputError(f"a label must be text, got {format_value(label)}")
        if "\0" in label or not _is_unicode(label):
            raise InputError(f"a label must be Unicode text without the character NUL, got {label!r}")
    return labelled


def _is_unicode(text: str) -> bool:
    """Return whether text can be written to files; half of a surrogate pair cannot."""
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def per_label(name: str, value: PerLabel[T], labels: Collection[str]) -> dict[str, T]:
    """Return a dict from labels to values, given one value for all labels, or a mapping with exactly these labels.

    Raises:
      InputError: if a label is missing or unknown; the message names it.
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(labels, value)
    for label in value:
        if label not in labels:
            raise unknown_name(f"label in {name}", label, labels)
    for label in labels:
        if label not in value:
            raise InputError(f"{name} has no entry for the label {label!r}")
    return dict(value)


_METHODS = {
    "algorithm": ("init", "select", "update", "feedback"),
    "environment": ("init", "observe", "step"),
}


def _check_roles(label: str, algorithm: Algorithm, environment: Environment) -> None:
    """Check that the first object is an algorithm and the second object is an environment."""
    if hasattr(algorithm, "step") and not hasattr(algorithm, "select"):
        raise InputError(f"algorithm {label!r} is an environment: the algorithm comes first, the environment second")
    _check_role("algorithm", f" {label!r}", algorithm)
    _check_role("environment", f" of {label!r}", environment)


def _check_role(role: str, owner: str, obj: Any) -> None:
    methods = _METHODS[role]
    if isinstance(obj, type):
        raise InputError(f"{role}{owner} is the class {obj.__name__}: pass an instance of it")
    missing = [method for method in methods if not hasattr(obj, method)]
    if missing or not dataclasses.is_dataclass(obj):
        needed = f"a frozen pytree (see jaxbandits.pytree) with {', '.join(methods)}"
        is_host_learner = hasattr(obj, "select") and not hasattr(obj, "init")
        hint = " (`play` runs learners that are written in Python)" if is_host_learner else ""
        fault = f", which has no {', '.join(missing)}" if missing else ", whose class is not decorated with @pytree"
        if is_host_learner or len(missing) == len(methods):  # it is no attempt at a compiled learner or environment
            fault = ""
        raise InputError(f"{role}{owner} must be {needed}; got {type(obj).__name__}{fault}{hint}")


def check_environment(label: str, environment: Any, horizon: int) -> None:
    """Check an environment for a learner in Python, as `make_jobs` checks environments for compiled learners.

    Raises:
      InputError: if the object is not an environment, a decision is not one arm, a value is out of range, or the
        horizon exceeds the data.
    """
    _check_role("environment", f" of {label!r}", environment)
    decision_type = getattr(environment, "decision_type", None)
    if decision_type not in (None, ArmDecision):
        raise InputError(
            f"a learner in Python plays one arm in each round, but {type(environment).__name__} takes "
            f"{decision_type.__name__}({', '.join(decision_type._fields)})"
        )
    validate(environment)
    _check_domain(environment)
    _check_horizon(environment, horizon)


def _check_horizon(environment: Any, horizon: int) -> None:
    longest = environment.max_horizon if isinstance(environment, BoundsHorizon) else None
    if longest is not None and horizon > longest:
        raise InputError(
            f"horizon must be at most {longest}, the number of rounds in the environment's table, got {horizon}"
        )


def _check_domain(obj: object) -> None:
    """Require that a domain with its own dimension, such as a box, has the dimension of the learner or environment."""
    domain = getattr(obj, "domain", None)
    dims = [getattr(x, "dim", None) for x in (obj, domain)]
    shapes = [(dim,) if isinstance(dim, int) else dim for dim in dims]
    if all(isinstance(shape, tuple) for shape in shapes) and shapes[0] != shapes[1]:
        got = f"{type(domain).__name__}(dim={dims[1]})"
        raise InputError(f"{type(obj).__name__}.domain must have dim={dims[0]}, got {got}")


def _checked_job(job: Job, width: int | None, device: Device, traces: TraceCache | None) -> Job:
    """Check the values of a job and choose its width, if none is given."""
    for obj in (job.algorithm, job.environment):
        validate(obj)
        _check_domain(obj)
    dims = [getattr(obj, "dim", None) for obj in (job.algorithm, job.environment)]
    if None not in dims and dims[0] != dims[1]:
        raise InputError(f"{job.label} has dim={dims[0]}, but the environment has dim={dims[1]}")
    _check_horizon(job.environment, job.horizon)
    if width is None:
        first_point = dataclasses.replace(job, points=job.points[:1])  # all points have the same shapes
        trial = trace_job(first_point, device, traces)
        # Width 1, since code that prints would print in every slot of a batch, including padding.
        size = bytes_of_round(trial)
        width = 1 if trial.has_effects else max(default_width(size, device), least_width(job.algorithm, size))
        job = dataclasses.replace(job, width=width)
    job.at_point()  # checks the values of all points
    return job


def _by_static_values(whole: Job) -> list[tuple[list[int], Job]]:
    """Split a job by the values of swept static fields, in order of appearance, with the positions of the points."""
    static = list(static_values(whole))
    groups: dict[Hashable, list[int]] = {}
    for i, point in enumerate(whole.points):
        groups.setdefault(exact_key(tuple(point[field] for field in static)), []).append(i)
    jobs = []
    for positions in groups.values():
        pair = {"algorithm": whole.algorithm, "environment": whole.environment}
        first = whole.points[positions[0]]
        # Set arrays as well, since the arrays of the objects may have the shape that another static value requires.
        for field, value in [(f, first[f]) for f in static] + [(f, of[first[f]]) for f, of in whole.arrays.items()]:
            role = "environment" if field.startswith(ENVIRONMENT) else "algorithm"
            pair[role] = set_field(pair[role], field.removeprefix(ENVIRONMENT), value)
        jobs.append((positions, dataclasses.replace(whole, **pair, points=tuple(whole.points[i] for i in positions))))
    return jobs


def _check_arrays(job: Job) -> None:
    """Check that no array is a value of a static field, or of a field that holds one number."""
    for field in job.arrays:
        kind = _swept_kind(job.algorithm, job.environment, field)
        of_environment, name = field.startswith(ENVIRONMENT), field.removeprefix(ENVIRONMENT)
        owner = job.environment if of_environment else job.algorithm
        value = functools.reduce(getattr, name.split("."), owner)
        if kind == "static" or (value is not None and not np.ndim(value)):
            advice = f" (or create {type(owner).__name__} with an array in this field, if it takes arrays)"
            advice = "" if kind == "static" else advice
            raise InputError(
                f"{type(owner).__name__}.{name} is not an array: a grid over it must list numbers, such as [1, 2]"
                f"{advice}"
            )


def static_values(job: Job) -> dict[str, Any]:
    """Return a dict from the swept static fields to their values at the first point of a job."""
    kinds = {field: _swept_kind(job.algorithm, job.environment, field) for field in job.points[0]}
    return {field: job.points[0][field] for field, kind in kinds.items() if kind == "static"}


def _swept_kind(algorithm: Algorithm, environment: Environment, field: str) -> str:
    """Return the kind of a swept field: static or traced.

    Raises:
      InputError: if the field does not exist, is shared data, or holds an object.
    """
    of_environment, name = field.startswith(ENVIRONMENT), field.removeprefix(ENVIRONMENT)
    owner, other = (environment, algorithm) if of_environment else (algorithm, environment)
    if not _has_field(owner, name) and _has_field(other, name):
        suggestion = name if of_environment else ENVIRONMENT + name
        found = f"{type(owner).__name__} has no field {name!r}, but {type(other).__name__} has it"
        raise InputError(f"{found}: write {suggestion!r}")
    kind = field_kind(owner, name)
    if kind == "shared":
        raise InputError(
            f"{type(owner).__name__}: {field} is shared data (all trials use one copy), so it cannot be swept"
        )
    if kind == "object":
        raise InputError(f"{type(owner).__name__}: {field} holds an object; name one of its fields: {field}.<field>")
    return kind


def _has_field(obj: object, field: str) -> bool:
    try:
        field_kind(obj, field)
    except InputError:
        return False
    return True
