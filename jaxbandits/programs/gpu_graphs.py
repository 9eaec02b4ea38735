"""Loops inside CUDA graphs: XLA's options for them, and a test of whether the GPUs of this machine run them.

XLA compiles a loop of unknown length for a GPU in one of two ways. By default the host reads the predicate before
every step, and the device idles meanwhile. With `OPTIONS` the loop becomes a conditional node of a CUDA graph, whose
predicate stays on the device: all rounds of a call, with the loops and branches inside them, are one launch.

Conditional nodes need a driver of CUDA 12.3 or newer, and an XLA with the fix of openxla/xla pull request 35760 (an
older XLA crashes the process when such a graph runs a second time). They are therefore tested: a separate process calls
a small program with such nodes (loops and a branch) several times. The result is stored with the compiled programs, for
each kind of GPU and version of JAX and CUDA. `JAXBANDITS_GPU_LOOPS=graph` or `=blocks` skips the test.

If the test fails, programs take the form `blocks` (`engine.program.BlockProgram`): they play blocks of a fixed number
of rounds, with masked loops. This form can be removed when every supported jaxlib contains that fix, every supported
driver is of CUDA 12.3 or newer, and GPUs are the only supported accelerators (benchmarks/NOTES.md).
"""

import contextlib
import functools
import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.files import write_atomically
from jaxbandits.base.private_files import read_private
from jaxbandits.programs.compilation_cache import cache_directory
from jaxbandits.tracing import loops, target
from jaxbandits.tracing.target import Target

OPTIONS = {
    "xla_gpu_enable_command_buffer": "FUSION,CUBLAS,CUSTOM_CALL,CONDITIONAL,WHILE",
    "xla_gpu_graph_min_graph_size": 1,
}
_SETTING = "JAXBANDITS_GPU_LOOPS"
_SECONDS = 120.0  # time limit of the test
_ROUNDS = (3, 0, 7)  # numbers of rounds in the calls of the test


def target_of(device: Any) -> Target:
    """Return the target of programs for a device."""
    if not target.is_accelerator(device.platform):
        return Target(device.platform, open_loops=True)
    return Target(device.platform, open_loops=runs_loops_in_graphs(device))


def runs_loops_in_graphs(device: Any) -> bool:
    """Return True if programs for a device may contain loops as nodes of CUDA graphs.

    Raises:
      InputError: if `JAXBANDITS_GPU_LOOPS` is set to anything but `graph` or `blocks`.
    """
    wanted = os.environ.get(_SETTING, "")
    if wanted not in ("", "graph", "blocks"):
        raise InputError(f"{_SETTING} must be graph or blocks, got {format_value(wanted)}")
    if wanted or device.platform not in ("gpu", "cuda"):
        return wanted == "graph"
    return _passes_test(device.id, f"{jax.__version__} {device.client.platform_version} {device.device_kind}")


@functools.cache
def _passes_test(device_id: int, versions: str) -> bool:
    """Return whether the test succeeds on a device, from the stored result if it exists."""
    directory = cache_directory()
    name = "gpu-loops-" + hashlib.sha256(versions.encode()).hexdigest()[:16]
    answer = _read(directory, name)
    if answer is None:
        answer = _run_test(device_id)
        if directory is not None:
            with contextlib.suppress(OSError):  # storing the result is best effort
                write_atomically(directory / name, b"yes" if answer else b"no", mode=0o600)
    if not answer:
        warnings.warn(
            "this GPU does not run loops inside CUDA graphs with this driver and JAX, so programs run rounds in "
            f"blocks, and projections take a fixed number of steps ({_SETTING}=graph overrides this)",
            RuntimeWarning,
            stacklevel=2,
        )
    return answer


def _read(directory: Path | None, name: str) -> bool | None:
    try:
        content = None if directory is None else read_private(directory, name)
    except OSError:
        return None
    return None if content is None else content == b"yes"


def _run_test(device_id: int) -> bool:
    """Run the test in a separate process, which may crash."""
    # That process allocates memory on demand, since this process holds memory, too.
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", _SETTING: "graph"}
    command = [sys.executable, "-m", "jaxbandits.programs.gpu_graphs", str(device_id)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def sum_of_steps(rounds: jax.Array, x: jax.Array) -> jax.Array:
    """Run the program of the test, and return the numbers `[n]` after some rounds.

    A round halves each number until it is below 1, adds 1/8 to all numbers if the first exceeds 0.6, and doubles all
    numbers; every third round also adds 1. The program thus has a loop of unknown length that contains two further
    loops of unknown length, one of which depends on a bool alone (`tracing.loops`), and a branch. The barriers keep the
    branch a conditional node of the graph; for a cheaper branch XLA would compute both sides and select.

    Args:
      rounds: `[]` number of rounds.
      x: `[n]` initial numbers.
    """

    def double(x: jax.Array) -> jax.Array:
        return lax.optimization_barrier(2.0 * x)

    def double_and_add(x: jax.Array) -> jax.Array:
        return lax.optimization_barrier(double(x) + 1.0)

    def play_round(t: jax.Array, x: jax.Array) -> jax.Array:
        x = lax.while_loop(lambda x: jnp.any(x >= 1.0), lambda x: jnp.where(x >= 1.0, 0.5 * x, x), x)
        is_due = x[0] > 0.6
        _, x = loops.while_loop(lambda carry: carry[0], lambda carry: (jnp.bool(False), carry[1] + 0.125), (is_due, x))
        return lax.cond(t % 3 == 2, double_and_add, double, x)

    return lax.fori_loop(0, rounds, play_round, x)


def main(device: object, options: dict[str, Any]) -> bool:
    """Compile the program of the test for a device, call it several times, and return True if its numbers are right."""
    x = np.linspace(0.1, 40.0, 64, dtype=np.float32)
    arguments = jax.device_put((np.int32(0), x), device)
    program = jax.jit(sum_of_steps).lower(*arguments).compile(compiler_options=options)
    for rounds in _ROUNDS:
        expected = x
        for t in range(rounds):
            while (expected >= 1.0).any():
                expected = np.where(expected >= 1.0, np.float32(0.5) * expected, expected)
            expected = 2 * (expected + 0.125 * (expected[0] > 0.6)) + (t % 3 == 2)
        results = np.asarray(program(jax.device_put(np.int32(rounds), device), arguments[1]))
        if not np.allclose(results, expected, rtol=1e-6):
            return False
    return True


if __name__ == "__main__":
    (chosen,) = (device for device in jax.local_devices() if device.id == int(sys.argv[1]))
    sys.exit(0 if main(chosen, OPTIONS) else 1)
