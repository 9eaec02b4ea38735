"""The one exception for mistakes in what a user asked for; its message is a single line that says what is allowed."""

import difflib
from collections.abc import Iterable
from typing import Any


class InputError(ValueError):
    """Bad input: what is wrong, what is allowed. The command line prints it and exits with code 2."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> InputError:
    """An `InputError` for a name that is not in a registry, with the closest known names."""
    names = sorted(known)
    of = {known.casefold(): known for known in reversed(names)}  # whoever writes `heavy-oful` means `HEAVY-OFUL`
    close = [of[match] for match in difflib.get_close_matches(str(name).casefold(), of, n=3, cutoff=0.4)]
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known: {', '.join(names)}"
    return InputError(f"unknown {kind} {shown(name)}; {hint}")


def shown(value: Any) -> str:
    """What a message says of a value: its repr on one line, shortened."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
