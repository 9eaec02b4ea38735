"""Measurements of `first_run`, which runs this module in child processes (`benchmarks.gpu.children`)."""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from benchmarks import precision
from benchmarks.gpu import rate
from benchmarks.gpu.agreement import array_path
from benchmarks.gpu.programs import CHAINS, LOOP_OPTIONS, builders
from jaxbandits import simulate
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base.version import __version__
from jaxbandits.engine import checkpoint, driver, width
from jaxbandits.programs import gpu_graphs
from jaxbandits.tracing import target


class Settings(NamedTuple):
    """Settings of a child."""

    folder: str  # directory of all children of a run, with a lock, checkpoints and arrays
    platform: str = "gpu"  # or "cpu"
    forced: bool = False  # programs as for a GPU, on a CPU
    loop_options: str = "graph"  # key of `LOOP_OPTIONS`
    seconds: float = 0.15  # duration of a measurement
    trials: int = 256
    rounds: int = 300
    width: int = 8192  # trials in a batch of a profile, or of `play_trials` on a GPU
    computed: str = ""  # form and precision of the arrays that `play_trials` saves


def describe_device(item: str, settings: Settings) -> Any:
    """Describe versions and the device, list learners, measure memory, or run the test of a user's first run."""
    device = jax.devices()[0]
    if item == "learners":
        return [*ALGORITHMS]
    if item == "first simulate":
        begin = time.perf_counter()
        passes = gpu_graphs.runs_loops_in_graphs(device)
        return {"form": "graph" if passes else "blocks", "seconds": time.perf_counter() - begin}
    if item == "copy":
        x = jnp.ones(2**22 if device.platform == "cpu" else 2**28, np.float32)
        copy = jax.jit(lambda x: 1.5 * x + 1.0)
        jax.block_until_ready(copy(x))
        with turn(settings):
            return {"GB a second": 2e-9 * x.nbytes / rate.best_of(lambda: jax.block_until_ready(copy(x)), 10)}
    smi = None
    if shutil.which("nvidia-smi"):
        query = "name,driver_version,memory.total,clocks.max.sm,clocks.sm,power.limit,compute_mode"
        command = ["nvidia-smi", f"--query-gpu={query}", "--format=csv"]
        smi = subprocess.run(command, capture_output=True, text=True).stdout
    return {
        "kind": device.device_kind,
        "platform": device.platform,
        "client": device.client.platform_version,
        "memory": width.memory_of(device),
        "nvidia-smi": smi,
        "ptxas": shutil.which("ptxas"),
        "cores": driver.available_cores(),
        "python": sys.version.split()[0],
        "jax": jax.__version__,
        "numpy": np.__version__,
        "jaxbandits": __version__,
    }


def run_loop_test(item: str, settings: Settings) -> Any:
    """Run the program with which the package tests whether loops run inside CUDA graphs."""
    begin = time.perf_counter()
    passes = gpu_graphs.main(jax.devices()[0], {} if settings.forced else gpu_graphs.OPTIONS | LOOP_OPTIONS[item])
    return {"passes": passes, "seconds": time.perf_counter() - begin}


