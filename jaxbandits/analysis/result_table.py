"""Tables of results that print as aligned text, and convert to HTML and LaTeX."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, Self, TypeVar

from jaxbandits.analysis.intervals import Estimate
from jaxbandits.analysis.markup import html_table, latex_table
from jaxbandits.analysis.table import align, number, plain

_MOST_ROWS = 100  # largest number of rows in a notebook


class TextTable(str):
    """A table as aligned text, which a notebook shows as HTML.

    Attributes:
      header: names of the columns.
      rows: text of the cells, a list per line.
    """

    header: list[str]
    rows: list[list[str]]
    _notes: dict[str, str]

    def __new__(cls, header: Sequence[str], rows: Sequence[Sequence[str]], notes: dict[str, str] | None = None) -> Self:
        """Make a table of text.

        Args:
          header: names of the columns.
          rows: text of the cells.
          notes: mapping from column names to explanations, which the HTML table shows as a legend.
        """
        table = super().__new__(cls, align(header, rows))
        table.header, table.rows, table._notes = list(header), [list(row) for row in rows], dict(notes or {})
        return table

    def __reduce__(self) -> tuple[type[Self], tuple[list[str], list[list[str]], dict[str, str]]]:
        """Return the class and its arguments, by which a table is copied and unpickled."""
        return type(self), (self.header, self.rows, self._notes)

    def __repr__(self) -> str:
        """Return the table."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        return html_table(self.header, self.rows, most=_MOST_ROWS, titles=self._notes)

    def to_latex(self) -> str:
        """Return the table as LaTeX: a `tabular` with the rules of the package booktabs."""
        return latex_table(self.header, self.rows)


R = TypeVar("R", bound=NamedTuple)


class ResultTable(list[R], Generic[R]):
    """List of rows (named tuples) that prints as aligned columns; a notebook shows it as an HTML table."""

    def __init__(self, rows: Iterable[R], header: Sequence[str], cells: Callable[[R], Sequence[str]], left: int = 1):
        """Make a table of rows.

        Args:
          rows: rows to list.
          header: names of the printed columns.
          cells: function from a row to its printed cells.
          left: number of left-aligned columns.
        """
        super().__init__(rows)
        self.header, self.cells, self.left = list(header), cells, left

    def __repr__(self) -> str:
        """Return the table."""
        return align(self.header, self._lines(), self.left)

    def _repr_html_(self) -> str:
        """Return the table for notebooks."""
        return html_table(self.header, self._lines(), self.left, most=_MOST_ROWS)

    def to_latex(self) -> str:
        """Return the table as LaTeX: a `tabular` with the rules of the package booktabs."""
        return latex_table(self.header, self._lines(), self.left)

    def _lines(self) -> list[list[str]]:
        return [list(self.cells(row)) for row in self]


def point_label(label: str, point: Mapping[str, object], digits: Mapping[str, int]) -> str:
    """Return a label followed by its hyperparameter point in parentheses, such as "UCB (scale=0.5)".

    Args:
      label: the label.
      point: the point.
      digits: mapping from fields to numbers of digits, as `table.digits_of_fields` returns it.
    """
    return label + (f" ({', '.join(f'{k}={plain(v, digits[k])}' for k, v in point.items())})" if point else "")


def interval(estimate: Estimate) -> list[str]:
    """Return an estimate as the text of two cells: its mean and its interval."""
    low, high = (number(float(end)) for end in (estimate.low, estimate.high))
    return [number(float(estimate.mean)), f"[{low}, {high}]"]
