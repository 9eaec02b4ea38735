"""Functions of programs: lowered, identified, and compiled when they are needed.

A function is found in this process by what it computes: the traces that it is made of, the structure of its arguments,
settings and device. So code that changed between two runs, wherever it stands, is compiled anew. A function whose
traces do not show all of that (`tracing.traces`) is lowered in every run and found by its text, and one that calls
Python is compiled in every run. Between processes programs are found by their text (`simulation.executables`). At most
`MAX_COMPILED` functions are kept, those used last.

Compiled functions take and return random keys as plain arrays (`key_data`): JAX calls programs of plain arrays without
detours in Python.
"""

import collections
import contextlib
import re
import sys
import threading
import warnings
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.digests import digest
from jaxbandits.base.errors import InputError
from jaxbandits.base.exact import exact_structure
from jaxbandits.base.foreign import is_own_module
from jaxbandits.base.pytree import PyTree
from jaxbandits.base.versions import versions
from jaxbandits.programs import compilation_cache, gpu_graphs
from jaxbandits.programs.gpu_graphs import target_of
from jaxbandits.programs.program_identity import identify
from jaxbandits.tracing import target
from jaxbandits.tracing.jax_compat import ignore_cached_traces, without_unrolling
from jaxbandits.tracing.settings import settings
from jaxbandits.tracing.vmap_last import TracedFunction

Device: TypeAlias = Any  # a jax.Device, which type checkers take for a variable

MAX_COMPILED = 256  # compiled functions in the cache, three to a program (accelerators: five); some megabytes each
FAST_COMPILE = {"xla_backend_optimization_level": 0}
NO_UNROLLING = "no_unrolling"  # an option of ours, for `jax_compat.without_unrolling`
# Measured 1.1x to 1.25x with AVX-512, nothing lost without; 1.2x to 2x, and two thirds of the compilation.
FAST_CODE = {"xla_cpu_prefer_vector_width": 512, NO_UNROLLING: True}
# Why code that is traced differently each time is refused.
FROZEN = (
    "the code computes other constants each time it is traced: a draw with np.random, a clock or a counter is frozen "
    "to one value for all rounds and trials; draw with jax.random from the key that is passed"
)
# What XLA's errors begin with where a program from disk calls something that this process lacks.
_CANNOT_BE_LOADED = ("NOT_FOUND", "UNIMPLEMENTED", "FAILED_PRECONDITION")
_UNKNOWN_OPTION = re.compile(r"No such compile option: '(.*)'")
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
          seconds: intended duration of a call.
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
    args: tuple[PyTree, ...]  # shapes of the others
    cpu_options: Mapping[str, Any]  # for XLA on a CPU; on accelerators those of `gpu_graphs`
    traces: tuple[TracedFunction, ...]  # that it is made of
    width: int  # trials of a batch
    is_foreign: bool  # the traces hold code of others, which JAX must trace anew whenever it does
    metrics: tuple[tuple[str, str], ...] = ()  # (reduction, name), in its results
    out: PyTree = None  # of the structure of its results; None: it is not kept on disk


class LoadedExecutable:
    """A compiled function from disk. If its first call misses something, it is compiled again and called anew."""

    def __init__(self, executable: Callable[..., Any], compile_again: Callable[[], Callable[..., Any]]):
        self._executable, self._compile_again = executable, compile_again
        self._succeeded, self._lock = False, threading.Lock()

    def __call__(self, *args: PyTree) -> Any:
        """Call the function."""
        if self._succeeded:
            return self._executable(*args)
        with self._lock:
            try:
                results = jax.block_until_ready(self._executable(*args))  # errors show when results are waited for
            except jax.errors.JaxRuntimeError as error:
                if self._succeeded or not str(error).startswith(_CANNOT_BE_LOADED):
                    raise
                self._executable = self._compile_again()
                results = self._executable(*args)
            self._succeeded = True
        return results


class ProgramFunction:
    """Function of a program: lowered and identified when it is made, compiled or read from disk when it is needed.

    It takes and returns the `key_data` of random keys.
    """

    def __init__(self, unit: CompileUnit, device: Device):
        self._unit, self._device = unit, device
        self._target = target_of(device)
        self._options = _options(unit, self._target)
        self._lowered: Any = trace_unit(unit, self._target).lower()
        self._executable: Any = None
        self._lock = threading.Lock()
        self.identity = identify(self._lowered, self._options)
        self.rate = RateEstimator()

    def compile(self) -> Callable[..., Any]:
        """Return the compiled function."""
        with self._lock:
            if self._executable is None:
                self._executable = self._load() or self._compile(self._lowered)
                self._lowered = None
            return self._executable

    def _load(self) -> LoadedExecutable | None:
        """Return the function as it is on disk; None if it is not there."""
        files = compilation_cache.executables_for(self._device)
        if files is None or self._unit.out is None:
            return None
        loaded = files.load(self._key, self._unit.args, self._unit.out, self._device)
        return LoadedExecutable(loaded, self._compile_again) if loaded else None

    def _compile_again(self) -> Any:
        return self._compile(trace_unit(self._unit, self._target).lower())

    def _compile(self, lowered: Any) -> Any:
        executable = _compile(lowered, self._options)
        files = compilation_cache.executables_for(self._device)
        if files is not None and self._unit.out is not None:
            files.save(self._key, executable, self.identity.targets)
        return executable

    @property
    def _key(self) -> str:
        """Key of the function on disk."""
        place = (*_place(self._device), jax.local_device_count())
        return digest([self.identity.digest, settings(), versions(), place])


