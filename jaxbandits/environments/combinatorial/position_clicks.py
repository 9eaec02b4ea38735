"""Position-based model of clicks: an item is clicked if the user examines its position and finds it attractive.

    position k is examined with probability kappa_k, item e is attractive with probability w_e, all independently
    f(A)     = sum_k kappa_k w_{A_k},   the expected number of clicks on the list A
    regret_t = f(A*) - f(A_t)

The learner observes the clicks, but not whether an item without a click was examined.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, static, validate
from jaxbandits.base.ranges import floats
from jaxbandits.estimation.items import are_admissible, check_size, top_items
from jaxbandits.numerics import rng
from jaxbandits.types import IndexObs, PositionFeedback, SetDecision


class PositionState(NamedTuple):
    """Problem instance of a trial, which does not change over rounds."""

    attraction: jax.Array  # [L]  w_e
    best: jax.Array  # []  f(A*)


class PositionOutcome(NamedTuple):
    """Regret and clicks of one list."""

    regret: jax.Array  # []  computed from probabilities
    clicks: jax.Array  # []  number of clicks, from 0 to m


@pytree
class PositionClicks:
    """Lists of m out of L items in the position-based model; each trial permutes the items at random.

    References:
      Paul Lagree, Claire Vernade, Olivier Cappe. Multiple-Play Bandits in the Position-Based Model. NIPS 2016,
      arXiv:1606.02448. It defines the bandit problem.

    Example:
      >>> PositionClicks.from_probabilities([0.5, 0.4, 0.1], examination=[0.9, 0.3]).list_size
      2
    """

    source: ClassVar[str] = "the position-based model of Lagree, Vernade & Cappe, NIPS 2016"
    decision_type: ClassVar[type] = SetDecision
    units: ClassVar = {"regret": "clicks", "clicks": "clicks"}
    n_items: int = static(range="[1, inf)", doc="L, number of items")
    list_size: int = static(range="[1, inf)", doc="m, number of positions")
    examination: ArrayLike = param(range="[0, 1]", doc="[m] kappa, examination probabilities of the positions")
    attraction: ArrayLike | None = param(
        None,
        "[0, 1]",
        "[L] w, permuted at random in every trial; None to draw it in every trial, uniformly from [0, 1]",
    )

    def __post_init__(self) -> None:
        lists_to_arrays(self, "examination", "attraction")

    @classmethod
    def from_probabilities(cls, attraction: Any, examination: Any) -> "PositionClicks":
        """Return an environment with attractions `[L]` and examinations `[m]`; each trial permutes the items at random.

        Raises:
          InputError: if a probability is outside [0, 1], or if there are more positions than items.
        """
        attraction, examination = floats("attraction", attraction, "(L,)"), floats("examination", examination, "(m,)")
        made = cls(n_items=len(attraction), list_size=len(examination), examination=examination, attraction=attraction)
        validate(made)
        return made

    @classmethod
    def example(cls) -> "PositionClicks":
        return cls(n_items=6, list_size=3, examination=np.array([0.9, 0.6, 0.3]))

    def check(self) -> None:
        """Raise InputError if there are more positions than items, or if an array has the wrong size."""
        if self.list_size > self.n_items:
            raise InputError(f"PositionClicks.list_size must be at most n_items={self.n_items}, got {self.list_size}")
        for name, value, size in (
            ("examination", self.examination, self.list_size),
            ("attraction", self.attraction, self.n_items),
        ):
            if value is not None and np.shape(value)[-1:] != (size,):
                raise InputError(f"PositionClicks.{name} must have shape [{size}], got {np.shape(value)}")

    def init(self, key: jax.Array) -> PositionState:
        drawn = rng.uniforms(key, self.n_items)
        attraction = drawn if self.attraction is None else jnp.asarray(self.attraction, drawn.dtype)[jnp.argsort(drawn)]
        best = attraction[top_items(attraction, None, self.list_size)]
        examination = -jnp.sort(-jnp.asarray(self.examination, drawn.dtype))
        return PositionState(attraction, jnp.sum(examination * best))

    def observe(self, key: jax.Array, t: jax.Array, state: PositionState) -> IndexObs:
        del key, t, state
        return IndexObs.of(self.n_items)

    def step(
        self, key: jax.Array, t: jax.Array, state: PositionState, obs: IndexObs, decision: SetDecision
    ) -> tuple[PositionState, PositionFeedback, PositionOutcome]:
        del t, obs
        check_size(decision, self.list_size)
        items = decision.items
        attraction = jnp.where(items >= 0, state.attraction[jnp.maximum(items, 0)], 0.0)
        means = jnp.asarray(self.examination, attraction.dtype) * attraction  # one Bernoulli draw replaces two
        clicked = jnp.where(rng.uniforms(key, self.list_size) < means, 1.0, 0.0)
        clicks = jnp.sum(clicked)
        return state, PositionFeedback(clicked, clicks), PositionOutcome(state.best - jnp.sum(means), clicks)

    def admits(self, state: PositionState, obs: IndexObs, decision: SetDecision) -> jax.Array:
        """Return True if the items are different and in range."""
        del state
        return are_admissible(decision.items, self.n_items, obs.mask)
