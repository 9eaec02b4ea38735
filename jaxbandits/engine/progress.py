"""Progress of a run: a bar on a terminal or in a notebook, and lines on standard error elsewhere."""

import importlib.util
import sys
import time
from typing import Any, NamedTuple

SECONDS_PER_LINE = 30.0  # interval between lines if there is no bar


def is_interactive() -> bool:
    """Return True if standard error is a terminal or a notebook with widgets; elsewhere a bar would fill a log."""
    return sys.stderr.isatty() or ("ipykernel" in sys.modules and importlib.util.find_spec("ipywidgets") is not None)


class Display(NamedTuple):
    """Settings of the progress that a run shows on standard error."""

    enabled: bool = True
    title: str = ""  # text in front of the running labels
    stages: bool = True  # if there is no bar, print a line for every stage; False: only every 30 seconds and at the end
    brief: bool = False  # print nothing in the first 30 seconds without a bar; remove the bar at the end


class ProgressBar:
    """Progress bar that names the current stage, as a context manager.

    If standard error is not interactive, there is no bar. Instead, a line is printed for every stage, a line with the
    remaining time every 30 seconds, and a line at the end.
    """

    def __init__(
        self,
        total: int,
        unit: str,
        title: str,
        enabled: bool,
        scale: bool = False,
        stages: bool = True,
        brief: bool = False,
    ):
        """Start a bar at zero.

        Args:
          total: number of units.
          unit: name of the units, in the plural.
          title: beginning of every line.
          enabled: False for no output at all.
          scale: True to write numbers of the bar with k and M.
          stages: if there is no bar, print a line for every stage; False: print only a line every 30 seconds and a line
            at the end.
          brief: as `Display.brief`.
        """
        self._prefix, self._unit = f"{title}: " if title else "", unit
        self._prints_lines, self._prints_stages = enabled and not is_interactive(), stages and not brief
        self._brief, self._n_lines = brief, 0
        self._total, self._done, self._resumed = total, 0, 0
        self._begin = self._stage_begin = self._last_line = time.perf_counter()
        self._bar: Any = None
        if enabled and not self._prints_lines:
            from tqdm.auto import tqdm  # imported here, since it imports asyncio, which is not needed without a bar

            self._bar = tqdm(
                total=total,
                unit=f" {unit}",
                unit_scale=scale,
                smoothing=0.1,
                dynamic_ncols=True,
                desc=title or None,
                leave=not brief,
            )

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *exc: object) -> None:
        if exc[0] is None and self._prints_lines and self._done and (self._n_lines or not self._brief):
            seconds = time.perf_counter() - self._begin
            computed = self._done - self._resumed
            rate = f", {_format_rate(computed / seconds)} {self._unit}/s" if computed and seconds > 0.0 else ""
            unit = self._unit.removesuffix("s") if self._done == 1 else self._unit
            self._print(f"{self._done:,} {unit} in {seconds:.1f} s{rate}")
        if self._bar is not None:
            self._bar.close()

    def print_note(self, text: str) -> None:
        """Print a line of text above the bar, or as a line of the output if there is no bar."""
        if self._prints_lines:
            self._print(text)
        elif self._bar is not None:
            self._bar.write(self._prefix + text, file=sys.stderr)

    def begin_stage(self, text: str) -> None:
        """Begin a stage: show its name in front of the bar, or print it as a line if there is no bar."""
        self._stage_begin = time.perf_counter()
        if self._prints_lines and self._prints_stages:
            self._print(text)
        self.describe(text)

    def describe(self, text: str) -> None:
        """Change the text in front of the bar."""
        if self._bar is not None:
            self._bar.set_description(self._prefix + text)

    def update(self, n: int, computed: bool = True) -> None:
        """Count n more units; `computed` is False if they were read from a checkpoint."""
        self._done += n
        self._resumed += 0 if computed else n
        if self._bar is not None:
            self._bar.update(n)
        elif self._prints_lines:
            self._print_state(time.perf_counter())

    def refresh(self) -> None:
        """Draw the bar again, with the elapsed time."""
        if self._bar is not None:
            self._bar.refresh()

    def _print_state(self, now: float) -> None:
        """Print the finished share and the remaining time, if the last line of this kind is at least 30 seconds old."""
        computed = self._done - self._resumed
        if now - self._last_line < SECONDS_PER_LINE or not computed or self._done >= self._total:
            return
        self._last_line, self._n_lines = now, self._n_lines + 1
        left = (self._total - self._done) * (now - self._stage_begin) / computed
        self._print(
            f"{100 * self._done / self._total:.0f} % of {self._total:,} {self._unit}, {_format_time(left)} left"
        )

    def _print(self, text: str) -> None:
        print(self._prefix + text, file=sys.stderr, flush=True)


def _format_time(seconds: float) -> str:
    """Format a time as minutes and seconds, or hours and minutes: "0:07", "12:30", "3 h 05 min"."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _format_rate(rate: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.3g}{letter}"
    return f"{rate:.3g}"
