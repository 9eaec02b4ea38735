"""Four classification data sets of the UCI repository, read from local copies, and synthetic stand-ins.

    features, labels = load_uci("letter", "data/")          # data/letter-recognition.data, or data/letter/...
    environment = TableBandit.from_table(features, labels, as_context=True)

| set | file | rows | attributes | classes |
|---|---|---|---|---|
| letter | letter-recognition.data: label first, commas | 20,000 | 16 | 26 |
| penbased | pendigits.tra: label last, commas | 7,494 | 16 | 10 |
| satimage | sat.trn: label last, blanks | 4,435 | 36 | 6 |
| covertype | covtype.data, or .gz: label last, commas | 581,012, of which every 20th is read | 54 | 7 |
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.environments.datasets import streams
from jaxbandits.environments.datasets.covertype import load_cover_types
from jaxbandits.environments.datasets.files import read_examples

_EVERY = 20  # every 20th row of Covertype: 29,051 rows from the whole file


class UCISet(NamedTuple):
    """One of the data sets: its possible files, of which the first that exists is read, and its shape."""

    files: tuple[str, ...]
    label: int
    delimiter: str
    n_features: int
    n_classes: int


SETS = {
    "letter": UCISet(("letter-recognition.data",), 0, ",", 16, 26),
    "penbased": UCISet(("pendigits.tra",), -1, ",", 16, 10),
    "satimage": UCISet(("sat.trn",), -1, " ", 36, 6),
    "covertype": UCISet(("covtype.data", "covtype.data.gz"), -1, ",", 54, 7),
}


def find(name: str, directory: str | os.PathLike[str]) -> Path | None:
    """Return the file of a set in a directory or in its subfolder with the name of the set; None if there is none.

    Raises:
      InputError: for an unknown name, or for a path that is not a directory.
    """
    if name not in SETS:
        raise unknown_name("UCI set", name, SETS)
    if not isinstance(directory, (str, os.PathLike)):
        raise InputError(f"directory must be a string or a path, got {format_value(directory)}")
    place = Path(directory)
    if not place.is_dir():
        raise InputError(f"{place} is not a directory: name the one that holds {' or '.join(SETS[name].files)}")
    found = (folder / file for folder in (place, place / name) for file in SETS[name].files)
    return next((path for path in found if path.is_file()), None)


def load_uci(name: str, directory: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """Read a set: standardised features and one that is always 1, `[n, p + 1]`, and labels `[n]`.

    Args:
      name: one of `SETS`.
      directory: directory of its file, in the format of the repository.

    Raises:
      InputError: for an unknown name, a missing file, or an invalid one (the message names the line).
    """
    path = find(name, directory)
    if path is None:
        raise InputError(f"{directory} has no {' or '.join(SETS[name].files)}, neither itself nor in {name}/")
    of = SETS[name]
    if name == "covertype":
        features, labels = load_cover_types(path, every=_EVERY)
    else:
        features, labels = read_examples(path, {"label": (of.label, "text")}, of.delimiter)
    if features.shape[1] != of.n_features:
        raise InputError(f"{path}: {name} has {of.n_features} attributes, this file {features.shape[1]}")
    return streams.finish(features, labels, True, True)


def uci_like(name: str, rows: int = 5000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a synthetic table like `load_uci`, of the same shape: a Gaussian cluster per class, some wrong labels.

    Args:
      name: one of `SETS`.
      rows: n.
      seed: seed of the draws.

    Raises:
      InputError: for an unknown name.
    """
    if name not in SETS:
        raise unknown_name("UCI set", name, SETS)
    rows = ranges.integer("rows", rows, "[100, 1e7]")
    rng = np.random.default_rng([ranges.integer("seed", seed, "[0, inf)"), list(SETS).index(name)])
    p, k = SETS[name].n_features, SETS[name].n_classes
    centres = 1.5 * rng.standard_normal((k, p)) / np.sqrt(p) * np.sqrt(8.0)
    labels = np.concatenate([np.arange(k), rng.integers(k, size=rows - k)])
    features = centres[labels] + rng.standard_normal((rows, p)) @ rng.standard_normal((p, p)) / np.sqrt(p)
    wrong = (rng.random(rows) < 0.1) & (np.arange(rows) >= k)
    labels = np.where(wrong, rng.integers(k, size=rows), labels)
    return streams.finish(features, labels, True, True)
