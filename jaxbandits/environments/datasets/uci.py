"""Four classification data sets of the UCI repository, read from local copies, and synthetic stand-ins.

    features, labels = load_uci("letter", "data/")          # data/letter-recognition.data, or data/letter/...
    environment = TableBandit.from_table(features, labels, as_context=True)

| set | file | rows | attributes | classes |
|---|---|---|---|---|
| letter | letter-recognition.data: label first, commas | 20,000 | 16 | 26 |
| penbased | pendigits.tra: label last, commas | 7,494 | 16 | 10 |
| satimage | sat.trn: label last, spaces | 4,435 | 36 | 6 |
| covertype | covtype.data, or .gz: label last, commas | 581,012 (every 20th is read) | 54 | 7 |
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value, unknown_name
from jaxbandits.environments.datasets import streams
from jaxbandits.environments.datasets.covertype import N_ROWS, load_cover_types
from jaxbandits.environments.datasets.files import check_row_count, read_examples

_EVERY = 20  # every 20th row of Covertype is read, which gives 29,051 rows


class UCISet(NamedTuple):
    """File names, format and shape of a data set; the first file that exists is read."""

    files: tuple[str, ...]
    label: int
    delimiter: str
    n_features: int
    n_classes: int
    n_rows: int


SETS = {
    "letter": UCISet(("letter-recognition.data",), 0, ",", 16, 26, 20_000),
    "penbased": UCISet(("pendigits.tra",), -1, ",", 16, 10, 7494),
    "satimage": UCISet(("sat.trn",), -1, " ", 36, 6, 4435),
    "covertype": UCISet(("covtype.data", "covtype.data.gz"), -1, ",", 54, 7, N_ROWS),
}


def find(name: str, directory: str | os.PathLike[str]) -> Path | None:
    """Return the file of a data set in a directory or in its subfolder `name`, or None if there is no such file.

    Raises:
      InputError: if the name is unknown, or if `directory` is not a directory.
    """
    if name not in SETS:
        raise unknown_name("UCI set", name, SETS)
    if not isinstance(directory, (str, os.PathLike)):
        raise InputError(f"directory must be a string or a path object, got {format_value(directory)}")
    place = Path(directory)
    if not place.is_dir():
        raise InputError(
            f"{place} is not a directory: pass the directory that contains {' or '.join(SETS[name].files)}"
        )
    found = (folder / file for folder in (place, place / name) for file in SETS[name].files)
    return next((path for path in found if path.is_file()), None)


def load_uci(name: str, directory: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """Read the features and labels of a data set from a local file.

    Args:
      name: name of a data set in `SETS`.
      directory: directory of the file, which has the format of the UCI repository.

    Returns:
      Standardised features `[n, p + 1]`, of which the last one is always 1, and labels `[n]`.

    Raises:
      InputError: if the name is unknown, or if the file is missing or invalid (the message names the line).

    Warns:
      IncompleteDataWarning: if the file has another number of rows than the published file.
    """
    path = find(name, directory)
    if path is None:
        raise InputError(f"{directory} has no {' or '.join(SETS[name].files)}, neither itself nor in {name}/")
    of = SETS[name]
    if name == "covertype":
        features, labels = load_cover_types(path, every=_EVERY)
    else:
        features, labels = read_examples(path, {"label": (of.label, "text")}, of.delimiter)
        check_row_count(path, len(labels), of.n_rows)
    if features.shape[1] != of.n_features:
        raise InputError(f"{path}: {name} has {of.n_features} attributes, but this file has {features.shape[1]}")
    return streams.finish(features, labels, True, True)


def uci_like(name: str, rows: int = 5000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a synthetic table in the format of `load_uci`, with a Gaussian cluster for each class.

    The labels of about 10 % of the rows are random.

    Args:
      name: name of a data set in `SETS`.
      rows: n, number of rows.
      seed: seed of the draws.

    Raises:
      InputError: if the name is unknown, or if a number is outside its range.
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
