"""Tables with a label a row, numbers or text: CSV, npz, LIBSVM and ARFF files, text also gzip-compressed (`.gz`).

    features, labels = load_labelled("iris.arff")
    environment = TableBandit.from_table(features, labels)

Whatever is wrong with a file is one `InputError` that names the file and, where there are lines, the line.
"""

import csv
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.environments.datasets import streams
from jaxbandits.environments.datasets.streams import Path


def load_labelled(
    path: Path,
    label: str | int = -1,
    *,
    delimiter: str = ",",
    header: bool = True,
    standardise: bool = False,
    intercept: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Read a file by its ending: `.csv`, `.npz`, `.libsvm` (`.svm`, `.svmlight`) or `.arff`.

    Args:
      path: the file. In npz files `features` [n, d] and `labels` [n].
      label: the column of labels in CSV and ARFF files: its name, or its number from 0 (negative: from the end).
      delimiter: one character between the cells of a CSV file.
      header: whether the first row of a CSV file holds names.
      standardise: give every feature mean 0 and standard deviation 1 over the file (constant ones become 0).
      intercept: append a feature that is always 1.

    Returns:
      Features `[n, d]` float64 and labels `[n]`, numbers or text. A nominal attribute of an ARFF file becomes a feature
      0 or 1 for each of its values.

    Raises:
      InputError: an ending that is none of these; whatever is wrong with the file.
    """
    ranges.flag("standardise", standardise)
    ranges.flag("intercept", intercept)
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path must be a string or a path, got {format_value(path)}")
    ending = os.path.splitext(os.fspath(path).removesuffix(".gz"))[1].lower()
    readers: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
        ".csv": lambda: _read_csv(path, label, delimiter, header),
        ".npz": lambda: _read_npz(path),
        **dict.fromkeys((".libsvm", ".svm", ".svmlight"), lambda: streams.load_libsvm(path)),
        ".arff": lambda: load_arff(path, label),
    }
    if ending not in readers:
        raise InputError(f"{path} must end in {', '.join(readers)} (or .gz after one of them)")
    features, labels = readers[ending]()
    return streams.finish(features, labels, standardise, intercept)


def _read_csv(path: Path, label: str | int, delimiter: str, header: bool) -> tuple[np.ndarray, np.ndarray]:
    table, places, texts = streams.read_csv(path, {"label": label}, text="label", delimiter=delimiter, header=header)
    return np.delete(table, places["label"], axis=1), numbers_or_texts(texts)


def numbers_or_texts(texts: list[str]) -> np.ndarray:
    """Return numbers where all of them are: "1" and "1.0" are one label."""
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        return np.array(texts)
    return numbers if np.isfinite(numbers).all() else np.array(texts)


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    features, labels = streams.read_npz(path, ("features", "labels"))
    try:
        checked(features, labels)
        return np.asarray(features, np.float64), labels
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def checked(features: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return features `[n, d]` of finite numbers and `[n]` labels that differ.

    Raises:
      InputError: for anything else.
    """
    try:
        features, labels = ranges.floats(features), np.asarray(labels)
    except (TypeError, ValueError):
        raise InputError(
            "features must be numbers of shape (n, d), labels numbers or text of shape (n,); text columns become "
            "numbers by one-hot encoding, such as pandas.get_dummies(features)"
        ) from None
    if features.ndim != 2 or not features.size or labels.shape != features.shape[:1]:
        shapes = f"{features.shape} and {labels.shape}"
        raise InputError(f"features and labels must have shapes (n, d) and (n,) with n, d >= 1, got {shapes}")
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels):  # text of pandas
        labels = labels.astype(str)
    if labels.dtype.kind not in "biufUS":
        raise InputError(f"labels must be numbers or text, got an array of {labels.dtype}")
    for name, array in (("features", features), ("labels", labels)):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(
                f"{name} must be finite, but row {np.argwhere(~np.isfinite(array))[0][0]} (from 0) is not: fill in or "
                "leave out rows with missing values"
            )
    return features, labels


