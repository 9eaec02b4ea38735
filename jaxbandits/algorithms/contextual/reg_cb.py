"""Abstract RegCB over a regression oracle: bounds on the reward of every arm (Foster et al., ICML 2018).

    yhat_k   = the oracle's prediction, clipped to [low, high]
    Delta_t  = c log(K t) (high - low)^2
    u_k      = yhat_k + s w,   y = high + 1,   w the largest weight up to (y - yhat_k) / s for which
               w ((y - yhat_k)^2 - (y - yhat_k - s w)^2) <= Delta_t
    l_k      = yhat_k - s w,   y = low - 1,   w as above with yhat_k - y for y - yhat_k;   both clipped to [low, high]

s is the sensitivity of the oracle: the change of its prediction after an example (x, k, y) of weight 1; s w
approximates the change for an example of weight w. The bounds are approximately the largest and smallest predictions of
regressors whose loss on the past rounds is within Delta_t of the minimum. This is the form of Vowpal Wabbit and of
Bietti, Agarwal & Langford (JMLR 2021) for online oracles. A round costs $O(K)$ updates of the oracle.

A concrete subclass defines the arms that may be played.
"""

import abc
import math

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.contextual.oracle_learner import OracleLearner
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.base.ranges import is_real
from jaxbandits.types import ContextObs, State


@pytree
class RegCB(OracleLearner):
    """Abstract policy that chooses arms by lower and upper bounds on their mean rewards."""

    c: ArrayLike = param(0.1, "[0, inf)", "c, factor of Delta_t")
    low: ArrayLike = param(0.0, "(-inf, inf)", "smallest reward")
    high: ArrayLike = param(1.0, "(-inf, inf)", "largest reward")

    def check(self) -> None:
        """Raise InputError if the oracle does not have dimension K p, or if low >= high."""
        super().check()
        if is_real(self.low) and is_real(self.high) and not np.all(np.less(self.low, self.high)):
            low, high = format_value(self.low), format_value(self.high)
            raise InputError(f"{type(self).__name__}.low must be less than high, got low={low} and high={high}")

    @abc.abstractmethod
    def choose(self, lower: jax.Array, upper: jax.Array) -> jax.Array:
        """Return a mask `[K]` of the arms that may be played.

        Args:
          lower: `[K]` lower bounds on the mean rewards.
          upper: `[K]` upper bounds. Both bounds of an unavailable arm are the smallest finite number.
        """

    def weights(self, key: jax.Array, t: jax.Array, state: State, obs: ContextObs, mask: jax.Array) -> jax.Array:
        lower, upper = self.bounds(key, t, state, obs.context, jnp.sum(mask))
        lowest = jnp.finfo(upper.dtype).min
        chosen = mask & self.choose(jnp.where(mask, lower, lowest), jnp.where(mask, upper, lowest))
        return chosen / jnp.sum(chosen)

    def bounds(
        self, key: jax.Array, t: jax.Array, state: State, context: jax.Array, available: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return l and u, `[K]` each; K in Delta_t is the number of `available` arms."""
        predict_key, fit_key, after_key = jax.random.split(key, 3)
        predicted = self.predict(predict_key, t, state, context)
        mean = jnp.clip(predicted, self.low, self.high)
        rounds = (t + 1).astype(mean.dtype)  # K t may exceed the range of int32
        level = self.c * jnp.log(available.astype(mean.dtype) * rounds) * jnp.square(self.high - self.low)

        def after(index: jax.Array, target: jax.Array) -> jax.Array:
            """Return the prediction for an arm after an example of weight 1."""
            fitted = self.fit(fit_key, t, state, context, index, target)
            is_fitted = jnp.arange(self.n_arms) == index
            return jnp.sum(jnp.where(is_fitted, self.predict(after_key, t + 1, fitted, context), 0.0))

        targets = jnp.stack([self.low - 1.0, self.high + 1.0])[:, None]
        both = jax.vmap(jax.vmap(after), (None, 0))(jnp.arange(self.n_arms), targets + jnp.zeros(self.n_arms))
        lower, upper = movement(jnp.abs(targets - mean), jnp.abs(both - predicted), level)
        return jnp.maximum(mean - lower, self.low), jnp.minimum(mean + upper, self.high)


def movement(distance: jax.Array, sensitivity: jax.Array, level: jax.Array) -> jax.Array:
    """Return s w for the largest $w <= D / s$ with $w (D^2 - (D - s w)^2) <= Delta$.

    With $s w = D x$, x solves $x^2 (2 - x) = a$ for $a = s Delta / D^3$, and x = 1 where a > 1. The function $x sqrt(2
    - x)$ is concave and increases up to x = 1, so that Newton's method for $x sqrt(2 - x) = sqrt(a)$ increases to the
    root. The start $sqrt(a / 2)$ has an error below 0.3; the error is 1e-7 after four steps and 1e-15 after six.

    Args:
      distance: D > 0, of any shape.
      sensitivity: s >= 0.
      level: Delta >= 0.
    """
    root = jnp.sqrt(jnp.minimum(sensitivity * level / distance**3, 1.0))
    x = math.sqrt(0.5) * root
    for _ in range(4 if root.dtype == jnp.float32 else 6):
        other = jnp.sqrt(2.0 - x)
        x = x - (x * other - root) * 2.0 * other / (4.0 - 3.0 * x)
    return distance * jnp.minimum(x, 1.0)
