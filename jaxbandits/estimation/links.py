"""Links of generalised linear models; each class defines the functions and constants of an exponential family.

    p(r | z) = exp((r z - m(z)) / g + h(r, g)),   z = x'theta,   E[r] = mu(z) = m'(z),   Var[r] = g mu'(z)

A link is a frozen pytree. It is a field of the algorithm (the assumed link) and of the environment (the true link), so
that a misspecified model needs only a different argument. A new link is a class with the members of `Link`, decorated
with `@pytree` so that its parameters are traced; no other code needs to change. Every estimator requires that `mu` is
increasing and that `|mu''| <= R mu'` for a constant R.

A link with bounded rewards has the property `reward_range`, the interval that contains them.

A link that is not defined for all z has the method `is_defined(z)`; environments return NaN as the regret of a round
in which the link is undefined, for instance after a drift, so that the trial counts as failed.

A link may also have `lipschitz(count, bound, dim, delta)`, a Lipschitz constant of the negative log-likelihood of
`count` rounds on the ball of radius `bound` for all rewards; see the function of that name.
"""

from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.pytree import ArrayLike, param, pytree
from jaxbandits.numerics import elementary, rng


@runtime_checkable
class Link(Protocol):
    """Protocol of links, for algorithms and environments; every function is elementwise in `z`.

    Members are methods and properties and not stored tables, so that a sweep can vary a traced field such as a
    variance.
    """

    @property
    def dispersion(self) -> ArrayLike:
        """`g`, the factor between `mu'` and the variance of a reward."""
        ...

    @property
    def self_concordance(self) -> ArrayLike:
        """`R` such that `|mu''| <= R mu'` for all admissible z; it may depend on the fields of the link."""
        ...

    def log_partition(self, z: ArrayLike) -> jax.Array:
        """Return `m(z)`; the negative log-likelihood of a reward `r` is `(m(z) - r z) / g` up to a constant."""
        ...

    def mean(self, z: ArrayLike) -> jax.Array:
        """Return `mu(z) = m'(z)`, which is increasing in z."""
        ...

    def slope(self, z: ArrayLike) -> jax.Array:
        """Return `mu'(z) > 0`, with full relative precision even if `mu'(z)` is small."""
        ...

    def slope_bounds(self, low: ArrayLike, high: ArrayLike) -> tuple[jax.Array, jax.Array]:
        """Return `inf mu'` and `sup mu'` on `[low, high]`: `c_mu` (whose reciprocal is kappa) and `C_mu`."""
        ...

    def sample(self, key: jax.Array, z: jax.Array) -> jax.Array:
        """Return one reward with mean `mu(z)`, in the dtype of `z`.

        For a fixed key, the sample is monotone in `z` for some links.
        """
        ...


def lipschitz(link: Link, count: ArrayLike, bound: ArrayLike, dim: int, delta: ArrayLike) -> jax.Array | None:
    """Return a Lipschitz constant of the negative log-likelihood of `count` rounds on a ball of parameters.

    The arms have norm at most 1. The constants are those of OFUGLB (Lee, Yun & Jun, NeurIPS 2024). The result is None
    if the link defines no constant; then use the sum of `reward_lipschitz` over the rounds.

    Args:
      link: the link of the model.
      count: number of rounds.
      bound: radius S of the ball of parameters.
      dim: d, dimension of the parameter.
      delta: probability with which the constant may be too small, if rewards are unbounded.
    """
    stated = getattr(link, "lipschitz", None)
    return None if stated is None else stated(count, bound, dim, delta)


def reward_lipschitz(link: Link, reward: ArrayLike, bound: ArrayLike) -> jax.Array:
    """Return the Lipschitz constant of the negative log-likelihood of one round, given its reward r.

    It is the larger of `|mu(S) - r| / g` and `|mu(-S) - r| / g`, where S is `bound`, the radius of the ball of
    parameters, and arms have norm at most 1.
    """
    high, low = link.mean(jnp.asarray(bound)), link.mean(jnp.negative(bound))
    return jnp.maximum(jnp.abs(high - reward), jnp.abs(low - reward)) / link.dispersion


def is_defined_around_zero(link: Link) -> bool:
    """Return True if the mean of a link, or of every link of a sweep, is defined at z = 0."""
    return bool(np.all(np.isfinite(link.slope_bounds(jnp.zeros(()), jnp.zeros(()))[1])))


@pytree
class Gaussian:
    """Gaussian rewards `N(z, variance)`, with `m = z^2 / 2` and `mu = z`."""

    variance: ArrayLike = param(1.0, "(0, inf)", "g, variance of a reward")

    @property
    def dispersion(self) -> ArrayLike:
        return self.variance

    @property
    def self_concordance(self) -> ArrayLike:
        return 0.0

    def log_partition(self, z: ArrayLike) -> jax.Array:
        return 0.5 * jnp.square(z)

    def mean(self, z: ArrayLike) -> jax.Array:
        return jnp.asarray(z)

    def slope(self, z: ArrayLike) -> jax.Array:
        return jnp.ones_like(z)

    def slope_bounds(self, low: ArrayLike, high: ArrayLike) -> tuple[jax.Array, jax.Array]:
        del high
        one = jnp.ones_like(low)
        return one, one

    def sample(self, key: jax.Array, z: jax.Array) -> jax.Array:
        return z + jnp.sqrt(self.variance) * rng.normal(key)


