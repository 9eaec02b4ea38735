"""Command line. Nothing heavy is imported before the arguments are parsed, so that `--help` is fast."""

import argparse
import contextlib
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from jaxbandits.base.version import __version__
from jaxbandits.commands import cite, data, look, report, reproduce, results, sweeps, tune

_INTERRUPTED, _TERMINATED = 130, 143  # exit codes: 128 and the number of the signal
_GC_THRESHOLD = 300_000  # objects: more than JAX, this package and the traces of a learner; some ten megabytes


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    The code is 0 for success, 1 if runs, checks or parts of a sweep failed or are unfinished, 2 for invalid input or an
    error of the operating system, 130 after SIGINT, 141 if the output pipe was closed, and 143 after SIGTERM.

    Args:
      argv: arguments of the command line; None for those of the process.
    """
    from jaxbandits.base.errors import InputError

    try:
        arguments = _parse(argv)
        for plugin in getattr(arguments, "plugin", ()):
            from jaxbandits import plugins

            plugins.load(plugin)
        code = arguments.run(arguments)
        if sys.stdout is not None:  # None if the standard output was closed before the start
            sys.stdout.flush()  # here, so that a closed pipe is handled below
        return code
    except InputError as error:
        print(f"jaxbandits: {error}", file=sys.stderr)
        return 2
    except _TerminatedError:
        print("jaxbandits: terminated", file=sys.stderr)
        return _TERMINATED
    except KeyboardInterrupt:
        print("jaxbandits: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe, as in `jaxbandits list | head`
        _discard_output()
        return 141
    except OSError as error:
        place = error.filename or "cannot write the output"
        print(f"jaxbandits: {place}: {error.strerror or error}", file=sys.stderr)
        if error.filename is None:
            _discard_output()
        return 2


class _TerminatedError(KeyboardInterrupt):
    """SIGTERM. The run saves its state and prints how to resume it, as after an interrupt."""


def _terminate(*_: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second SIGTERM ends the process immediately
    raise _TerminatedError


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse arguments. Help is written by this function, since argparse ignores errors of the output."""
    written = io.StringIO()
    try:
        with contextlib.redirect_stdout(written):
            return _parser().parse_args(argv)
    finally:
        if text := written.getvalue():
            print(text, end="", flush=True)


def _discard_output() -> None:
    """Redirect the output to the null device, since Python would try to write the rest of it again at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def process() -> int:
    """Run `main` as the only work of a process, and return its exit code.

    Garbage collection is avoided at the start, which saves 0.1 s, and at the end, which saves 0.15 s.
    """
    gc.set_threshold(_GC_THRESHOLD)
    signal.signal(signal.SIGTERM, _terminate)
    code = main()
    if code in (_INTERRUPTED, _TERMINATED):  # a normal exit would wait for threads that compile
        sys.stderr.flush()
        os._exit(code)
    gc.freeze()  # memory is released with the process, not object by object
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jaxbandits", description="Vectorised simulation of bandit and online-learning algorithms."
    )
    parser.add_argument("--version", action="version", version=f"jaxbandits {__version__}")
    parser.set_defaults(main=main)  # for `submit`, whose jobs run commands
    commands = parser.add_subparsers(metavar="command", required=True)
    for group in (reproduce, report, sweeps, tune, look, data, results, cite):  # in the order of `--help`
        group.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(process())
