"""Text of runs in Markdown: it can neither break a table nor carry HTML, for a run may be a stranger's."""

import re
from collections.abc import Iterable

_TAG = re.compile(r"<(?=[A-Za-z/!?])")  # where HTML could begin


def plain(text: object) -> str:
    """Return text on one line without HTML or links."""
    return _TAG.sub("&lt;", " ".join(str(text).split())).replace("](", "]\\(")


def cell(text: object) -> str:
    """Return text for a cell of a table."""
    return plain(text).replace("|", "\\|").replace("*", "\\*")


def line(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(cells) + " |"
