"""What a run is, as JSON: the specification in its results, and everything that a resume needs to find unchanged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandits.base import spec
from jaxbandits.base.digests import digest
from jaxbandits.simulation.plan import Job, Plan
from jaxbandits.simulation.program import Device

_INLINE = 64  # record points and hyperparameter points beyond are written as a digest


def job_spec(job: Job, base_seed: int, devices: Sequence[Device]) -> dict[str, Any]:
    """What a label ran, but for its points and seeds: results of equal specifications can be merged."""
    described = {**_described(job), "base_seed": base_seed}
    return {**described, "digest": digest(spec.guard(described, job.width, devices))}


def plan_spec(plan: Plan, devices: Sequence[Device]) -> dict[str, Any]:
    """Everything that determines the numbers of a run: it guards a resume, and its fields say what changed."""
    jobs: dict[str, Any] = {}
    for job in plan.jobs:
        several = sum(other.label == job.label for other in plan.jobs) > 1
        name = f"{job.label} {len(jobs)}" if several else job.label
        while name in jobs:  # of another label, which ends in a number
            name += "+"
        rows = _short([list(point.items()) for point in job.points])
        jobs[name] = {**_described(job), "points": rows, "seeds": job.n_seeds, "first_seed": job.first_seed}
    described = {"jobs": jobs, "base_seed": plan.base_seed}
    return {**described, **spec.guard(described, 0, devices)}


def _described(job: Job) -> dict[str, Any]:
    from jaxbandits.catalogue import to_spec  # all names there are, which is more than most runs import

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
