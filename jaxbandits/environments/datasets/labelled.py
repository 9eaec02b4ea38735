"""Features and labels from CSV, npz, LIBSVM and ARFF files; text files may be compressed (`.gz`).

    features, labels = load_labelled("iris.arff")
    environment = TableBandit.from_table(features, labels)

These functions use every column except the label as a feature. To select columns, use a data frame:
`TableBandit.from_frame(polars.read_csv("iris.csv"), label="species", features=["length", "width"])`.
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.base.labels import Labels, number_labels
from jaxbandits.environments.datasets import streams
from jaxbandits.environments.datasets.files import Path, TextFile, features_of, read_bytes, read_examples


def load_labelled(
    path: Path,
    label: str | int = -1,
    *,
    delimiter: str = ",",
    header: bool = True,
    standardise: bool = False,
    intercept: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Read features and labels from a file that ends in `.csv`, `.npz`, `.libsvm`, `.svm`, `.svmlight` or `.arff`.

    For a data frame, use `TableBandit.from_frame`.

    Args:
      path: path of the file. An npz file must contain the arrays `features` [n, d] and `labels` [n].
      label: name or index of the label column in CSV and ARFF files; negative indices count from the end.
      delimiter: character that separates the cells of a CSV file.
      header: True if the first row of a CSV file contains column names.
      standardise: True to give every feature mean 0 and standard deviation 1 over the file; constant features become 0.
      intercept: True to append a feature that is always 1.

    Returns:
      Features `[n, d]` float64 and labels `[n]`, whole numbers or text. Nominal attributes of an ARFF file are one-hot
      encoded.

    Raises:
      InputError: if the extension is unknown or the file is invalid.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise InputError(f"path must be a string or a path object, got {format_value(path)}")
    ending = PurePath(os.fspath(path).removesuffix(".gz")).suffix.lower()
    readers: dict[str, Callable[[], Sequence[np.ndarray]]] = {
        ".csv": lambda: read_examples(path, {"label": (label, "text")}, delimiter, header),
        ".npz": lambda: _read_npz(path),
        **dict.fromkeys((".libsvm", ".svm", ".svmlight"), lambda: streams.load_libsvm(path)),
        ".arff": lambda: load_arff(path, label),
    }
    if ending not in readers:
        raise InputError(f"{path} must end in {', '.join(readers)}; .gz may follow, except after .npz")
    features, labels = readers[ending]()
    return streams.finish(features, labels, standardise, intercept)


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    features, labels = streams.read_npz(path, ("features", "labels"))
    try:
        return check_examples(features, labels)[0], labels
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def check_examples(features: Any, labels: Any, classes: Any = None) -> tuple[np.ndarray, Labels]:
    """Check features and labels, and return the features `[n, d]` as float64 and the labels as `Labels`.

    Raises:
      InputError: if the shapes do not match, a feature is not a finite number, or a label is not among `classes`.
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
    """Read a UTF-8 ARFF file (the format of Weka and OpenML).

    Args:
      path: path of the file, plain or compressed.
      label: name or index of the attribute to predict; negative indices count from the end.

    Returns:
      Features `[n, d]`, with nominal attributes one-hot encoded, and labels `[n]`.

    Raises:
      InputError: if a line cannot be read, a value is missing, or an attribute is text or a date; the message names the
        file and the line.
    """
    attributes, skip, quote = _arff_header(path)
    file = TextFile(path, names=list(attributes), skip=skip, comment="%", quote=quote)
    target = file.column("label", label) if not isinstance(label, str) else label
    if target not in attributes:
        raise unknown_name(f"attribute of {path}", target, attributes)
    features_of(file, [target])
    frame = file.read({name: "number" if values is None else "text" for name, values in attributes.items()})
    columns = []
    for name, values in attributes.items():
        if values is not None:
            title = file.title(name)
            wrong = lambda cell, at=title, known=values: f"{at}: {unknown_name('value', cell, known)}"  # noqa: E731
            file.require(frame, name, frame[name].is_in(list(values)), wrong)
        if name != target:
            columns += [frame[name]] if values is None else [(frame[name] == value).cast(float) for value in values]
    return np.column_stack([column.to_numpy() for column in columns]), frame[target].to_numpy()


_ATTRIBUTE = re.compile(r"""@attribute\s+(['"]?)(.*?)\1\s+(.*)""", re.IGNORECASE)


def _arff_header(path: Path) -> tuple[dict[str, tuple[str, ...] | None], int, str]:
    """Return a dict from attributes to nominal values (None: numeric), the number of header lines, and the quote."""
    attributes: dict[str, tuple[str, ...] | None] = {}
    try:
        lines = read_bytes(path).decode().split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read {path}: {error}") from None
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line.lower().startswith("@data"):
            quotes = re.findall("['\"]", "".join(lines[number:]))
            return attributes, number, quotes[0] if quotes else '"'
        found = _ATTRIBUTE.match(line)
        if found is not None:
            attributes[found[2]] = _arff_values(f"{path}, line {number}: attribute {found[2]!r}", found[3])
    raise InputError(f"{path} has no line @data")


def _arff_values(attribute: str, kind: str) -> tuple[str, ...] | None:
    """Return the values of a nominal attribute, or None for a numeric attribute."""
    if kind.lower() in ("numeric", "real", "integer"):
        return None
    if not (kind.startswith("{") and kind.endswith("}")):
        raise InputError(f"{attribute} is of type {kind}; only numeric and nominal attributes can be used")
    return tuple("".join(value).strip() for value in re.findall(r"""'([^']*)'|"([^"]*)"|([^,'"\s][^,]*)""", kind[1:-1]))
