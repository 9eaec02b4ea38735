"""Compiled programs. One program, which starts trials and plays their rounds, serves every batch of a job.

A program depends on the structure of algorithm and environment, the shapes of shared data, the batch width, the number
of record points per call and the device, but not on hyperparameter values, seeds or the horizon. Every run traces
trials with a user's code anew, since it may have changed (`trace_anew`); `programs.compilation` finds compiled
functions by these traces.
"""

import abc
import collections
import contextlib
import dataclasses
import functools
import itertools
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.digests import digest
from jaxbandits.base.errors import InputError
from jaxbandits.base.exact import exact_structure
from jaxbandits.base.foreign import has_foreign_code, is_own_file
from jaxbandits.base.generators import generator_states, generators_of
from jaxbandits.base.pytree import ArrayLike, PyTree, map_traced
from jaxbandits.engine import loop
from jaxbandits.engine.loop import Carry, TracedTrial
from jaxbandits.engine.meters import Meter, Metric, Totals
from jaxbandits.engine.trial_keys import trial_keys
from jaxbandits.programs.cached_traces import ignore_cached_traces
from jaxbandits.programs.compilation import (
    FAST_CODE,
    FAST_COMPILE,
    FROZEN,
    MAX_COMPILED,
    CompileUnit,
    Device,
    LRUCache,
    ProgramFunction,
    RateEstimator,
    get_function,
)
from jaxbandits.programs.gpu_graphs import target_of
from jaxbandits.programs.trace_store import TraceStore, current_traces, was_requested
from jaxbandits.tracing import target
from jaxbandits.tracing.jax_compat import source_files
from jaxbandits.tracing.settings import settings, settings_for_threads
from jaxbandits.tracing.vmap_last import TracedFunction
from jaxbandits.types import Algorithm, Environment, InitFromObs, RebuildsInstance

T = TypeVar("T")

BLOCK = 64  # number of rounds in one call of a `BlockProgram`
_NO_RECORD_POINT = 2**31 - 1
_WATCH_S = 1.2  # seconds for which the generators are watched, longer than two heartbeats of Dask


@dataclasses.dataclass(frozen=True, kw_only=True)
class Program(abc.ABC):
    """Compiled functions for one job, batch width and device."""

    init_environment: Any  # jax.stages.Compiled, shared by all algorithms on this environment
    init_algorithm: Any
    rate: RateEstimator
    carry_shape: Carry  # ShapeDtypeStructs
    empty_buffers: tuple[Any, Any]  # totals of no rounds and an empty delay buffer, on the device
    record_capacity: int  # record points that one call can report
    compile_s: float
    device: Device

    def start(
        self, algorithm: Algorithm, environment: Environment, base_key: np.ndarray, seed_index: ArrayLike
    ) -> Carry:
        """Start a batch of trials.

        Args:
          algorithm: hyperparameters of the batch, with leaves `[..., W]` (without the axis W if W = 1 and for shared
            leaves).
          environment: fields of the environment, with the same axes.
          base_key: `[2]` uint32, `key_data` of the key of the run.
          seed_index: `[W]` global seed indices.

        Returns:
          The carry of the batch before the first round, with streams as `key_data`.
        """
        # Keys are derived on the host, since the code that derives them is longer than the program of most learners.
        keys = trial_keys(base_key, seed_index)
        env_state = self.init_environment(keys.env_init, environment)
        visible = (environment, keys.observe, env_state) if isinstance(algorithm, InitFromObs) else ()
        alg_state = self.init_algorithm(keys.alg_init, algorithm, *visible)
        return loop.init_carry(keys, env_state, alg_state, *self.empty_buffers)

    @abc.abstractmethod
    def play(
        self, algorithm: Algorithm, environment: Environment, carry: Carry, t: int, end: int, record_points: np.ndarray
    ) -> tuple[Carry, dict[Metric, np.ndarray], int]:
        """Play rounds `t` to `end` of a batch.

        Args:
          algorithm: hyperparameters of the batch, on the device.
          environment: fields of the environment in the batch, on the device.
          carry: the trials after `t` rounds.
          t: number of rounds already played.
          end: number of rounds played when the call ends; at most the last of `record_points`.
          record_points: `[n]` the next record points after `t`, where n is at most `record_capacity`.

        Returns:
          The trials after the call; for each metric block values `[n, ..., W]` of the record points that were passed;
          and the number of rounds that the trials have played.
        """


