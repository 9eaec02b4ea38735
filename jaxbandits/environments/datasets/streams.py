"""Tables of numbers from the user's own files, CSV and LIBSVM, plain or gzip-compressed (by the ending `.gz`).

    features, targets = load_csv("housing.csv", target="price", standardise=True, intercept=True)
    environment = DataStream.from_arrays(features, targets)

Whatever is wrong with a file is one `InputError` that names the file and the line.
"""

import csv
import gzip
import math
import os
import pathlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name

Path: TypeAlias = str | os.PathLike[str]

MAX_ENTRIES = 10**9  # of the dense table: 8 GB


def load_csv(
    path: Path,
    target: str | int = -1,
    *,
    delimiter: str = ",",
    header: bool = True,
    standardise: bool = False,
    intercept: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Read a table of numbers with one row an example.

    Args:
      path: the file; blank lines are skipped.
      target: the column to predict: its name in the header, or its number from 0 (negative: from the end).
      delimiter: one character between the cells.
      header: whether the first row holds names.
      standardise: give every feature mean 0 and standard deviation 1 over the file (constant ones become 0).
      intercept: append a feature that is always 1.

    Returns:
      Features `[n, d]` and targets `[n]`.

    Raises:
      InputError: naming file and line, when the file cannot be read, rows differ in length, or a cell is not a finite
        number.
    """
    ranges.flag("standardise", standardise)
    ranges.flag("intercept", intercept)
    table, places, _ = read_csv(path, {"target": target}, delimiter=delimiter, header=header)
    column = places["target"]
    return finish(np.delete(table, column, axis=1), table[:, column], standardise, intercept)


def read_csv(
    path: Path,
    columns: Mapping[str, str | int],
    *,
    text: str | None = None,
    delimiter: str,
    header: bool,
    only: bool = False,
) -> tuple[np.ndarray, dict[str, int], list[str]]:
    """Every cell of a table of numbers, of which one column may hold text.

    Args:
      path: the file; blank lines are skipped.
      columns: what stands in a column that is no feature -> its name in the header, or its number from 0 (negative:
        from the end).
      text: which of them holds text; None: none does.
      delimiter: one character between the cells.
      header: whether the first row holds names.
      only: whether all other columns are left unread, and 0 in the table.

    Returns:
      The table `[n, columns]`, 0 where text stands; what -> number of its column; `[n]` the texts.

    Raises:
      InputError: naming file and line, when the file cannot be read, rows differ in length, a cell is not a finite
        number, or text is empty.
    """
    ranges.flag("header", header)
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"':
        raise InputError(f"delimiter must be one character, got {format_value(delimiter)}")
    for what, column in columns.items():
        if isinstance(column, bool) or not isinstance(column, (str, int, np.integer)):
            raise InputError(f"{what} must be the name or the number of a column, got {format_value(column)}")
        if isinstance(column, str) and not header:
            raise InputError(f"{what} {column!r} is a name, but header=False: give the number of a column")
    rows: list[list[float]] = []
    texts: list[str] = []
    places: dict[str, int] = {}
    width, lettered = 0, -1
    for line, cells in _csv_rows(path, delimiter):
        if not width:
            width, names = len(cells), [cell.strip() for cell in cells] if header else None
            if width < len(columns) + (not only):
                needed = ", ".join(f"a {what}" for what in columns)
                raise InputError(
                    f"{path}, line {line}: needs {needed}{' and a feature' * (not only)}, got {width} cells (delimiter "
                    f"{delimiter!r})"
                )
            places = {what: _column(path, what, column, names, width) for what, column in columns.items()}
            if len(set(places.values())) < len(places):
                raise InputError(f"{' and '.join(places)} are the same column of {path}")
            lettered = -1 if text is None else places[text]
            if header:
                continue
        if len(cells) != width:
            raise InputError(f"{path}, line {line}: {len(cells)} cells, but the first row has {width}")
        if text is not None:
            texts.append(cells[lettered].strip())
            if not texts[-1]:
                raise InputError(f"{path}, line {line}: the {text} (column {lettered + 1}) is empty")
        unread = {lettered} | (set(range(width)) - set(places.values()) if only else set())
        rows.append(
            [0.0 if k in unread else number(path, line, cell, f"column {k + 1}") for k, cell in enumerate(cells)]
        )
    if not rows:
        raise InputError(f"{path} holds no rows")
    return np.array(rows), places, texts


def load_libsvm(
    path: Path, n_features: int | None = None, *, standardise: bool = False, intercept: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Read `target index:value index:value ...`, indices from 1 and increasing; `#` begins a comment.

    Args:
      path: the file; blank lines are skipped.
      n_features: d; None: the largest index in the file.
      standardise: give every feature mean 0 and standard deviation 1 over the file (constant ones become 0).
      intercept: append a feature that is always 1.

    Returns:
      Features `[n, d]` (dense, absent entries 0) and targets `[n]`.

    Raises:
      InputError: naming file and line, when the file cannot be read or a line is malformed.
    """
    if n_features is not None:
        n_features = ranges.integer("n_features", n_features, f"[1, {MAX_ENTRIES}]")
    ranges.flag("standardise", standardise)
    ranges.flag("intercept", intercept)
    targets: list[float] = []
    places: list[tuple[int, int]] = []
    values: list[float] = []
    for line, text in lines_of(path):
        tokens = text.partition("#")[0].split()
        if not tokens:
            continue
        row, last = len(targets), 0
        targets.append(number(path, line, tokens[0], "the target"))
        for token in tokens[1:]:
            index, colon, value = token.partition(":")
            if not colon or not index.removeprefix("-").isascii() or not index.removeprefix("-").isdigit():
                raise InputError(f"{path}, line {line}: expected index:value, got {_quoted(token)}")
            if len(index) > 18:
                raise InputError(f"{path}, line {line}: index too large, got {_quoted(token)}")
            place = int(index)
            if place < 1:
                raise InputError(f"{path}, line {line}: indices start at 1, got {_quoted(token)}")
            if place <= last:
                raise InputError(f"{path}, line {line}: indices must increase, got {_quoted(token)} after {last}")
            if n_features is not None and place > n_features:
                raise InputError(f"{path}, line {line}: index {place} exceeds n_features = {n_features}")
            last = place
            places.append((row, place - 1))
            values.append(number(path, line, value, f"feature {place}"))
    if not targets:
        raise InputError(f"{path} holds no rows")
    width = int(n_features) if n_features is not None else max((k + 1 for _, k in places), default=0)
    if width == 0:
        raise InputError(f"{path} holds no features")
    if len(targets) * width > MAX_ENTRIES:
        raise InputError(
            f"{path}: {len(targets)} rows x {width} features is too large for a dense table ({MAX_ENTRIES:.0e} entries)"
        )
    features = np.zeros((len(targets), width))
    if places:
        features[tuple(np.array(places).T)] = values
    return finish(features, np.array(targets), standardise, intercept)


def read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Return arrays of an npz file by name; no pickled objects.

    Raises:
      InputError: naming the file, when it cannot be read, is damaged, or holds no such array.
    """
    try:
        with pathlib.Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            missing = next((name for name in names if name not in archive.files), None)
            if missing is not None:
                raise unknown_name(f"array of {path}", missing, archive.files)
            return [archive[name] for name in names]
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # a damaged archive raises whatever its bytes lead to
        raise InputError(f"{path} is no readable npz file: {' '.join(str(error).split())[:100]}") from None


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines, every failure to read an InputError."""
    line = 0
    try:
        name = os.fspath(path)
        opener: Any = gzip.open if name.endswith(".gz") else open
        with opener(name, "rt", encoding="utf-8-sig", newline="") as file:
            for line, text in enumerate(file, start=1):
                yield line, text
    except UnicodeDecodeError:
        raise InputError(f"{path}, line {line + 1} or later: not UTF-8 text") from None
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path}, line {line + 1} or later: damaged gzip data ({error})") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except TypeError:
        raise InputError(f"path must be a string or a path, got {format_value(path)}") from None


