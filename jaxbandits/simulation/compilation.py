"""Compilation of single functions, cached in this process and on disk (`simulation.compilation_cache`).

A compiled function is found by what it computes: the traces that it is made of (`executables.program_digest`), the
structure of its arguments and the device. So code that changed between two runs, wherever it stands, is compiled anew.
Functions whose trace has no digest (with callbacks to Python) are compiled in every run. Up to `MAX_COMPILED` functions
are kept, the least recently used one goes first.

Compiled functions take and return random keys as plain arrays (`key_data`): JAX calls programs of plain arrays without
detours in Python.
"""

import collections
import functools
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.simulation import compilation_cache, gpu_graphs
from jaxbandits.simulation.executables import executable_key, program_digest
from jaxbandits.simulation.gpu_graphs import target_of
from jaxbandits.simulation.meters import Metric
from jaxbandits.tracing import target
from jaxbandits.tracing.vmap_last import TracedFunction

Device: TypeAlias = Any  # a jax.Device, which type checkers take for a variable

MAX_COMPILED = 256  # compiled functions in the cache, three to a program (accelerators: five); some megabytes each
FAST_COMPILE = {"xla_backend_optimization_level": 0}
FAST_CODE = {"xla_cpu_prefer_vector_width": 512}  # measured 1.1x to 1.25x with AVX-512, nothing lost without
_LARGEST_STEP = 8  # a call has at most so many times the rounds of the call before it: early rounds may be cheap


class LRUCache:
    """Bounded LRU cache. Concurrent requests for a key build its value once."""

    def __init__(self, capacity: int):
        self.capacity = capacity
        self._values: collections.OrderedDict[Hashable, Future[Any]] = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """Return the value of a key; if there is none, build it, or wait for the thread that does."""
        with self._lock:
            is_new = key not in self._values
            future = self._values.setdefault(key, Future())
            self._values.move_to_end(key)
            while len(self._values) > self.capacity:
                self._values.popitem(last=False)
        if is_new:
            try:
                future.set_result(build())
            except BaseException as error:
                with self._lock:
                    self._values.pop(key, None)  # a later request tries again
                future.set_exception(error)
        return future.result()

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)


class RateEstimator:
    """Estimate of the seconds that a program takes per round, from its calls in this process."""

    def __init__(self) -> None:
        self._seconds_per_round: float | None = None

    def rounds_in(self, seconds: float, previous: int | None) -> int:
        """Return the number of rounds that a call may play to take about `seconds`; 1 before any call was timed.

        Args:
          seconds: what a call should take.
          previous: rounds of the call before it in this batch; None for the first.
        """
        if self._seconds_per_round is None:
            return 1
        rounds = max(1, int(min(seconds / self._seconds_per_round, 2**31)))
        return rounds if previous is None else min(rounds, previous * _LARGEST_STEP)

    def update(self, seconds: float, rounds: int, target_seconds: float) -> None:
        """Account for a call; a slower one only if it was too long to be mostly overhead of the call."""
        new, old = seconds / rounds, self._seconds_per_round
        if old is None or new < old or seconds > 0.1 * target_seconds:
            self._seconds_per_round = new


class CompileUnit(NamedTuple):
    """A function to compile, and for which arguments."""

    name: str  # of the function
    function: Callable[..., Any]
    static_args: tuple[Any, ...]  # its first arguments
    args: tuple[Any, ...]  # shapes of the others
    cpu_options: dict[str, Any]  # for XLA on a CPU; on accelerators those of `gpu_graphs`
    traces: tuple[TracedFunction, ...]  # that it is made of
    width: int  # trials of a batch
    metrics: tuple[Metric, ...] = ()  # in its results
    out: Any = None  # of the structure of its results; None: it is not kept on disk