@dataclasses.dataclass(frozen=True, kw_only=True)
class LoopProgram(Program):
    """Program whose calls can play any number of rounds."""

    play_rounds: Any  # jax.stages.Compiled of `loop.play_rounds`

    def play(
        self, algorithm: Algorithm, environment: Environment, carry: Carry, t: int, end: int, record_points: np.ndarray
    ) -> tuple[Carry, dict[Metric, np.ndarray], int]:
        """Play as `Program.play` does, exactly up to `end`."""
        missing = self.record_capacity - len(record_points)
        padded = np.pad(record_points, (0, missing), constant_values=_NO_RECORD_POINT).astype(np.int32)
        # Passed as NumPy arrays, since a separate transfer would block for as long as thousands of rounds take.
        carry, block_values = self.play_rounds(algorithm, environment, carry, np.int32(t), np.int32(end), padded)
        n = int(np.searchsorted(record_points, end, side="right"))
        return carry, {metric: values[:n] for metric, values in to_host(block_values).items()}, end


@dataclasses.dataclass(frozen=True, kw_only=True)
class BlockProgram(Program):
    """Program whose functions play fixed numbers of rounds, for devices without loops of unknown length.

    Between two record points, blocks of `BLOCK` rounds are played, and then the remainder round by round. The record
    points alone determine which function plays a round, so that no bit depends on the division of rounds into calls.
    """

    play_block: Any  # jax.stages.Compiled: `loop.play_block` of BLOCK rounds
    play_round: Any  # `loop.play_block` of one round
    record_block: Any

    def play(
        self, algorithm: Algorithm, environment: Environment, carry: Carry, t: int, end: int, record_points: np.ndarray
    ) -> tuple[Carry, dict[Metric, np.ndarray], int]:
        """Play as `Program.play` does, but to the end of the block that contains `end`; wait only for the last call."""
        recorded: list[dict[Metric, Any]] = []
        device_t = jax.device_put(np.int32(t), self.device)
        while t < end:
            record_point = int(record_points[len(recorded)])
            rounds, play = (BLOCK, self.play_block) if record_point - t >= BLOCK else (1, self.play_round)
            carry, device_t = play(algorithm, environment, carry, device_t)
            t += rounds
            if t == record_point:
                carry, values = self.record_block(algorithm, environment, carry)
                recorded.append(values)
        jax.block_until_ready(carry)
        metrics = recorded[0] if recorded else ()
        return carry, {metric: np.stack([np.asarray(values[metric]) for values in recorded]) for metric in metrics}, t


