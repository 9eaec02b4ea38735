"""Compare results with the CPU, measure rounds per second, and fit the estimate, in the first minutes on a GPU.

    PYTHONPATH=. python -m benchmarks.gpu.first_run [--minutes 8] [--out DIR]

Only the dependencies of the package need to be installed. `DIR/first_run.json` is rewritten after every item, so that
it is useful even if the run is interrupted; `benchmarks.gpu.measured` inserts its tables into docs/gpus.md. This
process never imports JAX (`benchmarks.gpu.children`). Every step has a share of the time. A step that ends early leaves
its time to the next step, and items that were not measured in time are listed under "left out".

1. The device, versions, the test of loops with several options of XLA, and the cost of a node.
2. Results: the same trials on GPU and CPU, in both precisions; the same seeds twice; a run that is killed and resumed.
3. Speed of the programs in docs/gpus.md against the width, compared with one core and all cores of the CPU.
4. Fitted constants of `benchmarks.gpu.estimate`, and the ratio of every measured rate to the estimate.
5. Rounding errors of float32 against float64; then profiles of slow programs, and further widths.

`--forced` runs all steps on a CPU as a rehearsal, with programs as for a GPU. `--every-learner` only compares results,
for every registered learner on its example: single trials in float32 and batches in float64.
"""

import argparse
import functools
import itertools
import os
import signal
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu import measured
from benchmarks.gpu.agreement import array_path, compare
from benchmarks.gpu.children import Budget, Children, Record, Task
from benchmarks.gpu.programs import CHAINS, LOOP_OPTIONS, TABLE, TARGETS

MODULE, NO_GPU = "benchmarks.gpu.on_device", "JAX found no GPU"  # its last words
ROOT = Path(__file__).resolve().parents[2]
COMPARED = (  # one program of each kind
    "oful d=2 K=50",  # fixed arms
    "glb_omd d=5 K=20 fresh",  # fresh arms
    "hvt_ucb d=2 K=50",  # projection loop
    "glm/ecolog",  # likelihood loop
    "oons d=2", "ca_oons d=2", "menu d=2 K=50", "ofw_tvc d=10", "ucb1 K=10", "thompson_beta K=10",
    "disjoint_lin_ucb d=5 K=10",
)  # fmt: skip
TOO_LONG = {"glm/ecolog"}  # too slow in the form `blocks`, since a round has 5,760 masked steps
WIDTHS = (8192, 262_144, 65_536, 1024)  # the first two are measured first
PRECISIONS = ("float32", "float64")
ROUNDING = ("operations", "unit ball: OONS", "R^2: CA-OONS", "R^2: parameter-free MD")
# Shares of the time, cumulative, by which a step ends.
LOOPS, NUMBERS, SPEED, OTHER_FORM, CPU, ROUNDINGS, PROFILES, WIDER = 0.12, 0.34, 0.58, 0.64, 0.79, 0.85, 0.91, 0.98
# Without ptxas XLA compiles nothing, unless the driver may assemble; an XLA without this flag ends.
FLAGS = ("--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found=true", "")


