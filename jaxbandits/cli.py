"""The command line. Nothing heavy is imported before the arguments are known: `--help` answers at once."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandits import __version__
from jaxbandits import commands as commands_lib

if TYPE_CHECKING:
    from jaxbandits.core.registry import Entry
    from jaxbandits.experiments import Experiment
    from jaxbandits.experiments.run import Report
    from jaxbandits.sweeps.sweep import Planned


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; the exit code is 0, 1 when parts of a sweep failed, 2 for a mistake, 130 when interrupted."""
    arguments = _parser().parse_args(argv)
    # XLA's banners about slow compilation are no errors of a user's; whatever fails raises.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from jaxbandits.core.errors import InputError

    try:
        for plugin in getattr(arguments, "plugin", ()):
            from jaxbandits import plugins

            plugins.load(plugin)
        return arguments.run(arguments)
    except InputError as error:
        print(f"jaxbandits: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("jaxbandits: interrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jaxbandits", description="Vectorised simulation of bandit and online-learning algorithms."
    )
    parser.add_argument("--version", action="version", version=f"jaxbandits {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    settings = _settings()
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument(
        "--plugin", action="append", default=[], metavar="FILE",
        help="a Python file that registers your own algorithms, environments, experiments (may be repeated)",
    )  # fmt: skip

    reproduce = commands.add_parser(
        "reproduce", parents=[own], help="run a paper's experiment: table, claims with verdicts, figure"
    )
    reproduce.add_argument(
        "experiment", help="name, such as linear/fig1 (see `jaxbandits list experiments`), or linear/all, or all"
    )
    reproduce.add_argument("--seeds", type=_whole, help="trials per algorithm (default: the experiment's)")
    reproduce.add_argument("--horizon", type=_whole, help="rounds per trial (default: the paper's)")
    reproduce.add_argument("--preset", help="constants to use (default: the experiment's first preset)")
    reproduce.add_argument("--seed", type=_whole, default=0, help=f"{settings['seed']} (default: 0)")
    reproduce.add_argument("--out", type=Path, help="directory for figures and data (default: results/<experiment>)")
    reproduce.add_argument(
        "--without", action="append", default=[], metavar="LABEL", help="leave an algorithm out (may be repeated)"
    )
    reproduce.add_argument(
        "--only", action="append", default=[], metavar="LABEL", help="run this algorithm (may be repeated)"
    )
    reproduce.add_argument("--no-timing", action="store_true", help="do not measure times per round")
    reproduce.add_argument(
        "--first-seed",
        type=_whole,
        default=0,
        help=f"{settings['first_seed']}; `merge` joins result files (default: 0)",
    )
    reproduce.add_argument("--float64", action="store_true", help="double precision (half the speed)")
    reproduce.add_argument("--data", type=Path, help="the user's own copy of the data set, where an experiment has one")
    reproduce.add_argument("--workers", type=_whole, help=settings["workers"])
    reproduce.add_argument(
        "--save-every", type=_number, default=10.0, metavar="SECONDS", help=f"{settings['save_every']} (default: 10)"
    )
    reproduce.add_argument(
        "--fresh", action="store_true", help="replace what --out holds, an interrupted or a finished run"
    )
    reproduce.add_argument("--quiet", action="store_true", help=f"without {settings['progress']}")
    reproduce.add_argument(
        "--budget", help="quick, standard or full, in place of --seeds, --horizon, --preset and --seed"
    )
    reproduce.set_defaults(run=_reproduce)

    report = commands.add_parser("report", help="the ledger of finished runs as one HTML file")
    report.add_argument("directory", type=Path, help="where `reproduce` wrote, such as results/all")
    report.add_argument("-o", "--out", type=Path, help="the file (default: DIRECTORY/ledger.html)")
    report.add_argument("--markdown", type=Path, metavar="FILE", help="also as a page of tables")
    report.set_defaults(run=_report)

    sweep = commands.add_parser("sweep", parents=[own], help="run a sweep file; the same command resumes")
    sweep.add_argument("file", type=Path, help="TOML: algorithms, environments, horizon, seeds (see docs/sweeps.md)")
    sweep.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE",
        help="another value than the file's, such as horizon=500 or env.dim=5,10 (may be repeated)",
    )  # fmt: skip
    sweep.add_argument("--out", type=Path, help="directory of the sweep (default: the file's `out`, or results/FILE)")
    sweep.add_argument("--dry-run", action="store_true", help="check the file; say what it would cost")
    sweep.add_argument("--shard", type=_shard, default=(1, 1), metavar="I/N", help="every N-th part, from the I-th on")
    sweep.add_argument("--fail-fast", action="store_true", help="stop at the first part that fails")
    sweep.add_argument("--retry-failed", action="store_true", help="try parts again that failed before")
    sweep.add_argument("--workers", type=_whole, help=settings["workers"])
    sweep.add_argument(
        "--save-every", type=_number, default=10.0, metavar="SECONDS", help=f"{settings['save_every']} (default: 10)"
    )
    sweep.add_argument("--quiet", action="store_true", help=f"without {settings['progress']}")
    sweep.set_defaults(run=_sweep)

    submit = commands.add_parser("submit", help="run a sweep file as jobs of a cluster; the same command resumes")
    submit.add_argument("file", type=Path, help="the sweep file")
    submit.add_argument("--cluster", required=True, metavar="slurm|local", help="local: processes on this machine")
    submit.add_argument("--jobs", type=_whole, default=1, help="how many; job i of n runs `--shard i/n` (default: 1)")
    submit.add_argument(
        "--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE", help="as for sweep"
    )
    submit.add_argument("--out", type=Path, help="directory of the sweep, seen by all nodes (default: as for sweep)")
    submit.add_argument("--minutes", type=_whole, default=60, help="of a job, which then is queued again (default: 60)")
    submit.add_argument("--cpus", type=_whole, help="cores of a job, and threads (default: the cluster's)")
    submit.add_argument("--gpus", type=_whole, help="GPUs of a job (default: the cluster's)")
    submit.add_argument("--memory-gb", type=_number, help="memory of a job (default: the cluster's)")
    submit.add_argument("--partition", help="of the cluster (default: the cluster's)")
    submit.add_argument("--retry-failed", action="store_true", help="try parts again that failed before")
    submit.add_argument(
        "--save-every", type=_number, default=10.0, metavar="SECONDS", help=f"{settings['save_every']} (default: 10)"
    )
    submit.add_argument("--wait", action="store_true", help="until all jobs have ended")
    submit.set_defaults(run=_submit)

    merge = commands.add_parser("merge", help="one sweep directory from several of the same sweep, or one result file")
    merge.add_argument("paths", nargs="+", type=Path, help="directories of one sweep, or .npz files of results")
    merge.add_argument("-o", "--out", type=Path, required=True, help="the directory, or the file")
    merge.set_defaults(run=_merge)

    status = commands.add_parser("status", help="how far a sweep is")
    status.add_argument("directory", type=Path, help="of the sweep")
    status.add_argument("--json", action="store_true", help="for programs")
    status.set_defaults(run=_status)

    export = commands.add_parser(
        "export", help="write a result file, or the finished parts of a sweep, for other tools"
    )
    export.add_argument("path", type=Path, help="directory of the sweep, or an .npz")
    export.add_argument("--out", type=Path, help="the file: .csv, .parquet or .nc (NetCDF) (default: PATH.csv)")
    export.add_argument("--final", action="store_true", help="the last record point only")
    export.set_defaults(run=_export)

    listing = commands.add_parser("list", parents=[own], help="what there is")
    listing.add_argument(
        "what", nargs="?", help="algorithms, environments, experiments, or a family such as linear (default: all)"
    )
    listing.set_defaults(run=_list)

    show = commands.add_parser(
        "show", parents=[own], help="documentation, fields and ranges of an algorithm, environment or experiment"
    )
    show.add_argument("name", help="such as linear/hvt_ucb, or the name of the class, HvtUCB, or a family, linear")
    show.set_defaults(run=_show)

    check = commands.add_parser("check", parents=[own], help="does an algorithm keep the contract, and if not, why")
    check.add_argument("name", help="of a registered algorithm, such as mine/lin_ts")
    check.add_argument("--quick", action="store_true", help="look at its traces only: seconds")
    check.set_defaults(run=_check)

    plot = commands.add_parser("plot", help="draw a result file, or one panel of an experiment that was reproduced")
    plot.add_argument("file", type=Path, help="an .npz written by reproduce or Result.save, or reproduce's directory")
    plot.add_argument("--panel", metavar="NAME", help="which panel of the directory")
    plot.add_argument(
        "--paper", action="store_true", help="as a paper prints it: the width of a column, no title, small type"
    )
    plot.add_argument("--metric", help="default: the first, or the experiment's")
    plot.add_argument("--x", metavar="METRIC", help="abscissa: any scalar metric (default: round, or the experiment's)")
    plot.add_argument("--only", action="append", metavar="LABEL", help="draw this label (may be repeated)")
    plot.add_argument(
        "--band",
        choices=("mean", "quantile"),
        default="mean",
        help="t-interval of the mean, or median with 10 to 90 %%",
    )
    plot.add_argument("--out", type=Path, help="file stem (default: beside FILE)")
    plot.set_defaults(run=_plot)
    commands_lib.add(commands)
    return parser


