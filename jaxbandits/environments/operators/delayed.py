"""Delayed feedback: the learner receives the feedback of round t after round t + D.

    update after round t:  with obs, decision and feedback of round t - D  (no update while t < D)

Regret is incurred when a decision is made. The feedback of the last D rounds never arrives. `update` receives the `t`,
the arms and the decision that belong to the feedback, so that learners work without changes. D is the same for all
rounds (P. Joulani, A. Gyorgy, C. Szepesvari, "Online Learning under Delayed Feedback", ICML 2013, with constant delay).
"""

from typing import Any, ClassVar

from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.environments.operators.operator import LateOperator, example_environment


@pytree
class Delayed(LateOperator):
    """Environment whose feedback is delayed by `rounds` rounds.

    The wrapped environment must have arms, and rewards or duels. Learners that need the last reward before the next
    pull, such as CRMM and MENU, are rejected. The loop over rounds buffers delayed interactions: each trial stores
    `rounds` decisions, rewards and, unless arms are fixed, arm sets.
    """

    source: ClassVar[str] = "Joulani, Gyorgy & Szepesvari, ICML 2013, constant delay"
    environment: Any = param(doc="environment whose feedback is delayed")
    rounds: int = static(range="[0, 2147483647]", doc="D, number of rounds between a decision and its feedback")

    @classmethod
    def example(cls) -> "Delayed":
        return cls(environment=example_environment(), rounds=3)

    @property
    def feedback_delay(self) -> int:
        """D plus the delay of the wrapped environment."""
        return self.rounds + super().feedback_delay


def with_delay(environment: Any, rounds: int) -> Delayed:
    """Return the environment with feedback that is delayed by `rounds` rounds (`Delayed`)."""
    return Delayed(environment=environment, rounds=rounds)