def time_chain(item: str, settings: Settings) -> Any:
    """Time the rounds of a chain of kernels on 8192 numbers."""
    kernels, end, loop_options = CHAINS[item]

    def kernel(x: jax.Array, k: int) -> jax.Array:  # it reads entries that another thread has written
        return lax.optimization_barrier(0.999 * jnp.roll(x, k))

    def play_round(x: jax.Array) -> jax.Array:
        for k in range(kernels):
            x = kernel(x, k + 1)
        if end == "loop":  # a loop of one step
            start = (x + 1.0, 0 * jnp.min(x))
            x, _ = lax.while_loop(lambda s: jnp.any(s[0] > s[1]), lambda s: (s[0] - s[1], s[1] + 1e6), start)
        if end == "branch":
            x = lax.cond(x[0] > 0.5, lambda x: kernel(kernel(x, 1), 2), lambda x: kernel(kernel(x, 3), 4), x)
        return x

    x, rounds = np.linspace(0.5, 2.0, 8192, dtype=np.float32), 2000
    play = jax.jit(lambda n, x: lax.fori_loop(0, n, lambda t, x: play_round(x), x))
    options = {} if settings.forced else gpu_graphs.OPTIONS | LOOP_OPTIONS[loop_options]
    compiled = play.lower(np.int32(1), x).compile(compiler_options=options)
    jax.block_until_ready(compiled(np.int32(rounds), x))
    with turn(settings):
        long, short = (
            rate.best_of(lambda n=n: jax.block_until_ready(compiled(np.int32(n), x)), 3) for n in (rounds, rounds // 4)
        )
    return {"us a round": (long - short) / (0.75 * rounds) * 1e6, "us a call": (4 * short - long) / 3 * 1e6}


def play_trials(item: str, settings: Settings) -> Any:
    """Run trials of a program and save the metric `[trials, rounds]`, for a comparison with another device."""
    trials, rounds = settings.trials, settings.rounds
    batch = None if settings.platform == "cpu" else min(settings.width, trials)
    result = simulate(*builders()[item](), rounds, trials, record_points=rounds, width=batch, progress=False)
    (trial,) = (result[label] for label in result)
    metric = trial.metric()
    np.save(array_path(settings.folder, settings.computed, item), np.asarray(trial.get(metric))[0])
    failed = int(np.sum(trial.failures()))
    return {"metric": metric, "failed": failed, "compile_s": trial.timing["compile_s"]}


def compare_bits(item: str, settings: Settings) -> Any:
    """Run the same seeds twice, or kill a run after its third checkpoint, or resume the killed run."""
    pair = builders()["hvt_ucb d=2 K=50"]()
    batches: dict[str, Any] = {"record_points": 5, "width": 64, "progress": False, "workers": 1}
    whole = Path(settings.folder) / "whole.npy"
    if item == "same seeds twice":
        first, second = (simulate(*pair, 200, 128, **batches)["HvtUCB"].final("regret") for _ in range(2))
        np.save(whole, first)
        return {"equal": bool(np.array_equal(first, second))}
    if item == "killed":
        save, saved = checkpoint.Store.save, []

        def save_and_die(self: Any, *args: Any) -> None:
            save(self, *args)
            saved.append(args)
            if len(saved) == 3:
                tell(item=item, value="after its third checkpoint")
                os.kill(os.getpid(), signal.SIGKILL)

        checkpoint.Store.save = save_and_die
    batches |= {"checkpoint": Path(settings.folder) / "checkpoint", "save_every": 0.0, "seconds_per_call": 1e-4}
    regret = simulate(*pair, 200, 128, **batches)["HvtUCB"].final("regret")
    return {"equal": bool(np.array_equal(regret, np.load(whole)))}


def measure_rate(item: str, settings: Settings) -> Any:
    """Measure the item "program, width" on the device."""
    name, trials = item.rsplit(", ", 1)
    program, found = _measure(name, int(trials), settings, 1)
    # The peak is over all programs of this process.
    peak = (program.device.memory_stats() or {}).get("peak_bytes_in_use", 0) / 1e6
    return found | {"MB": rate.megabytes(program), "peak MB": peak}


def measure_cpu(item: str, settings: Settings) -> Any:
    """Measure the item "program, cores" on the CPU of this machine, with one batch of the default width per core."""
    name, cores = item.rsplit(", ", 1)
    _, found = _measure(name, 64, settings, int(cores))
    return found


def _measure(name: str, trials: int, settings: Settings, batches: int) -> tuple[Any, dict[str, Any]]:
    pair = builders()[name]()
    program = rate.compile_pair(pair, trials, jax.devices()[0])
    with turn(settings):
        found = rate.measure(program, pair, trials, settings.seconds, batches)
    return program, found._asdict() | {"compile_s": program.compile_s}


def measure_precision(item: str, settings: Settings) -> Any:
    """Measure float32 against float64: operations in units in the last place, or a learner of docs/precision.md."""
    if item != "operations":
        domain, learner = item.split(": ")
        with target.trace_for(gpu_graphs.target_of(jax.devices()[0])):
            options = {} if settings.forced else gpu_graphs.OPTIONS
            return precision.deviations(domain, learner, precision.record(), options)
    rng = np.random.default_rng(0)
    x, y = (np.exp(rng.uniform(-20.0, 20.0, 2**20)).astype(np.float32) for _ in range(2))
    operations: dict[str, Callable[[Any, Any, Any], Any]] = {
        "x / y": lambda xp, x, y: x / y,
        "1 / x": lambda xp, x, y: 1 / x,
        "sqrt x": lambda xp, x, y: xp.sqrt(x),
        "1 / sqrt x": lambda xp, x, y: 1 / xp.sqrt(x),
        "log x": lambda xp, x, y: xp.log(x),
        "exp(log(x) / 2)": lambda xp, x, y: xp.exp(xp.log(x) / 2),
        "cos log x": lambda xp, x, y: xp.cos(xp.log(x)),
    }
    found = {}
    for name, operation in operations.items():
        exact = operation(np, x.astype(np.float64), y.astype(np.float64))
        result = np.asarray(jax.jit(lambda x, y, operation=operation: operation(jnp, x, y))(x, y))
        unit = np.spacing(np.maximum(np.abs(exact), 0.5 if "log" in name else 0.0).astype(np.float32))
        found[name] = float(np.max(np.abs(result - exact) / unit))
    return found


def profile(item: str, settings: Settings) -> Any:
    """Return the ten kernels that take most time, without CUDA graphs, since profiles do not show kernels in graphs."""
    gpu_graphs.OPTIONS = {"xla_gpu_enable_command_buffer": ""}
    run: dict[str, Any] = {"record_points": 1, "width": settings.width, "progress": False}
    simulate(*builders()[item](), 200, settings.width, **run)
    directory = tempfile.mkdtemp(dir=settings.folder)
    with jax.profiler.trace(directory):
        simulate(*builders()[item](), 200, settings.width, **run)
    kernels: dict[str, list[float]] = {}
    for file in Path(directory).rglob("*.xplane.pb"):
        for plane in jax.profiler.ProfileData.from_file(str(file)).planes:
            for line in plane.lines if "gpu" in plane.name.lower() else ():
                for event in line.events if "stream" in line.name.lower() else ():
                    kernels.setdefault(event.name, []).append(event.duration_ns / 1e3)
    longest = sorted(kernels.items(), key=lambda entry: -sum(entry[1]))[:10]
    return {name[:60]: {"calls": len(us), "us a call": sum(us) / len(us)} for name, us in longest}


@contextlib.contextmanager
def turn(settings: Settings) -> Iterator[None]:
    """Hold the lock that lets one child at a time measure, while the others compile."""
    with open(Path(settings.folder) / "lock", "w") as file:
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.2)
            tell()  # since a child that waits must not count as silent
        yield