def _settings() -> dict[str, str]:
    """What the settings of a run are, from the documentation of `simulation.options.Options`.

    It is read, not imported: JAX would come with it, and `--help` would wait.
    """
    import ast

    source = (Path(__file__).parent / "simulation" / "options.py").read_text(encoding="utf-8")
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == "Options"]
    attributes = (ast.get_docstring(classes[0]) or "").partition("Attributes:\n")[2]
    found: dict[str, str] = {}
    for line in attributes.splitlines():
        if line.startswith("    ") and found:  # a sentence goes on
            name = next(reversed(found))
            found[name] += " " + line.strip()
        elif ":" in line:
            name, _, about = line.strip().partition(": ")
            found[name] = about
    return {name: about.removesuffix(".").replace("`", "").replace("%", "%%") for name, about in found.items()}


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None


def _shard(text: str) -> tuple[int, int]:
    first, slash, n = text.partition("/")
    if not slash or not first.isdigit() or not n.isdigit() or not 1 <= int(first) <= int(n):
        raise argparse.ArgumentTypeError(f"must be I/N with 1 <= I <= N, such as 2/8, got {text!r}")
    return int(first), int(n)


def _planned(arguments: argparse.Namespace) -> "tuple[Planned, Path]":
    """The sweep of a file, in its precision, and its directory."""
    import jax

    from jaxbandits.sweeps import file
    from jaxbandits.sweeps import sweep as sweep_lib

    document = file.read(arguments.file, arguments.overrides)
    if document.precision is not None:
        jax.config.update("jax_enable_x64", document.precision == "float64")
    return sweep_lib.plan(file.sweep_of(document)), document.out if arguments.out is None else arguments.out


