"""Identity of a run as JSON, for the specification in its results and for the check before it is resumed.

No digest identifies host code: callbacks to Python, and `derive` and `in_hindsight` of a user's environment. Results
that depend on host code are not merged, and runs with callbacks are not resumed, unless the user names the version of
that code by an `identity`.
"""

import json
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbandits.base.digests import digest, package_digest
from jaxbandits.base.foreign import has_foreign_code
from jaxbandits.base.forms import JsonObject
from jaxbandits.base.versions import versions
from jaxbandits.engine.driver import prepare_job
from jaxbandits.engine.grid import Point
from jaxbandits.engine.jobs import LabelJobs, static_values
from jaxbandits.engine.plan import Job, Plan
from jaxbandits.engine.program import Device, TraceCache
from jaxbandits.tracing.settings import settings
from jaxbandits.types import Derives, InHindsight

_INLINE = 64  # longer lists of record points or hyperparameter points are written as a digest


def job_spec(
    label: LabelJobs, base_seed: int, devices: Sequence[Device], traces: TraceCache, identity: str | None
) -> dict[str, Any]:
    """Return the specification of a label, without points and seeds.

    Results with equal specifications can be merged.

    Args:
      label: the label and its jobs.
      base_seed: seed of the run.
      devices: the devices that compute.
      traces: traces of this run.
      identity: name that identifies the host code of the run; None: no name.
    """
    described = {**describe(label.whole), "base_seed": base_seed}
    spec = {**described, "digest": digest(guard(described, label.whole.width, devices))}
    jobs = [job for _, job in label.jobs]
    spec["programs"] = {_name(static_values(job)): prepare_job(job, devices[0], traces).digest for job in jobs}
    host_code = [text for job in jobs for text in (*program_host_code(job, devices[0], traces), *result_host_code(job))]
    return spec | host_identity(host_code, identity)


def plan_spec(plan: Plan, devices: Sequence[Device], traces: TraceCache, identity: str | None) -> JsonObject:
    """Return a dict of everything that determines what the programs of a run compute.

    The dict is compared with the saved one when a run is resumed.

    Args:
      plan: the plan to run.
      devices: the devices that compute.
      traces: traces of this run.
      identity: name that identifies the host code of the run; None: no name.
    """
    jobs: dict[str, Any] = {}
    for job in plan.jobs:
        is_split = sum(other.label == job.label for other in plan.jobs) > 1
        name = f"{job.label} {len(jobs)}" if is_split else job.label
        while name in jobs:  # if another label already has this number
            name += "+"
        points = _short(describe_points(job.points))
        jobs[name] = {**describe(job), "points": points, "seeds": job.n_seeds, "first_seed": job.first_seed}
    described = {"jobs": jobs, "base_seed": plan.base_seed}
    prepared = [prepare_job(job, devices[0], traces) for job in plan.jobs]
    programs = {name: program.digest for name, program in zip(jobs, prepared, strict=True)}
    host_code = [text for job in plan.jobs for text in program_host_code(job, devices[0], traces)]
    return {**described, **guard(described, 0, devices), "programs": programs} | host_identity(host_code, identity)


def program_host_code(job: Job, device: Device, traces: TraceCache) -> list[str]:
    """Return descriptions of the host code that the program of a job uses and that no digest covers."""
    return [f"{job.label} uses {text}" for text in prepare_job(job, device, traces).host_code]


def result_host_code(job: Job) -> list[str]:
    """Return descriptions of the user's host code that computes metrics from whole runs (`derive`, `in_hindsight`)."""
    environment = job.environment
    methods = [("derive", Derives), ("in_hindsight", InHindsight)]
    found = [name for name, protocol in methods if isinstance(environment, protocol)]
    return [f"{type(environment).__name__}.{name} is user code" for name in found if has_foreign_code(environment)]


def host_identity(host_code: Sequence[str], identity: str | None) -> dict[str, Any]:
    """Return a dict with the entry of a specification for host code.

    The entry is the `identity` if it is given, or else the descriptions of the host code; without host code the dict is
    empty.
    """
    if identity is not None:
        return {"identity": identity}
    return {"host code": sorted(set(host_code))} if host_code else {}


def guard(spec: Any, width: int, devices: Any) -> JsonObject:
    """Return a dict of the digest of a specification and everything else that determines the numbers of a run.

    Args:
      spec: the specification of the run.
      width: trials in a batch of the compiled program.
      devices: the devices that compute.
    """
    return {
        "spec": digest(spec),
        "package": package_digest(),
        "versions": {name: version for name, version in versions().items() if name != "jaxbandits"},
        "precision": str(jnp.result_type(float)),
        "settings": settings(),
        "devices": sorted({f"{device.platform} {device.device_kind}" for device in devices}),
        "width": width,
    }


def describe(job: Job) -> dict[str, Any]:
    """Return the specification of a job without points and seeds."""
    from jaxbandits.catalogue import to_spec  # imported here, since it imports every part, which most runs do not need

    spec = {} if job.algorithm is None else {"algorithm": to_spec(job.algorithm)}  # None: a learner in Python
    spec |= {
        "environment": to_spec(job.environment),
        "horizon": job.horizon,
        "record_points": _short(np.asarray(job.record_points).tolist()),
        "meters": {meter.name: to_spec(meter) for meter in job.meters},
        "width": job.width,
    }
    if job.arrays:
        spec["arrays"] = {field: [[name, to_spec(x)] for name, x in of.items()] for field, of in job.arrays.items()}
    return spec if job.compile == "full" else spec | {"compile": job.compile}


def describe_points(points: Sequence[Point]) -> list[list[Any]]:
    """Return the specification of points, as lists of fields and values; JSON has no infinities."""
    from jaxbandits.catalogue import to_spec  # imported here for the same reason

    return [[[field, to_spec(value)] for field, value in point.items()] for point in points]


def digest_of_spec(obj: object) -> str:
    """Return a digest of the specification of an object, or of the objects in a dict."""
    from jaxbandits.catalogue import to_spec  # imported here for the same reason

    return digest(to_spec(obj))


def _name(values: dict[str, Any]) -> str:
    return json.dumps(values, default=repr, sort_keys=True)


def _short(rows: list[Any]) -> Any:
    return rows if len(rows) <= _INLINE else {"count": len(rows), "digest": digest(rows)}
