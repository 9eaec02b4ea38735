"""Submission of a sweep to a cluster by submitit; each job runs one shard, a share of the parts."""

import dataclasses
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from jaxbandits.base import files, ranges
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.engine import driver
from jaxbandits.engine.options import COUNT

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

CLUSTERS = ("slurm", "local")
_MAX_TIMEOUTS = 1000  # how often a job is queued again after its time limit, since a sweep may exceed any limit


@dataclasses.dataclass(frozen=True)
class ShardJob:
    """Job that runs one command; if the job is queued again, the command resumes from its checkpoints."""

    main: Callable[[Sequence[str]], int]  # the command line
    arguments: tuple[str, ...]

    def __call__(self) -> None:
        """Run the command.

        Raises:
          RuntimeError: if the command fails, so that the queue records a failure; the log gives the reason before this
            error.
        """
        print("jaxbandits", *self.arguments, flush=True)
        code = self.main(self.arguments)
        if code:
            raise RuntimeError(f"jaxbandits ended with exit code {code}")

    def checkpoint(self) -> "DelayedSubmission":
        """Return the submission that replaces an interrupted job: the same job again."""
        return _submitit().helpers.DelayedSubmission(self)


def submit(  # noqa: PLR0913
    main: Callable[[Sequence[str]], int],
    file: Path,
    out: Path,
    *,
    cluster: str,
    jobs: int,
    arguments: Sequence[str] = (),
    minutes: int = 60,
    cpus: int | None = None,
    gpus: int | None = None,
    memory_gb: float | None = None,
    partition: str | None = None,
) -> list[Any]:
    """Queue a sweep as n jobs; the i-th job runs the command with `--shard i/n`.

    A copy of the file, the logs and the files of submitit are in `out/jobs`, which must be accessible from the nodes.

    Args:
      main: function of the command line (`cli.main`), which each job calls with the arguments `sweep COPY ...`, where
        COPY is the copy of the file.
      file: the sweep file.
      out: the directory of the sweep.
      cluster: `"slurm"`, or `"local"` (parallel processes on this machine).
      jobs: number of jobs.
      arguments: further arguments of the command, such as `--set horizon=500`.
      minutes: time limit, after which a job is stopped and queued again (a local job is started at most six times).
      cpus: number of cores and threads of a job; None: the default of the cluster, or locally an equal share of the
        cores.
      gpus: number of GPUs of a job; None: the default of the cluster, or locally none.
      memory_gb: memory of a job in GB; None: the default of the cluster.
      partition: partition of the cluster; None: the default of the cluster.

    Returns:
      The jobs, as objects of submitit.

    Raises:
      InputError: if the cluster is unknown or not available, a number is out of range, or submitit is not installed.
    """
    if cluster not in CLUSTERS:
        raise unknown_name("cluster", cluster, CLUSTERS)
    for name, value in (("jobs", jobs), ("minutes", minutes)):
        ranges.integer(name, value, COUNT)
    for name, value, allowed in (("cpus", cpus, COUNT), ("gpus", gpus, "[0, 1000]")):
        if value is not None:
            ranges.integer(name, value, allowed)
    if cluster == "local" and cpus is None:
        cpus = max(1, driver.available_cores() // jobs)
    submitit = _submitit()
    folder = (out / "jobs").resolve()
    files.make_directory(folder)
    copy = folder / file.name
    files.write_atomically(copy, file.read_bytes())
    if cluster == "slurm" and shutil.which("srun") is None:
        raise InputError("this machine has no SLURM (no srun): --cluster local runs the jobs as processes here")
    executor = submitit.AutoExecutor(folder, cluster=cluster, **{f"{cluster}_max_num_timeout": _MAX_TIMEOUTS})
    executor.update_parameters(
        name=f"jaxbandits-{out.name}",
        timeout_min=minutes,
        cpus_per_task=cpus,
        gpus_per_node=gpus,
        mem_gb=memory_gb,
        slurm_partition=partition,
        stderr_to_stdout=True,
    )
    threads = () if cpus is None else ("--workers", str(cpus))
    common = ("sweep", str(copy), "--out", str(out.resolve()), "--quiet", *threads, *arguments)
    with executor.batch():
        queued = [executor.submit(ShardJob(main, (*common, "--shard", f"{i}/{jobs}"))) for i in range(1, jobs + 1)]
    return queued


def _submitit() -> ModuleType:
    try:
        import submitit
    except ImportError:
        raise InputError("this needs submitit: pip install 'jaxbandits[cluster]'") from None
    return submitit