MEASURES: dict[str, Callable[[str, Settings], Any]] = {
    "device": describe_device,
    "loops": run_loop_test,
    "chains": time_chain,
    "numbers": play_trials,
    "bits": compare_bits,
    "rate": measure_rate,
    "cpu": measure_cpu,
    "precision": measure_precision,
    "profile": profile,
}


def tell(**message: Any) -> None:
    """Print a message to the parent."""
    print(json.dumps(message), flush=True)


def main(measure: str, settings: Settings, items: list[str]) -> None:
    """Measure items."""
    warnings.simplefilter("ignore")
    if settings.platform == "gpu" and not settings.forced and jax.devices()[0].platform == "cpu":
        sys.exit("JAX found no GPU and took the CPU")  # JAX does so silently, for any value of JAX_PLATFORMS
    gpu_graphs.OPTIONS = gpu_graphs.OPTIONS | LOOP_OPTIONS[settings.loop_options]
    if settings.forced:
        target.is_accelerator = lambda platform: True
    for item in items:
        tell(begin=item)
        try:
            value = MEASURES[measure](item, settings)
        except Exception as error:  # the next item may succeed
            value = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
        tell(item=item, value=value)


if __name__ == "__main__":
    main(sys.argv[1], Settings(**json.loads(sys.argv[2])), json.loads(sys.argv[3]))