class Run:
    """Child processes of one run, and the settings that they share."""

    def __init__(self, children: Children, folder: str, forced: bool):
        self.children, self.record, self.folder, self.forced = children, children.record, folder, forced
        self.flags, self.loop_options, self.has_graphs, self.one_by_one = FLAGS[0], "graph", True, False
        self.cores, self.seconds = len(os.sched_getaffinity(0)), 0.05 if forced else 0.15

    def on_gpu(
        self, section: str, measure: str, items: Sequence[str], share: float, *, form: str = "graph",
        dtype: str = "float32", silence: float = 90.0, preallocate: bool = False, **settings: Any,
    ) -> None:  # fmt: skip
        """Measure items on the GPU, until a share of the time has passed."""
        environment = {
            "JAX_PLATFORMS": "cpu" if self.forced else "cuda,cpu",
            "JAXBANDITS_GPU_LOOPS": form,
            "JAXBANDITS_CACHE": "off",
        }
        if not preallocate:
            environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        settings |= {"folder": self.folder, "forced": self.forced, "loop_options": self.loop_options}
        task = Task(section, measure, settings, self._environment(dtype, environment), silence)
        self.children.run(task, items, share)

    def on_cpu(
        self, section: str, measure: str, items: Sequence[str], share: float, dtype: str = "float32", **settings: Any
    ) -> None:
        """Measure items on the CPU, until a share of the time has passed."""
        environment = self._environment(
            dtype, {"JAX_PLATFORMS": "cpu", "JAXBANDITS_CACHE": str(Path(self.folder) / "cache")}
        )
        settings |= {"folder": self.folder, "platform": "cpu"}
        self.children.run(Task(section, measure, settings, environment), items, share)

    def _environment(self, dtype: str, changes: dict[str, str]) -> dict[str, str]:
        environment = {
            **os.environ,
            "JAX_ENABLE_X64": str(int(dtype == "float64")),
            "MPLCONFIGDIR": self.folder,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "XLA_FLAGS": f"{self.flags} {os.environ.get('XLA_FLAGS', '')}".strip(),
            **changes,
        }
        if not environment["XLA_FLAGS"]:
            del environment["XLA_FLAGS"]  # XLA fails if the variable is blank
        return environment

    def attempt(self, name: str, step: Callable[[], None]) -> None:
        """Run a step; an error in it is recorded, and the run continues."""
        try:
            step()
        except Exception as error:
            self.record.put("errors", name, f"{type(error).__name__}: {error}")

    def together(self, *calls: Callable[[], None]) -> None:
        """Run calls at the same time in threads."""
        with ThreadPoolExecutor(1 if self.one_by_one else min(len(calls), self.cores)) as pool:
            for future in [pool.submit(call) for call in calls]:
                future.result()

    def in_turns(self, items: list[str], measure: Callable[[list[str]], None]) -> None:
        """Measure items in several children; one of them measures while the others compile."""
        n = max(2, min(6, self.cores // 2))
        self.together(*(lambda k=k: measure(items[k::n]) for k in range(n)))


def find_device(run: Run) -> None:
    """Describe the device, and choose flags with which XLA runs.

    Raises:
      SystemExit: if there is no GPU.
    """
    error = ""
    for run.flags in FLAGS:
        run.on_gpu("facts", "device", ["device"], LOOPS, form="", silence=45.0)
        device = run.record.get("facts").get("device")
        if device:
            run.one_by_one = "Exclusive" in str(device["nvidia-smi"])  # mode in which one process may use it
            return
        error = next(iter(run.record.found["facts"].values()))["error"]
        if NO_GPU in error:
            break
    raise SystemExit(f"no GPU: {error}")


def try_loops(run: Run) -> None:
    """Run the test of loops, time chains of nodes, and choose the options of XLA for all later steps."""
    run.together(
        lambda: run.on_gpu(
            "facts", "device", ["first simulate", "copy"], LOOPS, form="", silence=130, preallocate=True
        ),
        lambda: run.on_gpu("loops", "loops", [*LOOP_OPTIONS], LOOPS, silence=60),
        lambda: run.on_gpu("chains", "chains", [*CHAINS], LOOPS, silence=60),
    )
    tried = {option: value for option, value in run.record.found.get("loops", {}).items() if option in LOOP_OPTIONS}
    passing = [option for option, value in tried.items() if option != "host" and value.get("passes")]
    run.loop_options = passing[0] if passing else "graph"
    run.has_graphs = bool(passing) or not tried
    run.record.put("choice", "form", "graph" if run.has_graphs else "blocks")
    run.record.put("choice", "options", run.loop_options)


def compare_numbers(run: Run, programs: Sequence[str]) -> None:
    """Run the same trials on GPU and CPU, and record how closely they agree."""
    size = {"trials": 64, "rounds": 60} if run.forced else {}
    calls = [lambda: run.on_gpu("bits", "bits", ["same seeds twice", "killed", "resumed"], NUMBERS, silence=150)]
    for dtype in PRECISIONS:
        section, more = f"numbers cpu {dtype}", {"dtype": dtype, "computed": f"cpu, {dtype}", **size}
        calls.append(lambda s=section, m=more: run.on_cpu(s, "numbers", programs, NUMBERS, **m))
        for form, skipped in (("graph", set()), ("blocks", TOO_LONG)):
            names = [name for name in programs if name not in skipped]
            for half in (names[::2], names[1::2]):
                more = {"form": form, "dtype": dtype, "silence": 150.0, "computed": f"{form}, {dtype}", **size}
                section = f"numbers {form} {dtype}"
                calls.append(lambda s=section, h=half, m=more: run.on_gpu(s, "numbers", h, NUMBERS, **m))
    run.together(*calls)
    put_agreement(run, programs, ("graph", "blocks"), PRECISIONS)


def compare_learners(run: Run) -> None:
    """Run every registered learner on its example, as single trials in float32 and as batches in float64."""
    run.on_gpu("facts", "device", ["learners"], LOOPS, form="")
    names = run.record.get("facts").get("learners", [])
    for dtype, size in (("float32", {"trials": 4, "width": 1}), ("float64", {"trials": 64})):
        task: dict[str, Any] = {"measure": "numbers", "share": 1.0, "dtype": dtype, "rounds": 120, **size}
        on_gpu = functools.partial(run.on_gpu, f"numbers graph {dtype}", computed=f"graph, {dtype}", **task)
        on_cpu = functools.partial(run.on_cpu, f"numbers cpu {dtype}", computed=f"cpu, {dtype}", **task)
        run.together(
            lambda measure=on_gpu: run.in_turns(names, lambda part: measure(items=part, silence=150.0)),
            lambda measure=on_cpu: run.in_turns(names, lambda part: measure(items=part)),
        )
    put_agreement(run, names, ("graph",), PRECISIONS)


def put_agreement(run: Run, programs: Sequence[str], forms: Sequence[str], precisions: Sequence[str]) -> None:
    """Record how closely the saved arrays of GPU and CPU agree."""
    for name, form, dtype in itertools.product(programs, forms, precisions):
        paths = [array_path(run.folder, f"{device}, {dtype}", name) for device in (form, "cpu")]
        if all(path.exists() for path in paths):
            run.record.put("agreement", f"{name}, {form}, {dtype}", compare(*map(np.load, paths), dtype))


def measure_rates(run: Run, form: str, programs: Sequence[str], widths: Sequence[int], share: float) -> None:
    """Measure rounds per second on the GPU."""
    items = [f"{name}, {width}" for width in widths for name in programs]
    run.in_turns(items, lambda part: run.on_gpu(f"rates {form}", "rate", part, share, form=form, seconds=run.seconds))


def measure_cpu(run: Run, programs: Sequence[str]) -> None:
    """Measure one core of the CPU, then all cores with the programs that were compiled for one core."""

    def measure(items: list[str]) -> None:
        run.on_cpu("rates cpu", "cpu", items, CPU, seconds=run.seconds)

    run.in_turns([f"{name}, 1" for name in programs], measure)
    measure([f"{name}, {run.cores}" for name in programs])


def put_fit(run: Run) -> None:
    """Fit the constants of the estimate, and record them with the ratio of each rate to the estimate."""
    for item, value in measured.fit_costs(run.record.found).items():
        run.record.put("fit", item, value)


def profile(run: Run, programs: Sequence[str], width: int) -> None:
    """Profile two programs: the slowest among those below half of their estimate, otherwise the first of the list."""
    multiples = {item: x["of fitted"] for item, x in run.record.get("fit").items() if "of fitted" in x}
    slow = [item.rsplit(", ", 1)[0] for item in sorted(multiples, key=multiples.__getitem__) if multiples[item] < 0.5]
    chosen = [*dict.fromkeys([*slow, *programs])][:2]
    run.on_gpu("profiles", "profile", chosen, PROFILES, width=width)


def main(args: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.first_run")
    parser.add_argument("--minutes", type=float, default=8.0, help="time limit in minutes")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", "results/first_run")), metavar="DIR")
    parser.add_argument("--forced", action="store_true", help="run on a CPU the programs that a GPU would run")
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    programs = dict.fromkeys([*TABLE, *COMPARED])
    parser.add_argument(
        "--programs",
        nargs="+",
        default=programs,
        choices=programs,
        metavar="NAME",
        help="names of the programs to measure (default: all)",
    )
    parser.add_argument(
        "--every-learner",
        action="store_true",
        help="only compare the results of every registered learner with those on the CPU",
    )
    arguments = parser.parse_args(args)
    if not arguments.minutes >= 1.0:
        parser.error(f"argument --minutes: must be at least 1, got {arguments.minutes:g}")
    widths = arguments.widths
    table, compared, in_both_forms = (
        [name for name in names if name in arguments.programs] for names in (TABLE, COMPARED, TARGETS)
    )
    budget = Budget(60 * arguments.minutes)
    record = Record(arguments.out / "first_run.json")
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: budget.stop())  # the measurements up to then are summarised
    with tempfile.TemporaryDirectory(prefix="first-run-") as folder:
        run = Run(Children(MODULE, record, budget), folder, arguments.forced)
        find_device(run)
        run.attempt("loops", lambda: try_loops(run))
        if arguments.every_learner:
            run.attempt("learners", lambda: compare_learners(run))
            print(measured.measurements(record.found))
            return
        form, other = ("graph", "blocks") if run.has_graphs else ("blocks", "graph")
        steps: dict[str, Callable[[], None]] = {
            "numbers": lambda: compare_numbers(run, compared),
            "speed": lambda: measure_rates(run, form, table, widths[:2], SPEED),
            "other form": lambda: measure_rates(run, other, in_both_forms, widths[:1], OTHER_FORM),
            "CPU": lambda: measure_cpu(run, table),
            "fit": lambda: put_fit(run),
            "rounding": lambda: run.on_gpu("rounding", "precision", ROUNDING, ROUNDINGS),
            "profiles": lambda: profile(run, table, widths[0]),
            "wider": lambda: measure_rates(run, form, table, widths[2:], WIDER),
            "fit of all": lambda: put_fit(run),
            "summary": lambda: print(measured.measurements(record.found)),
        }
        for name, step in steps.items():
            run.attempt(name, step)


if __name__ == "__main__":
    main()
