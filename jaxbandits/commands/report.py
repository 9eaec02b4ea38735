"""Command `report`, which writes the ledger of finished runs as an HTML file, as pages, or as a table of numbers."""

import argparse
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandits.commands.arguments import path

if TYPE_CHECKING:
    from jaxbandits.commands.arguments import Subparsers
    from jaxbandits.reproduction import Experiment
    from jaxbandits.reproduction.ledger.runs import Run
    from jaxbandits.reproduction.ledger.sentences import Chapter


def add(commands: "Subparsers") -> None:
    """Add the parser of `report`."""
    report = commands.add_parser("report", help="write the ledger: the verdicts on all claims of finished runs")
    report.add_argument(
        "runs",
        type=path,
        help="a directory written by `reproduce`, such as results/all, or a CSV file written by --ledger",
    )
    report.add_argument("-o", "--out", type=path, help="path of the HTML file (default: RUNS/ledger.html)")
    report.add_argument("--ledger", type=path, metavar="FILE", help="also write the numbers of all runs as CSV")
    report.add_argument(
        "--pages",
        type=path,
        metavar="DIR",
        help="also write Markdown pages: DIR/ledger.md, and DIR/papers with the figures",
    )
    report.add_argument(
        "--rejudge",
        action="store_true",
        help="re-evaluate the claims from the stored results, with the statistics of this version",
    )
    report.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    out = arguments.out or (arguments.runs / "ledger.html" if arguments.runs.is_dir() else None)
    write(arguments.runs, out, arguments.ledger, arguments.pages, arguments.rejudge)
    return 0


def write(
    runs: Path, out: Path | None, ledger: Path | None = None, pages: Path | None = None, rejudge: bool = False
) -> None:
    """Write the ledger of some runs, and print what was written.

    Args:
      runs: a directory written by `reproduce`, or a file written by `--ledger`.
      out: the HTML file to write; None: no HTML file.
      ledger: the CSV file of numbers to write; None: no such file.
      pages: directory for the Markdown pages; None: no pages.
      rejudge: evaluate the claims again from the stored results.

    Raises:
      InputError: if there is no run, if nothing is to be written, if a path cannot be written, or if `ledger` is given
        and an experiment is not registered.
    """
    from jaxbandits.base.errors import InputError
    from jaxbandits.reproduction import EXPERIMENTS
    from jaxbandits.reproduction.ledger import html
    from jaxbandits.reproduction.ledger import runs as runs_lib
    from jaxbandits.reproduction.ledger.new_verdicts import update_verdicts
    from jaxbandits.reproduction.ledger.sentences import chapters
    from jaxbandits.reproduction.papers import PAPERS

    if not runs.exists():
        raise InputError(f"no such file or directory: {runs}")
    if out is None and ledger is None and pages is None:
        raise InputError(f"{runs} is a file, so at least one of --out, --pages and --ledger is needed")
    found = runs_lib.read(runs, EXPERIMENTS)
    found = [update_verdicts(run) for run in found] if rejudge else found
    parts = chapters(found, PAPERS)
    written = [] if out is None else [html.write(parts, out)]
    if ledger is not None:
        if strangers := [run.experiment for run in found if run.experiment not in EXPERIMENTS]:
            raise InputError(f"--ledger needs registered experiments, and {strangers[0]} is not registered")
        adjusted = {sentence.id: sentence.standing for part in parts for sentence in part.sentences}
        written.append(runs_lib.write(found, adjusted, ledger))
    if pages is not None:
        written += _write_pages(parts, pages, EXPERIMENTS)
    print("wrote", *written, sep="\n  ")


def write_all(directory: Path) -> None:
    """Write into a directory the pages of the runs in it, and the HTML file if its renderer is installed."""
    import importlib.util

    renders = importlib.util.find_spec("markdown_it") is not None
    write(directory, directory / "ledger.html" if renders else None, pages=directory / "pages")


def _write_pages(parts: "Sequence[Chapter]", directory: Path, experiments: Mapping[str, "Experiment"]) -> list[Path]:
    """Write the overview and the pages of the papers, and copy the figures of the runs into their directory."""
    from jaxbandits.base.files import make_directory, write_atomically
    from jaxbandits.reproduction.ledger import pages

    folder = directory / "papers"
    make_directory(folder)
    played = {run.experiment for part in parts for run in part.runs}
    families = {run.family for part in parts for run in part.runs}
    not_run = [
        name
        for name, experiment in experiments.items()
        if experiment.claims and name not in played and name.partition("/")[0] in families
    ]
    texts = {directory / "ledger.md": pages.overview(parts, "papers/{}.md".format, not_run)}
    for part in parts:
        texts[folder / f"{pages.file_name(part.paper.family)}.md"] = pages.paper(
            part, lambda run: _picture(run, folder, experiments)
        )
    for name, text in texts.items():
        write_atomically(name, text.encode())
    return [*texts]


_LARGEST_SVG = 200_000  # bytes; figures of many points are smaller as PNG


def _picture(run: "Run", folder: Path, experiments: Mapping[str, "Experiment"]) -> str:
    """Return Markdown that shows the figure of a run, an earlier one in `folder`, or a preview; "" if there is none."""
    from jaxbandits.base.files import make_directory
    from jaxbandits.reproduction.ledger.markdown import plain
    from jaxbandits.reproduction.ledger.pages import file_name

    name, title = file_name(run.experiment), plain(run.about.title)
    figures, preview = folder / "figures", folder.parent / "gallery" / f"{name}.svg"
    made = next((file for file in run.files if file.endswith(".svg")), None)
    if made is not None and run.directory is not None and (run.directory / made).is_file():
        source = run.directory / made
        if source.stat().st_size > _LARGEST_SVG and (smaller := source.with_suffix(".png")).is_file():
            source = smaller
        make_directory(figures)
        for suffix in (".svg", ".png"):
            (figures / f"{name}{suffix}").unlink(missing_ok=True)
        shutil.copyfile(source, figures / f"{name}{source.suffix}")
    for figure in (figures / f"{name}.svg", figures / f"{name}.png"):
        if figure.exists():
            return f"![{title}](figures/{figure.name})"
    if preview.exists() and run.experiment in experiments:
        return f"![{title}](../gallery/{preview.name})\n\n*{_preview(experiments[run.experiment])}*"
    return ""


def _preview(experiment: "Experiment") -> str:
    """Return the caption of a figure that was made with the budget `quick`."""
    from jaxbandits.reproduction.engine.budget import parts

    for short in parts(experiment, "quick"):
        return f"Preview from a short run (T = {short.settings['horizon']:,}); verdicts are from the full run."
    return "Preview from a short run."
