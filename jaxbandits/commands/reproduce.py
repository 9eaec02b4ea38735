"""Command `reproduce`, which runs an experiment of a paper, or the experiments of a budget."""

import argparse
import contextlib
import gc
import io
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxbandits.commands import data as data_lib
from jaxbandits.commands import report as report_lib
from jaxbandits.commands.arguments import number, path, settings, whole, with_plugins

if TYPE_CHECKING:
    from jaxbandits.commands.arguments import Subparsers
    from jaxbandits.reproduction import Experiment
    from jaxbandits.reproduction.engine.budget import BudgetRun
    from jaxbandits.reproduction.engine.run import Report

_MOST_PROCESSES = 8  # default limit of parallel processes: each holds a few hundred megabytes


def add(commands: "Subparsers") -> None:
    """Add the parser of `reproduce`."""
    about = settings()
    reproduce = commands.add_parser(
        "reproduce",
        parents=[with_plugins()],
        help="rerun an experiment of a paper: tables, verdicts on its claims, figures",
    )
    reproduce.add_argument(
        "experiment",
        help="a name such as linear/fig1 (see `jaxbandits list experiments`), a family such as linear/all, or all",
    )
    reproduce.add_argument(
        "--seeds", type=whole, help="number of trials per algorithm (default: that of the experiment)"
    )
    reproduce.add_argument("--horizon", type=whole, help="number of rounds per trial (default: that of the experiment)")
    reproduce.add_argument(
        "--preset",
        help="set of constants of the learners (default: the first that `show` lists; the ledger counts its verdicts)",
    )
    reproduce.add_argument(
        "--interpretation",
        help="another interpretation of an ambiguous passage of the paper, if the experiment has one (see `show`)",
    )
    reproduce.add_argument("--seed", type=whole, default=0, help=f"{about['seed']} (default: 0)")
    reproduce.add_argument(
        "-o", "--out", type=path, help="directory for figures and data (default: results/<experiment>)"
    )
    reproduce.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="LABEL",
        help="exclude the algorithm with this label (may be repeated)",
    )
    reproduce.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="LABEL",
        help="run only the algorithm with this label (may be repeated)",
    )
    reproduce.add_argument("--no-timing", action="store_true", help="do not measure the time per round")
    reproduce.add_argument(
        "--first-seed",
        type=whole,
        default=0,
        help=f"{about['first_seed']}; `merge` joins the result files of several runs (default: 0)",
    )
    reproduce.add_argument("--float64", action="store_true", help="compute in float64, which is slower")
    reproduce.add_argument("--data", type=Path, help="your copy of the data set, if the experiment uses one")
    reproduce.add_argument("--workers", type=whole, help=about["workers"])
    reproduce.add_argument(
        "--save-every", type=number, default=10.0, metavar="SECONDS", help=f"{about['save_every']} (default: 10)"
    )
    reproduce.add_argument(
        "--overwrite", action="store_true", help="discard the interrupted or finished run in --out, and start again"
    )
    reproduce.add_argument("--identity", metavar="NAME", help=about["identity"])
    reproduce.add_argument("--quiet", action="store_true", help="do not show progress")
    reproduce.add_argument(
        "--budget",
        help="run everything in the budget quick, standard or full, which determines --seeds, --horizon, --preset, "
        "--interpretation and --seed",
    )
    reproduce.add_argument(
        "--processes",
        type=whole,
        metavar="N",
        help="with --budget: number of experiments that run in parallel (default: 1; with quick, one per core and "
        f"at most {_MOST_PROCESSES})",
    )
    reproduce.set_defaults(run=_reproduce, compile="full", formats=None)


