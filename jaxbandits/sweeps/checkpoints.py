"""Checkpoints of a part: finished pieces are written together, every `save_every` seconds.

A part of quick trials finishes hundreds of pieces a second; a file for each would take longer than the trials do.
"""

import os
import sys
import threading
import time
from typing import Any

from jaxbandits.base.errors import InputError
from jaxbandits.simulation.checkpoint import Progress, Store
from jaxbandits.simulation.plan import Piece, Plan


class PartStore(Store):
    """A `Store` that holds finished pieces back for a while; what is left of them is written when a run is stopped."""

    def __init__(self, directory: str | os.PathLike[str], plan: Plan, spec: dict[str, Any], save_every: float):
        """As a `Store`.

        Args:
          directory: where.
          plan: the part.
          spec: everything that determines its numbers.
          save_every: seconds between two writings of finished pieces.
        """
        super().__init__(directory, plan, spec)
        self._save_every, self._written = save_every, time.perf_counter()
        self._held_back: list[tuple[Piece, Progress]] = []
        self._lock = threading.Lock()

    def load(self, piece: Piece, carry_shape: Any) -> Progress | None:
        """Load the progress of a batch; None for a damaged file, whose batch a sweep computes again."""
        try:
            return super().load(piece, carry_shape)
        except InputError as error:
            print(f"jaxbandits: {error}: done now", file=sys.stderr)
            return None

    def save(self, piece: Piece, progress: Progress) -> None:
        """Replaces the file of a piece: at once, or with others when they are due if it is finished."""
        if progress.carry is not None:
            super().save(piece, progress)
        with self._lock:
            if progress.carry is None:
                self._held_back.append((piece, progress))
            if time.perf_counter() - self._written >= self._save_every:
                self._write()

    def __exit__(self, *exc: object) -> None:
        """Leaves the directory; a run that was stopped is written down first."""
        try:
            if exc[0] is not None:
                self._write()
        finally:
            super().__exit__(*exc)

    def _write(self) -> None:
        while self._held_back:
            super().save(*self._held_back[0])
            self._held_back.pop(0)
        self._written = time.perf_counter()
