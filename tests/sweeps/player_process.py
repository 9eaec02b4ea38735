"""A process that plays the sweep of test_kill as often as it is asked to, each time in a fork: JAX is imported once.

Reads lines `[directory, horizon, save_every, instant]` from standard input; answers each with the number of the process
that plays and, once that is gone, how it ended. What such a process reads and writes of checkpoints goes into the
journal beside the directory. With an `instant` > 0 it kills itself at that one of the instants of its writing: a file
is open, half of it is written, all of it, it is synced, it has its name.
"""

import json
import os
import signal
import sys
import traceback
from pathlib import Path


def sweep(horizon):
    from jaxbandits.simulation import Grid
    from jaxbandits.sweeps.sweep import Sweep
    from tests.toy_problems import Noisy, Shrink

    learner = Grid(Shrink(), {"rate": [1e-7, 1e-6, 1e-5]})
    return Sweep(algorithms=[learner], environment=Noisy(scale=1.0), horizon=horizon, seeds=64, record_points=5,
                 width=32, part_trials=64)  # fmt: skip


def journal(directory):
    """Beside a directory: what its processes did."""
    return Path(f"{directory}.journal")


def _play(directory, horizon, save_every, instant):
    from jaxbandits.base import files
    from jaxbandits.engine.checkpoint import Store
    from jaxbandits.sweeps.run import run_sweep

    said = os.open(journal(directory), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    save, load = Store.save, Store.load

    def say(what, store, batch, progress):
        line = f"{what} {store.directory.parent.name} {batch.index} {progress.rounds} {progress.carry is None}\n"
        os.write(said, line.encode())

    def save_and_note(self, batch, progress):
        save(self, batch, progress)
        say("saved", self, batch, progress)

    def load_and_note(self, batch, shape):
        progress = load(self, batch, shape)
        if progress is not None:
            say("loaded", self, batch, progress)
        return progress

    Store.save, Store.load = save_and_note, load_and_note
    if instant:
        _kill_at(instant, files)
    run_sweep(sweep(horizon), directory, workers=1, save_every=save_every, progress=False)


def _kill_at(instant, files):
    left = instant

    def count_instant():
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    class Slow:
        """A file whose bytes reach the disk half by half."""

        def __init__(self, path, mode, opener):
            self._file = open(path, mode, buffering=0, opener=opener)  # noqa: SIM115 (a context manager itself)
            count_instant()

        def write(self, data):
            for part in (data[: len(data) // 2], data[len(data) // 2 :]):
                self._file.write(part)
                count_instant()

        def flush(self):
            pass

        def fileno(self):
            return self._file.fileno()

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self._file.close()

    replace, sync = os.replace, os.fsync
    files.open = Slow
    os.fsync = lambda file: (sync(file), count_instant())
    os.replace = lambda source, target: (replace(source, target), count_instant())


def main():
    import jax
    import scipy.special  # noqa: F401

    import jaxbandits.sweeps.run  # noqa: F401
    import tests.toy_problems  # noqa: F401

    jax.config.update("jax_enable_x64", True)

    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            status = 1
            try:
                _play(*json.loads(line))
                status = 0
            except Exception:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        print(process, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
