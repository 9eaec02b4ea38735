"""Command `submit` with the address of a cluster: run a sweep in its processes, and wait for the result."""

import argparse
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jaxbandits import plugins
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.bridges.clusters import FORMS, cluster_executor
from jaxbandits.sweeps.executors import TaskExecutor, TaskFuture
from jaxbandits.sweeps.run import run_sweep
from jaxbandits.sweeps.submit import CLUSTERS
from jaxbandits.sweeps.sweep import Sweep

_OF_QUEUES = ("minutes", "memory_gb", "partition")  # options of clusters with a queue


class PluginExecutor:
    """Executor whose tasks first load the user's plug-ins, which may define the classes of the arguments."""

    def __init__(self, executor: TaskExecutor, files: Sequence[str]):
        """Wrap an executor.

        Args:
          executor: the executor that runs the tasks.
          files: paths of plug-ins, which all processes can read.
        """
        self._executor, self._files = executor, tuple(files)

    def submit(self, function: Callable[..., Any], /, *args: Any) -> TaskFuture:
        """Start a task, and return its future."""
        return self._executor.submit(run_with_plugins, self._files, pickle.dumps((function, args)))


def run_with_plugins(files: Sequence[str], pickled: bytes) -> object:
    """Load plug-ins, then call a pickled function with its pickled arguments, and return the result."""
    for file in files:
        plugins.load(file)
    function, args = pickle.loads(pickled)
    return function(*args)


def run_on_cluster(arguments: argparse.Namespace, sweep: Sweep, out: Path) -> None:
    """Run a sweep on the cluster whose address `--cluster` gives.

    Raises:
      InputError: if an option is for another kind of cluster, if the address cannot be used, or if a job fails.
    """
    kinds = {form.partition("://")[0] for form in FORMS}
    if arguments.cluster.partition("://")[0] not in kinds:
        raise unknown_name("cluster", arguments.cluster, (*CLUSTERS, *FORMS))
    for name in _OF_QUEUES:
        if getattr(arguments, name) is not None:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} is for --cluster slurm and local only, since {arguments.cluster} has no queue")
    with cluster_executor(arguments.cluster, cpus=arguments.cpus, gpus=arguments.gpus) as executor:
        if arguments.plugin:
            executor = PluginExecutor(executor, [str(Path(file).resolve()) for file in arguments.plugin])
        run_sweep(
            sweep,
            out,
            executor=executor,
            jobs=arguments.jobs,
            workers=arguments.cpus,
            retry_failed=arguments.retry_failed,
            save_every=arguments.save_every,
        )
