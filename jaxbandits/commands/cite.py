"""Command `cite`, which prints references as BibTeX, and the resolution of short names."""

import argparse
import inspect
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxbandits.commands.arguments import Subparsers


def add(commands: "Subparsers") -> None:
    """Add the parser of `cite`."""
    cite = commands.add_parser(
        "cite", help="print the references for an algorithm, environment or experiment as BibTeX"
    )
    cite.add_argument("name", help="a name such as linear/hvt_ucb, or a class such as HvtUCB")
    cite.set_defaults(run=_cite)


def _cite(arguments: argparse.Namespace) -> int:
    from jaxbandits.algorithms import ALGORITHMS
    from jaxbandits.base.version import __version__
    from jaxbandits.catalogue import PARTS, Names
    from jaxbandits.commands.bibtex import of_source, references
    from jaxbandits.environments import ENVIRONMENTS
    from jaxbandits.reproduction import EXPERIMENTS

    entries = {**ALGORITHMS, **ENVIRONMENTS}
    names = full_names(arguments.name, {**entries, **EXPERIMENTS})
    papers = []
    for name in names:
        if name in entries:
            print(_comment(f"{name}: {entries[name].source}"))
            papers += references(_references(entries[name].cls))
        if name in EXPERIMENTS:
            print(_comment(f"{name}: {EXPERIMENTS[name].title} ({EXPERIMENTS[name].source})"))
    if not papers:  # the source of an experiment or environment abbreviates a reference of an algorithm or model
        sources = [of[name].source for name in names for of in (entries, EXPERIMENTS) if name in of]
        named, models = Names(), [name for name in PARTS if name.startswith("model/")]
        classes = [named[name] for name in (*ALGORITHMS, *models)]
        known = [paper for cls in classes for paper in references(_references(cls))]
        papers = [paper for source in sources for paper in of_source(source, known)]
    found = {paper.key: paper for paper in papers}
    print(*("\n" + paper.entry() for paper in found.values()), sep="\n")
    print("\n" + _SOFTWARE.format(version=__version__))
    return 0


_SOFTWARE = """@software{{jaxbandits,
  author = {{{{The jaxbandits developers}}}},
  title = {{{{jaxbandits: a JAX simulator for bandit and online-learning algorithms}}}},
  version = {{{version}}},
}}"""


def _comment(text: str) -> str:
    """Return text as a comment of BibTeX, without "@", which would start an entry."""
    from jaxbandits.base.text import WIDTH, fold

    return "\n".join(f"% {line}" for line in fold(text.replace("@", "at"), WIDTH - 2).splitlines())


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


def full_names(name: str, known: Mapping[str, object]) -> list[str]:
    """Return a list with the full name that a short name means: `HvtUCB` and `hvt_ucb` mean `linear/hvt_ucb`.

    Args:
      name: a full name, the last part of a full name, or the name of a class; upper and lower case are equivalent.
      known: mapping from full names to registry entries or experiments.

    Raises:
      InputError: if the name is unknown (the message suggests close names) or ambiguous.
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
    raise unknown_name("name", name, [*known, *filter(None, of_class.values())], "jaxbandits list")
