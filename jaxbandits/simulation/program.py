"""Compiled programs: the one place that jits. One program (its starts and `advance`) serves every piece of a job.

A program depends on the structure of algorithm and environment, the shapes of shared data, the piece width, the room
for rows per call and the device; never on hyperparameter values, seeds or the horizon. Programs are kept for later
runs of the process, up to `MAX_PARTS`; the one that was not used for longest goes first.
"""

import collections
import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core.pytree import map_traced
from jaxbandits.simulation import compilation_cache, loop
from jaxbandits.simulation import meters as meters_lib
from jaxbandits.simulation.loop import Carry, Layout
from jaxbandits.simulation.meters import Meter
from jaxbandits.types import Prepares

Device: TypeAlias = Any  # a jax.Device, which type checkers see as a variable

_LARGEST_STEP = 8  # a call has at most so many times the rounds of the one before it: early rounds may be cheap
MAX_PARTS = 256  # compiled functions that are kept, three to a program; some megabytes each


class Pace:
    """How fast a program is, as last measured. It outlives a run, so that the next one starts from it."""

    def __init__(self) -> None:
        self._seconds_per_round: float | None = None

    def rounds(self, last: int | None, seconds: float) -> int:
        """Rounds that a call may play to take about `seconds`; the first call ever plays one.

        Args:
          last: rounds of the call before it in this piece; None for the first.
          seconds: what a call should take.
        """
        if self._seconds_per_round is None:
            return 1
        fits = max(1, int(min(seconds / self._seconds_per_round, 2**31)))
        return fits if last is None else min(fits, last * _LARGEST_STEP)

    def measured(self, seconds: float, rounds: int, wanted: float) -> None:
        """Takes note of a call. A slower one counts only if it was long enough not to be mostly cost of the call."""
        new, old = seconds / rounds, self._seconds_per_round
        if old is None or new < old or seconds > 0.1 * wanted:
            self._seconds_per_round = new


@dataclasses.dataclass(frozen=True)
class Program:
    """The compiled start and advance of one job on one device."""

    start_environment: Any  # jax.stages.Compiled, shared by all algorithms on this environment
    start_algorithm: Any
    advance: Any
    pace: Pace
    carry_shape: Carry  # ShapeDtypeStructs
    row_slots: int  # record points that one call can report
    compile_s: float
    device: Device

    def start(self, algorithm: Any, environment: Any, base_key: jax.Array, seed_index: jax.Array) -> Carry:
        """A piece of fresh trials: leaves of `algorithm`, `environment` and `seed_index` as `advance` takes them."""
        shapes = self.carry_shape.totals.items()
        totals = jax.device_put(
            {key: np.full(x.shape, meters_lib.zero_of(key), x.dtype) for key, x in shapes}, self.device
        )
        half = self.start_environment(environment, base_key, seed_index)
        met = (environment, half) if isinstance(algorithm, Prepares) else ()
        return loop.assemble(half, self.start_algorithm(algorithm, base_key, seed_index, *met), totals)


