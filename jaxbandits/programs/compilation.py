"""Lower and identify the functions of programs, and compile them when they are needed.

Within a process, the key of a function is its computation: its traces, the structure of its arguments, the settings and
the device. Code that changes between two runs is therefore compiled again, whichever module it is in. A function whose
traces do not show its whole computation (`tracing.traces`) is lowered in every run, and its key is its lowered text; a
function that calls Python is compiled in every run. Other processes find programs by their lowered text
(`programs.executables`). An LRU cache keeps at most `MAX_COMPILED` functions.

Compiled functions take and return random keys as plain arrays (`key_data`), because JAX calls programs on plain arrays
faster.
"""

import collections
import contextlib
import functools
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

Device: TypeAlias = Any  # a jax.Device, which type checkers treat as a variable

MAX_COMPILED = 256  # compiled functions in the cache: three per program (five per `BlockProgram`), some megabytes each
FAST_COMPILE = {"xla_backend_optimization_level": 0}
NO_UNROLLING = "no_unrolling"  # an option of this package, for `jax_compat.without_unrolling`
# Measured speed-ups: 512-bit vectors 1.1 to 1.25 with AVX-512, and no loss without it; no unrolling 1.2 to 2, with two
# thirds of the compilation time.
FAST_CODE = {"xla_cpu_prefer_vector_width": 512, NO_UNROLLING: True}
# Error for code whose trace differs each time.
FROZEN = (
    "the code computes different constants each time it is traced: a draw from np.random, a time or a counter is "
    "frozen to one value for all rounds and trials; draw with jax.random from the key that the method receives"
)
# Beginnings of XLA's errors if a program from disk calls a function that this process lacks.
_CANNOT_BE_LOADED = ("NOT_FOUND", "UNIMPLEMENTED", "FAILED_PRECONDITION")
_UNKNOWN_OPTION = re.compile(r"No such compile option: '(.*)'")
_LARGEST_STEP = 8  # largest ratio of the rounds of two consecutive calls, since early rounds may be cheap


class LRUCache:
    """Bounded LRU cache. Concurrent requests for a key build its value once."""

    def __init__(self, capacity: int):
        self.capacity = capacity
        self._values: collections.OrderedDict[Hashable, Future[Any]] = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """Return the value of a key; if there is none, build it, or wait for the thread that is building it."""
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

    def discard(self, key: Hashable) -> None:
        """Drop the value of a key, if there is one; while it is being built, the threads that wait still receive it."""
        with self._lock:
            self._values.pop(key, None)

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        return len(self._values)


class RateEstimator:
    """Estimate of the seconds per round of a program, from its calls in this process."""

    def __init__(self) -> None:
        self._seconds_per_round: float | None = None

    def rounds_in(self, seconds: float, previous: int | None) -> int:
        """Return the number of rounds that take about `seconds` in one call; 1 if no call has been timed.

        Args:
          seconds: intended duration of a call.
          previous: number of rounds of the previous call of this batch; the result is at most eight times as large.
            None for the first call.
        """
        if self._seconds_per_round is None:
            return 1
        rounds = max(1, int(min(seconds / self._seconds_per_round, 2**31)))
        return rounds if previous is None else min(rounds, previous * _LARGEST_STEP)

    def update(self, seconds: float, rounds: int, target_seconds: float) -> None:
        """Update the estimate with the measured time of a call.

        A call that took longer per round than the estimate counts only if it took more than a tenth of
        `target_seconds`, since a shorter call is mostly overhead.

        Args:
          seconds: duration of the call.
          rounds: number of rounds that the call played.
          target_seconds: intended duration of a call.
        """
        new, old = seconds / rounds, self._seconds_per_round
        if old is None or new < old or seconds > 0.1 * target_seconds:
            self._seconds_per_round = new


class CompileUnit(NamedTuple):
    """Function to compile, with the shapes of its arguments."""

    name: str  # name of the function
    function: Callable[..., Any]
    static_args: tuple[Any, ...]  # first arguments of the function
    args: tuple[PyTree, ...]  # shapes of the other arguments
    cpu_options: Mapping[str, Any]  # options of XLA on a CPU; accelerators use the options of `gpu_graphs`
    traces: tuple[TracedFunction, ...]  # traces from which the function is made
    width: int  # trials of a batch
    is_foreign: bool  # True if the traces contain foreign code, which JAX must trace anew each time
    metrics: tuple[tuple[str, str], ...] = ()  # (reduction, name) of the metrics in its results
    out: PyTree = None  # pytree with the structure of its results; None: the function is not saved on disk


class LoadedExecutable:
    """Compiled function from disk; it is compiled again if its first call needs a routine that this process lacks."""

    def __init__(self, executable: Callable[..., Any], compile_again: Callable[[], Callable[..., Any]]):
        self._executable, self._compile_again = executable, compile_again
        self._succeeded, self._lock = False, threading.Lock()

    def __call__(self, *args: PyTree) -> Any:
        """Call the function, and return its results."""
        if self._succeeded:
            return self._executable(*args)
        with self._lock:
            try:
                # Errors appear only when results are waited for.
                results = jax.block_until_ready(self._executable(*args))
            except jax.errors.JaxRuntimeError as error:
                if self._succeeded or not str(error).startswith(_CANNOT_BE_LOADED):
                    raise
                self._executable = self._compile_again()
                results = self._executable(*args)
            self._succeeded = True
        return results