class TraceCache:
    """Cache of the traces of trials, one for each structure of algorithm and environment, and of their programs.

    A cache serves one call of a user, since code may change before the next call (when a notebook cell runs again, or a
    global is set). Traces of code of this package serve later calls as well (`programs.trace_store`).
    """

    def __init__(self) -> None:
        self._traces = LRUCache(MAX_COMPILED)
        self._programs = LRUCache(MAX_COMPILED)

    def get(
        self, meters: tuple[Meter, ...], algorithm: Algorithm, environment: Environment, device: Device | None = None
    ) -> TracedTrial:
        """Return the traced trial of a job.

        Args:
          meters: extra meters.
          algorithm: hyperparameters of one trial.
          environment: fields of the environment in one trial.
          device: device that will run the trial; None: JAX's default device.

        Raises:
          InputError: if the code is traced to a different program each time, and as for `engine.loop.trace_trial`.
        """
        pair = (algorithm, environment)
        shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (*pair, *_key_and_round()))
        device_target = target_of(device or jax.local_devices()[0])

        def trace() -> TracedTrial:
            with target.trace_for(device_target):
                return loop.trace_trial(meters, *shapes)

        key = (meters, device_target, exact_structure(shapes), _types(shapes))

        def build() -> tuple[TracedTrial, bool]:
            trial, is_foreign = trace_anew(key, trace, lambda trial: trial.functions, *pair, meters)
            return dataclasses.replace(trial, is_foreign=is_foreign), not is_foreign

        def get_trial() -> TracedTrial:
            if has_foreign_code(*pair, meters):
                return build()[0]
            key_in_process = (key, digest(settings()))
            return self._store.get(key_in_process, build) if was_requested(key_in_process) else build()[0]

        return self._traces.get(key, get_trial)

    @functools.cached_property
    def _store(self) -> TraceStore:
        return current_traces()

    def prepare(
        self,
        trial: TracedTrial,
        algorithm: Algorithm,
        environment: Environment,
        width: int,
        record_capacity: int,
        device: Device,
        compile: str = "full",
    ) -> "PreparedProgram":
        """Return the program of a traced trial, which `prepare_program` makes once per cache from these arguments."""
        args = (trial, algorithm, environment, width, record_capacity, device, compile)
        key = (trial, exact_structure((algorithm, environment)), _types((algorithm, environment)), *args[3:])
        return self._programs.get(key, lambda: prepare_program(*args))


_shared: ContextVar[TraceCache | None] = ContextVar("jaxbandits_shared_traces", default=None)


@contextlib.contextmanager
def share_traces() -> Iterator[None]:
    """Share one cache of traces among all runs within a `with` block or a decorated function."""
    reset = _shared.set(_shared.get() or TraceCache())
    try:
        yield
    finally:
        _shared.reset(reset)


def traces_of_call() -> TraceCache:
    """Return the cache that an enclosing `share_traces` shares, or else a new cache."""
    return _shared.get() or TraceCache()


def _types(tree: PyTree) -> tuple[tuple[Any, str], ...]:
    return tuple((x.shape, str(x.dtype)) for x in jax.tree.leaves(tree))


class _Agreement(NamedTuple):
    """Result of an earlier call of `trace_anew`: digests of the traces, and whether they contain foreign code."""

    digests: list[str]
    holds_foreign_code: bool


_agreements: collections.OrderedDict[Hashable, _Agreement] = collections.OrderedDict()


def trace_anew(
    key: Hashable, trace: Callable[[], T], functions: Callable[[T], Sequence[TracedFunction]], *objects: Any
) -> tuple[T, bool]:
    """Trace functions of objects with their current code, regardless of JAX's trace caches.

    JAX returns a cached trace of a user's jitted function even if a global that the function reads has changed. Foreign
    code, from outside this package and JAX, is therefore traced a second time without these caches. If both traces
    differ, a third trace distinguishes a cached trace from code whose trace differs each time. In a later call with the
    same key, a single trace without caches suffices if it equals the earlier trace.

    Args:
      key: key that is equal for functions of the same objects and arguments, regardless of their code.
      trace: function that makes the traces.
      functions: function from the result of `trace` to the traced functions in it.
      *objects: objects whose code is traced.

    Returns:
      The traces, and whether they contain foreign code.

    Raises:
      InputError: if code draws with a generator of NumPy or Python, or reads a clock, during tracing.
    """

    def digests(traced: T) -> list[str]:
        return [function.digest.text for function in functions(traced)]

    def holds_foreign_code(traced: T) -> bool:
        return any(map(_holds_foreign_code, functions(traced)))

    is_foreign, agreed = has_foreign_code(*objects), _agreements.get(key)
    generators = generators_of(*objects) if is_foreign else ()
    if is_foreign and agreed is not None:
        with ignore_cached_traces(serve_own_code=not agreed.holds_foreign_code):
            only, has_drawn = _trace_and_watch(trace, generators)
        if not has_drawn and agreed == _Agreement(digests(only), holds_foreign_code(only)):
            return only, True
    if not is_foreign:  # since no code of this package draws from a global generator
        first = trace()
        if not holds_foreign_code(first):
            return first, False
    first = _trace_without_draws(trace, digests, generators)
    holds = holds_foreign_code(first)
    with ignore_cached_traces(serve_own_code=not holds):
        second = trace()
    if digests(second) != digests(first):
        with ignore_cached_traces(serve_own_code=not holds):
            third = trace()
        if digests(third) != digests(second):
            raise InputError(FROZEN)
    _agreements[key] = _Agreement(digests(second), holds)
    while len(_agreements) > MAX_COMPILED:
        _agreements.popitem(last=False)
    return second, True