_functions = LRUCache(MAX_COMPILED)


def get_function(unit: CompileUnit, device: Device) -> ProgramFunction:
    """Return the function of a unit, from this process if it has lowered an equal one."""
    key = _trace_key(unit, device)
    if key is not None:
        return _functions.get(key, lambda: ProgramFunction(unit, device))
    new = ProgramFunction(unit, device)
    if new.identity.digest != ProgramFunction(unit, device).identity.digest:
        raise InputError(FROZEN)
    if new.identity.calls_python:
        return new
    key = (new.identity.digest, digest(settings()), exact_structure((unit.args, unit.out)), device)
    return _functions.get(key, lambda: new)


def _trace_key(unit: CompileUnit, device: Device) -> Hashable | None:
    """Return a key that is equal for equal programs only; None if the traces do not show all that a unit computes."""
    digests = [trace.digest for trace in unit.traces]
    if not all(digest.is_exact for digest in digests) or not _runs_own_code():
        return None
    shapes = [(x.shape, str(x.dtype)) for x in jax.tree.leaves(unit.args)]
    options = _options(unit, target_of(device))
    facts = (unit.name, [digest.text for digest in digests], unit.width, unit.metrics, shapes, options, settings())
    return digest(facts), exact_structure((unit.args, unit.out)), device


def _runs_own_code() -> bool:
    """Return whether the code of this package that makes programs of traces is its own, and none of it was replaced."""
    rooms = [name for name in sys.modules if name.startswith("jaxbandits.tracing.") or name in _PROGRAM_MODULES]
    return all(is_own_module(sys.modules[name]) for name in rooms)


_PROGRAM_MODULES = frozenset(
    f"jaxbandits.engine.{name}" for name in ("loop", "meters", "recording", "program", "host_rounds")
)


def _place(device: Device) -> tuple[Any, ...]:
    return device.platform, device.device_kind, device.id


def trace_unit(unit: CompileUnit, device_target: target.Target) -> Any:
    """Return a `jax.stages.Traced` of a unit for a target; it takes and returns the `key_data` of random keys."""

    def plain(*args: PyTree) -> Any:
        # A new function for every unit: what JAX's caches hold by function is freed with it.
        args = jax.tree.map(lambda x, like: _wrap_key_data(x) if is_key(like) else x, args, unit.args)
        return jax.tree.map(key_data, unit.function(*unit.static_args, *args))

    caches = ignore_cached_traces() if unit.is_foreign else contextlib.nullcontext()
    with target.trace_for(device_target), caches:
        # All arguments stay, used or not: else the text of a program would not say which of them it reads.
        return jax.jit(plain, keep_unused=True).trace(*jax.tree.map(_key_data_shape, unit.args))


def _options(unit: CompileUnit, device_target: target.Target) -> Mapping[str, Any]:
    """Return the options of XLA for a target."""
    if not target.is_accelerator(device_target.platform):
        return unit.cpu_options
    return gpu_graphs.OPTIONS if device_target.open_loops else {}


def _compile(lowered: Any, options: Mapping[str, Any]) -> Any:
    """Compile a lowered function, with the options that this jaxlib knows."""
    options = {name: value for name, value in options.items() if name not in _unknown_options}
    unrolling = contextlib.nullcontext if not options.pop(NO_UNROLLING, False) else without_unrolling
    while True:
        try:
            with unrolling():
                return lowered.compile(compiler_options=options)
        except jax.errors.JaxRuntimeError as error:
            unknown = _UNKNOWN_OPTION.search(str(error))
            if unknown is None or unknown[1] not in options:
                raise
            del options[unknown[1]]
            _warn_once(unknown[1])


_unknown_options: set[str] = set()


def _warn_once(option: str) -> None:
    """Say that this jaxlib lacks an option, which no function is compiled with from then on."""
    if option not in _unknown_options:
        _unknown_options.add(option)
        message = f"this jaxlib does not know the option {option}: programs are compiled without it"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def clear_compiled() -> None:
    """Drop all functions of this process."""
    _functions.clear()


def compiled_count() -> int:
    """Return the number of functions in the cache of this process."""
    return len(_functions)


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