def _sweep(arguments: argparse.Namespace) -> int:
    from jaxbandits.simulation.options import Options
    from jaxbandits.sweeps import estimate, run, status
    from jaxbandits.sweeps.directory import Directory

    options = Options(workers=arguments.workers, save_every=arguments.save_every, progress=not arguments.quiet)
    planned, out = _planned(arguments)
    if arguments.dry_run:
        print(estimate.estimate(planned, options.workers).text())
        return 0
    directory = Directory(out)
    try:
        result = run.run_planned(
            planned, directory, arguments.shard, arguments.fail_fast, arguments.retry_failed, options
        )
    except KeyboardInterrupt:
        print(f"jaxbandits: stopped; the same command resumes in {directory.path}", file=sys.stderr)
        raise
    print(status.text(status.status(directory.path)))
    first, n_shards = arguments.shard
    own = {part.name for part in planned.parts[first - 1 :: n_shards]}  # another shard's failures are its own affair
    return 1 if own & result.failures.keys() else 0


def _submit(arguments: argparse.Namespace) -> int:
    from jaxbandits.sweeps import status
    from jaxbandits.sweeps.submit import submit

    planned, out = _planned(arguments)
    more = [word for override in arguments.overrides for word in ("--set", override)]
    more += ["--save-every", str(arguments.save_every), *["--retry-failed"] * arguments.retry_failed]
    jobs = submit(
        main, arguments.file, out, cluster=arguments.cluster, jobs=min(arguments.jobs, len(planned.parts)),
        arguments=more, minutes=arguments.minutes, cpus=arguments.cpus, gpus=arguments.gpus,
        memory_gb=arguments.memory_gb, partition=arguments.partition,
    )  # fmt: skip
    print(f"{len(jobs)} jobs for {len(planned.parts):,} parts: {', '.join(job.job_id for job in jobs)}")
    print(f"logs in {out / 'jobs'}; jaxbandits status {out} says how far they are")
    if not arguments.wait:
        return 0
    for job in jobs:
        job.wait()
    found = status.status(out)
    print(status.text(found))
    return 0 if found["parts"]["done"] == found["parts"]["total"] else 1


