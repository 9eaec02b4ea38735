"""Compiled programs: the one place that jits. One pair of programs (start, advance) serves every piece of a job.

A program depends on the structure of algorithm and environment, the piece width, the number of record points per call
and the device; never on hyperparameter values, seeds or the horizon. Programs are kept for the life of the process.
"""

import dataclasses
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.simulation import loop
from jaxbandits.simulation.loop import Carry
from jaxbandits.simulation.meters import Meter

Device: TypeAlias = Any  # a jax.Device, which type checkers see as a variable


@dataclasses.dataclass(frozen=True)
class Program:
    """The compiled `start` and `advance` of one job on one device."""

    start: Callable[..., Carry]
    advance: Any  # jax.stages.Compiled
    carry_shape: Any  # ShapeDtypeStructs of the carry
    compile_s: float


_programs: dict[Hashable, Program] = {}
_locks: dict[Hashable, threading.Lock] = {}
_guard = threading.Lock()


def get_program(
    meters: tuple[Meter, ...], algorithm: Any, environment: Any, width: int, n_stops: int, device: Device
) -> Program:
    """The program for these structures, compiled at most once per process.

    Args:
      meters: extra meters.
      algorithm: hyperparameters of one piece, leaves `[width, ...]`.
      environment: the same.
      width: trials per piece.
      n_stops: record points per call.
      device: where it runs.
    """
    leaves, structure = jax.tree.flatten((algorithm, environment))
    shapes = tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)
    key = (meters, structure, shapes, width, n_stops, device, bool(jax.config.jax_enable_x64))
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        if key not in _programs:
            _programs[key] = _compile(meters, algorithm, environment, width, n_stops, device)
        return _programs[key]


def clear_programs() -> None:
    """Forgets every compiled program (for tests and for measuring compile time)."""
    with _guard:
        _programs.clear()


def _compile(meters, algorithm, environment, width: int, n_stops: int, device: Device) -> Program:
    begin = time.perf_counter()
    put = lambda tree: jax.device_put(tree, device)  # noqa: E731
    base_key = put(jax.random.key(0, impl="threefry2x32"))
    trials = put((algorithm, environment))
    start_args = (*trials, base_key, put(jnp.zeros(width, jnp.int32)))
    carry_shape = jax.eval_shape(loop.start, *start_args)
    committed = jax.sharding.SingleDeviceSharding(device)
    carry = jax.tree.map(lambda s: jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=committed), carry_shape)
    stops = put(jnp.zeros(n_stops, jnp.int32))
    # `start` runs once per piece and is large (every arm is its own output): compile it fast rather than well.
    start = _build(jax.jit(loop.start).lower(*start_args), device, _FAST_COMPILE)
    advance = jax.jit(loop.advance, static_argnums=0).lower(meters, *trials, carry, put(jnp.int32(0)), stops)
    return Program(start, _build(advance, device, _FAST_CODE), carry_shape, time.perf_counter() - begin)


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
