r"""Reader of tables in text files, which uses polars and a schema of column types; errors name the file and the line.

    file = TextFile("u.data", separator="\t", names=("user", "item", "rating", "timestamp"))
    frame = file.read({"user": "integer", "item": "integer", "rating": "number", "timestamp": "integer"})

polars handles byte-order marks, Windows line ends, quotes and gzip. Blank lines and spaces around cells are ignored; a
cell that is empty or has the wrong type raises `InputError`.
"""

import contextlib
import gzip
import io
import itertools
import os
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.callers import user_stacklevel
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.labels import MISSING

if TYPE_CHECKING:
    import polars as pl

Path: TypeAlias = str | os.PathLike[str]
_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n" + _BOM
_REPEATED = "_duplicated_{}"  # suffix that polars appends to repeated names of columns
_SEPARATORS = {",": "commas", "\t": "tabs", " ": "spaces"}
_KINDS = {"number": "a finite number", "integer": "a whole number", "text": "a name"}
_HINT = " (encode text as numbers; fill in missing values or leave out their rows)"


class IncompleteDataWarning(UserWarning):
    """A file of a published data set has another number of rows than the published file."""


def check_row_count(path: Path, n_rows: int, published: int) -> None:
    """Warn if a file of a data set has another number of rows than the published one.

    Nothing else reveals that a file was cut off between two rows, as an incomplete download may be.
    """
    if n_rows != published:
        message = f"{path} has {n_rows:,} rows, but the published file has {published:,}"
        warnings.warn(message, IncompleteDataWarning, stacklevel=user_stacklevel())


