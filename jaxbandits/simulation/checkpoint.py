"""Checkpoints: one directory per run, one file per piece, every file replaced atomically.

    spec.json          everything that determines the numbers of the run; it must be the same on resume
    piece-0-00012.npz  job 0, piece 12: the rows so far and, unless it is finished, the trials' state

A file is written under a temporary name, synced, then renamed: killed at any instant, the previous file survives. The
directory is locked by the process that writes it. Nothing is pickled.
"""

import contextlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.files import lock_directory, read_json, read_npz, write_json, write_npz
from jaxbandits.simulation.plan import Piece, Plan
from jaxbandits.simulation.program import bare

_FORMAT = "jaxbandits checkpoint 6"


class Progress(NamedTuple):
    """A piece between two calls of `advance`."""

    rounds: int  # that were played
    rows: dict[str, np.ndarray]  # [M so far, ..., W]
    carry: Any | None  # host copy of the trials, their keys bare; None once the piece is finished
    seconds: float  # that it took


def discard(directory: Path) -> None:
    """Removes what a checkpoint consists of, and nothing else; the directory too if that leaves it empty."""
    for pattern in ("spec.json", "piece-*.npz", ".lock", "*.tmp"):
        for path in directory.glob(pattern):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        directory.rmdir()


class Store:
    """The checkpoint directory of one run; a context manager that holds the lock."""

    def __init__(self, directory: str | os.PathLike[str], plan: Plan, spec: dict[str, Any]):
        """A directory for a plan; `spec` is everything that determines its numbers, and must be that of a resume."""
        self.directory = Path(directory)
        self.plan = plan
        self.spec = json.loads(json.dumps(spec))  # as it reads back: lists for tuples
        self._held = contextlib.ExitStack()

    def __enter__(self) -> "Store":
        self._held.enter_context(lock_directory(self.directory))
        try:
            self._check_spec()
        except BaseException:
            self._held.close()
            raise
        for leftover in self.directory.glob("*.tmp"):
            leftover.unlink(missing_ok=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self._held.close()

    def _check_spec(self) -> None:
        path = self.directory / "spec.json"
        if path.exists():
            saved = _read_spec(path)
            if saved != self.spec:
                raise InputError(
                    f"{self.directory} holds another run: {first_difference(saved, self.spec)}; "
                    "give the same settings to resume, or another directory"
                )
        elif any(self.directory.glob("piece-*.npz")):
            raise InputError(f"{self.directory} holds checkpoint pieces but no spec.json; choose another directory")
        else:
            write_json(path, {"format": _FORMAT, "spec": self.spec})

    @property
    def resumes(self) -> bool:
        """Whether an earlier call left something to go on from."""
        return any(self.directory.glob("piece-*.npz"))

    def _path(self, piece: Piece) -> Path:
        return self.directory / f"piece-{piece.job}-{piece.index:05d}.npz"

    def save(self, piece: Piece, progress: Progress) -> None:
        """Replaces the file of a piece."""
        arrays = {f"row:{name}": rows for name, rows in progress.rows.items()}
        if progress.carry is not None:
            arrays |= {f"carry:{i}": leaf for i, leaf in enumerate(jax.tree.leaves(progress.carry))}
        counts = {"rounds": np.asarray(progress.rounds), "seconds": np.asarray(progress.seconds)}
        write_npz(self._path(piece), {**counts, **arrays})

    def load(self, piece: Piece, carry_shape: Any) -> Progress | None:
        """What is known of a piece; None if nothing.

        Raises:
          InputError: if the file is damaged, naming it (delete it to compute that piece again).
        """
        path = self._path(piece)
        if not path.exists():
            return None
        arrays = read_npz(path)
        if not {"rounds", "seconds"} <= set(arrays):
            raise InputError(f"{path} is damaged or not a jaxbandits file; delete it to compute it again")
        rows = {name[4:]: array for name, array in arrays.items() if name.startswith("row:")}
        leaves = [arrays[f"carry:{i}"] for i in range(sum(name.startswith("carry:") for name in arrays))]
        if not leaves:
            return Progress(int(arrays["rounds"]), rows, None, float(arrays["seconds"]))
        like = jax.tree.leaves(jax.eval_shape(lambda carry: jax.tree.map(bare, carry), carry_shape))
        if [(x.shape, x.dtype) for x in leaves] != [(x.shape, x.dtype) for x in like]:
            raise InputError(f"{path} does not fit this run (its arrays differ); delete it to compute it again")
        carry = jax.tree.unflatten(jax.tree.structure(carry_shape), leaves)
        return Progress(int(arrays["rounds"]), rows, carry, float(arrays["seconds"]))


def _read_spec(path: Path) -> dict[str, Any]:
    saved = read_json(path)
    if not isinstance(saved, dict) or saved.get("format") != _FORMAT or not isinstance(saved.get("spec"), dict):
        raise InputError(f"{path} is not a checkpoint of this version of jaxbandits; choose another directory")
    return saved["spec"]


def first_difference(saved: Any, now: Any, path: str = "") -> str:
    """Names the first field in which two specs differ."""
    if isinstance(saved, dict) and isinstance(now, dict):
        for key in [*now, *(k for k in saved if k not in now)]:
            if saved.get(key) != now.get(key):
                return first_difference(saved.get(key), now.get(key), f"{path}.{key}" if path else str(key))
    return f"{path} was {saved!r}, now {now!r}"
