"""Check that an environment returns the reward of a round at the end of the round, as Gymnasium needs it."""

from typing import Any

from jaxbandits.base.errors import InputError
from jaxbandits.types import Batches, CountsRounds, Delays


def check_immediate_feedback(environment: Any) -> None:
    """Check that the reward of every round is known at its end, and that no round is skipped.

    Raises:
      InputError: if feedback is delayed or arrives in batches, or if the environment skips some rounds.
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
            f"{name} skips some rounds, for example those in which the learner does not play the logged arm, but "
            "Gymnasium would receive a reward in each of them: to run a learner written in Python on this "
            "environment, use `play`"
        )
