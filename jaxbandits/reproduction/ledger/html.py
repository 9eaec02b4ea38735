"""Ledger as one self-contained HTML file: the Markdown pages, rendered, with inline figures."""

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from jaxbandits.base.errors import InputError
from jaxbandits.base.files import write_atomically
from jaxbandits.base.version import __version__
from jaxbandits.reproduction.ledger import pages
from jaxbandits.reproduction.ledger.markdown import plain
from jaxbandits.reproduction.ledger.runs import Run
from jaxbandits.reproduction.ledger.sentences import Chapter

_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #595959; --paper: #ffffff; --line: #d4d4d4; --tint: #f4f4f4;
  --link: #005a9c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --soft: #b0b0b0; --paper: #161616; --line: #444444;
  --tint: #222222; --link: #7cc0ff; } .figure img { filter: invert(1) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 2px solid var(--line); padding-top: 1rem; }
a { color: var(--link); } code { overflow-wrap: anywhere; } summary { cursor: pointer; color: var(--soft); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .4rem .5rem; border-bottom: 1px solid var(--line); }
th { background: var(--tint); } td { min-width: 4rem; } .figure { margin: 1rem 0; overflow-x: auto; }
.figure img { display: block; max-width: 100%; height: auto; }
@media screen and (max-width: 40rem) { .figure img { min-width: 36rem; } td { min-width: 6rem; } }
@media print { html { font-size: 9pt; } body { max-width: none; padding: 0; } .scroll, .figure { overflow: visible; }
  .figure, tr { break-inside: avoid; } .figure img { filter: none; } }
"""


def page(chapters: Sequence[Chapter]) -> str:
    """Return the HTML document with the overview and the pages of all papers.

    Raises:
      InputError: if the package that renders Markdown is not installed.
    """
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise InputError("an HTML page needs markdown-it-py: pip install 'jaxbandits[report]', or --pages") from None
    texts = [pages.overview(chapters)]
    texts += [f'<a id="{pages.file_name(c.paper.family)}"></a>\n\n' + pages.paper(c, _inline) for c in chapters]
    body = MarkdownIt("commonmark", {"html": True}).enable("table").render("\n\n".join(texts))
    body = body.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Do the figures reproduce?</title><style>{_STYLE}</style></head>\n<body>{body}"
        f"<p>jaxbandits {escape(__version__)}</p></body></html>\n"
    )


def write(chapters: Sequence[Chapter], path: Path) -> Path:
    """Write the HTML document of `page` to a file, and return its path.

    Raises:
      InputError: if the path cannot be written, or if the package that renders Markdown is not installed.
    """
    write_atomically(path, page(chapters).encode())
    return path


def _inline(run: Run) -> str:
    """Return the figures of a run as inline images, which run no scripts and load no files."""
    if run.directory is None:
        return ""
    return "\n\n".join(_figure(run.directory / name, run) for name in run.files if name.endswith(".svg"))


def _figure(path: Path, run: Run) -> str:
    if path.is_symlink() or not path.is_file():
        return plain(f"{path.name} is missing.")
    data = base64.b64encode(path.read_bytes()).decode()
    title = escape(" ".join(f"{run.about.title}, {path.stem}".split()))
    return f'<div class="figure"><img alt="{title}" src="data:image/svg+xml;base64,{data}"></div>'
