"""Make an executor from the address of a cluster, for `run_sweep(..., executor=)` and `jaxbandits submit --cluster`."""

import contextlib
import importlib
import multiprocessing
import socket
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.bridges.executors import RayExecutor

FORMS = ("processes://N", "dask://HOST:PORT", "ray", "ray://HOST:PORT", "mpi")
_CONNECT_S = 10.0  # seconds after which an address counts as unreachable


@contextlib.contextmanager
def cluster_executor(address: str, *, cpus: int | None = None, gpus: int | None = None) -> Iterator[Any]:
    """Connect to a cluster and yield its executor; disconnect at the end of the `with` block.

        with cluster_executor("dask://10.0.0.1:8786") as executor:
            run_sweep("my.toml", executor=executor)

    | address | executor |
    |---|---|
    | `processes://N` | N processes that are spawned on this machine |
    | `dask://HOST:PORT` | the workers of the Dask scheduler at this address |
    | `ray` | the Ray cluster in the environment variable `RAY_ADDRESS`, else one on this machine, running or new |
    | `ray://HOST:PORT` | the Ray cluster whose client server has this address |
    | `mpi` | the other processes of `mpiexec -n N python -m mpi4py.futures ...` |

    Args:
      address: address in one of these forms.
      cpus: number of cores that Ray reserves for a task; other clusters ignore it.
      gpus: number of GPUs that Ray reserves for a task.

    Raises:
      InputError: if the address has none of these forms, if the connection fails, if a package is missing, or if `gpus`
        is given for a cluster other than Ray.
    """
    kind, place = _parse(address)
    for name, value, allowed in (("cpus", cpus, "[1, 4096]"), ("gpus", gpus, "[0, 4096]")):
        if value is not None:
            ranges.integer(name, value, allowed)
    if gpus is not None and kind != "ray":
        how = "set CUDA_VISIBLE_DEVICES before" if kind == "processes" else f"assign GPUs when you start {kind}"
        raise InputError(f"the argument gpus reserves GPUs only on Ray; for {kind}, {how}")
    with contextlib.ExitStack() as stack:
        yield _CONNECT[kind](stack, place, _resources(cpus, gpus))


def _parse(address: str) -> tuple[str, str]:
    """Return the kind of a cluster, and the rest of the address: HOST:PORT, the number of processes, or ""."""
    kind, separator, place = address.partition("://")
    if kind not in _CONNECT:
        raise unknown_name("cluster", address, FORMS)
    needs_place = {"processes": "a number", "dask": "HOST:PORT"}
    if bool(place) != bool(separator) or (not place and kind in needs_place) or (place and kind == "mpi"):
        forms = " or ".join(form for form in FORMS if form.partition("://")[0] == kind)
        raise InputError(f"cluster {address!r} must have the form {forms}")
    return kind, place


def _resources(cpus: int | None, gpus: int | None) -> dict[str, int]:
    return {name: n for name, n in (("num_cpus", cpus), ("num_gpus", gpus)) if n is not None}


def _connect_processes(stack: contextlib.ExitStack, place: str, reserved: dict[str, int]) -> ProcessPoolExecutor:
    n = int(place) if place.isdecimal() else place
    n = ranges.integer("the number of processes in processes://N", n, "[1, 4096]")
    # Processes are spawned, since a forked process can deadlock after JAX has started threads.
    return stack.enter_context(ProcessPoolExecutor(n, mp_context=multiprocessing.get_context("spawn")))


def _connect_dask(stack: contextlib.ExitStack, place: str, reserved: dict[str, int]) -> Any:
    distributed = _import("distributed", "Dask")
    _check_reachable("Dask scheduler", place)
    try:
        client = distributed.Client(f"tcp://{place}", timeout=_CONNECT_S, set_as_default=False)
    except Exception as error:  # usually an OSError; other exceptions if versions differ
        raise _unusable("Dask scheduler", place, error) from None
    return stack.enter_context(client).get_executor()


def _connect_ray(stack: contextlib.ExitStack, place: str, reserved: dict[str, int]) -> RayExecutor:
    ray = _import("ray", "Ray")
    if place:
        _check_reachable("Ray client server", place)
    if not ray.is_initialized():
        try:
            with warnings.catch_warnings():  # Ray forks only to start another program, so that no deadlock can occur
                warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
                ray.init(*[f"ray://{place}"] * bool(place))
        except Exception as error:  # usually a ConnectionError; a RuntimeError if versions differ
            raise _unusable("Ray cluster", place or "RAY_ADDRESS", error) from None
        stack.callback(ray.shutdown)
    return RayExecutor(ray, **reserved)


def _connect_mpi(stack: contextlib.ExitStack, place: str, reserved: dict[str, int]) -> Any:
    _import("mpi4py", "MPI")
    try:
        futures, mpi = importlib.import_module("mpi4py.futures"), importlib.import_module("mpi4py.MPI")
    except (ImportError, RuntimeError) as error:  # mpi4py is installed, but no MPI library
        raise InputError(f"mpi4py cannot find an MPI library: {_one_line(error)}") from None
    n = mpi.COMM_WORLD.Get_size()
    if n < 2:
        raise InputError(
            "mpi needs several processes: start them with mpiexec -n 17 python -m mpi4py.futures -m jaxbandits "
            "submit ..."
        )
    return stack.enter_context(futures.MPIPoolExecutor())


_CONNECT = {"processes": _connect_processes, "dask": _connect_dask, "ray": _connect_ray, "mpi": _connect_mpi}


def _import(name: str, package: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != name:
            raise
        raise InputError(f"a {package} cluster needs the package {name}: pip install {name}") from None


def _check_reachable(what: str, place: str) -> None:
    """Raise InputError if no connection to a host and port is possible; the packages themselves retry much longer."""
    try:
        url = urlsplit(f"//{place}")
        host, port = url.hostname, url.port
    except ValueError:  # the port is not a number
        host = port = None
    if not host or port is None:
        raise InputError(f"the address of a {what} must be HOST:PORT, got {place!r}")
    try:
        socket.create_connection((host, port), timeout=_CONNECT_S).close()
    except OSError as error:
        raise _unusable(what, place, error) from None


def _unusable(what: str, place: str, error: BaseException) -> InputError:
    return InputError(f"no {what} at {place}: {_one_line(error)}")


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
