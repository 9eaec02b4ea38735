"""Features and targets from files: CSV, LIBSVM and npz, as arrays.

    features, targets = load_csv("housing.csv", target="price", standardise=True, intercept=True)

These read a file in which every other column is a feature. A data frame says more: `DataStream.from_frame(
polars.read_csv("housing.csv"), target="price", features=["area", "rooms"])`.
"""

import gzip
import io
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, unknown_name
from jaxbandits.environments.datasets.files import Path, TextFile, check_readable

MAX_ENTRIES = 10**9  # of a dense table: 8 GB


def load_csv(
    path: Path,
    target: str | int = -1,
    *,
    delimiter: str = ",",
    header: bool = True,
    standardise: bool = False,
    intercept: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Read a table of numbers with one row an example; `DataStream.from_frame` takes a data frame instead.

    Args:
      path: the file, plain or compressed; blank lines are left out.
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
    file = TextFile(path, separator=delimiter, header=header)
    column = file.column("target", target)
    features = features_of(file, [column])
    frame = file.read(dict.fromkeys(file.names, "number"))
    return finish(frame.select(features).to_numpy(order="c"), frame[column].to_numpy(), standardise, intercept)


def features_of(file: TextFile, others: Sequence[str]) -> list[str]:
    """Return the columns of a file besides some.

    Raises:
      InputError: without any, and when two of `others` are the same.
    """
    if len(set(others)) < len(others):
        raise InputError(f"label and group are the same column of {file.path}")
    names = [name for name in file.names if name not in others]
    if not names:
        raise InputError(f"{file.path} needs a feature besides {', '.join(others)}: it has {len(file.names)} columns")
    return names


def load_libsvm(
    path: Path, n_features: int | None = None, *, standardise: bool = False, intercept: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Read `target index:value index:value ...`, indices from 1, by scikit-learn (extra `data`).

    Args:
      path: the file, plain or compressed.
      n_features: d; None: the largest index in the file.
      standardise: give every feature mean 0 and standard deviation 1 over the file (constant ones become 0).
      intercept: append a feature that is always 1.

    Returns:
      Features `[n, d]` (dense, absent entries 0) and targets `[n]`.

    Raises:
      InputError: naming the file, when it cannot be read, is malformed, or has entries that are not finite.
    """
    if n_features is not None:
        n_features = ranges.integer("n_features", n_features, f"[1, {MAX_ENTRIES}]")
    check_readable(path)
    try:
        from sklearn.datasets import load_svmlight_file

        load: Any = load_svmlight_file
        with _binary(path) as file:
            sparse, targets = load(file, n_features=n_features, zero_based=False)
    except ImportError:
        raise InputError("LIBSVM files need the extra `data` (scikit-learn): pip install 'jaxbandits[data]'") from None
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        what = " ".join(str(error).split())[:120]
        raise InputError(f"{path}{_bad_line(path)} is no readable LIBSVM: {what}") from None
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


def _binary(path: Path) -> io.BytesIO:
    """Return the bytes of a file, plain or compressed, behind its byte-order mark."""
    opener: Any = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rb") as file:
        return io.BytesIO(file.read().removeprefix(b"\xef\xbb\xbf"))


def _bad_line(path: Path) -> str:
    """Return the first line that scikit-learn does not read, as messages name it; "" if each alone is read."""
    from sklearn.datasets import load_svmlight_file

    try:
        with _binary(path) as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    load_svmlight_file(io.BytesIO(line))
                except Exception:  # as above
                    return f", line {number}"
    except (OSError, EOFError):
        pass
    return ""


def read_npz(path: Path, names: Sequence[str]) -> list[np.ndarray]:
    """Return arrays of an npz file by name; no pickled objects.

    Raises:
      InputError: naming the file, when it cannot be read, is damaged, or holds no such array.
    """
    check_readable(path)
    try:
        with pathlib.Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            missing = next((name for name in names if name not in archive.files), None)
            if missing is not None:
                raise unknown_name(f"array of {path}", missing, archive.files)
            return [archive[name] for name in names]
    except InputError:
        raise
    except Exception as error:  # a damaged archive raises whatever its bytes lead to
        raise InputError(f"{path} is no readable npz file: {' '.join(str(error).split())[:100]}") from None


def finish(
    features: np.ndarray, targets: np.ndarray, standardise: bool, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return features `[n, d]` with mean 0 and standard deviation 1 each, and one that is always 1, where asked for."""
    if ranges.flag("standardise", standardise):
        size = np.abs(features).max(axis=0)
        features = features - features.mean(axis=0)
        spread = np.sqrt(np.mean(features**2, axis=0))
        constant = spread <= 1e-12 * size  # what centring left of it is rounding
        features = np.where(constant, 0.0, features / np.where(constant, 1.0, spread))
    if ranges.flag("intercept", intercept):
        features = np.column_stack([features, np.ones(len(features))])
    return features, targets
