"""`cite`: references of algorithms, environments and experiments; resolution of short names."""

import argparse
import inspect
import sys
from typing import Any


def add(commands: Any) -> None:
    """Add the parser of `cite`."""
    cite = commands.add_parser("cite", help="print the references of an algorithm, environment or experiment")
    cite.add_argument("name", help="a name such as linear/hvt_ucb, or a class such as HvtUCB")
    cite.set_defaults(run=_cite)


def _cite(arguments: argparse.Namespace) -> int:
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.base.version import __version__
    from jaxbandits.environments import ENVIRONMENTS
    from jaxbandits.reproduction import EXPERIMENTS

    entries = {**ALGORITHMS, **ENVIRONMENTS}
    found = []
    for name in full_names(arguments.name, {**entries, **EXPERIMENTS}):
        if name in entries:
            found.append(f"{name}: {entries[name].source}\n{_references(entries[name].cls)}".rstrip())
        if name in EXPERIMENTS:
            found.append(f"{name}: {EXPERIMENTS[name].title}\n  {EXPERIMENTS[name].source}")
    print("\n\n".join(found), f"run with jaxbandits {__version__}", sep="\n\n")
    return 0


def _references(cls: type) -> str:
    """Return the paragraphs under `References:` in the documentation of a class or of its module."""
    for documented in (cls, sys.modules[cls.__module__]):
        _, found, rest = (inspect.getdoc(documented) or "").partition("References:")
        if found:
            lines = rest.rstrip().splitlines()
            block = [lines[0].strip()] if lines[0].strip() else []
            for line in lines[1:]:
                if line and not line.startswith(" "):  # the next section
                    break
                block.append(line.strip())
            return "\n".join(f"  {line}".rstrip() for line in block).rstrip()
    return ""


def full_names(name: str, known: Any) -> list[str]:
    """Return the full names that a short one stands for: `HvtUCB` and `hvt_ucb` are `linear/hvt_ucb`.

    Args:
      name: a full name, its last part, or the name of a class, in small letters or large.
      known: full name to registry entry or experiment.

    Raises:
      InputError: when it is none of them, with the closest ones; or several.
    """
    from jaxbandits.base.errors import InputError, unknown_name

    if name in known:
        return [name]
    of_class = {full: getattr(getattr(entry, "cls", None), "__name__", "") for full, entry in known.items()}
    for same in (lambda a, b: a == b, lambda a, b: a.casefold() == b.casefold()):
        found = [full for full, cls in of_class.items() if cls and same(cls, name)]
        found = found or [full for full in known if same(full.partition("/")[2], name)]
        if len(found) > 1:
            raise InputError(f"{name} is ambiguous: it is the name of {' and '.join(found)}")
        if found:
            return found
    raise unknown_name("name", name, [*known, *filter(None, of_class.values())])
