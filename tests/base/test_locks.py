"""Processes that share directories: one at a time is inside, and none dies because another tidies up."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_ENTER = """
import os, pathlib, sys
from jaxbandits.base.files import LockedError, lock_directory

root, entered = pathlib.Path(sys.argv[1]), 0
while entered < 150:
    try:
        with lock_directory(root / "part", patience=0.02):
            os.close(os.open(root / "inside", os.O_CREAT | os.O_EXCL))
            entered += 1
            os.unlink(root / "inside")
            (root / "part" / ".lock").unlink()
            try:
                (root / "part").rmdir()
            except OSError:
                pass  # the next one has made its lock
    except LockedError:
        pass
"""


def test_a_directory_that_each_process_removes_is_locked_by_one_at_a_time(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", _ENTER, str(tmp_path)]
    processes = [subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, "\n".join(errors)
