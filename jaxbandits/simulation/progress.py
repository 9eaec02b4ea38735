"""What a run says while it runs: a bar on a terminal or in a notebook, a line per stage where nobody watches."""

import sys
import time
from typing import Any


def watched() -> bool:
    """Whether standard error is a terminal or a notebook: elsewhere a bar would fill a log."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Progress:
    """A bar with a name for its stage; a context manager. Silent if not wanted.

    Where nobody watches, every stage and the end write a line each.
    """

    def __init__(self, total: int, unit: str, title: str, wanted: bool, scale: bool = False, stages: bool = True):
        """A bar over `total` of a unit.

        Args:
          total: how many there are.
          unit: of what, in the plural.
          title: what every line begins with.
          wanted: whether anything is said.
          scale: whether numbers get k and M.
          stages: whether stages write lines; else the end only.
        """
        self._front, self._unit = f"{title}: " if title else "", unit
        self._lines, self._stages = wanted and not watched(), stages
        self._begun, self._done, self._before = time.perf_counter(), 0, 0
        self._bar: Any = None
        if wanted and not self._lines:
            from tqdm.auto import tqdm  # asyncio with it, for nothing where nobody watches

            self._bar = tqdm(
                total=total, unit=f" {unit}", unit_scale=scale, smoothing=0.1, dynamic_ncols=True, desc=title or None
            )

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *exc: object) -> None:
        if exc[0] is None and self._lines and self._done:
            seconds = time.perf_counter() - self._begun
            played = self._done - self._before
            rate = f", {_short(played / seconds)} {self._unit}/s" if played and seconds > 0.0 else ""
            self._write(f"{self._done:,} {self._unit} in {seconds:.1f} s{rate}")
        if self._bar is not None:
            self._bar.close()

    def note(self, text: str) -> None:
        """Something that is said once, on a line of its own."""
        if self._lines:
            self._write(text)
        elif self._bar is not None:
            self._bar.write(self._front + text, file=sys.stderr)

    def stage(self, text: str) -> None:
        """What is done now, in front of the bar; a line where there is none."""
        if self._lines and self._stages:
            self._write(text)
        self.name(text)

    def name(self, text: str) -> None:
        """What is done now, in front of the bar only."""
        if self._bar is not None:
            self._bar.set_description(self._front + text)

    def update(self, n: int, played: bool = True) -> None:
        """So many more are done; not `played`: they were found done."""
        self._done += n
        self._before += 0 if played else n
        if self._bar is not None:
            self._bar.update(n)

    def tick(self) -> None:
        """Shows that time passes."""
        if self._bar is not None:
            self._bar.refresh()

    def _write(self, text: str) -> None:
        print(self._front + text, file=sys.stderr, flush=True)


def _short(rate: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.3g}{letter}"
    return f"{rate:.3g}"
