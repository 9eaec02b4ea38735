"""The command line. Nothing heavy is imported before the arguments are known: `--help` answers at once."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandits import __version__

if TYPE_CHECKING:
    from jaxbandits.experiments import Experiment
    from jaxbandits.experiments.run import Report


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; the exit code is 0, 1 when parts of a sweep failed, 2 for a mistake, 130 when interrupted."""
    arguments = _parser().parse_args(argv)
    from jaxbandits.core.errors import InputError

    try:
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

    reproduce = commands.add_parser("reproduce", help="run a paper's experiment: table, claims with verdicts, figure")
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
    reproduce.set_defaults(run=_reproduce)

    sweep = commands.add_parser("sweep", help="run a sweep file; the same command resumes")
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

    status = commands.add_parser("status", help="how far a sweep is")
    status.add_argument("directory", type=Path, help="of the sweep")
    status.add_argument("--json", action="store_true", help="for programs")
    status.set_defaults(run=_status)

    export = commands.add_parser("export", help="write the finished parts of a sweep as comma-separated text")
    export.add_argument("directory", type=Path, help="of the sweep")
    export.add_argument("--out", type=Path, help="the file (default: DIRECTORY.csv)")
    export.add_argument("--final", action="store_true", help="the last record point only")
    export.set_defaults(run=_export)

    listing = commands.add_parser("list", help="what there is")
    listing.add_argument(
        "what", nargs="?", help="algorithms, environments, experiments, or a family such as linear (default: all)"
    )
    listing.set_defaults(run=_list)

    show = commands.add_parser(
        "show", help="documentation, fields and ranges of an algorithm, environment or experiment"
    )
    show.add_argument("name", help="such as linear/hvt_ucb, or the name of the class, HvtUCB, or a family, linear")
    show.set_defaults(run=_show)

    plot = commands.add_parser("plot", help="draw a result file")
    plot.add_argument("file", type=Path, help="an .npz written by reproduce or Result.save")
    plot.add_argument("--metric", help="default: the first")
    plot.add_argument("--x", default="round", metavar="METRIC", help="abscissa: any scalar metric (default: round)")
    plot.add_argument("--only", action="append", metavar="LABEL", help="draw this label (may be repeated)")
    plot.add_argument(
        "--band",
        choices=("mean", "quantile"),
        default="mean",
        help="t-interval of the mean, or median with 10 to 90 %%",
    )
    plot.add_argument("--out", type=Path, help="file stem (default: beside FILE)")
    plot.set_defaults(run=_plot)
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


def _sweep(arguments: argparse.Namespace) -> int:
    import jax

    from jaxbandits.simulation.options import Options
    from jaxbandits.sweeps import estimate, file, run, status
    from jaxbandits.sweeps import sweep as sweep_lib
    from jaxbandits.sweeps.directory import Directory

    document = file.read(arguments.file, arguments.overrides)
    if document.precision is not None:
        jax.config.update("jax_enable_x64", document.precision == "float64")
    options = Options(workers=arguments.workers, save_every=arguments.save_every, progress=not arguments.quiet)
    planned = sweep_lib.plan(file.sweep_of(document))
    if arguments.dry_run:
        print(estimate.estimate(planned, options.workers).text())
        return 0
    directory = Directory(document.out if arguments.out is None else arguments.out)
    try:
        result = run.run_planned(
            planned, directory, arguments.shard, arguments.fail_fast, arguments.retry_failed, options
        )
    except KeyboardInterrupt:
        print(f"jaxbandits: stopped; the same command resumes in {directory.path}", file=sys.stderr)
        raise
    print(status.text(status.status(directory.path)))
    return 1 if result.failures else 0


def _status(arguments: argparse.Namespace) -> int:
    import json

    from jaxbandits.sweeps import status

    found = status.status(arguments.directory)
    print(json.dumps(found, indent=1) if arguments.json else status.text(found))
    return 0


def _export(arguments: argparse.Namespace) -> int:
    from jaxbandits.sweeps.load import load_sweep

    path = arguments.out or arguments.directory.with_name(arguments.directory.name + ".csv")
    print("wrote", load_sweep(arguments.directory).to_csv(path, final=arguments.final), sep="\n  ")
    return 0