class _Lines:
    """The lines of a file for SciPy's reader, which does not say where it stopped."""

    read = None  # by this attribute SciPy tells a file from a path; it takes line after line

    def __init__(self, path: Path):
        self.line = 0
        self.rows: list[int] = []  # lines of the data
        self.columns = 0  # attributes declared
        self._path, self._lines, self._data = path, streams.lines_of(path), False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.line, text = next(self._lines)
        plain = text.strip()
        if self._data and plain and not plain.startswith("%"):
            if plain.startswith("{"):
                raise InputError(f"{self._path}, line {self.line}: sparse rows are not supported")
            cells = self._cells(plain)
            if len(cells) != self.columns:
                raise InputError(f"{self._path}, line {self.line}: {len(cells)} cells, but {self.columns} attributes")
            self.rows.append(self.line)
            return ",".join(cells)  # SciPy takes quotes for part of a value unless the first row has some
        self.columns += not self._data and plain.lower().startswith("@attribute")
        self._data |= plain.lower().startswith("@data")
        return text

    def _cells(self, text: str) -> list[str]:
        """Return the cells of a row, without quotes of either kind."""
        quote = next((character for character in text if character in "'\""), '"')
        try:
            cells = next(csv.reader([text], quotechar=quote, skipinitialspace=True, strict=True))
        except csv.Error as error:
            raise InputError(f"{self._path}, line {self.line}: {error}") from None
        if any("," in cell for cell in cells):
            raise InputError(f"{self._path}, line {self.line}: values with a comma in them are not supported")
        return [cell.strip() for cell in cells]


def load_arff(path: Path, label: str | int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Read an ARFF file (Weka's format, as of OpenML) by SciPy.

    Args:
      path: the file, plain or gzip-compressed (`.gz`).
      label: the attribute to predict: its name, or its number from 0 (negative: from the end).

    Returns:
      Features `[n, d]`, a nominal attribute as one feature 0 or 1 for each of its values, and labels `[n]`.

    Raises:
      InputError: naming file and line, for whatever cannot be read; missing values; attributes of text or dates.
    """
    from scipy.io import arff

    if isinstance(label, bool) or not isinstance(label, (str, int, np.integer)):
        raise InputError(f"label must be the name or the number of an attribute, got {format_value(label)}")
    lines = _Lines(path)
    try:
        data, meta = arff.loadarff(lines)
    except InputError:
        raise
    except StopIteration:
        raise InputError(f"{path} has no @data") from None
    except Exception as error:  # whatever the text leads SciPy to
        what = " ".join(str(error).split())[:150] or type(error).__name__
        raise InputError(f"{path}, line {lines.line}: {what}") from None
    names = meta.names()
    if not len(data):
        raise InputError(f"{path} holds no rows")
    if len(names) < 2:
        raise InputError(f"{path} needs a label and a feature, got {len(names)} attributes")
    if isinstance(label, str) and label not in names:
        raise unknown_name(f"attribute of {path}", label, names)
    if not isinstance(label, str) and not -len(names) <= label < len(names):
        raise InputError(
            f"label must lie in [{-len(names)}, {len(names) - 1}] for the attributes of {path}, got {label}"
        )
    target = label if isinstance(label, str) else names[label]
    columns = []
    for name in names:
        kind, values = meta[name]
        column = data[name]
        if kind not in ("numeric", "nominal"):
            raise InputError(f"{path}: attribute {name!r} is of type {kind}; only numeric and nominal ones can be used")
        missing = ~np.isfinite(column) if kind == "numeric" else column == b"?"
        if missing.any():
            raise InputError(f"{path}, line {lines.rows[int(np.argmax(missing))]}: the value of {name!r} is missing")
        if name == target:
            continue
        columns += (
            [column] if kind == "numeric" else [(column == str(value).encode()).astype(float) for value in values]
        )
    labels = data[target]
    return np.stack(columns, axis=1).astype(np.float64), np.char.decode(labels) if labels.dtype.kind == "S" else labels