class LoadedExecutable:
    """A compiled function from disk. If its first call fails, the function is compiled again and called anew."""

    def __init__(self, executable: Callable[..., Any], compile_again: Callable[[], Callable[..., Any]]):
        self._executable, self._compile_again = executable, compile_again
        self._succeeded, self._lock = False, threading.Lock()

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        if self._succeeded:
            return self._executable(*args)
        with self._lock:
            try:
                results = jax.block_until_ready(self._executable(*args))  # errors show when results are waited for
            except Exception:
                self._executable = self._executable if self._succeeded else self._compile_again()
                results = self._executable(*args)
            self._succeeded = True
        return results


_compiled = LRUCache(MAX_COMPILED)


def compile_cached(unit: CompileUnit, device: Device) -> tuple[Any, RateEstimator]:
    """Return a compiled function and its rate estimator: from this process, from disk, or newly compiled.

    It takes and returns the `key_data` of random keys.
    """
    device_target = target_of(device)
    options = _options(unit, device_target)

    def compile_and_save(save: Callable[[Any, Any], None] | None) -> Any:
        lowered = trace_unit(unit, device_target).lower()
        executable = _compile(lowered, options)
        if save:
            save(lowered, executable)
        return executable

    facts = (unit.width, unit.metrics)
    program = program_digest(unit.name, unit.traces, unit.args, facts, options, device)

    def build() -> tuple[Any, RateEstimator]:
        on_disk = compilation_cache.executables_for(device)
        key = executable_key(program) if on_disk and program and unit.out is not None else None
        if on_disk is None or key is None:
            return compile_and_save(None), RateEstimator()
        save = functools.partial(on_disk.save, key)
        loaded = on_disk.load(key, unit.args, unit.out, device)
        executable = LoadedExecutable(loaded, lambda: compile_and_save(save)) if loaded else compile_and_save(save)
        return executable, RateEstimator()

    identity = program or (unit.name, unit.width, unit.traces)
    return _compiled.get((identity, jax.tree.structure(unit.args), device), build)


def trace_unit(unit: CompileUnit, device_target: target.Target) -> Any:
    """Return a `jax.stages.Traced` of a unit for a target; it takes and returns the `key_data` of random keys."""

    def plain(*args: Any) -> Any:
        # A new function for every unit: what JAX's caches hold by function is freed with it.
        args = jax.tree.map(lambda x, like: _wrap_key_data(x) if is_key(like) else x, args, unit.args)
        return jax.tree.map(key_data, unit.function(*unit.static_args, *args))

    with target.trace_for(device_target):
        return jax.jit(plain).trace(*jax.tree.map(_key_data_shape, unit.args))


def _options(unit: CompileUnit, device_target: target.Target) -> dict[str, Any]:
    """Return the options of XLA for a target."""
    if not target.is_accelerator(device_target.platform):
        return unit.cpu_options
    return gpu_graphs.OPTIONS if device_target.open_loops else {}


def _compile(lowered: Any, options: dict[str, Any]) -> Any:
    try:
        return lowered.compile(compiler_options=options)
    except jax.errors.JaxRuntimeError as error:  # an older jaxlib without the option
        if "No such compile option" not in str(error):
            raise
        return lowered.compile()


def clear_compiled() -> None:
    """Drop all compiled functions of this process."""
    _compiled.clear()


def compiled_count() -> int:
    """Return the number of compiled functions in the cache of this process."""
    return len(_compiled)


def is_key(x: Any) -> bool:
    """Return True for an array of random keys, or a shape that stands for one."""
    return bool(jnp.issubdtype(x.dtype, jax.dtypes.prng_key))


def key_data(x: Any) -> Any:
    """Return the `[..., 2]` words of an array of random keys; any other array as it is."""
    return jax.random.key_data(x) if is_key(x) else x


def _wrap_key_data(data: jax.Array) -> jax.Array:
    return jax.random.wrap_key_data(data, impl="threefry2x32")


def _key_data_shape(x: Any) -> Any:
    return jax.ShapeDtypeStruct((*x.shape, 2), np.uint32, sharding=x.sharding) if is_key(x) else x
