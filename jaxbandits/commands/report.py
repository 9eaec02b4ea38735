"""`report`: the ledger of finished runs."""

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the parser of `report`."""
    report = commands.add_parser("report", help="the ledger of finished runs as one HTML file")
    report.add_argument(
        "directory", type=Path, nargs="?", help="where `reproduce` wrote, such as results/all; none: --kept alone"
    )
    report.add_argument("-o", "--out", type=Path, help="the file (default: DIRECTORY/ledger.html)")
    report.add_argument("--markdown", type=Path, metavar="FILE", help="also as a page of tables")
    report.add_argument(
        "--rejudge",
        action="store_true",
        help="judge the stored results anew, by the statistics of this version; runs of --kept, whose results are "
        "gone, keep their verdicts and have the places, kinds and notes of this version",
    )
    report.add_argument(
        "--settings", type=Path, metavar="FILE", help="also what each run was asked for, and its verdicts, as JSON"
    )
    report.add_argument(
        "--kept", type=Path, metavar="FILE",
        help="in the tables and the JSON also the runs of a JSON from before, whose directories may be gone",
    )  # fmt: skip
    report.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    if arguments.directory is None:
        return _write_kept(arguments)
    out = arguments.out or arguments.directory / "ledger.html"
    further = {"rejudge": arguments.rejudge, "kept": arguments.kept}
    write(arguments.directory, out, arguments.markdown, arguments.settings, **further)
    return 0


def _write_kept(arguments: argparse.Namespace) -> int:
    """Write tables and JSON from a JSON alone."""
    from jaxbandits.base.errors import InputError
    from jaxbandits.reproduction.ledger import ledger, record
    from jaxbandits.reproduction.papers import PAPERS

    if arguments.kept is None or not (arguments.markdown or arguments.settings):
        raise InputError("report needs a directory, or --kept FILE with --markdown FILE or --settings FILE")
    if arguments.out is not None:
        raise InputError("--out needs a directory: figures are those of finished runs")
    runs = record.read_settings(arguments.kept)
    if arguments.rejudge:
        from jaxbandits.reproduction import EXPERIMENTS
        from jaxbandits.reproduction.ledger import rejudged

        runs = rejudged.described(runs, EXPERIMENTS)
    written = [] if arguments.markdown is None else [ledger.write_markdown(runs, PAPERS, arguments.markdown)]
    written += [] if arguments.settings is None else [record.write_settings(runs, arguments.settings)]
    print("wrote", *written, sep="\n  ")
    return 0


def write(
    directory: Path,
    out: Path,
    markdown: Path | None,
    settings: Path | None = None,
    rejudge: bool = False,
    kept: Path | None = None,
) -> None:
    """Write the ledger of the runs below `directory` to `out`, to `markdown` as tables, and their settings as JSON.

    The last two with the runs of `kept`, a JSON from before.
    """
    from jaxbandits.reproduction.ledger import ledger, page, record
    from jaxbandits.reproduction.papers import PAPERS

    runs = ledger.read(directory)
    earlier = [] if kept is None else record.read_settings(kept)
    if rejudge:
        from jaxbandits.reproduction import EXPERIMENTS
        from jaxbandits.reproduction.ledger import files, rejudged

        runs = rejudged.rejudged(runs, EXPERIMENTS, files.commit())
        earlier = rejudged.described(earlier, EXPERIMENTS, {run.name for run in runs if run.usual})
    written = [page.write(runs, PAPERS, out)]
    runs = record.joined(runs, earlier)
    written += [ledger.write_markdown(runs, PAPERS, markdown)] if markdown is not None else []
    written += [record.write_settings(runs, settings)] if settings is not None else []
    print("wrote", *written, sep="\n  ")
