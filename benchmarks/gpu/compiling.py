"""Compile a program for a GPU on a machine without this GPU, and count its operations.

XLA's plug-in compiles for a described device without a driver. The counts are read from XLA's dump: the sequence of
operations after the conversion to CUDA graphs, and PTX, for which ptxas (if installed) gives registers and spills.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gpu import memory, thunks
from benchmarks.gpu.devices import GPUS, Gpu, describe
from benchmarks.gpu.thunks import Thunk

RECORD_CAPACITY = 100
_DUMP = Path(tempfile.mkdtemp(prefix="jaxbandits-gpu-"))


def prepare() -> None:
    """Set the environment variables that JAX and XLA read when they are imported."""
    if "jax" in sys.modules:
        raise RuntimeError("benchmarks.gpu must be imported before jax")
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"  # that check needs a driver
    os.environ["JAX_PLATFORMS"] = ""  # the plug-in is found, and none of its devices
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    os.environ["JAXBANDITS_GPU_LOOPS"] = "graph"
    os.environ["XLA_FLAGS"] = f"--xla_dump_to={_DUMP} --xla_dump_hlo_as_text --xla_dump_emitter_re=gpu|ptx|backend"


class Counts(NamedTuple):
    """Counts of a compiled program, for a round in which every loop runs one step."""

    nodes: int  # kernels, copies and predicates, with the longest branches
    usual_nodes: int  # the same with the shortest branches, as in most rounds
    steps: list[int]  # number of nodes of one more step, for each loop inside the round
    launches: int  # number of launches by the host per call, for any number of rounds and record points
    host_predicates: int  # number of loops and branches whose predicate the host reads
    uncomputed_predicates: int  # loops whose predicate no kernel computes
    kilobytes: tuple[float, float]  # moved per trial: without any step of the loops inside the round, and with one step
    needed: float  # kB of a trial: its state read and written, arms and hyperparameters read
    instructions: float  # number of PTX instructions per trial
    registers: int  # registers of the largest kernel; 0 without ptxas
    spilled: int  # bytes that kernels spill; 0 without ptxas
    float64: int  # instructions with float64 operands
    temporary: float  # kB of temporary memory per trial
    libraries: list[str]  # kinds of library calls
    seconds: float  # seconds of compilation


def count(pair: Any, gpu: str, width: int) -> Counts:
    """Compile the rounds of a pair of algorithm and environment, and count their operations.

    Args:
      pair: algorithm and environment.
      gpu: key of `GPUS`.
      width: number of trials in a batch.
    """
    import jax
    import numpy as np

    from jaxbandits.base.pytree import as_arrays, map_traced
    from jaxbandits.engine import program
    from jaxbandits.programs.compilation import trace_unit
    from jaxbandits.programs.gpu_graphs import target_of

    device = _device(gpu)
    sharding = jax.sharding.SingleDeviceSharding(device)

    def of_one(x: Any) -> Any:
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)

    def of_batch(x: Any) -> Any:
        return jax.ShapeDtypeStruct((*x.shape, width), x.dtype, sharding=sharding)

    algorithm, environment = as_arrays(pair)
    trial = program.TraceCache().get((), algorithm, environment, device)
    args = tuple(jax.tree.map(of_one, map_traced(of_batch, x)) for x in (algorithm, environment))
    args += (jax.tree.map(of_batch, trial.carry),)
    t, points = (jax.ShapeDtypeStruct(shape, np.int32, sharding=sharding) for shape in ((), (RECORD_CAPACITY,)))
    begin = time.perf_counter()
    unit = program.loop_unit(trial, width, args, (t, t, points))
    compiled, tree, ptx = _compile(trace_unit(unit, target_of(device)))
    seconds, hlo = time.perf_counter() - begin, compiled.as_text()
    body = _round(tree)
    instructions = {name: len(re.findall(r";\s*$", text, re.M)) for name, text in _entries(ptx).items()}
    work = sum(x.threads * instructions.get(x.kernel, 0) for x in thunks.walk(body))
    registers, spilled = _assemble(ptx, GPUS[gpu])
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(args[2]) if hasattr(x.dtype, "itemsize"))
    told = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(args[:2]))
    return Counts(
        nodes=thunks.nodes(body),
        usual_nodes=thunks.nodes(body, min),
        steps=thunks.further_steps(body),
        launches=thunks.launches(tree),
        host_predicates=thunks.host_predicates(tree),
        uncomputed_predicates=thunks.uncomputed_predicates(tree),
        kilobytes=(
            round(memory.bytes_of_round(hlo, with_loops=False) / width / 1e3, 2),
            round(memory.bytes_of_round(hlo, with_loops=True) / width / 1e3, 2),
        ),
        needed=round((2 * state + told) / width / 1e3, 2),
        instructions=round(work / width),
        registers=registers,
        spilled=spilled,
        float64=sum(len(re.findall(r"^\s*(?:@%p\d+ )?\w+\.[\w.]*f64", text, re.M)) for text in ptx),
        temporary=round(compiled.memory_analysis().temp_size_in_bytes / width / 1e3, 2),
        libraries=thunks.calls_of_libraries(tree),
        seconds=round(seconds, 1),
    )


def kinds_in_test() -> set[str]:
    """Return the kinds of operations that lie in CUDA graphs in the program that tests a user's GPU."""
    import jax
    import numpy as np

    from jaxbandits.programs import gpu_graphs

    sharding = jax.sharding.SingleDeviceSharding(_device("h100"))
    shapes = [((), np.int32), ((64,), np.float32)]
    args = [jax.ShapeDtypeStruct(shape, dtype, sharding=sharding) for shape, dtype in shapes]
    _, tree, _ = _compile(jax.jit(gpu_graphs.sum_of_steps).trace(*args))
    return {thunk.kind for graph in tree if graph.kind == "kCommandBuffer" for thunk in thunks.walk([graph])}