def _reproduce(arguments: argparse.Namespace) -> int:
    import warnings

    import jax

    arguments.float64 |= jax.config.read("jax_enable_x64")
    from jaxbandits.core.errors import InputError
    from jaxbandits.experiments import EXPERIMENTS
    from jaxbandits.experiments.declare import chosen
    from jaxbandits.report import files

    warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
    experiments = chosen(EXPERIMENTS, arguments.experiment)
    if arguments.data is not None:
        if len(experiments) > 1:
            raise InputError("--data goes with one experiment, not with several")
        experiments = [experiments[0].on(arguments.data)]
    for experiment in experiments:
        experiment.preset(arguments.preset)  # before anything is computed for nothing
    out = arguments.out or Path("results") / arguments.experiment.replace("/", "-")
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
    import jax

    from jaxbandits.core import files as files_lib
    from jaxbandits.experiments.run import run
    from jaxbandits.report import files, finished

    jax.config.update("jax_enable_x64", arguments.float64 or experiment.float64)
    checkpoint = out / "checkpoint"
    panels = [checkpoint / name for name in experiment.panels(experiment.horizon)]
    asked = finished.request(
        experiment, seeds=arguments.seeds, horizon=arguments.horizon, preset=arguments.preset,
        without=arguments.without, seed=arguments.seed, data=arguments.data,
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
                experiment, seeds=arguments.seeds, horizon=arguments.horizon, preset=arguments.preset,
                without=arguments.without, checkpoint=checkpoint, seed=arguments.seed, workers=arguments.workers,
                save_every=arguments.save_every, progress=not arguments.quiet,
            )  # fmt: skip
        except KeyboardInterrupt:
            same = "the same command" + (" without --fresh" if arguments.fresh else "")
            print(f"jaxbandits: stopped; {same} resumes from {checkpoint}", file=sys.stderr)
            raise
        written = files.write(report, out, asked)
        _discard(panels, checkpoint)
    print(files.text(report))
    wall = sum(result.info["wall_s"] for result in report.results.values())
    rounds = sum(t.timing["rounds"] for result in report.results.values() for t in result.trials.values())
    print(f"\n{rounds:,} rounds in {wall:.1f} s, compilation included")
    print("wrote", *written, sep="\n  ")
    return report


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
    import inspect

    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.core.errors import InputError, unknown
    from jaxbandits.core.pytree import field_table
    from jaxbandits.environments import ENVIRONMENTS
    from jaxbandits.experiments import EXPERIMENTS
    from jaxbandits.results import table

    entries = {**ALGORITHMS, **ENVIRONMENTS}
    if arguments.name in EXPERIMENTS:
        e = EXPERIMENTS[arguments.name]
        print(
            f"{e.name}: {e.title} ({e.source})\n\n{e.horizon:,} rounds, {e.seeds} seeds by default, metric: {e.metric}"
        )
        print("presets:", *(f"  {name}: {meaning}" for name, meaning in e.presets.items()), sep="\n")
        print("panels:", *(f"  {name}: {panel.title}" for name, panel in e.panels(e.horizon).items()), sep="\n")
        panel = next(iter(e.panels(e.horizon).values()))
        print("algorithms:", *(f"  {name}" for name in e.algorithms(e.preset(None), e.horizon, panel)), sep="\n")
        print("claims:", *(f"  {claim.text} [{claim.source}]" for claim in e.claims), sep="\n")
        print(*(f"note: {note}" for note in e.notes), sep="\n")
        return 0
    if arguments.name in (families := _families()):
        _print_rooms({room: _of_family(names, arguments.name) for room, names in _rooms().items()})
        return 0
    of_class = [name for name, entry in entries.items() if entry.cls.__name__ == arguments.name]
    if len(of_class) > 1:
        raise InputError(f"{arguments.name} is the class of {' and '.join(of_class)}: name one of them")
    arguments.name = of_class[0] if of_class else arguments.name
    if arguments.name not in entries:
        classes = [entry.cls.__name__ for entry in entries.values()]
        raise unknown("name", arguments.name, [*entries, *EXPERIMENTS, *classes, *families])
    entry = entries[arguments.name]
    module = inspect.getdoc(sys.modules[entry.cls.__module__]) or ""
    print(f"{arguments.name}: {entry.cls.__module__}.{entry.cls.__name__}\n\n{module}\n\n{inspect.getdoc(entry.cls)}\n")
    rows = [(row.name, row.kind, _value(row.value), row.range or "", row.doc) for row in field_table(entry.example)]
    print(table.aligned(("field", "kind", "example", "range", "meaning"), rows, left=5))
    return 0


def _value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plot(arguments: argparse.Namespace) -> int:
    from jaxbandits.report import figures
    from jaxbandits.results.result import Result

    result = Result.load(arguments.file)
    figure = figures.single(result, arguments.metric, x=arguments.x, band=arguments.band, algorithms=arguments.only)
    written = figures.save(figure, arguments.out or arguments.file.with_suffix(""))
    print("wrote", *written, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
