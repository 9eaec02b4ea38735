"""Access by name to the columns of pandas, polars and pyarrow frames (through Narwhals) and of mappings of arrays.

Columns are used only by name; the role of a column is never guessed.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.labels import Labels, number_labels


class Columns:
    """Columns of a frame, by name.

    The argument `role` of the methods is the name of the user's argument, with which error messages begin.

    Raises:
      InputError: if the argument is neither a frame in memory nor a mapping from names to arrays, if a frame has no
        rows or has two columns of the same name, or if Narwhals, which frames need, is not installed.
    """

    def __init__(self, frame: Any):
        """Read a frame of pandas, polars or pyarrow, or a mapping from names to arrays."""
        if isinstance(frame, Mapping):
            self.names: list[Any] = list(frame)
            self._get, self._is_text = frame.__getitem__, lambda name: False
            return
        try:
            import narwhals as nw
        except ImportError:
            raise InputError(
                "data frames need the extra `data` (Narwhals, polars): pip install 'jaxbandits[data]'; a mapping "
                "of arrays needs no extra"
            ) from None
        try:
            table = nw.from_native(frame, eager_only=True)
            self.names, n_rows = list(table.columns), len(table)
        except Exception as error:  # a TypeError if it is no frame; a DuplicateError for two columns of one name
            is_lazy = hasattr(frame, "collect")  # the names of a lazy frame would have to be computed
            names = () if is_lazy else getattr(frame, "column_names", getattr(frame, "columns", ()))
            repeated = next((name for k, name in enumerate(names) if name in list(names)[:k]), None)
            if repeated is not None:
                raise InputError(f"column {repeated!r} occurs twice") from None
            lazy = "; call collect() on a lazy frame" if is_lazy else ""
            why = f" ({' '.join(str(error).split())[:100]})" if not isinstance(error, TypeError) else ""
            raise InputError(
                f"frame must be a pandas, polars or pyarrow frame, or a mapping of arrays, got "
                f"{type(frame).__name__}{why}{lazy}"
            ) from None
        if not n_rows:
            raise InputError("the frame has no rows")
        self._get = lambda name: table.get_column(name).to_native()
        self._is_text = lambda name: table.get_column(name).dtype == nw.String

    def column(self, role: str, name: object) -> Any:
        """Return a column as an object of the frame's library, such as a pandas Series.

        Error messages begin with `role`.

        Raises:
          InputError: for an unknown name; the message suggests the closest names.
        """
        if not isinstance(name, (str, int)) or isinstance(name, bool) or name not in self.names:
            raise InputError(f"{role}: {unknown_name('column of the frame', name, map(str, self.names))}")
        return self._get(name)

    def numbers(self, role: str, name: object) -> np.ndarray:
        """Return a column of numbers as an array `[n]` of float64.

        Error messages begin with `role`.

        Raises:
          InputError: if the column is unknown, or holds text, dates or missing entries.
        """
        return ranges.floats(f"{role} (column {name!r})", self.column(role, name), "(n,)")

    def labels(
        self, role: str, name: object, names: Sequence[Any] | None = None, names_argument: str = "names"
    ) -> Labels:
        """Return a column of names or whole numbers as `Labels`.

        Args:
          role: first words of the error message.
          name: name of the column.
          names: all names, in the order of their numbers; None as in `number_labels`.
          names_argument: name of `names` in error messages.

        Raises:
          InputError: if the column is unknown, or an entry is missing, is not a name, or is not in `names`.
        """
        title, column = f"{role} (column {name!r})", self.column(role, name)
        if not self._is_text(name):
            return number_labels(title, column, names, names_argument)
        import narwhals as nw

        series: Any = nw.from_native(column, series_only=True)
        distinct = series.unique().to_list()  # Python's texts of every row would take more memory than the column
        try:
            labels = number_labels(title, np.array(distinct, object), names, names_argument)
        except InputError:
            return number_labels(title, column, names, names_argument)  # which names the row
        numbers = series.replace_strict(distinct, labels.numbers.tolist(), return_dtype=nw.Int32)
        return labels._replace(numbers=numbers.to_numpy().astype(np.int32))

    def matrix(self, role: str, names: object) -> np.ndarray:
        """Return several columns of numbers as a matrix `[n, p]` of float64.

        Error messages begin with `role`.

        Raises:
          InputError: if `names` is not a list of one or more different names, if a column is unknown or holds text,
            dates or missing entries, or if the columns differ in length.
        """
        if isinstance(names, str) or not isinstance(names, Sequence):
            raise InputError(f"{role} must be a list of column names, got {format_value(names)}")
        if not names or any(name in names[:k] for k, name in enumerate(names)):
            raise InputError(f"{role} must name one or more different columns, got {format_value(list(names))}")
        first = self.numbers(role, names[0])
        found = np.empty((len(first), len(names)))
        found[:, 0] = first
        for k, name in enumerate(names[1:], start=1):
            column = self.numbers(role, name)
            if len(column) != len(first):
                raise InputError(
                    f"{role}: column {name!r} has {len(column)} rows, but column {names[0]!r} has {len(first)}"
                )
            found[:, k] = column
        return found


def constant_columns(matrix: np.ndarray) -> list[tuple[int, float]]:
    """Return the index and value of each constant column of `[n, p]` numbers, except intercepts (columns of 1)."""
    same = (matrix == matrix[0]).all(axis=0) & (matrix[0] != 1.0)
    return [(int(k), float(matrix[0, k])) for k in np.flatnonzero(same)]