def _csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((text for _, text in lines_of(path)), delimiter=delimiter, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"{path}, line {reader.line_num}: {error}") from None
        if any(cell.strip() for cell in cells):
            yield reader.line_num, cells


_HINT = " (encode text as numbers, fill gaps or leave their rows out)"


def number(path: Path, line: int, text: str, what: str) -> float:
    """Return a finite number in a cell of a file."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise InputError(f"{path}, line {line}: {what} must be a finite number, got {_quoted(text)}{_HINT}")
    return value


def _column(path: Path, what: str, column: str | int, names: list[str] | None, width: int) -> int:
    if isinstance(column, str):
        names = names or []
        if names.count(column) > 1:
            raise InputError(f"{path} has {names.count(column)} columns named {column!r}: give the number of one")
        if column not in names:
            raise unknown_name(f"column of {path}", column, names)
        return names.index(column)
    if not -width <= column < width:
        raise InputError(f"{what} must lie in [{-width}, {width - 1}] for the {width} columns of {path}, got {column}")
    return int(column) % width


def finish(
    features: np.ndarray, targets: np.ndarray, standardise: bool, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return features `[n, d]` with mean 0 and standard deviation 1 each, and one that is always 1, where asked for."""
    if standardise:
        size = np.abs(features).max(axis=0)
        features = features - features.mean(axis=0)
        spread = np.sqrt(np.mean(features**2, axis=0))
        constant = spread <= 1e-12 * size  # what centring left of it is rounding
        features = np.where(constant, 0.0, features / np.where(constant, 1.0, spread))
    if intercept:
        features = np.column_stack([features, np.ones(len(features))])
    return features, targets


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