@contextlib.contextmanager
def require_complete_files() -> Iterator[None]:
    """Raise InputError, in a `with` block, for a data set with another number of rows than the published one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", IncompleteDataWarning)
        try:
            yield
        except IncompleteDataWarning as warning:
            raise InputError(f"{warning}: an experiment needs the complete file") from None


def polars() -> Any:
    """Import and return polars, which the extra `data` installs.

    Raises:
      InputError: if polars is not installed.
    """
    try:
        import polars
    except ImportError:
        raise InputError("reading text files needs the extra `data` (polars): pip install 'jaxbandits[data]'") from None
    return polars


class TextFile:
    """Text file with one row per line.

    Attributes:
      path: path of the file, plain or compressed.
      names: names of the columns.

    Raises:
      InputError: if the file cannot be read, has no rows, or has a number of columns that differs from `names`.
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
        """Read the first line of the file, which determines the number of columns.

        Args:
          path: path of the file.
          separator: character that separates cells.
          header: True if the first row contains column names.
          names: column names of a file without a header; the default is the numbers from 0.
          skip: number of lines before the table.
          comment: prefix of comment lines.
          quote: character around cells that contain a separator.
          missing: texts that represent a missing value.
        """
        if not isinstance(separator, str) or len(separator) != 1 or separator in '\r\n"':
            raise InputError(
                f"delimiter must be one character, not a quotation mark or line break, got {format_value(separator)}"
            )
        self.path, self._missing, self._quote, self._separator = path, list(missing), quote, separator
        self._header, self._skip, self._comment = ranges.flag("header", header), skip, comment
        check_readable(path)
        self._skip += self._count_leading_lines()
        first, pl = self._scan(n_rows=1, truncate_ragged_lines=True), polars()
        cells = pl.Series(_distinct(_plain(pl.Series(first.columns))) if header else map(str, range(first.width)))
        if names and len(names) != len(cells):
            fields = f"{' '.join(names[:6])}{' ...' * (len(names) > 6)}"
            wanted = f"{len(names)} fields ({fields}) with {_SEPARATORS.get(separator, repr(separator))} between them"
            raise InputError(f"{path}, line {self._lines()['number'][0]}: expected {wanted}, got {first.width}")
        self.names: list[str] = list(names) or cells.to_list()
        numbers = cells.cast(pl.Float64, strict=False).count()
        if header and 2 * numbers >= len(cells):
            warnings.warn(
                f"{path}: {numbers} of {len(cells)} names in the first row are numbers ({', '.join(cells)[:60]}): "
                "pass header=False if this row is data",
                stacklevel=5,
            )

    def column(self, role: str, column: Any) -> str:
        """Return the name of a column, given its name or its index; negative indices count from the end.

        Raises:
          InputError: if the column does not exist, or if several columns have this name.
        """
        width = len(self.names)
        if isinstance(column, str) and self._header:
            if column not in self.names:
                raise unknown_name(f"column of {self.path}", column, self.names)
            if column + _REPEATED.format(0) in self.names:
                raise InputError(f"{role}: several columns of {self.path} have the name {column!r}: pass a number")
            return column
        if isinstance(column, str):
            raise InputError(f"{role} {column!r} is a name, but header=False needs the number of a column")
        if isinstance(column, bool) or not isinstance(column, (int, np.integer)):
            raise InputError(f"{role} must be the name or the number of a column, got {format_value(column)}")
        if not -width <= column < width:
            allowed = f"[{-width}, {width - 1}] for the {width} columns of {self.path}"
            raise InputError(f"{role} must lie in {allowed}, got {column}")
        return self.names[int(column)]

    def read(self, schema: Mapping[str, str]) -> "pl.DataFrame":
        """Return a data frame with the columns of a schema, and the column `line`, the position of a row in the file.

        Args:
          schema: dict from column names to types: "number" (float64), "integer" (int64) or "text"; other columns are
            ignored.

        Raises:
          InputError: if a row has too many cells, or a cell is empty or has the wrong type; the message names the file
            and the line.
        """
        pl = polars()
        types = {"number": pl.Float64, "integer": pl.Int64, "text": pl.String}
        positions = sorted(map(self.names.index, schema))
        frame = self._scan(
            [types[schema.get(name, "text")] for name in self.names], columns=positions, row_index_name="line"
        )
        frame.columns = ["line", *(self.names[position] for position in positions)]
        is_null = frame.select(pl.all_horizontal(pl.exclude("line").is_null())).to_series()
        if is_null.any():  # a row may be a blank line, or have no entries in these columns
            frame = frame.filter(~(is_null & (self._lines()["text"].str.strip_chars() == "").gather(frame["line"])))
        if not len(frame):
            raise InputError(f"{self.path} holds no rows")
        return frame.select("line", *(self._convert(frame, name, kind, types[kind]) for name, kind in schema.items()))

    def _convert(self, frame: "pl.DataFrame", name: str, kind: str, dtype: Any) -> "pl.Series":
        """Return a column converted to its type, after checking that no cell is empty or invalid."""
        cells = _plain(frame[name])
        found = cells.cast(dtype, strict=False)
        good = found.is_finite() if kind == "number" else found.is_not_null()
        if kind == "text":
            good &= ~found.is_in(self._missing)
        if not good.fill_null(False).all():
            row = int((~good.fill_null(False)).arg_true()[0])
            cell = "" if cells[row] is None else str(cells[row])
            shown = repr(cell if len(cell) <= 40 else cell[:37] + "...") + _HINT * (kind == "number")
            self._refuse(frame, row, f"{self.title(name)} must be {_KINDS[kind]}, got {shown}")
        return found.alias(name)

    def title(self, name: str) -> str:
        """Return the text that names a column in messages: its number (from 1) and its name."""
        return f"column {self.names.index(name) + 1}" + (f" ({name})" if not name.isdigit() else "")

    def require(self, frame: "pl.DataFrame", name: str, good: Any, message: Callable[[Any], object]) -> None:
        """Raise InputError for the first row for which an expression is False.

        Args:
          frame: result of `read`.
          name: name of a column.
          good: a polars expression or series of bools.
          message: function that maps the cell in this column to the error message.
        """
        passed = frame.select(good).to_series()
        if not passed.all():
            row = int((~passed).arg_true()[0])
            self._refuse(frame, row, str(message(frame[name][row])))

    def _refuse(self, frame: "pl.DataFrame", row: int, message: str) -> None:
        """Raise an InputError that names the line of the file from which `read` took a row."""
        raise InputError(f"{self.path}, line {self._lines()['number'][int(frame['line'][row])]}: {message}")

    def _lines(self) -> "pl.DataFrame":
        """Return a frame of the lines that are rows: their `text`, and their `number` in the file, from 1."""
        pl = polars()
        text = read_bytes(self.path).decode(errors="replace").split("\n")
        lines = pl.DataFrame({"text": text}).with_row_index("number", 1)[self._skip :]
        if self._comment is not None:
            lines = lines.filter(~pl.col("text").str.starts_with(self._comment))
        if self._quote in "".join(text):  # a line that begins within quotes belongs to the row of the line before it
            quotes = lines["text"].str.count_matches(self._quote, literal=True).cast(pl.Int64)
            lines = lines.filter((quotes.cum_sum() - quotes) % 2 == 0)
        return lines[1:] if self._header else lines

    def _count_leading_lines(self) -> int:
        """Return the number of lines between the first `skip` lines and the table: blank lines and comments."""
        comment = (self._comment or "\n").encode()  # without comments, a blank line
        with _open_bytes(self.path) as file:
            lines = itertools.islice(file, self._skip, None)
            return sum(1 for _ in itertools.takewhile(lambda a: a.startswith(comment) or not a.strip(_SPACE), lines))

    def _scan(self, types: Sequence[Any] | None = None, **reading: Any) -> "pl.DataFrame":
        """Read the file with polars; columns are text if `types` is None or if a cell does not have its type."""
        pl = polars()
        try:
            return pl.read_csv(
                os.fspath(self.path),
                separator=self._separator,
                quote_char=self._quote,
                has_header=self._header,
                comment_prefix=self._comment,
                skip_lines=self._skip,
                schema_overrides=types,
                infer_schema=False,
                **reading,
            )
        except pl.exceptions.NoDataError:
            raise InputError(f"{self.path} holds no rows") from None
        except OSError as error:
            raise InputError(f"cannot read {self.path}: {error.strerror or error}") from None
        except pl.exceptions.PolarsError as error:
            if types is not None:
                return self._scan(**reading)
            raise self._unreadable(str(error)) from None

    def _unreadable(self, said: str) -> InputError:
        """Return an InputError that names the first row with too many cells, or else quotes the message of polars."""
        if "utf-8" in said:
            return InputError(f"{self.path}: not UTF-8 text")
        lines, width = self._lines(), len(self.names) if hasattr(self, "names") else np.inf
        cells = lines["text"].str.count_matches(self._separator, literal=True) + 1
        if (cells > width).any():
            row = int((cells > width).arg_true()[0])
            where = f"{self.path}, line {lines['number'][row]}"
            return InputError(f"{where}: {cells[row]} cells, but the first row has {width}")
        return InputError(f"{self.path}: {' '.join(said.partition(chr(10) * 2)[0].split())[:120]}")


