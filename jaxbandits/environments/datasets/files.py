r"""Tables in text files: polars reads them, a schema says what the columns are, and an error names file and line.

    file = TextFile("u.data", separator="\t", names=("user", "item", "rating", "timestamp"))
    frame = file.read({"user": "integer", "item": "integer", "rating": "number", "timestamp": "integer"})

Byte-order marks, Windows line ends, quotes and gzip are polars' business. Blank lines are left out, spaces around cells
too, and a cell that holds nothing, or nothing that its column may hold, is an `InputError`.
"""

import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.labels import MISSING

if TYPE_CHECKING:
    import polars as pl

Path: TypeAlias = str | os.PathLike[str]


def polars() -> Any:
    """Import polars, which the extra `data` brings.

    Raises:
      InputError: without it.
    """
    try:
        import polars
    except ImportError:
        raise InputError("reading text files needs the extra `data` (polars): pip install 'jaxbandits[data]'") from None
    return polars


class TextFile:
    """A text file whose lines are rows.

    Attributes:
      path: the file, plain or compressed.
      names: of its columns.

    Raises:
      InputError: for a file that cannot be read, has no rows, or another number of columns than names are given.
    """

    def __init__(
        self,
        path: Path,
        *,
        separator: str = ",",
        header: bool = False,
        names: Sequence[str] = (),
        skip: int = 0,
        comment: str | None = None,
        quote: str = '"',
        missing: Collection[str] = MISSING,
    ):
        """Read the first line.

        Args:
          path: the file.
          separator: one character between the cells.
          header: True if the first row holds names.
          names: of the columns, without a header; by default their numbers from 0.
          skip: lines before the table.
          comment: what a line begins with that is no row.
          quote: the character around cells that hold a separator.
          missing: texts that stand for nothing.
        """
        if not isinstance(separator, str) or len(separator) != 1 or separator in '\r\n"':
            raise InputError(f"delimiter must be one character, got {format_value(separator)}")
        self.path, self._header, self._skip, self._comment = path, ranges.flag("header", header), skip, comment
        self._missing = list(missing)
        self._settings: dict[str, Any] = {"separator": separator, "quote_char": quote}
        self._settings |= {"has_header": header, "comment_prefix": comment, "skip_lines": skip}
        check_readable(path)
        try:
            first = self._scan(n_rows=1, infer_schema=False, truncate_ragged_lines=True)
        except polars().exceptions.PolarsError as error:
            raise InputError(f"{path}: {_in_one_line(error)}") from None
        cells = [_plain(name) for name in first.columns] if header else list(map(str, range(first.width)))
        if names and len(names) != len(cells):
            self._refuse_width(first, names)
        self.names: list[str] = list(names) or cells
        numbers = sum(map(_is_number, cells))
        if header and 2 * numbers >= len(cells):
            warnings.warn(
                f"{path}: {numbers} of {len(cells)} names in the first row are numbers ({', '.join(cells)[:60]}): give "
                "header=False if it is data",
                stacklevel=4,
            )

    def _scan(self, **reading: Any) -> "pl.DataFrame":
        return _scan(self.path, **self._settings, **reading)

    def column(self, role: str, column: Any) -> str:
        """Return the name of a column that is given by its name, or by its number from 0 (negative: from the end).

        Raises:
          InputError: for a column that there is not.
        """
        if isinstance(column, bool) or not isinstance(column, (str, int, np.integer)):
            raise InputError(f"{role} must be the name or the number of a column, got {format_value(column)}")
        width = len(self.names)
        if not isinstance(column, str):
            if not -width <= column < width:
                raise InputError(
                    f"{role} must lie in [{-width}, {width - 1}] for the {width} columns of {self.path}, got {column}"
                )
            return self.names[int(column)]
        if not self._header:
            raise InputError(f"{role} {column!r} is a name, but header=False: give the number of a column")
        if column not in self.names:
            raise unknown_name(f"column of {self.path}", column, self.names)
        return column

    def read(self, schema: Mapping[str, str], every: int = 1) -> "pl.DataFrame":
        """Return columns as float64 ("number"), int64 ("integer") and text ("text"), and `line`, the line of each row.

        Args:
          schema: name of a column to what it holds; others are not looked at.
          every: only every so many rows.

        Raises:
          InputError: naming file and line, when rows have too many cells, and for empty or ill-typed ones.
        """
        pl = polars()
        types = {"number": pl.Float64, "integer": pl.Int64, "text": pl.String}
        positions = sorted(self.names.index(name) for name in schema)
        wanted = [types[schema.get(name, "text")] for name in self.names]
        reading: dict[str, Any] = {"columns": positions, "row_index_name": "line"}
        try:
            frame = self._scan(**reading, schema_overrides=wanted)
        except pl.exceptions.PolarsError:  # a cell of another type, or too many of them: read text to find it
            try:
                frame = self._scan(**reading, infer_schema=False)
            except pl.exceptions.PolarsError as error:
                raise self._ragged(error) from None
        frame.columns = ["line", *(self.names[position] for position in positions)]
        blank = frame.select(pl.all_horizontal(pl.all().exclude("line").is_null())).to_series()
        if blank.any():
            frame = frame.filter(~self._is_blank(frame, blank))
        frame = frame[::every]
        if not len(frame):
            raise InputError(f"{self.path} holds no rows")
        return frame.select("line", *(self._converted(frame, name, types[kind]) for name, kind in schema.items()))

    def _converted(self, frame: "pl.DataFrame", name: str, dtype: Any) -> "pl.Series":
        """Return a column in its type, every cell of which holds something."""
        pl = polars()
        column = frame[name]
        is_text = column.dtype == pl.String
        cells = column.str.strip_chars().str.replace(r'^"(.*)"$', "$1") if is_text else column
        found = cells.cast(dtype, strict=False) if is_text else column
        good = found.is_not_null() if dtype != pl.Float64 else found.is_finite().fill_null(False)
        if dtype == pl.String:
            good &= ~found.is_in(self._missing).fill_null(True)
        if not good.all():
            row = int((~good).arg_true()[0])
            cell = cells[row] if is_text else column[row]
            what = {pl.Float64: "a finite number", pl.Int64: "a whole number", pl.String: "a name"}[dtype]
            shown = _short("" if cell is None else str(cell)) + _HINT * (dtype == pl.Float64)
            self.refuse(frame, row, f"{self.title(name)} must be {what}, got {shown}")
        return found.alias(name)

    def title(self, name: str) -> str:
        """Return what messages call a column: its name and number from 1."""
        return f"column {self.names.index(name) + 1}" + (f" ({name})" if not name.isdigit() else "")

    def refuse(self, frame: "pl.DataFrame", row: int, message: str) -> None:
        """Raise the InputError of a row of what `read` returned, with its line."""
        line = self._lines()["number"][int(frame["line"][row])]
        raise InputError(f"{self.path}, line {line}: {message}")

    def require(self, frame: "pl.DataFrame", good: Any, message: Callable[[dict[str, Any]], str]) -> None:
        """Raise the InputError of the first row for which an expression is False.

        Args:
          frame: what `read` returned.
          good: an expression of polars.
          message: from the row to what is wrong with it.
        """
        passed = frame.select(good).to_series()
        if not passed.all():
            row = int((~passed).arg_true()[0])
            self.refuse(frame, row, message(frame.row(row, named=True)))

    def _lines(self) -> "pl.DataFrame":
        """Return the lines that are rows, `text`, and their numbers from 1 in the file, `number`."""
        pl = polars()
        text = _raw_lines(self.path)
        lines = pl.DataFrame({"text": text}).with_row_index("number", 1)[self._skip :]
        if self._comment is not None:
            lines = lines.filter(~pl.col("text").str.starts_with(self._comment))
        return lines[1:] if self._header else lines

    def _is_blank(self, frame: "pl.DataFrame", candidates: "pl.Series") -> "pl.Series":
        """Return True for the candidates whose line holds nothing, also in columns that were not read."""
        blank = self._lines()["text"].str.strip_chars() == ""
        return candidates & blank.gather(frame["line"])

    def _ragged(self, error: Exception) -> InputError:
        """Return the InputError of the first row with too many cells, or of what polars says."""
        lines, separator, width = self._lines(), self._settings["separator"], len(self.names)
        cells = lines["text"].str.count_matches(separator, literal=True) + 1
        more = (cells > width).arg_true()
        if len(more):
            row = int(more[0])
            return InputError(
                f"{self.path}, line {lines['number'][row]}: {cells[row]} cells, but the first row has {width}"
            )
        return InputError(f"{self.path}: {_in_one_line(error)}")

    def _refuse_width(self, first: "pl.DataFrame", names: Sequence[str]) -> None:
        expected = f"{len(names)} fields ({' '.join(names[:6])}{' ...' * (len(names) > 6)})"
        between = _SEPARATORS.get(self._settings["separator"], repr(self._settings["separator"]))
        line = 1 + self._skip
        raise InputError(
            f"{self.path}, line {line}: expected {expected} with {between} between them, got {first.width}"
        )


