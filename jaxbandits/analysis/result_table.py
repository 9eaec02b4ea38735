"""A list of rows that prints itself as a table."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from jaxbandits.analysis.intervals import Estimate
from jaxbandits.analysis.table import aligned, number, plain

R = TypeVar("R", bound=NamedTuple)


class ResultTable(list[R], Generic[R]):
    """Rows, each a named tuple; printed, and shown by a notebook, as aligned columns."""

    def __init__(self, rows: Iterable[R], header: Sequence[str], cells: Callable[[R], Sequence[str]], left: int = 1):
        """Make a table of rows.

        Args:
          rows: what is listed.
          header: of the printed columns.
          cells: from a row to what is printed of it.
          left: how many columns are aligned to the left.
        """
        super().__init__(rows)
        self.header, self.cells, self.left = list(header), cells, left

    def __repr__(self) -> str:
        """Return the table."""
        return aligned(self.header, [list(self.cells(row)) for row in self], self.left)


def named(label: str, point: dict[str, object]) -> str:
    """Format a label with its hyperparameter point."""
    return label + (f" ({', '.join(f'{k}={plain(v)}' for k, v in point.items())})" if point else "")


def interval(estimate: Estimate) -> list[str]:
    """Format a value and its interval as two cells."""
    low, high = (number(float(end)) for end in (estimate.low, estimate.high))
    return [number(float(estimate.mean)), f"[{low}, {high}]"]
