"""Top-two Thompson sampling (Russo, COLT 2016), with the stopping rule of Garivier & Kaufmann (COLT 2016).

    theta_i ~ Beta(alpha_0 + S_i, beta_0 + F_i),   I = argmax_i theta_i
    play     I with probability beta; else J, the best arm of another draw, repeated until this arm is not I
    stop     once Z > beta(t)

$S_i$ and $F_i$ are the numbers of successes and failures of arm i; Z and beta(t) are those of `track_and_stop`. A draw
costs $O(K)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.armed.beta_posterior import BetaPosterior
from jaxbandits.algorithms.armed.index_policy import Pulls
from jaxbandits.algorithms.explore import identification
from jaxbandits.algorithms.explore.identification import Identification
from jaxbandits.base.pytree import ArrayLike, Fields, FieldValue, PyTree, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.estimation.arms import check_count, choose_best
from jaxbandits.numerics import first_axis, rng
from jaxbandits.tracing.batching import while_loop
from jaxbandits.types import ArmDecision, ArmObs


@pytree
class TopTwoThompson(BetaPosterior, Identification):
    """Thompson sampling that plays a second candidate arm with probability 1 - beta.

    Guarantee:
      For rewards of an exponential family, a unique best arm and beta = 1/2, the posterior probability that another arm
      is the best tends to 0 exponentially, with at least half of the largest possible exponent (Russo 2016). For
      rewards in {0, 1} and the preset `theory`, the recommended arm is the best arm with probability at least 1 - delta
      (Garivier & Kaufmann, Theorem 10, which holds for any sampling rule).

    Deviations:
      * [ours] If I is the best arm of `attempts` further draws, J is the second best arm of the last draw. I and J are
        available arms.
      * [printed] Russo states no stopping rule. The rule here is that of the experiments of Garivier and Kaufmann, with
        the threshold $log((log t + 1) / delta)$ by default.
      * [ours] A reward between 0 and 1 counts as a fractional success; rewards outside [0, 1] are clipped.

    References:
      Daniel Russo. Simple Bayesian Algorithms for Best Arm Identification. COLT 2016.
      Aurelien Garivier, Emilie Kaufmann. Optimal Best Arm Identification with Fixed Confidence. COLT 2016.
    """

    source: ClassVar[str] = "Russo, COLT 2016, top-two Thompson sampling"
    share: ArrayLike = param(0.5, "(0, 1)", "beta, probability of playing the first candidate")
    delta: ArrayLike = param(0.1, "(0, 1)", "delta, failure probability")
    attempts: int = static(64, "[1, inf)", "largest number of draws for the second candidate")
    proven: bool = static(
        False, BOOL, "True: use beta(t) of `theory`; False: that of Garivier & Kaufmann's experiments"
    )

    @classmethod
    def theory(cls, *, n_arms: int, **changes: FieldValue) -> "TopTwoThompson":
        """Use the threshold of Theorem 10 of Garivier and Kaufmann."""
        fields: Fields = {"n_arms": n_arms, "proven": True}
        return cls(**fields | changes)

    @classmethod
    def example(cls) -> "TopTwoThompson":
        return cls(n_arms=5, attempts=8)

    def select(self, key: jax.Array, t: jax.Array, state: Pulls, obs: ArmObs) -> ArmDecision:
        del t
        check_count(obs.arms, self.n_arms)
        available = jnp.ones(self.n_arms, bool) if obs.mask is None else jnp.asarray(obs.mask)
        return choose_best(obs.arms, obs.mask, self._scores(key, state, available))

    def index(self, key: jax.Array, t: jax.Array, state: Pulls) -> jax.Array:
        """Return scores `[K]` of which the arm to play has the largest, for a round in which all arms are available."""
        del t
        return self._scores(key, state, jnp.ones(self.n_arms, bool))

    def _scores(self, key: jax.Array, state: Pulls, available: jax.Array) -> jax.Array:
        """Return a posterior draw `[K]`, modified so that the arm to play has the largest value.

        An unavailable arm that was never played would be the best arm of many draws and take the place of I or J.
        """
        a, b = self.posterior(state)
        coin_key, first_key, other_key = jax.random.split(key, 3)
        draw = jnp.where(available, rng.betas(first_key, a, b), -1.0)
        best = first_axis.argmax(draw)
        is_best = jnp.arange(self.n_arms) == best
        is_first = rng.bernoulli(coin_key, self.share)
        data, impl = jax.random.key_data(other_key), jax.random.key_impl(other_key)

        def redraw(carry: PyTree) -> PyTree:
            i, _ = carry
            again = rng.betas(rng.fold_in(jax.random.wrap_key_data(data, impl=impl), i), a, b)
            return i + 1, jnp.where(available, again, -1.0)

        def has_the_same_best(carry: PyTree) -> jax.Array:
            i, last = carry
            return (i < self.attempts) & ~is_first & (first_axis.argmax(last) == best)

        _, last = while_loop(has_the_same_best, redraw, (jnp.int32(0), draw), self.attempts)
        second = first_axis.argmax(jnp.where(is_best, -2.0, last))
        played = jnp.where(is_first, best, second)
        return draw + 2.0 * (jnp.arange(self.n_arms) == played)

    def stopped(self, state: Pulls) -> jax.Array:
        return identification.evidence(state) > self.threshold(state)

    def threshold(self, state: Pulls) -> jax.Array:
        """Return the threshold beta(t) `[]` of the stopping rule."""
        rounds = jnp.sum(state.count)
        if self.proven:
            return identification.theory_threshold(rounds, self.delta, self.n_arms)
        return identification.practical_threshold(rounds, self.delta)
