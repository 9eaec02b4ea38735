"""Run the shards of a sweep on an executor of `concurrent.futures`, or of a cluster with the same method `submit`.

The results of a shard are files in the directory of the sweep. A shard computes the parts that the directory lacks, and
locks each part meanwhile, so that an executor may run a shard again, or twice at the same time.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.files import first_difference
from jaxbandits.base.forms import JsonObject
from jaxbandits.base.pytree import PyTree
from jaxbandits.engine.grid import Grid
from jaxbandits.engine.progress import ProgressBar
from jaxbandits.sweeps.sweep import Sweep

MAX_JOBS = 64  # default limit, since each job starts JAX and compiles its programs or reads them from the cache


class TaskFuture(Protocol):
    """Task of an executor."""

    def result(self) -> object:
        """Wait for the task; return its result or raise its error."""
        ...


class TaskExecutor(Protocol):
    """Executor of `concurrent.futures`, or of a cluster with the same method `submit`."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> TaskFuture:
        """Start a task, a call of `function` with `args`, and return its future."""
        ...


class ShardTask(NamedTuple):
    """Arguments of a shard, without JAX arrays, since a process unpickles them before its precision is set."""

    sweep: Sweep
    out: str
    shard: tuple[int, int]
    fail_fast: bool
    retry_failed: bool
    workers: int
    save_every: float
    x64: bool
    spec: JsonObject  # specification of the sweep in the process that submits the shards


def check_same_sweep(spec: JsonObject, own: JsonObject) -> None:
    """Check that the process of a shard computes the sweep that was submitted, with the same code and settings.

    On other devices, or with other versions of packages, the programs differ in any case, and are not compared.

    Args:
      spec: specification of the sweep in the process that submitted it.
      own: its specification in this process.

    Raises:
      InputError: if the specifications differ.
    """
    if spec != own and all(spec[name] == own[name] for name in ("devices", "package", "versions")):
        raise InputError(
            f"the processes of the executor compute another sweep: {first_difference(spec, own)[:300]}; they import "
            "the code anew, without variables, functions and settings that the calling process has changed"
        )


def check_executor(executor: object) -> None:
    """Check that an executor can run JAX.

    Raises:
      InputError: if the object has no method `submit`, or starts its processes by fork.
    """
    if not callable(getattr(executor, "submit", None)) or isinstance(executor, type):
        raise InputError(
            "executor needs a method submit(function, *args), like the executors of concurrent.futures; got "
            f"{format_value(executor)}"
        )
    context = getattr(executor, "_mp_context", None)  # a ProcessPoolExecutor has this attribute
    if context is not None and context.get_start_method() == "fork":
        raise InputError(
            "executor starts its processes by fork, which deadlocks once JAX has threads: use "
            "ProcessPoolExecutor(mp_context=multiprocessing.get_context('spawn'))"
        )


def without_jax_arrays(sweep: Sweep) -> Sweep:
    """Return a sweep with NumPy in place of JAX arrays, since a process unpickles it before its precision is set."""
    return dataclasses.replace(sweep, algorithms=_on_host(sweep.algorithms), environment=_on_host(sweep.environment))


def _on_host(value: PyTree) -> PyTree:
    if isinstance(value, Grid):
        return dataclasses.replace(value, algorithm=_on_host(value.algorithm))
    if isinstance(value, Mapping):
        return {key: _on_host(entry) for key, entry in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_on_host, value))
    return jax.tree.map(lambda x: np.asarray(x) if isinstance(x, jax.Array) else x, value)


def run_shards(
    executor: TaskExecutor, run_shard: Callable[[ShardTask], None], tasks: Sequence[ShardTask], progress: bool
) -> None:
    """Run shards, and wait for all of them.

    Args:
      executor: object with a method `submit(function, *args)`, whose results have a method `result()`.
      run_shard: function that runs one shard.
      tasks: arguments of the calls of `run_shard`, one for each shard.
      progress: show a progress bar on standard error.

    Raises:
      InputError: if shards failed; the message names one of them. All other shards have ended.
    """
    with ProgressBar(len(tasks), "shards", "", progress) as bar:
        futures = [executor.submit(run_shard, task) for task in tasks]
        errors = []
        for task, future in zip(tasks, futures, strict=True):
            try:
                future.result()
            except Exception as error:  # an executor may raise any error if a process was lost
                errors.append((task, error))
            bar.update(1)
    for task, error in errors:
        i, n = task.shard
        message = " ".join(str(error).split())[:300]
        if isinstance(error, InputError):
            raise error
        more = f" (and {len(errors) - 1} more failed)" if len(errors) > 1 else ""
        raise InputError(
            f"shard {i}/{n} ended with {type(error).__name__}: {message}{more}; repeat the call to compute the "
            "missing parts"
        ) from error