def _merge(arguments: argparse.Namespace) -> int:
    from jaxbandits.core.errors import InputError
    from jaxbandits.results.merge import merge
    from jaxbandits.results.result import Result
    from jaxbandits.sweeps import status
    from jaxbandits.sweeps.merge import merge_sweeps

    kinds = {path.is_dir() for path in arguments.paths}
    if len(kinds) > 1:
        raise InputError("merge takes directories of a sweep, or files of results, not both")
    if kinds == {False}:
        print("wrote", merge([Result.load(path) for path in arguments.paths]).save(arguments.out), sep="\n  ")
        return 0
    merge_sweeps(arguments.paths, arguments.out)
    found = status.status(arguments.out)
    print(status.text(found))
    return 0 if found["parts"]["done"] == found["parts"]["total"] else 1


def _status(arguments: argparse.Namespace) -> int:
    import json

    from jaxbandits.sweeps import status

    found = status.status(arguments.directory)
    print(json.dumps(found, indent=1) if arguments.json else status.text(found))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    import dataclasses

    from jaxbandits.core.errors import InputError
    from jaxbandits.results.result import Result
    from jaxbandits.sweeps.load import load_sweep

    source = arguments.path
    path = arguments.out or source.with_name(source.name.removesuffix(".npz") + ".csv")
    writers = {".csv": "to_csv", ".parquet": "to_parquet", ".nc": "to_netcdf"}
    if path.suffix not in writers:
        raise InputError(f"--out must end in {', '.join(writers)}, got {path.name!r}")
    if not source.is_file() and source.suffix != ".npz":
        written = getattr(load_sweep(source), writers[path.suffix])(path, final=arguments.final)
    else:
        result = Result.load(source)
        if arguments.final:
            last = {label: trials.at_horizon() for label, trials in result.trials.items()}
            result = dataclasses.replace(result, trials=last)
        written = getattr(result, writers[path.suffix])(path)
    print("wrote", written, sep="\n  ")
    return 0