def _reproduce(arguments: argparse.Namespace) -> int:
    import jax

    arguments.float64 |= jax.config.read("jax_enable_x64")
    from jaxbandits.base.errors import InputError
    from jaxbandits.engine import process_memory
    from jaxbandits.reproduction import EXPERIMENTS
    from jaxbandits.reproduction.engine.experiment import choose

    _warn_once()
    experiments = choose(EXPERIMENTS, arguments.experiment)
    if arguments.data is not None:
        if len(experiments) > 1:
            raise InputError("--data goes with one experiment only, since experiments have different data sets")
        experiments = [experiments[0].with_data(arguments.data)]
    for experiment in experiments:
        experiment.with_interpretation(arguments.interpretation).preset(arguments.preset)  # before anything is computed
    out = arguments.out or Path("results") / arguments.experiment.replace("/", "-")
    if arguments.budget is None and arguments.processes is not None:
        raise InputError("--processes goes with --budget; a single experiment uses --workers")
    if arguments.budget is not None:
        return _reproduce_budget(experiments, out, arguments)
    if len(experiments) == 1:
        _reproduce_one(*_with_data(experiments[0], arguments.data), out, arguments)
        return 0
    for i, experiment in enumerate(experiments, start=1):
        print(f"[{i}/{len(experiments)}] {experiment.name}", file=sys.stderr)
        directory = out / experiment.name.replace("/", "-")
        if i > 1:
            process_memory.release()
        _reproduce_one(*_with_data(experiment, None), directory, arguments)
        print()
    report_lib.write_all(out)
    return 0


def _with_data(experiment: "Experiment", given: Path | None) -> "tuple[Experiment, Path | None]":
    """Return an experiment on its published data set and the path of the data; print how to download missing data."""
    if given is not None:  # the experiment already uses these data
        return experiment, given
    path, message = data_lib.data_on_this_machine(experiment)
    if message:
        print(message, file=sys.stderr)
    return (experiment, None) if path is None else (experiment.with_data(path), path)


def _warn_once() -> None:
    """Print each warning once per process, without its place in the code."""
    import warnings

    said: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in said:
            print(f"warning: {message}", file=sys.stderr)
        said.add(str(message))

    warnings.showwarning = show


def _reproduce_one(experiment: "Experiment", data: Path | None, out: Path, arguments: argparse.Namespace) -> "Report":
    import jax

    from jaxbandits.base import files as files_lib
    from jaxbandits.base.errors import InputError
    from jaxbandits.base.text import count_of
    from jaxbandits.engine.checkpoint import discard_all
    from jaxbandits.reproduction.engine.run import left_out, run
    from jaxbandits.reproduction.figures.render import FORMATS
    from jaxbandits.reproduction.ledger import files, finished

    start = files.Start.at_present()
    experiment = experiment.with_interpretation(arguments.interpretation)
    jax.config.update("jax_enable_x64", arguments.float64 or experiment.float64)
    checkpoint = out / "checkpoint"
    preset = experiment.preset(arguments.preset)
    without = left_out(experiment, preset, arguments.horizon, arguments.include, arguments.exclude)
    asked = finished.request(
        experiment,
        seeds=arguments.seeds,
        horizon=arguments.horizon,
        preset=preset,
        without=without,
        seed=arguments.seed,
        data=data,
        first_seed=arguments.first_seed,
        timing=not arguments.no_timing,
        host_code=_host_code(experiment, arguments),
        identity=arguments.identity,
        compile=arguments.compile,
    )
    with files_lib.lock_directory(out):
        if arguments.overwrite:
            finished.refuse_a_sweep(out)
            discard_all(checkpoint)
            finished.set_aside(out)  # otherwise the run could not be resumed
        elif (report := finished.find(experiment, asked, out)) is not None:
            print(f"{out} already contains this run, which is finished; --overwrite recomputes it", file=sys.stderr)
            print((out / files.text_name(experiment)).read_text(encoding="utf-8"), end="")
            return report
        try:
            report = run(
                experiment,
                seeds=arguments.seeds,
                horizon=arguments.horizon,
                preset=preset,
                without=without,
                timing=not arguments.no_timing,
                checkpoint=checkpoint,
                seed=arguments.seed,
                first_seed=arguments.first_seed,
                workers=arguments.workers,
                save_every=arguments.save_every,
                progress=not arguments.quiet,
                identity=arguments.identity,
                compile=arguments.compile,
            )
        except KeyboardInterrupt:
            same = "the same command" + (" without --overwrite" if arguments.overwrite else "")
            print(f"jaxbandits: stopped; {same} resumes the run from {checkpoint}", file=sys.stderr)
            raise
        if faults := [verdict for verdict in report.judged if verdict.fault]:
            same = "the same command" + (" without --overwrite" if arguments.overwrite else "")
            more = f"; {count_of(len(faults) - 1, 'more claim')} cannot be computed" if faults[1:] else ""
            raise InputError(
                f"claim {faults[0].claim.id} of {experiment.name}: {faults[0].fault} (correct the claim, and {same} "
                f"judges the trials, which are kept in {checkpoint}{more})"
            )
        if not arguments.quiet:
            n = len(report.experiment.figures)
            print(f"writing tables and {n} figure{'s' * (n != 1)} to {out}", file=sys.stderr)
        before = finished.judged_before(asked, out)
        written = files.write(report, out, asked, start, before, arguments.formats or FORMATS)
        finished.discard_earlier(out, written)
        discard_all(checkpoint)
    print(files.text(report))
    print("", files.effort(report, time.perf_counter() - start.at), sep="\n")
    print("wrote", *written, sep="\n  ")
    return report


