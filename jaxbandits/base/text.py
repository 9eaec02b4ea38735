"""Text for terminals: line breaking and counts."""

import re
import textwrap

_GAP = re.compile(r" {2,}")

WIDTH = 100  # columns of a terminal; every table fits, unless its numbers alone are wider


def fold(text: str, width: int = WIDTH) -> str:
    """Break lines of text that are longer than `width` at spaces; indent continuation lines by four more columns."""
    found: list[str] = []
    for line in text.splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        if len(line) > width:
            line = textwrap.fill(
                line.strip(),
                width,
                initial_indent=indent,
                subsequent_indent=indent + "    ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        found.append(line)
    return "\n".join(found)


def count_of(n: int, noun: str) -> str:
    """Return a number followed by its noun, such as "1 seed" or "1,000 seeds"."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def refill(text: str, width: int = WIDTH) -> str:
    """Wrap the paragraphs of a docstring that have lines longer than `width`; formulas keep their lines.

    A paragraph consists of consecutive lines with the same indentation, or of a bullet and the lines below it. A line
    that contains a gap of several spaces is a formula or a row of a table.
    """
    found: list[str] = []
    paragraph: list[str] = []

    def end_paragraph() -> None:
        if paragraph and max(map(len, paragraph)) > width:
            indent = " " * (len(paragraph[0]) - len(paragraph[0].lstrip()))
            hang = indent + "  " * paragraph[0].lstrip().startswith(("* ", "- "))
            joined = " ".join(line.strip() for line in paragraph)
            found.append(
                textwrap.fill(
                    joined,
                    width,
                    initial_indent=indent,
                    subsequent_indent=hang,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            )
        else:
            found.extend(paragraph)
        paragraph.clear()

    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or _GAP.search(stripped):
            end_paragraph()
            found.append(fold(line, width))
            continue
        is_bullet = bool(paragraph) and paragraph[0].lstrip().startswith(("* ", "- "))
        indent = len(line) - len(line.lstrip())
        first = len(paragraph[0]) - len(paragraph[0].lstrip()) + 2 * is_bullet if paragraph else indent
        if indent != first or stripped.startswith(("* ", "- ")):
            end_paragraph()
        paragraph.append(line)
    end_paragraph()
    return "\n".join(found)