def _reproduce(arguments: argparse.Namespace) -> int:
    import warnings

    import jax

    arguments.float64 |= jax.config.read("jax_enable_x64")
    from jaxbandits.core.errors import InputError
    from jaxbandits.experiments import EXPERIMENTS
    from jaxbandits.experiments.declare import chosen
    from jaxbandits.report import files

    said: set[str] = set()

    def warn_once(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in said:
            print(f"warning: {message}", file=sys.stderr)
        said.add(str(message))

    warnings.showwarning = warn_once
    experiments = chosen(EXPERIMENTS, arguments.experiment)
    if arguments.data is not None:
        if len(experiments) > 1:
            raise InputError("--data goes with one experiment, not with several")
        experiments = [experiments[0].on(arguments.data)]
    for experiment in experiments:
        experiment.preset(arguments.preset)  # before anything is computed for nothing
    out = arguments.out or Path("results") / arguments.experiment.replace("/", "-")
    if arguments.budget is not None:
        return _reproduce_budget(experiments, out, arguments)
    if len(experiments) == 1:
        _reproduce_one(experiments[0], out, arguments)
        return 0
    reports = []
    for i, experiment in enumerate(experiments, start=1):
        print(f"[{i}/{len(experiments)}] {experiment.name}", file=sys.stderr)
        reports.append(_reproduce_one(experiment, out / experiment.name.replace("/", "-"), arguments))
        print()
    path = files.write_ledger(reports, out)
    print(path.read_text(), f"wrote {path}", sep="\n")
    return 0


def _reproduce_one(experiment: "Experiment", out: Path, arguments: argparse.Namespace) -> "Report":
    import time

    import jax

    from jaxbandits.core import files as files_lib
    from jaxbandits.experiments.run import left_out, run
    from jaxbandits.report import files, finished

    start = files.Start.now()
    jax.config.update("jax_enable_x64", arguments.float64 or experiment.float64)
    checkpoint = out / "checkpoint"
    panels = [checkpoint / name for name in experiment.panels(experiment.horizon)]
    preset = experiment.preset(arguments.preset)
    without = left_out(experiment, preset, arguments.horizon, arguments.only, arguments.without)
    asked = finished.request(
        experiment, seeds=arguments.seeds, horizon=arguments.horizon, preset=preset, without=without,
        seed=arguments.seed, data=arguments.data, first_seed=arguments.first_seed, timing=not arguments.no_timing,
    )  # fmt: skip
    with files_lib.exclusive(out):
        if arguments.fresh:
            _discard(panels, checkpoint)
            (out / finished.MANIFEST).unlink(missing_ok=True)  # else what follows could not be resumed
        elif (report := finished.find(experiment, asked, out)) is not None:
            print(f"{out} holds this run already, finished; --fresh computes it again", file=sys.stderr)
            print((out / files.text_name(experiment)).read_text(encoding="utf-8"), end="")
            return report
        try:
            report = run(
                experiment, seeds=arguments.seeds, horizon=arguments.horizon, preset=preset, without=without,
                timing=not arguments.no_timing, checkpoint=checkpoint, seed=arguments.seed,
                first_seed=arguments.first_seed, workers=arguments.workers, save_every=arguments.save_every,
                progress=not arguments.quiet,
            )  # fmt: skip
        except KeyboardInterrupt:
            same = "the same command" + (" without --fresh" if arguments.fresh else "")
            print(f"jaxbandits: stopped; {same} resumes from {checkpoint}", file=sys.stderr)
            raise
        if not arguments.quiet:
            n = len(report.experiment.figures)
            print(f"writing tables and {n} figure{'s' * (n != 1)} to {out}", file=sys.stderr)
        written = files.write(report, out, asked, start)
        _discard(panels, checkpoint)
    print(files.text(report))
    print("", files.effort(report, time.perf_counter() - start.at), sep="\n")
    print("wrote", *written, sep="\n  ")
    return report


def _reproduce_budget(experiments: "Sequence[Experiment]", out: Path, arguments: argparse.Namespace) -> int:
    """Every run that a budget pays for, each in a directory of its own; the same command resumes.

    A run that fails is told, and the others go on: what they computed stays. The exit code is then 1.
    """
    import time
    import traceback

    from jaxbandits.core.errors import InputError
    from jaxbandits.experiments.budget import parts

    given = [name for name, unset in _BY_BUDGET.items() if getattr(arguments, name) != unset]
    if given:
        raise InputError(f"--budget sets --{', --'.join(_BY_BUDGET)}: leave --{given[0]} out")
    planned = [
        (experiment, part)
        for experiment in experiments
        for part in parts(experiment, arguments.budget, arguments.float64)
    ]
    failed, begin = [], time.perf_counter()
    for i, (experiment, part) in enumerate(planned, start=1):
        name, since = experiment.name.replace("/", "-") + part.suffix, time.perf_counter()
        print(f"[{i}/{len(planned)}] {name}", file=sys.stderr)
        settings = dict(part.settings)
        settings["without"] = [*arguments.without, *settings.get("without", ())]
        try:
            _reproduce_one(experiment, out / name, argparse.Namespace(**(vars(arguments) | settings)))
        except InputError as error:
            print(f"jaxbandits: {name}: {error}", file=sys.stderr)
            failed.append(name)
        except Exception:  # of one experiment: hours of the others are not to be lost for it
            traceback.print_exc()
            failed.append(name)
        now = time.perf_counter()
        print(f"[{i}/{len(planned)}] {name}: {now - since:.1f} s, {now - begin:.0f} s in all", file=sys.stderr)
    if len(failed) < len(planned):
        _write_report(out, out / "ledger.html", out / "ledger.md")
    if failed:
        print(f"jaxbandits: {len(failed)} of {len(planned)} runs failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


_BY_BUDGET = {"seeds": None, "horizon": None, "preset": None, "seed": 0}  # with their defaults


def _report(arguments: argparse.Namespace) -> int:
    return _write_report(arguments.directory, arguments.out or arguments.directory / "ledger.html", arguments.markdown)


def _write_report(directory: Path, out: Path, markdown: Path | None) -> int:
    from jaxbandits.experiments.papers import PAPERS
    from jaxbandits.report import ledger, page

    runs = ledger.read(directory)
    written = [page.write(runs, PAPERS, out)]
    written += [ledger.write_markdown(runs, PAPERS, markdown)] if markdown is not None else []
    print("wrote", *written, sep="\n  ")
    return 0


def _discard(panels: Sequence[Path], parent: Path) -> None:
    import contextlib

    from jaxbandits.simulation import checkpoint as checkpoint_lib

    for panel in panels:
        checkpoint_lib.discard(panel)
    with contextlib.suppress(OSError):  # not empty: somebody else's files stay
        parent.rmdir()


def _list(arguments: argparse.Namespace) -> int:
    from jaxbandits.core.errors import unknown

    rooms, families = _rooms(), _families()
    if arguments.what in families:
        rooms = {room: _of_family(names, arguments.what) for room, names in rooms.items()}
    elif arguments.what is not None:
        if arguments.what not in rooms:
            raise unknown("room or family", arguments.what, [*rooms, *families])
        rooms = {arguments.what: rooms[arguments.what]}
    _print_rooms(rooms)
    return 0


def _rooms() -> dict[str, dict[str, str]]:
    """Per room what there is, by name, in a line each."""
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.environments import ENVIRONMENTS
    from jaxbandits.experiments import EXPERIMENTS

    return {
        "algorithms": {name: entry.source for name, entry in ALGORITHMS.items()},
        "environments": {name: entry.source for name, entry in ENVIRONMENTS.items()},
        "experiments": {name: f"{e.title} ({e.source})" for name, e in EXPERIMENTS.items()},
    }


def _families() -> list[str]:
    return list(dict.fromkeys(name.partition("/")[0] for names in _rooms().values() for name in names))


def _of_family(names: dict[str, str], family: str) -> dict[str, str]:
    return {name: about for name, about in names.items() if name.startswith(f"{family}/")}


def _print_rooms(rooms: dict[str, dict[str, str]]) -> None:
    for room, names in rooms.items():
        if names:
            width = max(map(len, names))
            print(f"{room}:", *(f"  {name:{width}}  {about}" for name, about in names.items()), sep="\n")


def _show(arguments: argparse.Namespace) -> int:
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.commands import full_names
    from jaxbandits.environments import ENVIRONMENTS
    from jaxbandits.experiments import EXPERIMENTS

    if arguments.name in _families():
        _print_rooms({room: _of_family(names, arguments.name) for room, names in _rooms().items()})
        return 0
    entries = {**ALGORITHMS, **ENVIRONMENTS}
    for name in full_names(arguments.name, {**entries, **EXPERIMENTS}):
        if name in entries:
            _show_entry(name, entries[name])
        if name in entries and name in EXPERIMENTS:
            print()
        if name in EXPERIMENTS:
            _show_experiment(EXPERIMENTS[name])
    return 0


def _check(arguments: argparse.Namespace) -> int:
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.core.errors import InputError, unknown
    from jaxbandits.environments import ENVIRONMENTS
    from jaxbandits.testing import check_algorithm

    if arguments.name not in ALGORITHMS:
        raise unknown("algorithm", arguments.name, ALGORITHMS)
    entry = ALGORITHMS[arguments.name]
    if not entry.environments:
        raise InputError(f"the entry of {arguments.name} names no environments to check it on")
    for name in entry.environments:
        if name not in ENVIRONMENTS:
            raise unknown("environment", name, ENVIRONMENTS)
        try:
            check_algorithm(entry.example, ENVIRONMENTS[name].example, quick=arguments.quick)
        except AssertionError as error:
            print(error)
            return 1
        print(f"{arguments.name} on {name}: keeps the contract" + (" as far as its traces show" * arguments.quick))
    return 0


def _show_experiment(e: "Experiment") -> None:
    print(f"{e.name}: {e.title} ({e.source})\n\n{e.horizon:,} rounds, {e.seeds} seeds by default, metric: {e.metric}")
    panels = e.panels(e.horizon)
    print("presets:", *(f"  {name}: {meaning}" for name, meaning in e.presets.items()), sep="\n")
    print("panels:", *(f"  {name}: {panel.title}" for name, panel in panels.items()), sep="\n")
    labels = dict.fromkeys(
        label for panel in panels.values() for label in e.algorithms(e.preset(None), e.horizon, panel)
    )
    print("algorithms:", *(f"  {label}" for label in labels), sep="\n")
    print("claims:", *(f"  {claim.text} [{claim.source}]" for claim in e.claims), sep="\n")
    print(*(f"note: {note}" for note in e.notes), sep="\n")


def _show_entry(name: str, entry: "Entry") -> None:
    import inspect

    from jaxbandits.core.pytree import field_table
    from jaxbandits.results import table

    module = inspect.getdoc(sys.modules[entry.cls.__module__]) or ""
    print(f"{name}: {entry.cls.__module__}.{entry.cls.__name__}\n\n{module}\n\n{inspect.getdoc(entry.cls)}\n")
    rows = [(row.name, row.kind, _value(row.value), row.range or "", row.doc) for row in field_table(entry.cls)]
    print(table.aligned(("field", "kind", "default", "range", "meaning"), rows, left=5))
    presets = {key: inspect.getdoc(getattr(entry.cls, key)) or "" for key, value in vars(entry.cls).items()
               if isinstance(value, classmethod) and not key.startswith("_")}  # fmt: skip
    if presets:
        print("\npresets:", *(f"  {key}: {about.splitlines()[0] if about else ''}" for key, about in presets.items()),
              sep="\n")  # fmt: skip


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plot(arguments: argparse.Namespace) -> int:
    from jaxbandits.core.errors import InputError
    from jaxbandits.experiments import EXPERIMENTS
    from jaxbandits.report import figures, panels
    from jaxbandits.results.result import Result

    file, drawn = arguments.file, {}
    if file.is_dir():
        file, result, drawn = panels.of_directory(file, arguments.panel, EXPERIMENTS)
    elif arguments.panel is not None:
        raise InputError("--panel goes with the directory of an experiment, not with a file")
    else:
        result = Result.load(file)
    given = {"metric": arguments.metric, "x": arguments.x, "algorithms": arguments.only}
    drawn |= {name: value for name, value in given.items() if value is not None}
    figure = figures.single(result, band=arguments.band, paper=arguments.paper, **drawn)
    written = figures.save(figure, arguments.out or file.with_suffix(""))
    print("wrote", *written, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
