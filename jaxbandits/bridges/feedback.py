"""Check that an environment returns the reward of a round at the end of the round, as Gymnasium needs it."""

from typing import Any

from jaxbandits.base.errors import InputError
from jaxbandits.types import Batches, CountsRounds, Delays


def check_immediate_feedback(environment: Any) -> None:
    """Check that the reward of every round is known at its end, and counts.

    Raises:
      InputError: if feedback is delayed or arrives in batches, or if some rounds do not count.
    """
    name = type(environment).__name__
    delay = environment.feedback_delay if isinstance(environment, Delays) else 0
    batch = environment.feedback_batch if isinstance(environment, Batches) else 1
    if delay > 0 or batch > 1 or getattr(environment, "delay_bound", None):
        raise InputError(
            f"{name} delays its feedback, but Gymnasium needs the reward of a round at its end: convert the "
            "environment inside it"
        )
    if isinstance(environment, CountsRounds):
        raise InputError(
            f"some rounds of {name} do not count, and Gymnasium would receive the rewards of arms that were not "
            "played: `play` runs learners in Python on it"
        )
