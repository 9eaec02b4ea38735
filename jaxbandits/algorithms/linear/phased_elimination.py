"""Phased elimination with G-optimal designs (Lattimore & Szepesvari, Bandit Algorithms, 2020, Algorithm 12).

    in phase l = 1, 2, ..., with the remaining arms A_l and e_l = 2^{-l}
    play    every x in A_l   T(x) = ceil(2 g w(x) R^2 / e_l^2 log(K l (l + 1) / delta)) times,
            w a design on A_l, g = max_{x in A_l} x'V(w)^{-1} x
    theta   = (sum_x T(x) x x')^{-1} sum r x   over the rounds of the phase
    A_{l+1} = {x in A_l : max_{y in A_l} (y - x)'theta <= 2 e_l}

Notation: R is the field `noise_scale`. The cost per round is $O(K d)$, and $O(s (K d^2 + d^3))$ at the end of a phase
for a design with s Frank-Wolfe steps.
"""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation.arms import choose_best
from jaxbandits.numerics import linalg
from jaxbandits.numerics.design import optimal_design
from jaxbandits.numerics.linalg import Symmetric, Vector
from jaxbandits.tracing import batching
from jaxbandits.types import ArmDecision, ArmObs, FixedArmObs, Reward

_MOST_PLAYS = 2.0**30  # largest number of plays of an arm in a phase
# Number of rounds per arm for which a phase waits at least. An arm that is available in one of K rounds at random is
# then set aside with a probability of e^-10 only.
_PATIENCE = 10


class Phase(NamedTuple):
    """Remaining arms of a phase, and their numbers of plays."""

    number: jax.Array  # [] int32  number l of the phase
    is_left: jax.Array  # [K] bool  True for the arms in A_l
    plays: jax.Array  # [K] int32  T(x), number of plays of each arm in the phase
    remaining: jax.Array  # [K] int32  number of plays that remain in the phase
    complement: Symmetric  # [d, d]  projection onto the orthogonal complement of the arms of A_l that are not set aside
    is_aside: jax.Array  # [K] bool  True for the arms in A_l that are set aside, since they are not available
    waited: jax.Array  # [] int32  number of rounds in a row in which no arm with remaining plays was available


class EliminationState(NamedTuple):
    """State of `PhasedElimination`: the last estimate, and the sums of the current phase."""

    theta: Vector  # [d]  estimate of the last phase; 0 in the first one
    moment: Vector  # [d]  sum of r x over this phase
    phase: Any = None  # Phase; None before the first observation


class _Turn(NamedTuple):
    """Carry of the loop that steps to the next phase."""

    is_due: jax.Array
    state: EliminationState


