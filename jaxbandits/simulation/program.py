"""Compiled programs: the one place that jits. One program (its starts and `advance`) serves every piece of a job.

A program depends on the structure of algorithm and environment, the piece width, the number of record points per call
and the device; never on hyperparameter values, seeds or the horizon. Programs are kept for the life of the process.
"""

import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import jax
import numpy as np

from jaxbandits.simulation import compilation_cache, loop
from jaxbandits.simulation.loop import Carry
from jaxbandits.simulation.meters import Meter

Device: TypeAlias = Any  # a jax.Device, which type checkers see as a variable


@dataclasses.dataclass(frozen=True)
class Program:
    """The compiled start and advance of one job on one device."""

    start_environment: Any  # jax.stages.Compiled, shared by all algorithms on this environment
    start_algorithm: Any
    advance: Any
    carry_shape: Carry  # ShapeDtypeStructs
    compile_s: float

    def start(self, algorithm: Any, environment: Any, base_key: jax.Array, seed_index: jax.Array) -> Carry:
        """A piece of fresh trials: leaves of `algorithm`, `environment` and `seed_index` have a leading axis."""
        return loop.assemble(
            self.start_environment(environment, base_key, seed_index),
            self.start_algorithm(algorithm, base_key, seed_index),
        )


_compiled: dict[Hashable, Any] = {}
_locks: dict[Hashable, threading.Lock] = {}
_guard = threading.Lock()


def get_program(
    meters: tuple[Meter, ...], algorithm: Any, environment: Any, width: int, n_stops: int, device: Device
) -> Program:
    """The program for these structures; each part is compiled at most once per process.

    Args:
      meters: extra meters.
      algorithm: hyperparameters of one piece, leaves `[width, ...]`.
      environment: the same.
      width: trials per piece.
      n_stops: record points per call.
      device: where it runs.
    """
    compilation_cache.enable()
    begin = time.perf_counter()
    put = functools.partial(jax.device_put, device=device)
    alg, env = put(algorithm), put(environment)
    trials = put((jax.random.key(0, impl="threefry2x32"), np.zeros(width, np.int32)))
    shapes = [jax.eval_shape(f, x, *trials) for f, x in ((_start_environment, env), (_start_algorithm, alg))]
    committed = jax.sharding.SingleDeviceSharding(device)
    carry_shape = loop.assemble(*shapes)
    carry = jax.tree.map(lambda s: jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=committed), carry_shape)
    rounds = put((np.int32(0), np.zeros(n_stops, np.int32)))
    with ThreadPoolExecutor(3) as pool:  # XLA compiles outside the GIL
        # A start runs once per piece and is large (every arm is its own output): compiled fast rather than well.
        env_start = pool.submit(_once, "environment", _start_environment, (env, *trials), _FAST_COMPILE, device)
        alg_start = pool.submit(_once, "algorithm", _start_algorithm, (alg, *trials), _FAST_COMPILE, device)
        advance = functools.partial(loop.advance, meters)
        rest = pool.submit(_once, ("advance", meters), advance, (alg, env, carry, *rounds), _FAST_CODE, device)
    compiled = (env_start.result(), alg_start.result(), rest.result())
    return Program(*compiled, carry_shape, time.perf_counter() - begin)


def _start_environment(environment: Any, base_key: jax.Array, seed_index: jax.Array) -> Any:
    return jax.vmap(loop.start_environment, in_axes=(0, None, 0))(environment, base_key, seed_index)


def _start_algorithm(algorithm: Any, base_key: jax.Array, seed_index: jax.Array) -> Any:
    return jax.vmap(loop.start_algorithm, in_axes=(0, None, 0))(algorithm, base_key, seed_index)


def _once(name: Hashable, function: Callable[..., Any], args: Any, cpu_options: dict[str, Any], device: Device) -> Any:
    """Compiles a function for these argument shapes unless that has been done."""
    leaves, structure = jax.tree.flatten(args)
    shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
    key = (name, structure, shapes, device, bool(jax.config.jax_enable_x64))
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        if key not in _compiled:
            _compiled[key] = _build(jax.jit(function).lower(*args), device, cpu_options)
        return _compiled[key]


def clear_programs() -> None:
    """Forgets every compiled program (for tests and for measuring compile time)."""
    with _guard:
        _compiled.clear()


def compiled_count() -> int:
    """How many parts this process has compiled."""
    return len(_compiled)


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