@pytree
class Bernoulli:
    """Rewards 0 and 1 with the logistic link, `m = log(1 + e^z)` and `mu = 1 / (1 + e^-z)`."""

    @property
    def reward_range(self) -> tuple[float, float]:
        """Interval [0, 1] of the rewards."""
        return 0.0, 1.0

    @property
    def dispersion(self) -> ArrayLike:
        return 1.0

    @property
    def self_concordance(self) -> ArrayLike:
        return 1.0

    def log_partition(self, z: ArrayLike) -> jax.Array:
        # Not `jnp.maximum(z, 0.0)`: JAX halves its derivative at z = 0, but not that of the absolute value.
        return jnp.where(jnp.less(z, 0.0), 0.0, z) + elementary.log1p(jnp.exp(-jnp.abs(z)))

    def mean(self, z: ArrayLike) -> jax.Array:
        # XLA's logistic is built on tanh and loses the left tail in float32 (relative error 1e-3 at z = -9).
        e = jnp.exp(-jnp.abs(z))
        return jnp.where(jnp.less(z, 0.0), e, 1.0) / (1.0 + e)

    def slope(self, z: ArrayLike) -> jax.Array:
        e = jnp.exp(-jnp.abs(z))  # mu (1 - mu) would vanish when mu rounds to 1
        return e / jnp.square(1.0 + e)

    def slope_bounds(self, low: ArrayLike, high: ArrayLike) -> tuple[jax.Array, jax.Array]:
        return self.slope(jnp.maximum(jnp.abs(low), jnp.abs(high))), self.slope(jnp.clip(0.0, low, high))

    def lipschitz(self, count: ArrayLike, bound: ArrayLike, dim: int, delta: ArrayLike) -> jax.Array:
        del bound, dim, delta  # |mu - r| <= 1
        return jnp.asarray(count, jnp.result_type(float))

    def sample(self, key: jax.Array, z: jax.Array) -> jax.Array:
        # The reward is 1 if u < mu(z). For z > 0 the rarer outcome is 0, and 1 - u is compared with its probability.
        # Small probabilities are thus accurate in float32, and the reward is monotone in z.
        high, low = rng.random_words(key)
        positive = z > 0
        uniform = rng.uniform_of_words(jnp.where(positive, ~high, high), jnp.where(positive, ~low, low))
        return ((uniform < self.mean(-jnp.abs(z))) ^ positive).astype(z.dtype)


@pytree
class Poisson:
    """Poisson counts, with `m = mu = mu' = e^z`."""

    @property
    def dispersion(self) -> ArrayLike:
        return 1.0

    @property
    def self_concordance(self) -> ArrayLike:
        return 1.0

    def log_partition(self, z: ArrayLike) -> jax.Array:
        return jnp.exp(z)

    def mean(self, z: ArrayLike) -> jax.Array:
        return jnp.exp(z)

    def slope(self, z: ArrayLike) -> jax.Array:
        return jnp.exp(z)

    def slope_bounds(self, low: ArrayLike, high: ArrayLike) -> tuple[jax.Array, jax.Array]:
        return jnp.exp(low), jnp.exp(high)

    def lipschitz(self, count: ArrayLike, bound: ArrayLike, dim: int, delta: ArrayLike) -> jax.Array:
        return jnp.exp(bound) * count + jnp.log(dim / delta)

    def sample(self, key: jax.Array, z: jax.Array) -> jax.Array:
        return rng.poisson(key, z)


@pytree
class Exponential:
    """Exponential rewards with mean `-1/z` for `z <= -margin < 0`: `m = -log(-z)`, `mu = -1/z`, `mu' = 1/z^2`.

    The natural parameter is negative, so that 0 cannot be in the parameter set. Use a learner and an environment whose
    parameter ball has a `center`, and arms with `x'theta <= -margin` for every theta in the ball. For $z >= 0$ nothing
    is clipped: the log-partition function is infinite or NaN there, and the mean has no meaning (`is_defined`). The
    correct value of R is 2 / margin, since `mu''/mu' = 2/|z|`; the paper on GLB-OMD states $R = 0$.
    """

    margin: ArrayLike = param(1.0, "(0, inf)", "smallest |z| over arms and parameters; R = 2 / margin")

    @property
    def dispersion(self) -> ArrayLike:
        return 1.0

    @property
    def self_concordance(self) -> ArrayLike:
        return 2.0 / self.margin

    def is_defined(self, z: ArrayLike) -> jax.Array:
        """Return True where z < 0."""
        return jnp.less(z, 0.0)

    def log_partition(self, z: ArrayLike) -> jax.Array:
        return -jnp.log(jnp.negative(z))

    def mean(self, z: ArrayLike) -> jax.Array:
        return -1.0 / jnp.asarray(z)

    def slope(self, z: ArrayLike) -> jax.Array:
        return 1.0 / jnp.square(z)

    def slope_bounds(self, low: ArrayLike, high: ArrayLike) -> tuple[jax.Array, jax.Array]:
        """Return `inf mu'` and `sup mu'`; 0 and `inf` if the interval is not contained in `z <= -margin`."""
        inside = jnp.less_equal(high, jnp.negative(self.margin))
        return jnp.where(inside, self.slope(low), 0.0), jnp.where(inside, self.slope(high), jnp.inf)

    def sample(self, key: jax.Array, z: jax.Array) -> jax.Array:
        return jnp.log(rng.tail_and_angle(key)[0]) / z
