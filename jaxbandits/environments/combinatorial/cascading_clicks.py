"""Cascade model of clicks: a user reads a list from the top and clicks on the first attractive item.

    item e is attractive with probability w_e, independently;   the first attractive item of the list A is clicked
    f(A)     = 1 - prod_{e in A} (1 - w_e),   the probability of a click
    regret_t = f(A*) - f(A_t)

The learner observes whether the items up to the click are attractive, or all items of the list if there is no click.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree, require_defaults, static, validate
from jaxbandits.base.ranges import floats, integer, real
from jaxbandits.estimation.items import are_admissible, check_size, top_items
from jaxbandits.numerics import rng
from jaxbandits.types import IndexObs, SetDecision, SetFeedback


class ClicksState(NamedTuple):
    """Problem instance of a trial, which does not change over rounds."""

    attraction: jax.Array  # [L]  w_e
    best: jax.Array  # []  f(A*)


class ClicksOutcome(NamedTuple):
    """Regret and click of one list."""

    regret: jax.Array  # []  computed from probabilities
    clicks: jax.Array  # []  number of clicks, 0 or 1


@pytree
class CascadingClicks:
    """Lists of m out of L items in the cascade model.

    References:
      Branislav Kveton, Csaba Szepesvari, Zheng Wen, Azin Ashkan. Cascading Bandits: Learning to Rank in the Cascade
      Model. ICML 2015, arXiv:1502.02763. Section 2 defines the model, Section 5 the instances of `with_gap`.

    Example:
      >>> CascadingClicks.with_gap(n_items=16, list_size=4, gap=0.15).n_items
      16
    """

    source: ClassVar[str] = "the cascade model of Kveton, Szepesvari, Wen & Ashkan, ICML 2015"
    decision_type: ClassVar[type] = SetDecision
    units: ClassVar = {"regret": "clicks", "clicks": "clicks"}
    n_items: int = static(range="[1, inf)", doc="L, number of items")
    list_size: int = static(range="[1, inf)", doc="m, number of positions in a list")
    attraction: ArrayLike | None = param(
        None, "[0, 1]", "[L] w, permuted at random in every trial; None to draw it in every trial from Beta(a, b)"
    )
    prior_success: ArrayLike = param(
        1.0, "(0, inf)", "a, first parameter of the distribution Beta(a, b) of attractions"
    )
    prior_failure: ArrayLike = param(
        1.0, "(0, inf)", "b, second parameter of the distribution Beta(a, b) of attractions"
    )

    def __post_init__(self) -> None:
        lists_to_arrays(self, "attraction")

    @classmethod
    def from_attraction(cls, attraction: Any, list_size: int) -> "CascadingClicks":
        """Return an environment with given probabilities `[L]`; each trial permutes the items at random.

        Raises:
          InputError: if a probability is outside [0, 1], or if the list is longer than the number of items.
        """
        attraction = floats("attraction", attraction, "(L,)")
        made = cls(n_items=len(attraction), list_size=list_size, attraction=attraction)
        validate(made)
        return made

    @classmethod
    def with_gap(cls, *, n_items: int, list_size: int, attraction: float = 0.2, gap: float = 0.15) -> "CascadingClicks":
        """Return the instance B_LB(L, m, p, D) of the paper, with attraction p for m items and p - D for the others.

        Args:
          n_items: L, number of items.
          list_size: m, number of positions in a list, at most L.
          attraction: p, largest attraction.
          gap: D, difference between the two attractions, at most p.

        Raises:
          InputError: if a number is outside its range.
        """
        n_items = integer("n_items", n_items, "[1, 1000000]")
        list_size = integer("list_size", list_size, f"[1, {n_items}]")
        attraction = real("attraction", attraction, "[0, 1]")
        if real("gap", gap, "[0, 1]") > attraction:
            raise InputError(f"gap must be at most attraction={attraction:g}, got {gap:g}")
        return cls.from_attraction(np.where(np.arange(n_items) < list_size, attraction, attraction - gap), list_size)

    @classmethod
    def example(cls) -> "CascadingClicks":
        return cls(n_items=6, list_size=3)

    def check(self) -> None:
        """Raise InputError if the list is longer than the number of items, or if the number of attractions is not L."""
        if self.list_size > self.n_items:
            raise InputError(f"CascadingClicks.list_size must be at most n_items={self.n_items}, got {self.list_size}")
        if self.attraction is not None and np.shape(self.attraction)[-1:] != (self.n_items,):
            found = np.shape(self.attraction)
            raise InputError(f"CascadingClicks.attraction must have shape [{self.n_items}], got {found}")
        if self.attraction is not None:
            require_defaults(self, ["prior_success", "prior_failure"], "attraction is given")

    def init(self, key: jax.Array) -> ClicksState:
        if self.attraction is None:
            ones = jnp.ones(self.n_items)
            attraction = rng.betas(key, self.prior_success * ones, self.prior_failure * ones)
        else:
            order = jnp.argsort(rng.uniforms(key, self.n_items))
            attraction = jnp.asarray(self.attraction, jnp.result_type(float))[order]
        best = top_items(attraction, None, self.list_size)
        return ClicksState(attraction, 1.0 - jnp.prod(1.0 - attraction[best]))

    def observe(self, key: jax.Array, t: jax.Array, state: ClicksState) -> IndexObs:
        del key, t, state
        return IndexObs.of(self.n_items)

    def step(
        self, key: jax.Array, t: jax.Array, state: ClicksState, obs: IndexObs, decision: SetDecision
    ) -> tuple[ClicksState, SetFeedback, ClicksOutcome]:
        del t, obs
        check_size(decision, self.list_size)
        items = decision.items
        attraction = jnp.where(items >= 0, state.attraction[jnp.maximum(items, 0)], 0.0)
        # P(click on one of the first k positions). Inverting it at one uniform variate replaces m Bernoulli draws.
        unread = jnp.cumprod(1.0 - attraction)
        clicked = jnp.cumsum(attraction * jnp.concatenate([jnp.ones(1), unread[:-1]]))
        u = rng.uniform(key)
        place = jnp.sum(u >= clicked, dtype=jnp.int32)  # m: no click
        places = jnp.arange(self.list_size, dtype=jnp.int32)
        click = places == place
        is_clicked = jnp.where(place < self.list_size, 1.0, 0.0)
        feedback = SetFeedback(jnp.where(click, 1.0, 0.0), (places <= place) & (items >= 0), is_clicked)
        outcome = ClicksOutcome(state.best - (1.0 - unread[-1]), is_clicked)
        return state, feedback, outcome

    def admits(self, state: ClicksState, obs: IndexObs, decision: SetDecision) -> jax.Array:
        """Return True if the items are different and in range."""
        del state
        return are_admissible(decision.items, self.n_items, obs.mask)