@pytree
class PhasedElimination:
    """Policy that eliminates fixed arms by their estimated gaps; its regret grows as $sqrt(d)$ instead of d.

    Guarantee:
      If the noise is R-sub-Gaussian, rewards are linear in the arm and gaps are at most 1, the regret after n rounds is
      at most $C sqrt(n d log(K log(n) / delta))$ for a constant C, with probability at least 1 - delta (Theorem 22.1).

    Deviations:
      * [ours] The design of `numerics.design` takes a fixed number of steps and has at most d + s arms, for s steps
        (the book uses an optimal design on $d (d + 1) / 2$ arms). The g of this design replaces d, so that the
        confidence intervals hold with the probability that the book states. R is 1 in the book.
      * [ours] Zero vectors have no weight in a design, since their mean reward is known to be 0. If all arms in A_l are
        zero, they are played forever and the estimate does not change.
      * [ours] If no arm with remaining plays is available, the learner plays the available arm of A_l with the largest
        estimated reward (or, if no arm of A_l is available, the best available arm) and does not count the play. While
        feedback is delayed, plays beyond T(x) are not counted either. Ties go to the first arm.
      * [ours] After as many such rounds in a row as the phase has plays, and at least 10 K, the arms with remaining
        plays are set aside and the phase starts again with a design on the other arms. Arms that are set aside are not
        eliminated, and take part again in the first phase at whose start they are available.

    Numerics:
      A direction in which no arm of A_l extends further than 4 sqrt(eps) times the longest arm of A_l, with the machine
      epsilon eps, is not estimated: theta is 0 there, and an arm whose reward depends on this direction may be
      eliminated although it is the best. This affects features that differ in magnitude by a factor above 700 in
      float32, and above 10^7 in float64; they need to be scaled
      (numerics/test_design.py::test_short_directions_are_left_out).

    References:
      Tor Lattimore, Csaba Szepesvari. Bandit Algorithms. Cambridge University Press, 2020, Algorithm 12, Theorem 22.1.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Lattimore & Szepesvari, Bandit Algorithms, 2020, Algorithm 12"
    environments: ClassVar[tuple[str, ...]] = ("linear/heavy_tailed",)
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    noise_scale: ArrayLike = param(1.0, "(0, inf)", "R, sub-Gaussian constant of the noise")
    delta: ArrayLike = param(0.01, "(0, 1)", "delta, failure probability")
    design_steps: int | None = static(None, "[0, inf)", "s, number of Frank-Wolfe steps for a design; None: 4 d")

    @classmethod
    def theory(cls, *, dim: int, noise_scale: ArrayLike = 1.0, **changes: FieldValue) -> "PhasedElimination":
        """Use the numbers of plays of Algorithm 12, which are the defaults."""
        return cls(**{"dim": dim, "noise_scale": noise_scale} | changes)

    @classmethod
    def example(cls) -> "PhasedElimination":
        return cls(dim=2, noise_scale=0.2)

    def init(self, key: jax.Array) -> EliminationState:
        del key  # deterministic
        return EliminationState(jnp.zeros(self.dim), jnp.zeros(self.dim))

    def init_from_obs(self, state: EliminationState, obs: ArmObs) -> EliminationState:
        """Return the state with the plan of the first phase.

        Raises:
          InputError: during tracing, if the arms may change from round to round.
        """
        if not isinstance(obs, FixedArmObs):
            raise InputError(
                "PhasedElimination needs an environment whose arms are fixed, that is, one whose observation is "
                "FixedArmObs"
            )
        everyone = jnp.ones(obs.arms.shape[0], bool)
        return state._replace(phase=self._plan(obs.arms, jnp.int32(1), everyone, ~everyone))

    def select(self, key: jax.Array, t: jax.Array, state: EliminationState, obs: ArmObs) -> ArmDecision:
        del key, t
        scores = jnp.where(state.phase.remaining > 0, 1e30, obs.arms @ state.theta)
        is_left = state.phase.is_left
        if obs.mask is not None:
            both = obs.mask & is_left
            is_left = jnp.where(jnp.any(both), both, obs.mask)
        return choose_best(obs.arms, is_left, scores)

    def update(
        self,
        key: jax.Array,
        t: jax.Array,
        state: EliminationState,
        obs: ArmObs,
        decision: ArmDecision,
        feedback: Reward,
    ) -> EliminationState:
        del key, t
        phase = state.phase
        is_counted = phase.remaining[decision.index] > 0
        counts = jnp.where(is_counted, 1, 0)
        remaining = phase.remaining - jnp.where(jnp.arange(len(phase.plays)) == decision.index, counts, 0)
        moment = state.moment + counts * feedback.reward * decision.x
        is_over = is_counted & (jnp.max(remaining) == 0)
        available, waited, gives_up = obs.mask, phase.waited, jnp.zeros((), bool)
        if available is not None:
            waited = jnp.where(jnp.any(available & (phase.remaining > 0)), 0, waited + 1)
            patience = jnp.maximum(jnp.sum(phase.plays.astype(moment.dtype)), _PATIENCE * len(phase.plays))
            others = phase.is_left & ~phase.is_aside & (remaining == 0) & jnp.any(obs.arms != 0.0, axis=1)
            gives_up = (waited >= patience) & jnp.any(remaining > 0) & jnp.any(others)
        after = EliminationState(state.theta, moment, phase._replace(remaining=remaining, waited=waited))

        def turn(carry: _Turn) -> _Turn:
            return _Turn(jnp.zeros((), bool), self._next_phase(obs.arms, available, carry.state, is_over))

        # A loop of at most one step: under `vmap`, a branch would compute the design in every round, since trials
        # change phases at different times.
        is_due = is_over | gives_up
        return batching.while_loop(lambda carry: carry.is_due, turn, _Turn(is_due, after), max_steps=1).state

    def recommend(self, state: EliminationState) -> Vector:
        """Return the estimate `[d]` of theta* from the last phase."""
        return state.theta

    def _next_phase(
        self, arms: jax.Array, available: jax.Array | None, state: EliminationState, is_over: jax.Array
    ) -> EliminationState:
        """Return the first state of the next phase, or of this phase without arms that are not available."""
        phase = state.phase
        gram = jnp.einsum("ki,kj->ij", phase.plays[:, None] * arms, arms) + phase.complement
        theta = linalg.solve(linalg.factor(gram), state.moment)
        mean = arms @ theta
        best = jnp.max(jnp.where(phase.is_left & ~phase.is_aside, mean, -jnp.inf))
        is_good = best - mean <= 2.0 * jnp.exp2(-phase.number.astype(mean.dtype))
        is_left = phase.is_left & (is_good | phase.is_aside | ~is_over)
        still_aside = phase.is_aside & (False if available is None else ~available)
        is_aside = jnp.where(is_over, still_aside, phase.is_aside | (phase.remaining > 0))
        number = phase.number + is_over.astype(phase.number.dtype)
        theta = jnp.where(is_over, theta, state.theta)
        return EliminationState(theta, jnp.zeros_like(theta), self._plan(arms, number, is_left, is_aside))

    def _plan(self, arms: jax.Array, number: jax.Array, is_left: jax.Array, is_aside: jax.Array) -> Phase:
        steps = 4 * self.dim if self.design_steps is None else self.design_steps
        design = optimal_design(jnp.where((is_left & ~is_aside)[:, None], arms, 0.0), steps)
        phase = number.astype(arms.dtype)
        log_term = jnp.log(arms.shape[0] * phase * (phase + 1.0)) - jnp.log(self.delta)
        accuracy = jnp.square(self.noise_scale) * jnp.exp2(2.0 * phase)
        plays = jnp.ceil(2.0 * design.largest * accuracy * log_term * design.weights)
        plays = jnp.where(design.weights > 0.0, jnp.clip(plays, 1.0, _MOST_PLAYS), 0.0)  # >= 1: R^2 may underflow
        plays = plays.astype(jnp.int32)
        return Phase(number, is_left, plays, plays, design.complement, is_aside, jnp.int32(0))
