"""Escape text from runs, which may be untrusted, so that it neither breaks Markdown tables nor contains HTML."""

import re
from collections.abc import Iterable

_BLOCKS = tuple("#`~>*+-=|")  # characters that start a block at the start of a line
_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # possible start of HTML


def plain(text: object) -> str:
    """Return text on one line, escaped so that it has no HTML or links and starts no heading, list, table or code."""
    found = _TAG.sub("&lt;", " ".join(str(text).split())).replace("](", "]\\(").replace("][", "]\\[")
    return f"\\{found}" if found[:1] in _BLOCKS else found


def cell(text: object) -> str:
    """Return text that is escaped for a cell of a table."""
    return plain(text).replace("|", "\\|").replace("*", "\\*")


def line(cells: Iterable[str]) -> str:
    """Return a row of a table with these cells, which must be escaped."""
    return "| " + " | ".join(cells) + " |"
