"""Lower bounds on the memory of a run, from the shapes of its traced trials."""

from jaxbandits.base.memory import require
from jaxbandits.engine.loop import TracedTrial
from jaxbandits.engine.plan import Job, Plan
from jaxbandits.engine.width import bytes_of, memory_of
from jaxbandits.programs.compilation import Device
from jaxbandits.tracing import target


def check_plan(plan: Plan) -> None:
    """Check that the memory suffices for the results of a run, assuming one float64 metric per trial.

    Raises:
      InputError: if the memory does not suffice; the message names the sizes and a remedy.
    """
    trials = sum(job.n_trials for job in plan.jobs)
    values = sum(job.n_trials * len(job.record_points) for job in plan.jobs)
    _require_results(8 * values, trials, "")


def check_job(job: Job, trial: TracedTrial, device: Device, workers: int) -> None:
    """Check that the memory suffices for the running trials of a job (before and after a call) and for its results.

    Args:
      job: job to run.
      trial: trace of the job.
      device: device that runs the job.
      workers: number of batches that run at a time.

    Raises:
      InputError: if the memory does not suffice; the message names the label, the sizes and a remedy.
    """
    at_once = min(workers, -(-job.n_trials // job.width)) * job.width
    state, kept = bytes_of(trial.carry), bytes_of(trial.carry.delay_buffer)
    batch = getattr(job.environment, "feedback_batch", 1)
    what, remedy = "", "choose a smaller width or fewer workers"
    if 2 * kept > state:
        what = f" with feedback in batches of {batch:,}" if batch > 1 else " with delayed feedback"
        remedy = "choose smaller batches" if batch > 1 else "choose a shorter delay"
    require(
        2 * at_once * state,
        f"{job.label}: {at_once:,} trials at a time{what}",
        remedy,
        memory_of(device) if target.is_accelerator(device.platform) else None,
    )
    values = sum(x.size for x in trial.block_values.values())
    _require_results(8 * job.n_trials * len(job.record_points) * values, job.n_trials, f" of {job.label}")


def _require_results(n_bytes: int, n_trials: int, of_label: str) -> None:
    remedy = "request fewer trials or record points, or use a sweep, which writes its parts to disk"
    require(n_bytes, f"the results of {n_trials:,} trials{of_label}", remedy)
