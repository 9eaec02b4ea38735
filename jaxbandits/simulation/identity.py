"""The identity of a run as JSON: the specification in its results, and the guard of a resume."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbandits.base.digests import digest, package_digest
from jaxbandits.base.versions import versions
from jaxbandits.simulation.driver import trace_job
from jaxbandits.simulation.plan import Job, Plan
from jaxbandits.simulation.program import Device, TraceCache
from jaxbandits.tracing.settings import settings

_INLINE = 64  # longer lists of record points or hyperparameter points are written as a digest


def job_spec(job: Job, base_seed: int, devices: Sequence[Device]) -> dict[str, Any]:
    """Return the specification of a label without points and seeds; results of equal ones can be merged."""
    described = {**_describe(job), "base_seed": base_seed}
    return {**described, "digest": digest(guard(described, job.width, devices))}


def plan_spec(plan: Plan, devices: Sequence[Device], traces: TraceCache) -> dict[str, Any]:
    """Return everything that determines the numbers of a run; a resume compares it field by field.

    What compiled programs compute is in it by the digest of their traces, wherever the code stands. Code that runs on
    the host is in it by its source: callbacks of traced functions, `derive`, `in_hindsight`.
    """
    jobs: dict[str, Any] = {}
    for job in plan.jobs:
        is_split = sum(other.label == job.label for other in plan.jobs) > 1
        name = f"{job.label} {len(jobs)}" if is_split else job.label
        while name in jobs:  # another label that ends in a number
            name += "+"
        points = _short([list(point.items()) for point in job.points])
        jobs[name] = {**_describe(job), "points": points, "seeds": job.n_seeds, "first_seed": job.first_seed}
    described = {"jobs": jobs, "base_seed": plan.base_seed}
    traced = dict(zip(jobs, (_trace_digest(job, devices[0], traces) for job in plan.jobs), strict=True))
    return {**described, **guard(described, 0, devices), "traced code": traced}


def guard(spec: Any, width: int, devices: Any) -> dict[str, Any]:
    """Return everything around a specification that determines the numbers of a run; a resume needs all of it equal.

    Args:
      spec: the specification of the run, digests of the user's code included (`to_spec` puts them in).
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


def _trace_digest(job: Job, device: Device, traces: TraceCache) -> str | None:
    """Return a digest of the traces of a job; None if one has no digest (callbacks to Python)."""
    trial = trace_job(job, device, traces)
    functions = (trial.init_environment, trial.init_algorithm, trial.play_round, trial.snapshot)
    digests = [function.digest for function in functions]
    return None if None in digests else digest([digests, [str(metric) for metric in trial.block_values]])


def _describe(job: Job) -> dict[str, Any]:
    from jaxbandits.catalogue import to_spec  # here: it imports every part, more than most runs need

    return {
        "algorithm": to_spec(job.algorithm),
        "environment": to_spec(job.environment),
        "horizon": job.horizon,
        "record_points": _short(np.asarray(job.record_points).tolist()),
        "meters": {meter.name: to_spec(meter) for meter in job.meters},
        "width": job.width,
    }


def _short(rows: list[Any]) -> Any:
    return rows if len(rows) <= _INLINE else {"count": len(rows), "digest": digest(rows)}