def _trace_without_draws(trace: Callable[[], T], digests: Callable[[T], list[str]], generators: Sequence[Any]) -> T:
    """Trace functions that draw neither from a global generator nor from one of `generators`.

    Other threads may draw at the same time: a worker of Dask does so with each of its heartbeats, twice a second. If
    they do, the function is assumed to draw nothing if four of its traces agree.

    Raises:
      InputError: for a function that draws.
    """
    first, has_drawn = _trace_and_watch(trace, generators)
    if not has_drawn:
        return first
    second, has_drawn = _trace_and_watch(trace, generators)
    if not has_drawn:
        return second
    if not _other_threads_draw(generators) or any(
        digests(traced) != digests(first) for traced in (second, trace(), trace())
    ):
        raise InputError(FROZEN)
    return second


def _trace_and_watch(trace: Callable[[], T], generators: Sequence[Any]) -> tuple[T, bool]:
    """Trace functions; return the traces, and whether anything was drawn from a generator during tracing."""
    before = generator_states(generators)
    return trace(), generator_states(generators) != before


def _other_threads_draw(generators: Sequence[Any]) -> bool:
    """Return whether other threads draw from a generator within about a second."""
    if threading.active_count() == 1:
        return False
    before = generator_states(generators)
    time.sleep(_WATCH_S)
    return generator_states(generators) != before


def _holds_foreign_code(function: TracedFunction) -> bool:
    """Return whether a trace contains foreign jitted functions, or foreign bodies of loops and branches."""
    return not all(map(is_own_file, source_files(function.jaxpr)))


@dataclasses.dataclass(frozen=True)
class PreparedProgram:
    """Lowered functions for one job, batch width and device."""

    functions: dict[str, ProgramFunction]
    carry_shape: Carry
    record_capacity: int
    device: Device
    prepare_s: float

    @property
    def digest(self) -> str:
        """Digest of the whole computation, except for host code."""
        return digest({name: function.identity.digest for name, function in self.functions.items()})

    @property
    def host_code(self) -> tuple[str, ...]:
        """Descriptions of host code whose results the program uses and whose content no digest covers."""
        found = (function.identity.host_code for function in self.functions.values())
        return tuple(sorted(set(itertools.chain.from_iterable(found))))

    def compile(self) -> Program:
        """Compile the functions that this process has not compiled yet, and return the compiled program."""
        begin = time.perf_counter()
        with ThreadPoolExecutor(len(self.functions), initializer=settings_for_threads()) as pool:  # XLA frees the GIL
            futures = {name: pool.submit(function.compile) for name, function in self.functions.items()}
            compiled = {name: future.result() for name, future in futures.items()}
        carry = self.carry_shape
        totals = Totals.init(carry.totals.recent, np.full)
        delay_buffer = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), carry.delay_buffer)
        is_loop = "play_rounds" in compiled
        program_class = LoopProgram if is_loop else BlockProgram
        return program_class(
            **compiled,
            rate=self.functions["play_rounds" if is_loop else "play_block"].rate,
            carry_shape=carry,
            # Transferred once per program, since a transfer for every batch would take as long as its start.
            empty_buffers=jax.device_put((totals, delay_buffer), self.device),
            record_capacity=self.record_capacity,
            compile_s=self.prepare_s + time.perf_counter() - begin,
            device=self.device,
        )


