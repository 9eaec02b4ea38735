"""`report`: the ledger of finished runs."""

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Adds the parser of `report`."""
    report = commands.add_parser("report", help="the ledger of finished runs as one HTML file")
    report.add_argument("directory", type=Path, help="where `reproduce` wrote, such as results/all")
    report.add_argument("-o", "--out", type=Path, help="the file (default: DIRECTORY/ledger.html)")
    report.add_argument("--markdown", type=Path, metavar="FILE", help="also as a page of tables")
    report.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    write(arguments.directory, arguments.out or arguments.directory / "ledger.html", arguments.markdown)
    return 0


def write(directory: Path, out: Path, markdown: Path | None) -> None:
    """Writes the ledger of the runs below `directory` to `out`, and to `markdown` as a page of tables."""
    from jaxbandits.experiments.papers import PAPERS
    from jaxbandits.report import ledger, page

    runs = ledger.read(directory)
    written = [page.write(runs, PAPERS, out)]
    written += [ledger.write_markdown(runs, PAPERS, markdown)] if markdown is not None else []
    print("wrote", *written, sep="\n  ")