def read_examples(
    path: Path, roles: Mapping[str, tuple[Any, str]], separator: str = ",", header: bool = False
) -> list[np.ndarray]:
    """Read the columns that have a role, and all other columns as features.

    Args:
      path: path of the file.
      roles: dict from a role to the name or index of its column and the column's type, as in `TextFile.read`.
      separator: character that separates cells.
      header: True if the first row contains column names.

    Returns:
      Features `[n, d]`, and a column `[n]` for each role; text is converted to whole numbers if all cells are whole
      numbers.

    Raises:
      InputError: if a column does not exist or has two roles, or if there are no features; and as for `TextFile`.
    """
    file = TextFile(path, separator=separator, header=header)
    kinds = {file.column(role, column): kind for role, (column, kind) in roles.items()}
    features = features_of(file, kinds, len(roles))
    frame = file.read(dict.fromkeys(features, "number") | kinds)
    columns = [labels_of(frame[name]) if kind == "text" else frame[name].to_numpy() for name, kind in kinds.items()]
    return [frame.select(features).to_numpy(order="c"), *columns]


def features_of(file: TextFile, others: Collection[str], n_roles: int = 1) -> list[str]:
    """Return the names of the columns of a file that are not among `others`, the columns with a role.

    Raises:
      InputError: if every column has a role, or if two roles have the same column.
    """
    if len(others) < n_roles:
        raise InputError(f"label and group are the same column of {file.path}")
    names = [name for name in file.names if name not in others]
    if not names:
        raise InputError(f"{file.path} has no features, only the columns {', '.join(others)}")
    return names


def labels_of(column: "pl.Series") -> np.ndarray:
    """Return a column of text as an array, converted to int64 if every cell is a whole number."""
    whole = column.cast(polars().Int64, strict=False)
    is_whole = not whole.null_count() and column.str.contains(r"^(0|-?[1-9][0-9]*)$").all()
    return (whole if is_whole else column).to_numpy()


def read_bytes(path: Path) -> bytes:
    """Return the decompressed bytes of a file, without the byte-order mark.

    Raises:
      InputError: if the file cannot be read.
    """
    with _open_bytes(path) as file:
        return file.read().removeprefix(_BOM)


@contextlib.contextmanager
def _open_bytes(path: Path) -> Iterator[gzip.GzipFile | io.BufferedReader]:
    """Open a file, plain or compressed, for reading bytes in a `with` block.

    Raises:
      InputError: if the file cannot be read.
    """
    check_readable(path)
    try:
        with open(path, "rb") as file:
            is_compressed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            with gzip.open(file) if is_compressed else contextlib.nullcontext(file) as content:
                yield content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}") from None


def check_readable(path: Any) -> None:
    """Raise InputError if `path` is neither a string nor a path object, or if the file cannot be opened."""
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path must be a string or a path object, got {format_value(path)}")
    try:
        open(path, "rb").close()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


def _plain(cells: "pl.Series") -> "pl.Series":
    """Return a column in which cells of text have no surrounding spaces and quotes."""
    is_text = cells.dtype == polars().String
    return cells.str.strip_chars().str.replace(r'^"(.*)"$', "$1") if is_text else cells


def _distinct(names: "pl.Series") -> list[str]:
    """Return distinct names of columns, with a suffix for names that repeat or that differ only by outer spaces."""
    found: list[str] = []
    for name in names:
        candidates = itertools.chain([name], map(f"{name}{_REPEATED}".format, itertools.count()))
        found.append(next(text for text in candidates if text not in found))
    return found
