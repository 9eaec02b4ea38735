"""Measure items in child processes: a child that crashes or hangs loses one item, and the parent never imports JAX.

A child is `python -m MODULE MEASURE SETTINGS ITEMS`, with settings and items in JSON. It prints one line of JSON when
it begins an item, `{"begin": item}`, one line when the item has a value, `{"item": item, "value": value}`, and `{}`
while it waits for the device. After a crash or a long silence, the remaining items are measured in a new child.
"""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

_LEAST_SECONDS = 5.0  # smallest rest of a budget with which a child is started
_MOST_FAILURES, _MOST_FAILED_STARTS = 6, 2


class Record:
    """Values by section and item, in a JSON file that is rewritten after every new value."""

    def __init__(self, path: Path):
        self.path, self.found = path, dict[str, dict[str, Any]]()
        self._begin, self._lock = time.monotonic(), threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)

    def put(self, section: str, item: str, value: Any) -> None:
        """Store a value, and print it."""
        with self._lock:
            self._store(section, item, value)

    def extend(self, section: str, item: str, values: list[Any]) -> None:
        """Append values to the list of an item, which is empty at first, and print it."""
        with self._lock:
            self._store(section, item, [*self.found.get(section, {}).get(item, []), *values])

    def _store(self, section: str, item: str, value: Any) -> None:
        self.found.setdefault(section, {})[item] = value
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.found, indent=1) + "\n")
        os.replace(new, self.path)
        seconds = time.monotonic() - self._begin
        print(f"{seconds:6.1f} s  {section}: {item}: {json.dumps(value)[:160]}", flush=True)

    def get(self, section: str) -> dict[str, Any]:
        """Return the values of a section, without those of items that failed."""
        with self._lock:
            found = self.found.get(section, {})
            return {item: value for item, value in found.items() if not (isinstance(value, dict) and "error" in value)}


class Budget:
    """Time limit of a run, of which every step may use a share; `stop` ends the run early."""

    def __init__(self, seconds: float):
        self._begin, self._seconds, self._stopped = time.monotonic(), seconds, False

    def left(self, share: float) -> float:
        """Return the seconds until a share of the time has passed."""
        return 0.0 if self._stopped else share * self._seconds - (time.monotonic() - self._begin)

    def stop(self) -> None:
        """Set the remaining time to zero."""
        self._stopped = True


class Task(NamedTuple):
    """Items that child processes measure, one process after the other."""

    section: str  # section of the record
    measure: str  # name of the measurement in the module of the children
    settings: dict[str, Any]
    environment: dict[str, str]
    silence: float = 90.0  # seconds without a line after which a child counts as hanging


class Children:
    """Child processes of one run."""

    def __init__(self, module: str, record: Record, budget: Budget):
        self.module, self.record, self.budget = module, record, budget
        self._logs = record.path.with_name("logs")
        self._logs.mkdir(exist_ok=True)

    def run(self, task: Task, items: Sequence[str], share: float) -> None:
        """Measure items until a share of the time has passed, and record items without a value under "left out"."""
        remaining, failures, failed_starts = list(items), 0, 0
        while remaining and self.budget.left(share) > _LEAST_SECONDS:
            n = len(remaining)
            end = self._run_child(task, remaining, share)
            if end.cause is None:
                break
            if end.item is not None:
                self.record.put(task.section, end.item, {"error": end.cause})
                remaining.remove(end.item)
                failures += 1
            elif n == len(remaining):
                self.record.put(task.section, "start", {"error": end.cause})
                failed_starts += 1
            if failures == _MOST_FAILURES or failed_starts == _MOST_FAILED_STARTS:
                break
        if remaining:
            self.record.extend("left out", task.section, remaining)

    def _run_child(self, task: Task, remaining: list[str], share: float) -> "_End":
        """Run a child, and remove the items that it has measured from the remaining items."""
        command = [sys.executable, "-m", self.module, task.measure, json.dumps(task.settings), json.dumps(remaining)]
        log = self._logs / f"{task.section.replace(' ', '-')}.txt"
        item, heard = None, time.monotonic()
        before = log.stat().st_size if log.exists() else 0  # not later: the child shares the position in the file
        with log.open("ab") as errors, _process(command, task.environment, errors) as (process, lines):
            while remaining:
                try:
                    line = lines.get(timeout=0.2)
                except queue.Empty:
                    if self.budget.left(share) <= 0:
                        return _End(None, None)
                    if time.monotonic() - heard > task.silence:
                        return _End(item, f"silent for {task.silence:.0f} s")
                    continue
                if line is None:
                    last_words = " ".join(log.read_bytes()[before:].decode(errors="replace").split())[-300:]
                    return _End(item, f"ended with {process.wait()}: {last_words}")
                heard = time.monotonic()
                message = _parse(line)
                item = message.get("begin", item)
                if "value" in message:
                    self.record.put(task.section, message["item"], message["value"])
                    remaining.remove(message["item"])
                    item = None
        return _End(None, None)


class _End(NamedTuple):
    """End of a child."""

    item: str | None  # item that the child had begun
    cause: str | None  # None if all items have values or the time is over


@contextlib.contextmanager
def _process(
    command: list[str], environment: dict[str, str], errors: Any
) -> Iterator[tuple[subprocess.Popen[str], "queue.Queue[str | None]"]]:
    """Start a process in its own process group, yield its lines (None after the last), and finally kill the group."""
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True
    )
    assert process.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield process, lines
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a process that the driver holds
            process.wait(5.0)
            reader.join()
            process.stdout.close()


def _parse(line: str) -> dict[str, Any]:
    """Return the message in a line; lines that libraries print give an empty message."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
