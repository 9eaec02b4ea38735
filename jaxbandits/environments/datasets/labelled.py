"""Features and labels from files: CSV, npz, LIBSVM and ARFF, text also compressed (`.gz`).

    features, labels = load_labelled("iris.arff")
    environment = TableBandit.from_table(features, labels)

These read a file in which every other column is a feature. A data frame says more: `TableBandit.from_frame(
polars.read_csv("iris.csv"), label="species", features=["length", "width"])`.
"""

import gzip
import os
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.labels import Labels, number_labels
from jaxbandits.environments.datasets import streams
from jaxbandits.environments.datasets.files import Path, TextFile, check_readable, labels_of, polars


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

    `TableBandit.from_frame` takes a data frame instead.

    Args:
      path: the file. In npz files `features` [n, d] and `labels` [n].
      label: the column of labels in CSV and ARFF files: its name, or its number from 0 (negative: from the end).
      delimiter: one character between the cells of a CSV file.
      header: whether the first row of a CSV file holds names.
      standardise: give every feature mean 0 and standard deviation 1 over the file (constant ones become 0).
      intercept: append a feature that is always 1.

    Returns:
      Features `[n, d]` float64 and labels `[n]`, whole numbers or text. A nominal attribute of an ARFF file becomes a
      feature 0 or 1 for each of its values.

    Raises:
      InputError: an ending that is none of these; whatever is wrong with the file.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path must be a string or a path, got {format_value(path)}")
    ending = PurePath(os.fspath(path).removesuffix(".gz")).suffix.lower()
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
    file = TextFile(path, separator=delimiter, header=header)
    column = file.column("label", label)
    features = streams.features_of(file, [column])
    frame = file.read({name: "text" if name == column else "number" for name in file.names})
    return frame.select(features).to_numpy(order="c"), labels_of(frame[column])


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    features, labels = streams.read_npz(path, ("features", "labels"))
    try:
        return checked(features, labels)[0], labels
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def checked(features: Any, labels: Any, classes: Any = None) -> tuple[np.ndarray, Labels]:
    """Return features `[n, d]` of finite numbers and `[n]` labels, numbered.

    Raises:
      InputError: for anything else, and labels that are none of the `classes`.
    """
    features, numbered = (
        ranges.floats("features", features, "(n, d)"),
        number_labels("labels", labels, classes, "classes"),
    )
    if len(features) != len(numbered.numbers):
        raise InputError(
            f"features and labels must have shapes (n, d) and (n,) with n, d >= 1, got {features.shape} and "
            f"{numbered.numbers.shape}"
        )
    return features, numbered


def load_arff(path: Path, label: str | int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Read an ARFF file (Weka's format, as of OpenML), UTF-8: the header here, the rows by polars.

    Args:
      path: the file, plain or compressed.
      label: the attribute to predict: its name, or its number from 0 (negative: from the end).

    Returns:
      Features `[n, d]`, a nominal attribute as one feature 0 or 1 for each of its values, and labels `[n]`.

    Raises:
      InputError: naming file and line, for whatever cannot be read; missing values; attributes of text or dates.
    """
    attributes, skip, quote = _arff_header(path)
    file = TextFile(path, names=list(attributes), skip=skip, comment="%", quote=quote)
    target = file.column("label", label) if not isinstance(label, str) else label
    if target not in attributes:
        raise unknown_name(f"attribute of {path}", target, attributes)
    streams.features_of(file, [target])
    frame = file.read({name: "number" if values is None else "text" for name, values in attributes.items()})
    pl, columns = polars(), []
    for name, values in attributes.items():
        if values is not None:
            file.require(
                frame,
                pl.col(name).is_in(list(values)),
                lambda row, name=name, values=values: f"{file.title(name)}: {unknown_name('value', row[name], values)}",
            )
        if name != target:
            columns += [frame[name]] if values is None else [(frame[name] == value).cast(float) for value in values]
    return np.column_stack([column.to_numpy() for column in columns]), frame[target].to_numpy()


_ATTRIBUTE = re.compile(r"""@attribute\s+(?:'([^']*)'|"([^"]*)"|(\S+))\s+(.*)""", re.IGNORECASE)


def _arff_header(path: Path) -> tuple[dict[str, tuple[str, ...] | None], int, str]:
    """Return attributes (name to nominal values; None for numbers), lines up to the rows, and the quote of the rows."""
    check_readable(path)
    attributes: dict[str, tuple[str, ...] | None] = {}
    opener: Any = gzip.open if os.fspath(path).endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                text = line.strip()
                if text.lower().startswith("@data"):
                    sample = next((row for row in lines if "'" in row or '"' in row), "")
                    return attributes, number, next((c for c in sample if c in "'\""), '"')
                found = _ATTRIBUTE.match(text)
                if found is not None:
                    name, kind = next(filter(None, found.groups()[:3]), ""), found[4].strip()
                    attributes[name] = _arff_values(path, number, name, kind)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    raise InputError(f"{path} has no @data")


def _arff_values(path: Path, line: int, name: str, kind: str) -> tuple[str, ...] | None:
    if kind.lower() in ("numeric", "real", "integer"):
        return None
    if not (kind.startswith("{") and kind.endswith("}")):
        raise InputError(
            f"{path}, line {line}: attribute {name!r} is of type {kind}; only numeric and nominal ones can be used"
        )
    values = re.findall(r"""'([^']*)'|"([^"]*)"|([^,'"\s][^,]*)""", kind[1:-1])
    return tuple(next(filter(None, groups), "").strip() for groups in values)
