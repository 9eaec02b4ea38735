"""Digests of JSON values, of arrays, and of this package's source."""

import functools
import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np

_LENGTH = 32  # hexadecimal digits: 128 bits
_PACKAGE = Path(__file__).parents[1]


def digest(value: object) -> str:
    """Return a digest of a JSON value, independent of the order of its keys."""
    return _sha(json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())


def array_digest(array: np.ndarray) -> str:
    """Return a digest of the type, shape and bytes of an array."""
    head = f"{array.dtype.name} {array.shape} ".encode()
    return _sha(head, np.ascontiguousarray(array))


@functools.cache
def package_digest() -> str:
    """Return a digest of the paths and contents of all .py files of this package."""
    paths = sorted(_PACKAGE.rglob("*.py"))
    parts = ((str(path.relative_to(_PACKAGE)).encode(), path.read_bytes()) for path in paths)
    return _sha(*itertools.chain.from_iterable(parts))


def _sha(*parts: Any) -> str:
    sha = hashlib.sha256()
    for part in parts:
        sha.update(part)
    return sha.hexdigest()[:_LENGTH]