def labels_of(column: "pl.Series") -> np.ndarray:
    """Return a column of text, as whole numbers if every cell is written as one that int64 holds."""
    pl = polars()
    whole = column.str.contains(r"^(0|-?[1-9][0-9]*)$").all() and column.cast(pl.Int64, strict=False)
    return column.to_numpy() if whole is False or whole.null_count() else whole.to_numpy()


_SEPARATORS = {",": "commas", "\t": "tabs", " ": "spaces"}
_HINT = " (encode text as numbers, fill gaps or leave their rows out)"


def first_line(path: Path) -> str:
    """Return the first line of a text file, plain or compressed; "" of an empty one."""
    check_readable(path)
    return next(iter(_raw_lines(path, n_rows=1)), "")


def _raw_lines(path: Path, **reading: Any) -> "pl.Series":
    """Return the lines of a file as they stand."""
    settings = {"separator": "\x01", "quote_char": None, "has_header": False, "infer_schema": False}
    return _scan(path, **settings, **reading).to_series().fill_null("").rename("text")


def _scan(path: Path, **reading: Any) -> "pl.DataFrame":
    """Read a file by polars, with errors of its other kinds than ill-typed cells as InputErrors."""
    pl = polars()
    try:
        return pl.read_csv(os.fspath(path), **reading)
    except pl.exceptions.NoDataError:
        raise InputError(f"{path} holds no rows") from None
    except pl.exceptions.ComputeError as error:
        if "utf-8" in str(error):
            raise InputError(f"{path}: not UTF-8 text") from None
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def check_readable(path: Any) -> None:
    """Raise InputError for what is no path, or no file that can be opened."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path must be a string or a path, got {format_value(path)}")
    try:
        with open(path, "rb"):
            pass
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _in_one_line(error: Exception) -> str:
    """Return the first paragraph of an error of polars; the others are advice about its arguments."""
    return " ".join(str(error).partition("\n\n")[0].split())[:120]


def _plain(cell: str) -> str:
    cell = cell.strip()
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
