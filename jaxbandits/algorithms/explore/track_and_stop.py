"""Track-and-Stop with D-tracking (Garivier & Kaufmann, COLT 2016).

    play     argmin_i T_i of the arms with T_i < sqrt(t) - K / 2, if there are any; else argmax_i t w*_i(m) - T_i
    stop     once Z > beta(t)

These rules apply after t rounds and after one play of every arm. Here m are the mean rewards, w* are the optimal
proportions for these means (`proportions`), and Z is the log-likelihood ratio of `identification.evidence`. The cost
per round is $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.explore import identification
from jaxbandits.algorithms.explore.identification import Identification
from jaxbandits.algorithms.explore.proportions import optimal_proportions
from jaxbandits.base.pytree import ArrayLike, Fields, FieldValue, param, pytree, static
from jaxbandits.base.ranges import BOOL

_FORCED = 1e15  # above every value of t w* - T


@pytree
class TrackAndStop(Identification):
    """Asymptotically optimal fixed-confidence best-arm identification (as delta -> 0).

    Guarantee:
      For rewards in {0, 1}, a unique best arm and the preset `theory`, the recommended arm is the best arm with
      probability at least 1 - delta (Theorem 10). The expected stopping time divided by log(1/delta) tends to the
      characteristic time T*(mu) of the arms as delta -> 0 (Theorem 14). No learner with this error probability has a
      smaller limit (Theorem 1).

    Deviations:
      * [printed] The default is beta(t) = $log((log t + 1) / delta)$, as in the experiments; `theory` has
        $log(2 t (K - 1) / delta)$.
      * [ours] Means are clipped to [1e-6, 1 - 1e-6] in w*. If several arms have the largest mean, w* is uniform on
        these arms (the authors' code draws one at random). Ties go to the first arm.

    References:
      Aurelien Garivier, Emilie Kaufmann. Optimal Best Arm Identification with Fixed Confidence. COLT 2016,
      arXiv:1602.04589, Section 3.1 (D-tracking), Eq. (8) (stopping), Theorems 1, 5, 10 and 14.
    """

    source: ClassVar[str] = "Garivier & Kaufmann, COLT 2016, Track-and-Stop with D-tracking"
    delta: ArrayLike = param(0.1, "(0, 1)", "delta, failure probability")
    proven: bool = static(
        False, BOOL, "True: use beta(t) of `theory`; False: that of Garivier & Kaufmann's experiments"
    )

    @classmethod
    def theory(cls, *, n_arms: int, **changes: FieldValue) -> "TrackAndStop":
        """Use the threshold of Theorem 10."""
        fields: Fields = {"n_arms": n_arms, "proven": True}
        return cls(**fields | changes)

    @classmethod
    def practical(cls, *, n_arms: int, **changes: FieldValue) -> "TrackAndStop":
        """Use the threshold of the paper's experiments (the default)."""
        fields: Fields = {"n_arms": n_arms}
        return cls(**fields | changes)

    @classmethod
    def example(cls) -> "TrackAndStop":
        return cls(n_arms=5)

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        del key, t
        rounds = jnp.sum(state.count)
        behind = rounds * optimal_proportions(state.mean) - state.count
        is_forced = state.count < jnp.sqrt(rounds) - 0.5 * self.n_arms
        return jnp.where(is_forced, _FORCED * (1.0 + 1.0 / (1.0 + state.count)), behind)

    def stopped(self, state: Pulls) -> jax.Array:
        return identification.evidence(state) > self.threshold(state)

    def threshold(self, state: Pulls) -> jax.Array:
        """Return the threshold beta(t) `[]` of the stopping rule."""
        rounds = jnp.sum(state.count)
        if self.proven:
            return identification.theory_threshold(rounds, self.delta, self.n_arms)
        return identification.practical_threshold(rounds, self.delta)
