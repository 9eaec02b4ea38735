"""Checkpoints: one directory per run, one file per batch, every file replaced atomically.

    spec.json          everything that determines the numbers of the run; a resumed run must have an equal one
    batch-0-00012.npz  job 0, batch 12: values at the record points and, until it is finished, states of its trials

A file is written under a temporary name, synced, then renamed, so that the previous file survives if the process is
killed. The file of a batch contains the digest of `spec.json` and the index of the batch. The directory is locked by
the process that writes it. Nothing is pickled.
"""

import contextlib
import json
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from jaxbandits.base.digests import digest
from jaxbandits.base.errors import InputError
from jaxbandits.base.files import first_difference, lock_directory, open_npz, read_json, write_json, write_npz
from jaxbandits.base.foreign import lack_of_identity
from jaxbandits.base.forms import JsonObject
from jaxbandits.base.pytree import PyTree
from jaxbandits.engine.meters import Metric
from jaxbandits.engine.plan import Batch, Plan
from jaxbandits.programs.compilation import key_data

_FORMAT = "jaxbandits checkpoint 9"
_VALUES = "values:"  # prefix of the names of arrays with block values, followed by the metric


class BatchCheckpoint(NamedTuple):
    """State of a batch of trials between two calls of its program, and the values that it has recorded."""

    rounds: int  # rounds already played
    block_values: dict[Metric, np.ndarray]  # [record points reached, ..., W]
    carry: PyTree | None  # state of the trials on the host, keys as `key_data`; None once the batch is finished
    seconds: float  # seconds of computation


def discard(directory: Path) -> None:
    """Remove the files of a checkpoint, and its directory if it contains no other files."""
    for pattern in ("spec.json", "batch-*.npz", ".lock", "*.tmp"):
        for path in directory.glob(pattern):
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        directory.rmdir()


def discard_all(directory: Path) -> None:
    """Remove the files of all checkpoints below a directory; files of other origin are kept, with their directories."""
    for spec in list(directory.rglob("spec.json")):
        discard(spec.parent)
    for place in (*sorted(directory.rglob("*"), reverse=True), directory):
        with contextlib.suppress(OSError):
            place.rmdir()


class Store:
    """Checkpoint directory of one run, as a context manager that holds the lock of the directory."""

    def __init__(self, directory: str | os.PathLike[str], plan: Plan, spec: JsonObject):
        """Make the store; files are read and written only within the `with` block.

        Args:
          directory: path of the directory, which need not exist.
          plan: the plan to run.
          spec: everything that determines the numbers of the plan; a run is resumed only with an equal specification.
        """
        self.directory = Path(directory)
        self.plan = plan
        self.spec = json.loads(json.dumps(spec))  # in the form in which JSON returns it, with lists for tuples
        self._run = digest(self.spec)
        self._exit_stack = contextlib.ExitStack()

    def __enter__(self) -> "Store":
        self._exit_stack.enter_context(lock_directory(self.directory))
        try:
            self._check_spec()
        except BaseException:
            self._exit_stack.close()
            raise
        for leftover in self.directory.glob("*.tmp"):
            leftover.unlink(missing_ok=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self._exit_stack.close()

    def _check_spec(self) -> None:
        path = self.directory / "spec.json"
        if path.exists():
            saved = _read_spec(path)
            if saved != self.spec:
                raise InputError(
                    f"{self.directory} holds another run: {first_difference(saved, self.spec)}; pass the same "
                    "settings to resume it, or choose another directory"
                )
            if why := lack_of_identity(self.spec):
                raise InputError(f"{self.directory} cannot be resumed: {why}")
        elif any(self.directory.glob("batch-*.npz")):
            raise InputError(f"{self.directory} holds batches, but no spec.json; choose another directory")
        else:
            if why := lack_of_identity(self.spec):
                warnings.warn(f"{self.directory} cannot be resumed if the run is interrupted: {why}", stacklevel=5)
            write_json(path, {"format": _FORMAT, "spec": self.spec})

    @property
    def resumes(self) -> bool:
        """True if the directory holds batches that an earlier run saved."""
        return any(self.directory.glob("batch-*.npz"))

    def _path(self, batch: Batch) -> Path:
        return self.directory / f"batch-{batch.job}-{batch.index:05d}.npz"

    def _owner(self, batch: Batch) -> np.ndarray:
        return np.asarray(f"{self._run} {batch.job} {batch.index}")

    def save(self, batch: Batch, checkpoint: BatchCheckpoint) -> None:
        """Write the checkpoint of a batch, and replace an earlier one."""
        arrays = {f"{_VALUES}{metric}": values for metric, values in checkpoint.block_values.items()}
        if checkpoint.carry is not None:
            arrays |= {f"carry:{i}": leaf for i, leaf in enumerate(jax.tree.leaves(checkpoint.carry))}
        counts = {"rounds": np.asarray(checkpoint.rounds), "seconds": np.asarray(checkpoint.seconds)}
        write_npz(self._path(batch), {"owner": self._owner(batch), **counts, **arrays})

    def load(self, batch: Batch, carry_shape: PyTree) -> BatchCheckpoint | None:
        """Return the checkpoint of a batch; None if there is none.

        Args:
          batch: the batch to load.
          carry_shape: shapes of the arrays in the carry of the batch.

        Raises:
          InputError: if the file is damaged or belongs to another run; the message names the file, which may be deleted
            to compute the batch again.
        """
        path = self._path(batch)
        if not path.exists():
            return None
        with open_npz(path) as file:  # uncompressed arrays cannot be larger than the file
            arrays = {name: file.read(name) for name in file.outlines} if file.is_stored else {}
        if not {"owner", "rounds", "seconds"} <= set(arrays):
            raise InputError(f"{path} is damaged or not a jaxbandits file; delete it to compute this batch again")
        if arrays["owner"] != self._owner(batch):
            raise InputError(f"{path} belongs to another run or batch; delete it to compute this batch again")
        spelled = [name for name in arrays if name.startswith(_VALUES)]
        block_values = {Metric.parse(name.removeprefix(_VALUES)): arrays[name] for name in spelled}
        leaves = [arrays[f"carry:{i}"] for i in range(sum(name.startswith("carry:") for name in arrays))]
        if not leaves:
            return BatchCheckpoint(int(arrays["rounds"]), block_values, None, float(arrays["seconds"]))
        like = jax.tree.leaves(jax.eval_shape(lambda carry: jax.tree.map(key_data, carry), carry_shape))
        if len(leaves) == len(like):
            leaves = [_restore_type(x, of.dtype) for x, of in zip(leaves, like, strict=True)]
        if [(x.shape, x.dtype) for x in leaves] != [(x.shape, x.dtype) for x in like]:
            raise InputError(f"{path} does not fit this run (its arrays differ); delete it to compute this batch again")
        carry = jax.tree.unflatten(jax.tree.structure(carry_shape), leaves)
        return BatchCheckpoint(int(arrays["rounds"]), block_values, carry, float(arrays["seconds"]))


def _restore_type(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return an array of a type that NumPy lacks, such as bfloat16, which a file holds as plain bytes."""
    return x.view(dtype) if x.dtype.kind == "V" and x.dtype.itemsize == dtype.itemsize else x


def _read_spec(path: Path) -> JsonObject:
    saved = read_json(path)
    if not isinstance(saved, dict) or saved.get("format") != _FORMAT or not isinstance(saved.get("spec"), dict):
        raise InputError(f"{path} is not a checkpoint of this version of jaxbandits; choose another directory")
    return saved["spec"]
