"""Commands for result files: `plot`, `info` and `analyse`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandits.commands.arguments import with_plugins

if TYPE_CHECKING:
    from jaxbandits.commands.arguments import Subparsers
    from jaxbandits.results.result import Result


def add(commands: "Subparsers") -> None:
    """Add the parsers of `plot`, `info` and `analyse`."""
    plot = commands.add_parser(
        "plot", parents=[with_plugins()], help="plot a result file, or one panel of a reproduced experiment"
    )
    plot.add_argument(
        "file", type=Path, help="an .npz file written by reproduce or Result.save, or a directory written by reproduce"
    )
    plot.add_argument("--panel", metavar="NAME", help="panel to plot, if FILE is a directory")
    plot.add_argument("--paper", action="store_true", help="publication layout: one-column width, no title, small font")
    plot.add_argument("--metric", help="metric to plot (default: the first one, or that of the experiment)")
    plot.add_argument(
        "--x",
        metavar="METRIC",
        help="metric on the x-axis, which must be a number per trial (default: round, or that of the experiment)",
    )
    plot.add_argument(
        "--include", action="append", metavar="LABEL", help="plot only the algorithm with this label (may be repeated)"
    )
    plot.add_argument(
        "--band",
        choices=("mean", "quantile"),
        default="mean",
        help="mean: mean and t-interval (exact interval of a share); quantile: median, 10 %% and 90 %% (default: mean)",
    )
    plot.add_argument(
        "-o",
        "--out",
        type=Path,
        help="path of the figures (default: that of FILE); .svg, .png or .pdf at its end selects one format",
    )
    plot.set_defaults(run=_plot)

    info = commands.add_parser(
        "info", help="print the contents of a result file: labels, sizes, seeds, versions, settings"
    )
    info.add_argument("file", type=Path, help="an .npz file written by reproduce or Result.save")
    info.set_defaults(run=_info)

    analyse = commands.add_parser(
        "analyse", help="print statistics of a result file or sweep: best points, paired differences, growth"
    )
    analyse.add_argument(
        "path", type=Path, help="an .npz file written by reproduce or Result.save, or the directory of a sweep"
    )
    analyse.add_argument("--metric", help="metric to analyse (default: the first one)")
    analyse.add_argument(
        "--threshold",
        type=float,
        help="also print hitting times: the first record points at which the metric is at most THRESHOLD",
    )
    analyse.add_argument(
        "--level", type=float, default=0.95, help="level of the simultaneous intervals (default: 0.95)"
    )
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
        raise InputError("--panel goes with the directory of an experiment; a result file has only one panel")
    else:
        result = Result.load(file)
    given = {"metric": arguments.metric, "x": arguments.x, "algorithms": arguments.include}
    drawn |= {name: value for name, value in given.items() if value is not None}
    figure = render.single(result, band=arguments.band, paper=arguments.paper, **drawn)
    stem, formats = arguments.out or (file.with_suffix("") if file.suffix == ".npz" else file), render.FORMATS
    if arguments.out is not None and arguments.out.suffix[1:] in formats:
        stem, formats = arguments.out.with_suffix(""), (arguments.out.suffix[1:],)
    written = render.save(figure, stem, formats)
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
        raise InputError(f"{path} is a directory: name a result file in it, or use `jaxbandits status` for a sweep")
    return Result.load(path)