def _device(gpu: str) -> Any:
    from jax.experimental import topologies

    return topologies.get_topology_desc(platform="cuda", target_config=describe(GPUS[gpu]), topology="1x1x1").devices[0]


def _compile(traced: Any) -> tuple[Any, list[Thunk], list[str]]:
    """Compile a `jax.stages.Traced` as the package does; return it with its sequence of operations and its PTX."""
    from jaxbandits.programs import gpu_graphs

    compiled = traced.lower(lowering_platforms=("cuda",)).compile(compiler_options=gpu_graphs.OPTIONS)
    dumped = sorted(_DUMP.iterdir())
    (sequence,) = (path.read_text() for path in dumped if path.name.endswith("after_thunk_passes.txt"))
    ptx = [path.read_text() for path in dumped if path.suffix == ".ptx"]
    for path in dumped:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return compiled, thunks.parse(sequence), ptx


def _round(tree: list[Thunk]) -> list[Thunk]:
    """Return the operations of one round: predicate and body of the largest loop inside the loop over record points."""
    outer = next(filter(thunks.is_loop, thunks.walk(tree)))
    rounds = max(filter(thunks.is_loop, outer.parts["body"]), key=lambda x: len([*thunks.walk([x])]))
    return rounds.parts.get("condition", []) + rounds.parts["body"]


def _entries(ptx: list[str]) -> dict[str, str]:
    """Return the code of each kernel by name."""
    found = {}
    for text in ptx:
        for match in re.finditer(r"\.entry (\w+)\(", text):
            found[match[1]] = text[match.end() :].split("\n}", 1)[0]
    return found


def _assemble(ptx: list[str], gpu: Gpu) -> tuple[int, int]:
    """Return the registers of the largest kernel and the bytes that all kernels spill; zeros without ptxas."""
    if shutil.which("ptxas") is None:
        return 0, 0
    registers, spilled = 0, 0
    for text in ptx:
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(text)
            file.flush()
            command = ["ptxas", "-v", f"-arch={gpu.sm}", file.name, "-o", os.devnull]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        registers = max([registers, *map(int, re.findall(r"Used (\d+) registers", said))])
        spilled += sum(map(int, re.findall(r"(\d+) bytes spill stores", said)))
    return registers, spilled