def _host_code(experiment: "Experiment", arguments: argparse.Namespace) -> list[str]:
    """Describe the user's code on which a run depends."""
    from jaxbandits.reproduction import BUILT_IN

    of_user = [*map(str, arguments.plugin), *([] if experiment.name in BUILT_IN else [experiment.name])]
    return [f"{', '.join(of_user)} is your own code"] if of_user else []


def _reproduce_budget(experiments: "Sequence[Experiment]", out: Path, arguments: argparse.Namespace) -> int:
    """Run all experiments of a budget, each in a separate directory; the same command resumes.

    If a run fails, its name is printed, the others continue, and the exit code is 1.
    """
    from jaxbandits.base import ranges
    from jaxbandits.base.errors import InputError
    from jaxbandits.engine.driver import available_cores
    from jaxbandits.reproduction.engine.budget import parts

    given = [name for name, unset in _BY_BUDGET.items() if getattr(arguments, name) != unset]
    if given:
        raise InputError(f"--budget sets --{', --'.join(_BY_BUDGET)}: omit --{given[0]}")
    usual = min(available_cores(), _MOST_PROCESSES) if arguments.budget == "quick" else 1
    processes = usual if arguments.processes is None else ranges.integer("--processes", arguments.processes)
    planned = [
        (experiment, part)
        for experiment in experiments
        for part in parts(experiment, arguments.budget, arguments.float64)
    ]
    if not planned:
        raise InputError(
            f"{experiments[0].name} only measures times, which the budget {arguments.budget} does not include"
        )
    failed, begin = [], time.perf_counter()
    outcomes: Iterable[_Outcome] = _run_one_after_another(planned, out, arguments)
    with contextlib.ExitStack() as stack:
        if processes > 1 and len(planned) > 1:
            planned.sort(key=lambda run: -_size(*run))  # a long run that starts last would leave cores idle
            submit = stack.enter_context(_processes(processes, arguments))
            futures = [submit(_run_apart, x.name, part, out, arguments) for x, part in planned]
            outcomes = (future.result() for future in as_completed(futures))
        for i, outcome in enumerate(outcomes, start=1):
            print(outcome.printed, end="")
            print(outcome.errors, end="", file=sys.stderr)
            failed += [] if outcome.worked else [outcome.name]
            took, so_far = f"{outcome.seconds:.1f} s", time.perf_counter() - begin
            print(f"[{i}/{len(planned)}] {outcome.name}: {took}, {so_far:.0f} s in total", file=sys.stderr)
    if len(failed) < len(planned):
        report_lib.write_all(out)
    if failed:
        print(f"jaxbandits: {len(failed)} of {len(planned)} runs failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _size(experiment: "Experiment", part: "BudgetRun") -> int:
    """Return the number of programs of a run; 0 for an experiment that raises, whose run will report the error."""
    from jaxbandits.reproduction.engine.budget import n_programs

    try:
        return n_programs(experiment, part)
    except Exception:  # any error of a user's experiment
        return 0


class _Outcome(NamedTuple):
    """Exit status of a run of a budget, and its output if it ran in a separate process."""

    name: str
    worked: bool
    seconds: float
    printed: str = ""
    errors: str = ""


def _run_one_after_another(
    planned: "Sequence[tuple[Experiment, BudgetRun]]", out: Path, arguments: argparse.Namespace
) -> Iterator[_Outcome]:
    """Run experiments in this process, and release the memory of each one before the next."""
    from jaxbandits.engine import process_memory

    for i, (experiment, part) in enumerate(planned):
        if i > 0:
            process_memory.release()
        yield _run_part(experiment, part, out, arguments)


def _run_part(experiment: "Experiment", part: "BudgetRun", out: Path, arguments: argparse.Namespace) -> _Outcome:
    """Run one experiment with the settings of a budget."""
    from jaxbandits.base.errors import InputError
    from jaxbandits.reproduction.engine.run import labels_of

    name, since, worked = experiment.name.replace("/", "-") + part.suffix, time.perf_counter(), False
    print(f"{name} ...", file=sys.stderr)
    changed = dict(part.settings)
    slow = changed.pop("without", ())
    try:
        experiment, data = _with_data(experiment, arguments.data)
        here = labels_of(experiment, changed["preset"], changed["horizon"])
        changed["exclude"] = [*arguments.exclude, *(label for label in slow if label in here)]
        _reproduce_one(experiment, data, out / name, argparse.Namespace(**(vars(arguments) | changed)))
        worked = True
    except InputError as error:
        print(f"jaxbandits: {name}: {error}", file=sys.stderr)
    except Exception:  # an error of one experiment must not discard hours of the others
        traceback.print_exc()
    return _Outcome(name, worked, time.perf_counter() - since)


def _run_apart(name: str, part: "BudgetRun", out: Path, arguments: argparse.Namespace) -> _Outcome:
    """Run one experiment in a separate process, and collect its output."""
    from jaxbandits.engine import process_memory
    from jaxbandits.reproduction import EXPERIMENTS

    process_memory.release()  # that of earlier experiments in this process
    printed, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        experiment = EXPERIMENTS[name] if arguments.data is None else EXPERIMENTS[name].with_data(arguments.data)
        outcome = _run_part(experiment, part, out, arguments)
    return outcome._replace(printed=printed.getvalue(), errors=errors.getvalue())


@contextlib.contextmanager
def _processes(n: int, arguments: argparse.Namespace) -> Iterator[Callable[..., Any]]:
    """Start processes that end with the block, and yield a function that submits calls to them.

    Only this process receives an interrupt; the runs can be resumed.

    Raises:
      InputError: if one of them is killed, for example for lack of memory.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    from jaxbandits.base.errors import InputError
    from jaxbandits.engine.driver import available_cores

    arguments.quiet = True  # progress bars of several runs would share a line
    if arguments.workers is None:
        arguments.workers = max(1, available_cores() // n)
    os.environ.setdefault("OMP_NUM_THREADS", str(arguments.workers))  # the processes' BLAS would use all cores
    first = arguments.plugin, gc.get_threshold()  # that of a process with one task, see `cli.process`
    pool = ProcessPoolExecutor(n, multiprocessing.get_context("spawn"), _begin, first)
    try:
        yield pool.submit
    except BrokenProcessPool:
        raise InputError(
            "a process was killed, perhaps for lack of memory: run the same command again to resume, with "
            "--processes 1 if necessary"
        ) from None
    finally:
        for process in multiprocessing.active_children():
            process.terminate()
        pool.shutdown(cancel_futures=True)


def _begin(files: Sequence[str], thresholds: tuple[int, int, int]) -> None:
    """Initialise a process of the pool: plug-ins, interrupts (ignored), thresholds of garbage collection."""
    from jaxbandits import plugins

    gc.set_threshold(*thresholds)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    _warn_once()
    for file in files:
        plugins.load(file)


# Arguments that a budget sets, with their defaults.
_BY_BUDGET = {"seeds": None, "horizon": None, "preset": None, "interpretation": None, "seed": 0}