class Shelf:
    """What was made, by key, up to a bound; the entry that was not used for longest goes first. Each is made once."""

    def __init__(self, bound: int):
        self.bound = bound
        self._made: collections.OrderedDict[Hashable, Future[Any]] = collections.OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The entry of a key; whoever asks while another thread makes it waits for that one."""
        with self._lock:
            mine = key not in self._made
            future = self._made.setdefault(key, Future())
            self._made.move_to_end(key)
            while len(self._made) > self.bound:
                self._made.popitem(last=False)
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                with self._lock:
                    self._made.pop(key, None)  # the next one tries again
                future.set_exception(error)
        return future.result()

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._made.clear()

    def __len__(self) -> int:
        return len(self._made)


_parts = Shelf(MAX_PARTS)
_layouts = Shelf(MAX_PARTS)


def get_layout(meters: tuple[Meter, ...], algorithm: Any, environment: Any) -> Layout:
    """Shapes of one trial of a job.

    Args:
      meters: extra meters.
      algorithm: hyperparameters of one trial.
      environment: the same.
    """
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (algorithm, environment, *_seed_shapes()))
    key = (meters, *_key(shapes))
    return _layouts.get(key, lambda: loop.layout(meters, *shapes))


def get_program(
    meters: tuple[Meter, ...], algorithm: Any, environment: Any, width: int, row_slots: int, device: Device
) -> Program:
    """The program for these structures; each part is compiled at most once while it is kept.

    Args:
      meters: extra meters.
      algorithm: hyperparameters of one trial.
      environment: the same.
      width: trials per piece.
      row_slots: record points that one call can report.
      device: where it runs.
    """
    compilation_cache.enable()
    begin = time.perf_counter()
    where = jax.sharding.SingleDeviceSharding(device)

    def one(x: Any) -> Any:
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where)

    def many(x: Any) -> Any:
        return one(x) if width == 1 else jax.ShapeDtypeStruct((*x.shape, width), x.dtype, sharding=where)

    alg, env = (jax.tree.map(one, map_traced(many, obj)) for obj in (algorithm, environment))
    base_key, seed_index = _seed_shapes()
    trials = (one(base_key), many(seed_index))
    carry = jax.tree.map(many, get_layout(meters, algorithm, environment).carry)
    # what the start of a learner does not need is left out: one start then serves all environments
    met = (env, (carry.streams.observe, carry.streams.step, carry.env)) if isinstance(algorithm, Prepares) else ()
    rounds = (one(seed_index), one(seed_index), jax.ShapeDtypeStruct((row_slots,), np.int32, sharding=where))
    with ThreadPoolExecutor(3) as pool:  # XLA compiles outside the GIL
        # A start runs once per piece and is large (every arm is its own output): compiled fast rather than well.
        env_start = pool.submit(
            _once, ("environment", width), _start_environment, (width,), (env, *trials), _FAST_COMPILE, device
        )
        alg_start = pool.submit(
            _once, ("algorithm", width), _start_algorithm, (width,), (alg, *trials, *met), _FAST_COMPILE,
            device,
        )  # fmt: skip
        rest = pool.submit(
            _once, ("advance", meters, width), loop.advance, (meters, width), (alg, env, carry, *rounds), _FAST_CODE,
            device,
        )  # fmt: skip
        (env_start, _), (alg_start, _), (advance, pace) = (part.result() for part in (env_start, alg_start, rest))
    return Program(env_start, alg_start, advance, pace, carry, row_slots, time.perf_counter() - begin, device)


@functools.cache
def _seed_shapes() -> tuple[Any, Any]:
    return jax.eval_shape(lambda: (jax.random.key(0, impl="threefry2x32"), jnp.int32(0)))


def _start_environment(width: int, environment: Any, base_key: jax.Array, seed_index: jax.Array) -> Any:
    def one(environment: Any, seed_index: jax.Array) -> Any:
        return loop.start_environment(environment, base_key, seed_index)

    return loop.mapped(one, width, (), environment, seed_index)


def _start_algorithm(width: int, algorithm: Any, base_key: jax.Array, seed_index: jax.Array, *met: Any) -> Any:
    def one(algorithm: Any, seed_index: jax.Array, *met: Any) -> Any:
        return loop.start_algorithm(algorithm, base_key, seed_index, *met)

    return loop.mapped(one, width, (), algorithm, seed_index, *met)


def _key(args: Any) -> tuple[Hashable, ...]:
    leaves, structure = jax.tree.flatten(args)
    shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
    return structure, shapes, bool(jax.config.jax_enable_x64)


def _once(
    name: Hashable, function: Callable[..., Any], static: Any, args: Any, cpu_options: dict[str, Any], device: Device
) -> tuple[Any, Pace]:
    """Compiles a function for these argument shapes unless that has been done; with the pace measured so far."""

    def build() -> tuple[Any, Pace]:
        # A function of its own: what JAX remembers of it goes when it goes.
        return _build(jax.jit(functools.partial(function, *static)).lower(*args), device, cpu_options), Pace()

    return _parts.get((name, *_key(args), device), build)


def clear_programs() -> None:
    """Forgets every compiled program (for tests and for measuring compile time)."""
    _parts.clear()
    _layouts.clear()


def compiled_count() -> int:
    """How many compiled parts this process keeps."""
    return len(_parts)


_FAST_COMPILE = {"xla_backend_optimization_level": 0}
_FAST_CODE = {"xla_cpu_prefer_vector_width": 512}  # measured 1.1x to 1.25x with AVX-512, nothing lost without


def _build(lowered: Any, device: Device, cpu_options: dict[str, Any]) -> Any:
    if device.platform != "cpu":
        return lowered.compile()
    try:
        return lowered.compile(compiler_options=cpu_options)
    except jax.errors.JaxRuntimeError as error:  # an older jaxlib without the option
        if "No such compile option" not in str(error):
            raise
        return lowered.compile()


def to_host(tree: Any) -> Any:
    """Waits for the computation and copies it to NumPy arrays."""
    return jax.tree.map(np.asarray, tree)
