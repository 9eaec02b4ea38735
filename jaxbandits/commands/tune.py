"""Command `tune`, which computes the tables of tuned multipliers."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandits.commands.arguments import number, path, settings, whole

if TYPE_CHECKING:
    from jaxbandits.commands.arguments import Subparsers
    from jaxbandits.reproduction.engine.tuning import MultiplierTable, TunedLearner


def add(commands: "Subparsers") -> None:
    """Add the parser of `tune`."""
    about = settings()
    tune = commands.add_parser(
        "tune",
        help="tune the multipliers in the presets of a family by races, and print their table",
    )
    tune.add_argument("family", help="family of learners: coco, dro, glm, linear or oco")
    tune.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="NAME",
        help="tune only this learner, or those whose names begin with NAME/ (may be repeated)",
    )
    tune.add_argument("--data", type=Path, help="tune the learners on your copy of a data set (coco only)")
    tune.add_argument("--seeds", type=whole, help="number of seeds, instead of the declared one (excludes --write)")
    tune.add_argument("--horizon", type=whole, help="number of rounds, instead of the declared one (excludes --write)")
    tune.add_argument("--write", action="store_true", help="write the new choices to the table that the presets read")
    tune.add_argument("--dry-run", action="store_true", help="deprecated, has no effect")
    tune.add_argument("-o", "--out", type=path, help="directory of the checkpoints (default: results/tune-FAMILY)")
    tune.add_argument("--workers", type=whole, help=about["workers"])
    tune.add_argument(
        "--save-every", type=number, default=10.0, metavar="SECONDS", help=f"{about['save_every']} (default: 10)"
    )
    tune.add_argument("--quiet", action="store_true", help="do not show progress")
    tune.set_defaults(run=_tune)


def _tune(arguments: argparse.Namespace) -> int:
    import warnings

    import jax

    from jaxbandits.base import files
    from jaxbandits.base.errors import InputError, unknown_name
    from jaxbandits.engine import checkpoint
    from jaxbandits.reproduction import TABLES

    warnings.simplefilter("ignore")  # a race plays few trials at a time
    if arguments.family not in TABLES:
        raise unknown_name("family", arguments.family, TABLES)
    if arguments.write and not (arguments.horizon is None and arguments.seeds is None):
        raise InputError("--write needs the declared numbers of rounds and seeds: omit --horizon and --seeds")
    if arguments.dry_run:
        print(
            "--dry-run is deprecated and has no effect, since the table is written only with --write", file=sys.stderr
        )
    table = TABLES[arguments.family]
    learners = _learners(table, arguments)
    jax.config.update("jax_enable_x64", table.float64)
    out = arguments.out or Path("results") / f"tune-{arguments.family}"
    chosen, checkpoints = {}, {name: out / name.replace("/", "-") for name in learners}
    with files.lock_directory(out):
        for i, (name, learner) in enumerate(learners.items(), start=1):
            try:
                chosen[name] = choice = table.tune(
                    name,
                    learner,
                    arguments.horizon,
                    arguments.seeds,
                    checkpoint=checkpoints[name],
                    workers=arguments.workers,
                    save_every=arguments.save_every,
                    progress=not arguments.quiet,
                )
            except KeyboardInterrupt:
                print(
                    f"jaxbandits: stopped; the same command resumes the tuning from {checkpoints[name]}",
                    file=sys.stderr,
                )
                raise
            values = ", ".join(f"{field} = {value:.4g}" for field, value in choice.multipliers.items())
            share = f"{100 * choice.rounds / choice.grid_rounds:.0f} % of the rounds of the full grid"
            print(f"[{i}/{len(learners)}] {name}: {values}; {choice.evidence}; {share}", file=sys.stderr)
        text = table.text(chosen)
        if arguments.write:
            files.write_atomically(table.path, text.encode())
            print("wrote", table.path, sep="\n  ")
        else:
            print(text, end="")
        for directory in checkpoints.values():
            checkpoint.discard_all(directory)
    played, whole_grids = (sum(getattr(x, name) for x in chosen.values()) for name in ("rounds", "grid_rounds"))
    print(f"{played:,} rounds, {100 * played / whole_grids:.0f} % of the rounds of the full grids", file=sys.stderr)
    return 0


def _learners(table: "MultiplierTable", arguments: argparse.Namespace) -> "dict[str, TunedLearner]":
    """Return the requested learners of a table."""
    from jaxbandits.base.errors import InputError, unknown_name

    learners = dict(table.learners)
    if arguments.data is not None:
        if table.from_file is None:
            raise InputError(f"{arguments.family} takes no data file: omit --data")
        learners = dict(table.from_file(arguments.data))
    for name in arguments.include:
        if not any(known == name or known.startswith(f"{name}/") for known in learners):
            raise unknown_name("learner", name, learners)
    chosen = {name: x for name, x in learners.items() if {name, name.rpartition("/")[0]} & set(arguments.include)}
    return chosen if arguments.include else learners
