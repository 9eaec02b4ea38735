"""The command line. Nothing heavy is imported before the arguments are known: `--help` answers at once."""

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from jaxbandits.base.version import __version__
from jaxbandits.commands import cite, look, report, reproduce, results, sweeps, tune

_OBJECTS = 300_000  # more than JAX, this package and the traces of a learner make; some ten megabytes of garbage


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; the exit code is 0, 1 when parts of a sweep failed, 2 for a mistake, 130 when interrupted."""
    arguments = _parser().parse_args(argv)
    # XLA's banners about slow compilation are no errors of a user's; whatever fails raises.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from jaxbandits.base.errors import InputError

    try:
        for plugin in getattr(arguments, "plugin", ()):
            from jaxbandits import plugins

            plugins.load(plugin)
        code = arguments.run(arguments)
        sys.stdout.flush()  # here, not when the process goes: whoever reads may have gone
        return code
    except InputError as error:
        print(f"jaxbandits: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("jaxbandits: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever reads has seen enough: `jaxbandits list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def process() -> int:
    """`main` as all that a process does: nothing is collected while it starts, nor when it goes (0.1 and 0.15 s)."""
    gc.set_threshold(_OBJECTS)
    code = main()
    gc.freeze()  # what is left goes with the process, not object by object
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jaxbandits", description="Vectorised simulation of bandit and online-learning algorithms."
    )
    parser.add_argument("--version", action="version", version=f"jaxbandits {__version__}")
    parser.set_defaults(main=main)  # the jobs of `submit` run commands
    commands = parser.add_subparsers(metavar="command", required=True)
    for group in (reproduce, report, sweeps, tune, look, results, cite):  # in the order of `--help`
        group.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(process())
