"""Batched feedback: the learner receives the feedback of B rounds together, after the last of them.

    update after round t = B - 1, 2 B - 1, ...:  with obs, decision and feedback of rounds t - B + 1, ..., t, one after
    another

Regret is incurred when a decision is made. A batch that is incomplete at the horizon never arrives. `update` receives
the `t`, the arms and the decision that belong to the feedback, so that learners work without changes.
"""

from typing import Any, ClassVar

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree, static
from jaxbandits.environments.operators.operator import LateOperator, Operator, example_environment
from jaxbandits.types import Batches


@pytree
class Batched(LateOperator):
    """Environment whose feedback arrives in batches of `rounds` rounds.

    The wrapped environment must have arms, and rewards or duels. Combined with `with_delay`, in either order, a batch
    arrives D rounds after its end. Learners that need the last reward before the next pull, such as CRMM and MENU, are
    rejected. The memory is the same as for a delay of `rounds` rounds.

    References:
      Olivier Chapelle, Lihong Li. An Empirical Evaluation of Thompson Sampling. NIPS 2011. It studies feedback that
      arrives in batches.
    """

    source: ClassVar[str] = "Chapelle & Li, NIPS 2011: feedback in batches"
    environment: Any = param(doc="environment whose feedback is batched")
    rounds: int = static(
        range="[1, 2147483647]", doc="B, number of rounds in a batch; 1 for feedback after every round"
    )

    @classmethod
    def example(cls) -> "Batched":
        return cls(environment=example_environment(), rounds=3)

    def check(self) -> None:
        """Raise InputError if the wrapped environment does not support operators, or has batches or random delays."""
        super().check()
        inside = self.environment
        if getattr(inside, "delay_bound", None) is not None:
            raise InputError("Batched.environment has random delays: batches and random delays cannot be combined")
        while isinstance(inside, Operator):
            if isinstance(inside, Batched):
                raise InputError("Batched.environment has batches of its own: batches of batches are not supported")
            inside = inside.environment
        if not isinstance(inside, Operator) and isinstance(inside, Batches):
            raise InputError("Batched.environment has batches of its own: batches of batches are not supported")

    @property
    def feedback_batch(self) -> int:
        """B, number of rounds in a batch."""
        return self.rounds


def with_batches(environment: Any, rounds: int) -> Batched:
    """Return the environment with feedback that arrives in batches of `rounds` rounds (`Batched`)."""
    return Batched(environment=environment, rounds=rounds)
