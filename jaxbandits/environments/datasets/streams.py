"""Tables of numbers from the user's own files, CSV and LIBSVM, plain or gzip-compressed (by the ending `.gz`).

    features, targets = load_csv("housing.csv", target="price", standardise=True, intercept=True)
    environment = DataStream.from_arrays(features, targets)

Whatever is wrong with a file is one `InputError` that names the file and the line.
"""

import csv
import gzip
import math
import os
import zlib
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from jaxbandits.core import ranges
from jaxbandits.core.errors import InputError, shown, unknown

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
    """Reads a table of numbers with one row an example.

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
    for name, value in (("header", header), ("standardise", standardise), ("intercept", intercept)):
        ranges.flag(name, value)
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"':
        raise InputError(f"delimiter must be one character, got {shown(delimiter)}")
    if isinstance(target, bool) or not isinstance(target, (str, int, np.integer)):
        raise InputError(f"target must be the name or the number of a column, got {shown(target)}")
    if isinstance(target, str) and not header:
        raise InputError(f"target {target!r} is a name, but header=False: give the number of a column")
    names: list[str] | None = None
    rows: list[list[float]] = []
    width = None
    for line, cells in _csv_rows(path, delimiter):
        if width is None:
            width = len(cells)
            if width < 2:
                raise InputError(
                    f"{path}, line {line}: needs a target and a feature, got one cell (delimiter {delimiter!r})"
                )
        if len(cells) != width:
            raise InputError(f"{path}, line {line}: {len(cells)} cells, but the first row has {width}")
        if header and names is None:
            names = [cell.strip() for cell in cells]
            continue
        rows.append([_number(path, line, cell, f"column {k + 1}") for k, cell in enumerate(cells)])
    if not rows or width is None:
        raise InputError(f"{path} holds no rows of numbers")
    table = np.array(rows)
    column = _column(path, target, names, width)
    return _finish(np.delete(table, column, axis=1), table[:, column], standardise, intercept)


def load_libsvm(
    path: Path, n_features: int | None = None, *, standardise: bool = False, intercept: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Reads `target index:value index:value ...`, indices from 1 and increasing; `#` begins a comment.

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
        n_features = ranges.whole("n_features", n_features, f"[1, {MAX_ENTRIES}]")
    ranges.flag("standardise", standardise)
    ranges.flag("intercept", intercept)
    targets: list[float] = []
    places: list[tuple[int, int]] = []
    values: list[float] = []
    for line, text in _lines(path):
        tokens = text.partition("#")[0].split()
        if not tokens:
            continue
        row, last = len(targets), 0
        targets.append(_number(path, line, tokens[0], "the target"))
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
            values.append(_number(path, line, value, f"feature {place}"))
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
    return _finish(features, np.array(targets), standardise, intercept)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
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
        raise InputError(f"path must be a string or a path, got {shown(path)}") from None


def _csv_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((text for _, text in _lines(path)), delimiter=delimiter, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(f"{path}, line {reader.line_num}: {error}") from None
        if any(cell.strip() for cell in cells):
            yield reader.line_num, cells


def _number(path: Path, line: int, text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise InputError(f"{path}, line {line}: {what} must be a finite number, got {_quoted(text)}")
    return value


def _column(path: Path, target: str | int, names: list[str] | None, width: int) -> int:
    if isinstance(target, str):
        names = names or []
        if names.count(target) > 1:
            raise InputError(f"{path} has {names.count(target)} columns named {target!r}: give the number of one")
        if target not in names:
            raise unknown(f"column of {path}", target, names)
        return names.index(target)
    if not -width <= target < width:
        raise InputError(f"target must lie in [{-width}, {width - 1}] for the {width} columns of {path}, got {target}")
    return int(target) % width


def _finish(
    features: np.ndarray, targets: np.ndarray, standardise: bool, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
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
