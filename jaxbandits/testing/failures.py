"""One-line messages for failed checks."""

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def translate(message: str) -> Iterator[None]:
    """Replace the message of an `AssertionError` that the `with` block raises by `message`.

    Messages of chex, for example, have several lines.
    """
    try:
        yield
    except AssertionError:
        raise AssertionError(message) from None
