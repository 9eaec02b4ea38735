"""Readers of features and targets from CSV, LIBSVM and npz files.

    features, targets = load_csv("housing.csv", target="price", standardise=True, intercept=True)

Every column except the target is a feature. To select columns, use a data frame: `DataStream.from_frame(
polars.read_csv("housing.csv"), target="price", features=["area", "rooms"])`.
"""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.environments.datasets.files import Path, check_readable, read_bytes, read_examples

MAX_ENTRIES = 10**9  # largest number of entries of a dense table: 8 GB


def load_csv(
    path: Path,
    target: str | int = -1,
    *,
    delimiter: str = ",",
    header: bool = True,
    standardise: bool = False,
    intercept: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Read a table of numbers with one row per example; for a data frame, use `DataStream.from_frame`.

    Args:
      path: path of the file, plain or compressed; blank lines are skipped.
      target: name or index of the column to predict; negative indices count from the end.
      delimiter: character that separates cells.
      header: True if the first row contains column names.
      standardise: True to give every feature mean 0 and standard deviation 1 over the file; constant features become 0.
      intercept: True to append a feature that is always 1.

    Returns:
      Features `[n, d]` and targets `[n]`.

    Raises:
      InputError: if the file cannot be read, rows differ in length, or a cell is not a finite number; the message names
        the file and the line.
    """
    features, targets = read_examples(path, {"target": (target, "number")}, delimiter, header)
    return finish(features, targets, standardise, intercept)


def load_libsvm(
    path: Path, n_features: int | None = None, *, standardise: bool = False, intercept: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Read a LIBSVM file with lines `target index:value index:value ...`, using scikit-learn (extra `data`).

    Args:
      path: path of the file, plain or compressed; indices start at 1.
      n_features: d, number of features; by default the largest index in the file.
      standardise: True to give every feature mean 0 and standard deviation 1 over the file; constant features become 0.
      intercept: True to append a feature that is always 1.

    Returns:
      Dense features `[n, d]`, in which absent entries are 0, and targets `[n]`.

    Raises:
      InputError: if the file cannot be read, is malformed, or has entries that are not finite; the message names the
        file.
    """
    if n_features is not None:
        n_features = ranges.integer("n_features", n_features, f"[1, {MAX_ENTRIES}]")
    data = read_bytes(path)
    try:
        from sklearn.datasets import load_svmlight_file
    except ImportError:
        raise InputError("LIBSVM files need the extra `data` (scikit-learn): pip install 'jaxbandits[data]'") from None
    load: Any = load_svmlight_file
    try:
        sparse, targets = load(io.BytesIO(data), n_features=n_features, zero_based=False)
    except Exception as error:  # a damaged file may raise any exception
        what = " ".join(str(error).split())[:120]
        raise InputError(f"{path}{_bad_line(load, data)} is not readable LIBSVM: {what}") from None
    n, width = sparse.shape
    if not n or (n_features is None and not sparse.nnz):
        raise InputError(f"{path} holds no {'features' if n else 'rows'}")
    if n * width > MAX_ENTRIES:
        raise InputError(
            f"{path}: {n} rows x {width} features is too large for a dense table ({MAX_ENTRIES:.0e} entries)"
        )
    try:
        features, targets = ranges.floats("features", sparse.toarray(), "(n, d)"), ranges.floats("targets", targets)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return finish(features, targets, standardise, intercept)


def _bad_line(load: Any, data: bytes) -> str:
    """Return text that names the first line which scikit-learn cannot read; "" if it can read every single line."""
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            load(io.BytesIO(line))
        except Exception:  # a damaged line may raise any exception
            return f", line {number}"
    return ""


def read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Return the named arrays of an npz file; pickled objects are rejected.

    Raises:
      InputError: if the file cannot be read, is damaged, or lacks an array; the message names the file.
    """
    check_readable(path)
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            known = archive.files
            if set(names) <= set(known):
                return [archive[name] for name in names]
    except Exception as error:  # a damaged archive may raise any exception
        raise InputError(f"{path} is not a readable npz file: {' '.join(str(error).split())[:100]}") from None
    raise unknown_name(f"array of {path}", next(name for name in names if name not in known), known)


def finish(
    features: np.ndarray, targets: np.ndarray, standardise: bool, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Standardise features and append a feature that is always 1, each if requested; return features and targets."""
    if ranges.flag("standardise", standardise):
        # Columns are scaled by powers of two, without rounding, so that squares neither overflow nor underflow.
        features = features * np.ldexp(1.0, np.clip(-np.frexp(np.abs(features).max(axis=0))[1], -1000, 1000))
        size = np.abs(features).max(axis=0)
        features = features - features.mean(axis=0)
        spread = np.sqrt(np.mean(features**2, axis=0))
        constant = spread <= 1e-12 * size  # centring leaves only rounding errors
        features = np.where(constant, 0.0, features / np.where(constant, 1.0, spread))
    if ranges.flag("intercept", intercept):
        features = np.column_stack([features, np.ones(len(features))])
    return features, targets
