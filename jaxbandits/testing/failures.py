"""Messages of one line for failed checks."""

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def translate(message: str) -> Iterator[None]:
    """Replace an `AssertionError` in this context by one with this message; messages of chex have several lines."""
    try:
        yield
    except AssertionError:
        raise AssertionError(message) from None
