"""Text of runs in Markdown: it can neither break a table nor carry HTML, for a run may be a stranger's."""

import re
from collections.abc import Iterable

_BLOCKS = tuple("#`~>*+-=|")  # that begin one at the start of a line
_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # where HTML could begin


def plain(text: object) -> str:
    """Return text on one line without HTML or links, which begins no heading, list, table or block of code."""
    found = _TAG.sub("&lt;", " ".join(str(text).split())).replace("](", "]\\(").replace("][", "]\\[")
    return f"\\{found}" if found[:1] in _BLOCKS else found


def cell(text: object) -> str:
    """Return text for a cell of a table."""
    return plain(text).replace("|", "\\|").replace("*", "\\*")


def line(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cells) + " |"
