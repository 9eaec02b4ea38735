"""Exception for invalid input, and text for its messages."""

import difflib
from collections.abc import Iterable

_LONGEST_LIST = 30  # largest number of known names in a message
_EXAMPLES = 5  # number of known names beside a command that prints more


class InputError(ValueError):
    """Error for invalid input. The command line prints the message and exits with code 2."""


class UnknownNameError(InputError):
    """Error for an unknown name.

    Attributes:
      unknown: the unknown name.
    """

    unknown: object = None


def unknown_name(kind: str, name: object, known: Iterable[str], command: str = "") -> UnknownNameError:
    """Return an error for an unknown name; its message suggests close names, or lists known ones if none is close.

    Args:
      kind: kind of the name, such as "metric".
      name: the unknown name.
      known: all known names.
      command: command that prints names of this kind, for a list that is too long for the message.
    """
    names = sorted(known)
    by_lower_case = {known.casefold(): known for known in reversed(names)}  # `heavy-oful` is close to `HEAVY-OFUL`
    matches = difflib.get_close_matches(str(name).casefold(), by_lower_case, n=3, cutoff=0.4)
    close = [by_lower_case[match] for match in matches]
    listed = names
    if len(names) > _LONGEST_LIST:
        rest = f"... ({len(names)} names{f'; see `{command}`' if command else ''})"
        listed = [*names[: _EXAMPLES if command else _LONGEST_LIST], rest]
    hint = f"did you mean {' or '.join(map(repr, close))}?" if close else f"known: {', '.join(listed)}"
    error = UnknownNameError(f"unknown {kind} {format_value(name)}; {hint}")
    error.unknown = name  # not an argument of the class, so that the error can be pickled
    return error


def format_value(value: object) -> str:
    """Return the repr of a value on one line of at most 60 characters, for error messages."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
