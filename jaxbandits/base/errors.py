"""Exception for invalid input, and text for its messages."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Error for invalid input. The command line prints the message and exits with code 2."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> InputError:
    """Return an `InputError` for an unknown name; its message suggests close names, or lists all if none is close."""
    names = sorted(known)
    by_lower_case = {known.casefold(): known for known in reversed(names)}  # `heavy-oful` is close to `HEAVY-OFUL`
    matches = difflib.get_close_matches(str(name).casefold(), by_lower_case, n=3, cutoff=0.4)
    close = [by_lower_case[match] for match in matches]
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known: {', '.join(names)}"
    return InputError(f"unknown {kind} {format_value(name)}; {hint}")


def format_value(value: object) -> str:
    """Return the repr of a value on one line of at most 60 characters, for error messages."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
