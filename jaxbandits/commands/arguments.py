"""Arguments that several commands share: types, `--plugin`, and the settings of a run."""

import argparse
import functools
from pathlib import Path
from typing import TypeAlias

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # commands add their parsers to it


def whole(text: str) -> int:
    """Parse a whole number; raise `argparse.ArgumentTypeError` for other text."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}") from None


def number(text: str) -> float:
    """Parse a number; raise `argparse.ArgumentTypeError` for other text."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None


def path(text: str) -> Path:
    """Parse a path; raise `argparse.ArgumentTypeError` for empty text, such as an unset variable of the shell."""
    if not text:
        raise argparse.ArgumentTypeError("must be a path, got ''")
    return Path(text)


def shard(text: str) -> tuple[int, int]:
    """Parse `I/N` (the I-th of N shares) to a tuple; raise `argparse.ArgumentTypeError` for other text."""
    first, slash, n = text.partition("/")
    if not slash or not first.isdigit() or not n.isdigit() or not 1 <= int(first) <= int(n):
        raise argparse.ArgumentTypeError(f"must be I/N with 1 <= I <= N, such as 2/8, got {text!r}")
    return int(first), int(n)


def with_plugins() -> argparse.ArgumentParser:
    """Return a parser of the argument `--plugin`, to be given as a parent to the parsers of commands."""
    own = argparse.ArgumentParser(add_help=False)
    own.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file that registers your algorithms, environments or experiments (may be repeated)",
    )
    return own


@functools.cache
def settings() -> dict[str, str]:
    """Return a dict from the settings of a run to their help texts, taken from the docstring of `Options`.

    The source is parsed rather than imported, since importing JAX would make `--help` slow.
    """
    import ast

    source = (Path(__file__).parents[1] / "engine" / "options.py").read_text(encoding="utf-8")
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == "Options"]
    attributes = (ast.get_docstring(classes[0]) or "").partition("Attributes:\n")[2]
    found: dict[str, str] = {}
    for line in attributes.splitlines():
        if line.startswith("    ") and found:  # a sentence goes on
            name = next(reversed(found))
            found[name] += " " + line.strip()
        elif ":" in line:
            name, _, about = line.strip().partition(": ")
            found[name] = about
    return {name: about.removesuffix(".").replace("`", "").replace("%", "%%") for name, about in found.items()}
