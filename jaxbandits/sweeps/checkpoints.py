"""Checkpoints of a part: finished batches are written together, every `save_every` seconds.

A part with fast trials finishes hundreds of batches per second; writing a file for each would take longer than the
trials.
"""

import os
import sys
import threading
import time

from jaxbandits.base.errors import InputError
from jaxbandits.base.forms import JsonObject
from jaxbandits.base.pytree import PyTree
from jaxbandits.engine.checkpoint import BatchCheckpoint, Store
from jaxbandits.engine.plan import Batch, Plan


class PartStore(Store):
    """Checkpoint store that delays the writing of finished batches; an interrupted run writes them before it ends."""

    def __init__(self, directory: str | os.PathLike[str], plan: Plan, spec: JsonObject, save_every: float):
        """Make the store; files are read and written only within the `with` block.

        Args:
          directory: path of the directory, which need not exist.
          plan: plan of the part.
          spec: everything that determines the numbers of the part.
          save_every: seconds between writes of finished batches.
        """
        super().__init__(directory, plan, spec)
        self._save_every, self._last_write = save_every, time.perf_counter()
        self._delayed: list[tuple[Batch, BatchCheckpoint]] = []
        self._lock = threading.Lock()

    def load(self, batch: Batch, carry_shape: PyTree) -> BatchCheckpoint | None:
        """Return the checkpoint of a batch; None if it is missing or damaged, so that the batch is computed again."""
        try:
            return super().load(batch, carry_shape)
        except InputError as error:
            print(f"jaxbandits: {error} (this is done automatically)", file=sys.stderr)
            return None

    def save(self, batch: Batch, checkpoint: BatchCheckpoint) -> None:
        """Write the checkpoint of a batch: immediately if it is unfinished, else later, with other finished batches."""
        if checkpoint.carry is not None:
            super().save(batch, checkpoint)
        with self._lock:
            if checkpoint.carry is None:
                self._delayed.append((batch, checkpoint))
            if time.perf_counter() - self._last_write >= self._save_every:
                self._write()

    def __exit__(self, *exc: object) -> None:
        """Release the directory; if the run was stopped by an exception, first write the delayed batches."""
        try:
            if exc[0] is not None:
                self._write()
        finally:
            super().__exit__(*exc)

    def _write(self) -> None:
        while self._delayed:
            super().save(*self._delayed[0])
            self._delayed.pop(0)
        self._last_write = time.perf_counter()
