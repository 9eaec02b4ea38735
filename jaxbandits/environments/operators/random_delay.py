"""Random delays: the feedback of round t arrives after D_t further rounds, and enters a queue.

    feedback of round t arrives at the end of round t + D_t,   D_t drawn from a distribution, at most `bound`
    update at the end of a round:  with the feedback that is first in the queue, if there is any

Feedback that arrives in the same round is queued in the order of its rounds, and at most one update is made per round.
The queue holds the feedback of at most `bound` rounds after any round, and no feedback is used later than 2 `bound`
rounds after its decision. Regret is incurred when a decision is made. `update` receives the `t`, the arms and the
decision that belong to the feedback, so that learners that do not depend on the order of rounds work without changes.
"""

from typing import Any, ClassVar, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, static
from jaxbandits.environments.operators.operator import LateOperator, example_environment
from jaxbandits.numerics import rng
from jaxbandits.types import Batches


class DelayLaw(Protocol):
    """Protocol of distributions of delays."""

    def draw(self, key: jax.Array, bound: int) -> jax.Array:
        """Draw a nonnegative delay `[]`; the caller replaces delays larger than `bound` with `bound`."""
        ...


@pytree
class UniformDelay:
    """Delay that is uniform on 0, 1, ..., `bound`."""

    def draw(self, key: jax.Array, bound: int) -> jax.Array:
        return rng.randint(key, bound + 1)


@pytree
class GeometricDelay:
    """Delay with $P(D = k) = (1 - q) q^k$, $q = mean / (1 + mean)$; delays larger than `bound` become `bound`."""

    mean: ArrayLike = param(10.0, "[0, inf)", "mean delay without the bound")

    def draw(self, key: jax.Array, bound: int) -> jax.Array:
        del bound
        mean = jnp.asarray(self.mean, jnp.result_type(float))
        return jnp.floor(jnp.log1p(-rng.uniform(key)) / -jnp.log1p(1.0 / mean))


@pytree
class TableDelay:
    """Delay with given probabilities of 0, 1, ..., n - 1."""

    probabilities: ArrayLike = param(
        range="[0, inf)", doc="[n] weights of the delays 0, ..., n - 1, with any positive sum"
    )

    def __post_init__(self) -> None:
        lists_to_arrays(self, "probabilities")

    def check(self) -> None:
        """Raise InputError unless the weights are an array with a positive sum."""
        weights = np.asarray(self.probabilities, jnp.result_type(float))
        with np.errstate(over="ignore"):
            total = np.sum(weights, axis=-1)
        if np.ndim(weights) < 1 or not ((total > 0.0) & (total < np.inf)).all():
            raise InputError("TableDelay.probabilities must be an array [n] with a positive and finite sum")

    def draw(self, key: jax.Array, bound: int) -> jax.Array:
        del bound
        weights = jnp.asarray(self.probabilities, jnp.result_type(float))
        if weights.ndim != 1:
            raise InputError(f"TableDelay.probabilities must be an array [n], got shape {weights.shape}")
        below = jnp.cumsum(weights)
        return jnp.sum(rng.uniform(key) * below[-1] >= below, dtype=jnp.int32)


@pytree
class RandomDelay(LateOperator):
    """Environment whose feedback is delayed by a random number of rounds, which is drawn in every round.

    The wrapped environment must have arms, rewards or duels, and no batches. Learners that need the last reward before
    the next pull are rejected, and so are learners that store past rounds, such as SW-UCB and OFUGLB: they need the
    rounds in order, but a later round may overtake an earlier one. A fixed delay of D rounds of the wrapped environment
    is added. The loop stores D + 2 `bound` + 1 rounds per trial.

    Deviations:
      * [ours] A learner is updated at most once per round. In the reference, all feedback is used when it arrives or,
        in the algorithm QPM-D, when the learner requests the arm.

    References:
      Pooria Joulani, Andras Gyorgy, Csaba Szepesvari. Online Learning under Delayed Feedback. ICML 2013. It
      studies stochastic bandits with random delays, and queues of feedback.
    """

    source: ClassVar[str] = "Joulani, Gyorgy & Szepesvari, ICML 2013, random delays"
    environment: Any = param(doc="environment whose feedback is delayed")
    law: Any = param(doc="distribution of delays: UniformDelay, GeometricDelay, TableDelay, or a class with `draw`")
    bound: int = static(range="[0, 10000]", doc="largest random delay, by which larger draws are replaced")

    @classmethod
    def example(cls) -> "RandomDelay":
        return cls(environment=example_environment(), law=GeometricDelay(mean=2.0), bound=5)

    def check(self) -> None:
        """Raise InputError if the wrapped environment does not support operators, or has batches or random delays."""
        super().check()
        inside = self.environment
        if getattr(inside, "delay_bound", None) is not None:
            raise InputError("RandomDelay.environment has random delays of its own: only one queue is supported")
        if isinstance(inside, Batches) and inside.feedback_batch > 1:
            raise InputError("RandomDelay.environment has batches: batches and random delays cannot be combined")
        if not hasattr(self.law, "draw"):
            raise InputError(
                f"RandomDelay.law must be a law of delays, such as UniformDelay(), got {format_value(self.law)}"
            )

    @property
    def delay_bound(self) -> int:
        """Largest random delay."""
        return self.bound

    def draw_delay(self, key: jax.Array) -> jax.Array:
        """Return the random delay `[]` int32 of a round, given the key that `step` receives."""
        drawn = self.law.draw(self._own(key), self.bound)
        return jnp.clip(drawn, 0, self.bound).astype(jnp.int32)


def with_random_delay(environment: Any, law: Any, bound: int) -> RandomDelay:
    """Return the environment with feedback that is delayed by a random number of rounds (`RandomDelay`)."""
    return RandomDelay(environment=environment, law=law, bound=bound)