def prepare_program(
    trial: TracedTrial,
    algorithm: Algorithm,
    environment: Environment,
    width: int,
    record_capacity: int,
    device: Device,
    compile: str = "full",
) -> PreparedProgram:
    """Return the lowered program of a traced trial; functions that this process has already lowered are reused.

    Args:
      trial: the trial, traced for the device.
      algorithm: hyperparameters of one trial.
      environment: fields of the environment in one trial.
      width: trials per batch.
      record_capacity: record points that one call can report.
      device: device that will run the program.
      compile: compilation mode of the rounds, as in `Options`.
    """
    begin = time.perf_counter()
    sharding = jax.sharding.SingleDeviceSharding(device)

    def of_one(x: Any) -> PyTree:
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)

    def of_batch(x: Any) -> PyTree:
        return of_one(x) if width == 1 else jax.ShapeDtypeStruct((*x.shape, width), x.dtype, sharding=sharding)

    alg, env = (jax.tree.map(of_one, map_traced(of_batch, obj)) for obj in (algorithm, environment))
    carry = jax.tree.map(of_batch, trial.carry)
    key, t = _key_and_round()
    t = of_one(t)
    units = _init_units(trial, width, alg, env, of_batch(key), carry)
    if not target_of(device).open_loops:
        units |= _block_units(trial, width, (alg, env, carry), t)
    else:
        points = jax.ShapeDtypeStruct((record_capacity,), np.int32, sharding=sharding)
        options = FAST_COMPILE if compile == "fast" else FAST_CODE
        units["play_rounds"] = loop_unit(trial, width, (alg, env, carry), (t, t, points), options)
    return PreparedProgram(
        functions={name: get_function(unit, device) for name, unit in units.items()},
        carry_shape=carry,
        record_capacity=record_capacity,
        device=device,
        prepare_s=time.perf_counter() - begin,
    )


def _init_units(trial: TracedTrial, width: int, alg: Any, env: Any, key: Any, carry: Carry) -> dict[str, CompileUnit]:
    """Return the units that draw the first states of environment and learner.

    They run once per batch and are large (every arm is an output), so they are compiled without optimisation.
    """
    # Only a learner that needs the environment receives it; the unit of any other learner serves all environments.
    visible = (env, carry.streams.observe, carry.env_state) if isinstance(alg, InitFromObs) else ()
    return {
        "init_environment": CompileUnit(
            name="init_environment",
            function=_init,
            static_args=(trial.init_environment, width),
            args=(key, env),
            cpu_options=FAST_COMPILE,
            traces=(trial.init_environment,),
            width=width,
            is_foreign=trial.is_foreign,
            out=trial.init_environment.out,
        ),
        "init_algorithm": CompileUnit(
            name="init_algorithm",
            function=_init,
            static_args=(trial.init_algorithm, width),
            args=(key, alg, *visible),
            cpu_options=FAST_COMPILE,
            traces=(trial.init_algorithm,),
            width=width,
            is_foreign=trial.is_foreign,
            out=trial.init_algorithm.out,
        ),
    }


def _init(init: TracedFunction, width: int, *batched: PyTree) -> PyTree:
    return loop.vmap_trials(init, width, (), *batched)


def loop_unit(
    trial: TracedTrial,
    width: int,
    args: tuple[PyTree, ...],
    rounds: tuple[Any, ...],
    cpu_options: Mapping[str, Any] = FAST_CODE,
) -> CompileUnit:
    """Return the `CompileUnit` of the function that plays the rounds of a `LoopProgram`.

    Args:
      trial: traced trial.
      width: number of trials in a batch.
      args: shapes of algorithm, environment and carry, with leaves `[..., W]`.
      rounds: shapes of the other arguments of `loop.play_rounds`.
      cpu_options: options of XLA on a CPU.
    """
    return CompileUnit(
        name="play_rounds",
        function=loop.play_rounds,
        static_args=(trial, width),
        args=(*args, *rounds),
        cpu_options=cpu_options,
        traces=(trial.play_round, trial.snapshot),
        width=width,
        is_foreign=trial.is_foreign,
        metrics=tuple(trial.block_values),
        out=(trial.carry, trial.block_values),
    )


