"""Commands that look into result files: `plot`, `info` and `analyse`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxbandits.commands.arguments import with_plugins

if TYPE_CHECKING:
    from jaxbandits.results.result import Result


def add(commands: Any) -> None:
    """Add the parsers of `plot`, `info` and `analyse`."""
    plot = commands.add_parser(
        "plot", parents=[with_plugins()], help="draw a result file, or one panel of an experiment that was reproduced"
    )
    plot.add_argument("file", type=Path, help="an .npz written by reproduce or Result.save, or reproduce's directory")
    plot.add_argument("--panel", metavar="NAME", help="which panel of the directory")
    plot.add_argument(
        "--paper", action="store_true", help="as a paper prints it: the width of a column, no title, small type"
    )
    plot.add_argument("--metric", help="default: the first, or the experiment's")
    plot.add_argument("--x", metavar="METRIC", help="abscissa: any scalar metric (default: round, or the experiment's)")
    plot.add_argument("--include", action="append", metavar="LABEL", help="draw this label (may be repeated)")
    plot.add_argument(
        "--band",
        choices=("mean", "quantile"),
        default="mean",
        help="t-interval of the mean, or median with 10 to 90 %%",
    )
    plot.add_argument("--out", type=Path, help="file stem (default: beside FILE)")
    plot.set_defaults(run=_plot)

    info = commands.add_parser("info", help="what a result file holds: labels, sizes, seeds, versions, settings")
    info.add_argument("file", type=Path, help="an .npz written by reproduce or Result.save")
    info.set_defaults(run=_info)

    analyse = commands.add_parser(
        "analyse", help="tables of a result file or a sweep: best points, paired differences, growth"
    )
    analyse.add_argument("path", type=Path, help="an .npz written by reproduce or Result.save, or a sweep's directory")
    analyse.add_argument("--metric", help="default: the first")
    analyse.add_argument(
        "--threshold", type=float, help="also the first recorded round at which the metric is at most this"
    )
    analyse.add_argument("--level", type=float, default=0.95, help="simultaneous coverage (default: 0.95)")
    analyse.set_defaults(run=_analyse)


def _plot(arguments: argparse.Namespace) -> int:
    from jaxbandits.base.errors import InputError
    from jaxbandits.reproduction import EXPERIMENTS
    from jaxbandits.reproduction.figures import panels, render
    from jaxbandits.results.result import Result

    file, drawn = arguments.file, {}
    if file.is_dir():
        file, result, drawn = panels.of_directory(file, arguments.panel, EXPERIMENTS)
    elif arguments.panel is not None:
        raise InputError("--panel goes with the directory of an experiment, not with a file")
    else:
        result = Result.load(file)
    given = {"metric": arguments.metric, "x": arguments.x, "algorithms": arguments.include}
    drawn |= {name: value for name, value in given.items() if value is not None}
    figure = render.single(result, band=arguments.band, paper=arguments.paper, **drawn)
    written = render.save(figure, arguments.out or file.with_suffix(""))
    print("wrote", *written, sep="\n  ")
    return 0


def _info(arguments: argparse.Namespace) -> int:
    from jaxbandits.results import describe

    print(describe.text(_load(arguments.file)))
    return 0


def _analyse(arguments: argparse.Namespace) -> int:
    from jaxbandits.results import describe
    from jaxbandits.sweeps.load import load_sweep

    path = arguments.path
    result = load_sweep(path).load() if path.is_dir() else _load(path)
    print(describe.analysis(result, arguments.metric, arguments.threshold, arguments.level))
    return 0


def _load(path: Path) -> "Result":
    from jaxbandits.base.errors import InputError
    from jaxbandits.results.result import Result

    if path.is_dir():
        raise InputError(f"{path} is a directory: name a result file in it, or ask `jaxbandits status` about a sweep")
    return Result.load(path)