class ProgramFunction:
    """Function of a program: lowered and identified at construction, compiled or read from disk when it is needed.

    The compiled function takes and returns the `key_data` of random keys.
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
        """Return the compiled function, after reading it from disk or compiling it if necessary."""
        with self._lock:
            if self._executable is None:
                self._executable = self._load() or self._compile(self._lowered)
                self._lowered = None
            return self._executable

    def _load(self) -> LoadedExecutable | None:
        """Return the function from disk; None if it is not there."""
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
    """Return the function of a `CompileUnit`; an equal function that this process has already lowered is reused.

    Raises:
      InputError: if the code computes different constants each time it is traced.
    """
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
    """Return a key that is equal only for equal programs; None if the traces do not show the whole computation."""
    digests = [trace.digest for trace in unit.traces]
    if not all(digest.is_exact for digest in digests) or not _runs_own_code():
        return None
    shapes = [(x.shape, str(x.dtype)) for x in jax.tree.leaves(unit.args)]
    options = _options(unit, target_of(device))
    facts = (unit.name, [digest.text for digest in digests], unit.width, unit.metrics, shapes, options, settings())
    return digest(facts), exact_structure((unit.args, unit.out)), device


def _runs_own_code() -> bool:
    """Return False if foreign code has replaced a function of this package that makes programs from traces."""
    rooms = [name for name in sys.modules if name.startswith("jaxbandits.tracing.") or name in _PROGRAM_MODULES]
    return all(is_own_module(sys.modules[name]) for name in rooms)


_PROGRAM_MODULES = frozenset(
    f"jaxbandits.engine.{name}" for name in ("loop", "meters", "recording", "program", "host_rounds")
)


def _place(device: Device) -> tuple[Any, ...]:
    return device.platform, device.device_kind, device.id


def trace_unit(unit: CompileUnit, device_target: target.Target) -> Any:
    """Trace a `CompileUnit` for a target, and return the `jax.stages.Traced`.

    The traced function takes and returns the `key_data` of random keys.
    """

    def plain(*args: PyTree) -> Any:
        # Make a new function for every unit, so that entries of JAX's caches are freed with it.
        args = jax.tree.map(wrap_key_data, args, unit.args)
        return jax.tree.map(key_data, unit.function(*unit.static_args, *args))

    caches = ignore_cached_traces() if unit.is_foreign else contextlib.nullcontext()
    with target.trace_for(device_target), caches:
        # Keep unused arguments; otherwise the text of a program would not show which arguments it reads.
        return jax.jit(plain, keep_unused=True).trace(*jax.tree.map(_key_data_shape, unit.args))


def _options(unit: CompileUnit, device_target: target.Target) -> Mapping[str, Any]:
    """Return the options of XLA for a target."""
    if not target.is_accelerator(device_target.platform):
        return unit.cpu_options
    return gpu_graphs.OPTIONS if device_target.open_loops else {}


def _compile(lowered: Any, options: Mapping[str, Any]) -> Any:
    """Compile a lowered function with all options that this jaxlib supports."""
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
    """Warn that this jaxlib lacks an option, and compile without it from then on."""
    if option not in _unknown_options:
        _unknown_options.add(option)
        message = f"this jaxlib does not know the option {option}: programs are compiled without it"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def clear_compiled() -> None:
    """Drop all functions in the cache of this process."""
    _functions.clear()


def compiled_count() -> int:
    """Return the number of functions in the cache of this process."""
    return len(_functions)


def is_key(x: Any) -> bool:
    """Return True for an array of random keys, or for the shape of such an array."""
    return bool(jnp.issubdtype(x.dtype, jax.dtypes.prng_key))


def key_data(x: Any) -> Any:
    """Return the words of an array of random keys, `[..., 2]` for Threefry, and any other array unchanged."""
    return jax.random.key_data(x) if is_key(x) else x


def wrap_key_data(data: Any, like: Any) -> Any:
    """Invert `key_data`: return the keys, of the same generator as `like`, if `like` is a key, else `data`."""
    return jax.random.wrap_key_data(data, impl=_generator(like.dtype)[0]) if is_key(like) else data


def _key_data_shape(x: Any) -> Any:
    if not is_key(x):
        return x
    return jax.ShapeDtypeStruct((*x.shape, _generator(x.dtype)[1]), np.uint32, sharding=x.sharding)


@functools.cache
def _generator(dtype: Any) -> tuple[str, int]:
    """Return the name of the generator of keys of a type, and the number of words in a key."""
    names = []

    def words(key: jax.Array) -> jax.Array:
        names.append(str(jax.random.key_impl(key)))
        return jax.random.key_data(key)

    (n_words,) = jax.eval_shape(words, jax.ShapeDtypeStruct((), dtype)).shape
    return names[0], n_words
