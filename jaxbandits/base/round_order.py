"""Order of updates: learners that store rounds by their number reject feedback that may arrive in another order."""

import contextlib
import contextvars
from collections.abc import Iterator

from jaxbandits.base.errors import InputError

_out_of_order: contextvars.ContextVar[str | None] = contextvars.ContextVar("out_of_order", default=None)


@contextlib.contextmanager
def out_of_order(learner: str) -> Iterator[None]:
    """Declare that the updates of a learner in the `with` block may skip rounds and come in any order."""
    token = _out_of_order.set(learner)
    try:
        yield
    finally:
        _out_of_order.reset(token)


def require_order() -> None:
    """Raise `InputError`, which names the learner, within a block of `out_of_order`."""
    learner = _out_of_order.get()
    if learner is not None:
        raise InputError(
            f"{learner} stores past rounds and needs their feedback in the order of the rounds, which random delays "
            "do not keep: use with_delay or with_batches"
        )