def _block_units(trial: TracedTrial, width: int, args: tuple[PyTree, ...], t: Any) -> dict[str, CompileUnit]:
    def unit(name: str, function: Any, static_args: tuple[Any, ...], args: tuple[PyTree, ...]) -> CompileUnit:
        return CompileUnit(
            name=name,
            function=function,
            static_args=(trial, width, *static_args),
            args=args,
            cpu_options=FAST_CODE,
            traces=(trial.play_round, trial.snapshot),
            width=width,
            is_foreign=trial.is_foreign,
            metrics=tuple(trial.block_values),
        )

    return {
        "play_block": unit("play_block", loop.play_block, (BLOCK,), (*args, t)),
        "play_round": unit("play_round", loop.play_block, (1,), (*args, t)),
        "record_block": unit("record_block", loop.record_block, (), args),
    }


@functools.cache
def _key_and_round() -> tuple[Any, Any]:
    """Return the shapes of a key and of a round."""
    return jax.eval_shape(lambda: (jax.random.key(0, impl="threefry2x32"), jnp.int32(0)))


def rebuild_instances(
    environments: Any, points: Sequence[int], recorded: dict[str, np.ndarray], width: int
) -> dict[str, np.ndarray]:
    """Call the method `rebuild_instance` of an environment for many instances.

    Args:
      environments: an environment that implements `RebuildsInstance`, with leaves `[H, ...]` for its H points, on the
        host; shared leaves have no axis H.
      points: `[n]` hyperparameter point of each instance.
      recorded: dict from names to the recorded metrics `[..., n]` of the instances.
      width: number of instances in a batch.

    Returns:
      A dict from names to float64 arrays `[..., n]`.
    """
    device, real = jax.local_devices()[0], jnp.result_type(float)
    first_args = (
        map_traced(lambda leaf: leaf[0], environments),
        {name: array[..., 0].astype(real) for name, array in recorded.items()},
    )
    trace, is_foreign = _trace_rebuild_instance(device, *first_args)
    batches = []
    for first in range(0, len(points), width):
        instances = np.minimum(np.arange(first, first + width), len(points) - 1)  # the last batch is padded
        batch_points = np.asarray(points)[instances]
        args = jax.device_put(
            (
                map_traced(lambda leaf, points=batch_points: np.moveaxis(leaf[points], 0, -1), environments),
                {name: array[..., instances].astype(real) for name, array in recorded.items()},
            ),
            device,
        )
        unit = CompileUnit(
            name="rebuild_instance",
            function=_rebuild_instance,
            static_args=(trace, width),
            args=jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding), args),
            cpu_options=FAST_COMPILE,
            traces=(trace,),
            width=width,
            is_foreign=is_foreign,
            out=trace.out,
        )
        batches.append(to_host(get_function(unit, device).compile()(*args)))
    return {
        name: np.concatenate([np.asarray(batch[name], np.float64) for batch in batches], -1)[..., : len(points)]
        for name in batches[0]
    }


def _trace_rebuild_instance(
    device: Device, environment: RebuildsInstance, recorded: dict[str, Any]
) -> tuple[TracedFunction, bool]:
    def rebuild_instance(environment: RebuildsInstance, recorded: dict[str, jax.Array]) -> dict[str, jax.Array]:
        return environment.rebuild_instance(recorded)

    def trace() -> TracedFunction:
        with target.trace_for(target_of(device)):
            return TracedFunction.trace(functools.partial(rebuild_instance), environment, recorded)

    arguments = (environment, recorded)
    key = (target_of(device), exact_structure(arguments), _types(arguments))
    return trace_anew(key, trace, lambda function: [function], environment)


def _rebuild_instance(trace: TracedFunction, width: int, *args: PyTree) -> dict[str, jax.Array]:
    return loop.vmap_trials(trace, width, (), *args)


def to_host(tree: PyTree) -> PyTree:
    """Wait for the arrays of a tree, and return the tree with copies of them on the host."""
    return jax.tree.map(np.asarray, tree)
