"""Abstract LUCB: the empirically best arm and its strongest competitor are played until their intervals separate.

    h = argmax_i m_i,   l = argmax_{i != h} U_i
    play     h and l in turn, both chosen from the same counts
    stop     once U_l - L_h <= eps

If h or l is not available in its turn, the available arm with the fewest plays is played instead; l is chosen from the
arms that are available when h is played. A concrete subclass defines the confidence bounds U and L.
"""

import abc
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.explore.identification import Identification, best_mean
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import first_axis
from jaxbandits.types import ArmDecision, ArmObs, Reward

_NONE = -1
_TARGET = 1.0  # larger than any number of plays


class LUCBState(NamedTuple):
    """Counts and sums of the rewards, and the second arm of an unfinished pair of plays."""

    pulls: Pulls
    second: jax.Array  # [] int32  l; -1 if h is played next

    @property
    def count(self) -> jax.Array:
        """Numbers of plays T_i `[K]` of the arms."""
        return self.pulls.count


@pytree
class LUCB(Identification):
    """Abstract LUCB learner that identifies a single best arm."""

    delta: ArrayLike = param(0.1, "(0, 1)", "delta, failure probability")
    eps: ArrayLike = param(
        0.0, "[0, inf)", "eps, tolerance in units of the rewards: an arm within eps of the best arm suffices"
    )

    @abc.abstractmethod
    def upper(self, pulls: Pulls) -> jax.Array:
        """Return the upper bounds U `[K]`, which must be finite even for arms without plays."""

    @abc.abstractmethod
    def lower(self, pulls: Pulls, arm: jax.Array) -> jax.Array:
        """Return the lower bound L `[]` of `arm`."""

    def init(self, key: jax.Array) -> LUCBState:
        return LUCBState(super().init(key), jnp.int32(_NONE))

    def pulls(self, state: LUCBState) -> Pulls:
        return state.pulls

    def index(self, key: jax.Array, t: jax.Array, state: LUCBState) -> jax.Array:
        """Return scores `[K]`: the arm to play ranks first, then the other arms by increasing number of plays."""
        del key, t
        return jnp.where(jnp.arange(self.n_arms) == _next_arm(state), _TARGET, -state.count)

    def update(
        self, key: jax.Array, t: jax.Array, state: LUCBState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> LUCBState:
        del key, t
        available = jnp.ones(self.n_arms, bool) if obs.mask is None else jnp.asarray(obs.mask)
        has_begun = jnp.all((state.count > 0.0) | ~available)  # if False, the round plays an arm for the first time
        # Late feedback may be that of another arm, chosen from older counts: it leaves the turn to the next arm.
        following = _next_arm(state)
        is_done = decision.index == following
        if obs.mask is not None:
            is_done |= ~obs.mask[following]
        second = jnp.where(state.second == _NONE, self._contender(state.pulls, available), _NONE)
        second = jnp.where(has_begun & is_done, second, state.second)
        return LUCBState(state.pulls.add(decision.index, feedback.reward), second)

    def stopped(self, state: LUCBState) -> jax.Array:
        best = best_mean(state.pulls)
        others = jnp.where(jnp.arange(self.n_arms) == best, -jnp.inf, self.upper(state.pulls))
        is_separate = jnp.max(others) - self.lower(state.pulls, best) <= self.eps
        is_alone = self.n_arms == 1
        return jnp.all(state.count > 0.0) & (state.second == _NONE) & (is_separate | is_alone)

    def _contender(self, pulls: Pulls, available: jax.Array) -> jax.Array:
        is_best = jnp.arange(self.n_arms) == best_mean(pulls)
        return first_axis.argmax(jnp.where(available & ~is_best, self.upper(pulls), -jnp.inf))


def _next_arm(state: LUCBState) -> jax.Array:
    """Return the arm `[]` whose turn it is: h at the start of a pair of plays, else l."""
    return jnp.where(state.second == _NONE, best_mean(state.pulls), state.second)
