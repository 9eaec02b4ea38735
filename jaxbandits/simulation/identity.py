"""The identity of a run as JSON: the specification in its results, and the guard of a resume."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandits.base import spec
from jaxbandits.base.digests import digest
from jaxbandits.simulation.plan import Job, Plan
from jaxbandits.simulation.program import Device

_INLINE = 64  # longer lists of record points or hyperparameter points are written as a digest


def job_spec(job: Job, base_seed: int, devices: Sequence[Device]) -> dict[str, Any]:
    """Return the specification of a label without points and seeds; results of equal ones can be merged."""
    described = {**_describe(job), "base_seed": base_seed}
    return {**described, "digest": digest(spec.guard(described, job.width, devices))}


def plan_spec(plan: Plan, devices: Sequence[Device]) -> dict[str, Any]:
    """Return everything that determines the numbers of a run; a resume compares it field by field."""
    jobs: dict[str, Any] = {}
    for job in plan.jobs:
        is_split = sum(other.label == job.label for other in plan.jobs) > 1
        name = f"{job.label} {len(jobs)}" if is_split else job.label
        while name in jobs:  # another label that ends in a number
            name += "+"
        points = _short([list(point.items()) for point in job.points])
        jobs[name] = {**_describe(job), "points": points, "seeds": job.n_seeds, "first_seed": job.first_seed}
    described = {"jobs": jobs, "base_seed": plan.base_seed}
    return {**described, **spec.guard(described, 0, devices)}


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
