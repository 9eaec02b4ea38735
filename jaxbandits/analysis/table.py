"""Plain text tables: aligned columns, and the summary of a metric."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from jaxbandits.analysis.summary import Row
from jaxbandits.base.text import WIDTH

_NARROWEST = 12  # smallest width, in characters, of a column of short words that is broken over several lines


def align(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, width: int = WIDTH) -> str:
    """Return a table as text, with its first `left` columns aligned to the left and the others to the right.

    If the table is wider than `width`, its header is wrapped, and then, if necessary, its widest columns of text.
    Control characters are replaced by escapes.
    """
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = _widths(cells, left, width)
    broken = [[_break_words(cell, w) for cell, w in zip(row, widths, strict=True)] for row in cells]

    def lines(row: list[list[str]], at_bottom: bool = False) -> list[str]:
        height = max(map(len, row))
        filled = [["" for _ in range(height - len(c))] + c if at_bottom else c + [""] * (height - len(c)) for c in row]
        return [_line([c[k] for c in filled], widths, left) for k in range(height)]

    top = lines(broken[0], at_bottom=True)
    return "\n".join([*top, "-" * max(map(len, top)), *(text for row in broken[1:] for text in lines(row))])


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
    return "  ".join(padded).rstrip()


def _widths(cells: Sequence[Sequence[str]], left: int, width: int) -> list[int]:
    """Return the width of every column."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    space = width - 2 * (len(widths) - 1)
    if sum(widths) > space:
        for height in range(2, max(len(column[0].split()) for column in columns) + 2):
            widths = [max([_least_width(column[0], height), *map(len, column[1:])]) for column in columns]
            if sum(widths) <= space:
                break
        # A word that is wider than its column would shift the columns to its right.
        least = [max(_NARROWEST, *(len(word) for cell in column for word in cell.split())) for column in columns]
        while (excess := sum(widths) - space) > 0:
            texts = [
                i
                for i, column in enumerate(columns)
                if any(" " in cell for cell in column[1:])
                and (i < left or max(map(len, column[1:])) > 2 * _NARROWEST)
                and widths[i] > least[i]
            ]
            widest = max(texts, key=lambda i: widths[i], default=None)
            if widest is None:
                break
            others = sorted((widths[i] for i in texts if i != widest), reverse=True)
            width_of_next = min(others[0] if others else 0, widths[widest] - 1)
            widths[widest] = max(least[widest], widths[widest] - excess, width_of_next)
    return widths


def _least_width(text: str, height: int) -> int:
    """Return the smallest width at which text takes at most `height` lines."""
    least = max(map(len, text.split()), default=0)
    return next((w for w in range(least, len(text)) if len(_break_words(text, w)) <= height), len(text))


def _break_words(text: str, width: int) -> list[str]:
    if len(text) <= width:
        return [text]
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def printable(text: str) -> str:
    """Replace control characters, which a terminal would obey, by escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def number(value: float) -> str:
    """Format a number with four significant digits; numbers from 1,000 to 10^7 have one decimal and no exponent."""
    return f"{value:.1f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"


def mean_of(metric: str) -> str:
    """Return the words for the mean of a metric, which has no second "mean" if the metric is a mean itself."""
    words = metric.replace("_", " ")
    return words if words.startswith("mean ") else f"mean {words}"


_DIGITS = 6  # usual number of significant digits of a hyperparameter


def plain(value: object, digits: int = _DIGITS) -> str:
    """Format the value of a hyperparameter: floats with some significant digits, anything else by `str`."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def digits_to_tell(values: Iterable[object], least: int = _DIGITS) -> int:
    """Return the smallest number of significant digits, at least `least`, with which different floats look different.

    At 6 digits, the discounts 0.9999999 and 1.0 would both be 1.
    """
    floats = {value for value in values if isinstance(value, float)}
    return next((n for n in range(least, 17) if len({plain(value, n) for value in floats}) == len(floats)), 17)


def digits_of_fields(points: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """Return for each field of points the number of digits with which its values look different."""
    return {field: digits_to_tell(point[field] for point in points) for field in points[0]}


NS_PER_ROUND = (
    "ns/round: wall time in nanoseconds that a worker takes for one round of one trial, without compilation; "
    "median over batches"
)


def summary(rows: Sequence[Row], metric: str, level: float = 0.95, kind: str = "t-interval") -> str:
    """Return the rows of `Result.summary` as a text table, with a column for each field that some label sweeps."""
    return align(*cells(rows, metric, level, kind))


def cells(
    rows: Sequence[Row], metric: str, level: float = 0.95, kind: str = "t-interval"
) -> tuple[list[str], list[list[str]]]:
    """Return the header and the lines of the summary of a metric, as the text of their cells.

    Args:
      rows: rows of `Result.summary`.
      metric: name of the metric.
      level: coverage of the intervals.
      kind: name of the intervals (`summary.kind_of_interval`).
    """
    fields = dict.fromkeys(name for row in rows for name in row.point)
    axes = dict.fromkeys(name for row in rows for name in row.entry)
    header = ["label", *fields, *axes, mean_of(metric), f"{100.0 * level:g} % {kind}"]
    header += ["median", "10 %", "25 %", "75 %", "90 %", "trials", "failed", "ns/round"]
    digits = {name: digits_to_tell(row.point.get(name) for row in rows) for name in fields}
    lines: list[list[str]] = []
    for row in rows:
        point = [plain(row.point[name], digits[name]) if name in row.point else "" for name in fields]
        entry = [str(row.entry.get(name, "")) for name in axes]
        interval = f"[{number(row.low)}, {number(row.high)}]"
        at = [number(value) for value in (row.median, row.q10, row.q25, row.q75, row.q90)]
        tail = [str(row.trials), str(row.failed), number(row.ns_per_round)]
        lines.append([row.label, *point, *entry, number(row.mean), interval, *at, *tail])
    return header, lines
