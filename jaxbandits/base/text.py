"""Text for terminals: folded lines, counted things."""

import textwrap

WIDTH = 100  # columns of a terminal that every table fits, unless its numbers alone are wider


def folded(text: str, width: int = WIDTH) -> str:
    """Break lines of text that are longer than `width` at spaces, and indent what follows by four more columns."""
    found = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if len(line) > width:
            line = textwrap.fill(line.strip(), width, initial_indent=indent, subsequent_indent=indent + "    ",
                                 break_long_words=False, break_on_hyphens=False)  # fmt: skip
        found.append(line)
    return "\n".join(found)


def counted(n: int, noun: str) -> str:
    """Format a number of things: "1 seed", "1,000 seeds"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
