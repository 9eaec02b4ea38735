"""Centred noise distributions, with methods for a draw and for the scale of the moment of order 1 + eps.

`sample(key)` draws one value with mean zero; `scale(eps)` is (E |noise|^{1+eps})^{1/(1+eps)}, which is infinite if the
order 1 + eps is at least `tail_index`. All fields are traced, so that tail indices can be swept. `spread` is a factor
of every draw. Fields are numbers; in the noise of `NoisyArms` they may be arrays `[K]` with one entry per arm.

A user-defined distribution is a `pytree` class with the members `sample`, `scale` and `tail_index`. Its `sample` must
not use the block of the key at counter 1 (`numerics.rng`): environments draw random noise scales and transitions from
this block, which would then depend on the noise.
"""

import math
from collections.abc import Callable
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, lists_to_arrays, param, pytree
from jaxbandits.numerics import rng
from jaxbandits.numerics.elementary import log_gamma

_SPREAD = "factor on every draw"
_MOST_DF = 1000.0  # degrees of freedom up to which the moments of Student's t follow from log Gamma
_MOST_INDEX = 100.0  # tail index up to which `_central_scale` is used; with larger ones it would cancel


class Noise(Protocol):
    """Protocol of noise distributions: `sample(key)`, the moment scale `scale(eps)`, and `tail_index`."""

    @property
    def tail_index(self) -> ArrayLike: ...  # moments of smaller order are finite
    def sample(self, key: jax.Array) -> jax.Array: ...
    def scale(self, eps: ArrayLike) -> jax.Array: ...


def check_noise(noise: object, name: str) -> None:
    """Raise `InputError`, which names the field, if a value is not a noise distribution."""
    missing = [member for member in ("tail_index", "sample", "scale") if not hasattr(noise, member)]
    if missing:
        raise InputError(
            f"{name} must be a noise law such as Gaussian(), got {format_value(noise)}, which lacks {missing[0]!r}"
        )


def draw(noise: Noise, key: jax.Array) -> jax.Array:
    """Draw one value `[]`; raise `InputError` if the fields of the noise are arrays."""
    value = noise.sample(key)
    if jnp.ndim(value):
        raise InputError(
            f"the fields of the noise must be numbers, but {type(noise).__name__} draws arrays of shape "
            f"{list(jnp.shape(value))}; only NoisyArms takes arrays [K], with one entry per arm"
        )
    return value


def check_moment(noise: Noise, eps: ArrayLike, name: str, advice: str = "") -> None:
    """Raise `InputError` unless the noise has a moment of order 1 + eps.

    Args:
      noise: the distribution; `tail_index` may be a number or an array, one value per point of a sweep.
      eps: a number or an array.
      name: name of the field that holds `eps`, for the message.
      advice: appended to the message.
    """
    order, index = 1.0 + np.asarray(eps), np.asarray(noise.tail_index)
    try:
        order, index = np.broadcast_arrays(order, index)
    except ValueError:
        raise InputError(f"{name} has shape {order.shape}, but the tail index of the noise has {index.shape}") from None
    missing = order >= index
    if missing.any():
        limit, got = index[missing].min() - 1.0, order[missing].max() - 1.0
        raise InputError(
            f"{name} must lie below {limit:.6g}, because the {type(noise).__name__} noise has no moment of order "
            f"1 + eps from there on, got {got:.6g}{advice}"
        )


def sample_with_scale(
    noise: Noise, key: jax.Array, scale: jax.Array, decades: ArrayLike | None
) -> tuple[jax.Array, jax.Array]:
    """Return a draw of `a * noise` and its moment scale `a * scale`.

    If `decades` is None, a is 1; otherwise log10 a is uniform on (0, decades).
    """
    value = draw(noise, key)
    if decades is None:
        return value, scale
    factor = jnp.exp(math.log(10.0) * decades * rng.uniform(key, counter=1))  # a second counter of the same key
    return factor * value, factor * scale


@pytree
class Gaussian:
    """Normal noise of standard deviation `spread`."""

    spread: ArrayLike = param(1.0, "[0, inf)", "standard deviation")

    def __post_init__(self) -> None:
        lists_to_arrays(self, "spread")

    @property
    def tail_index(self) -> ArrayLike:
        return math.inf

    def sample(self, key: jax.Array) -> jax.Array:
        return rng.normal(key) * self.spread

    def scale(self, eps: ArrayLike) -> jax.Array:
        """Return the moment scale, from `E |N|^p = 2^{p/2} Gamma((p+1)/2) / sqrt(pi)` for a standard normal N."""
        order = 1.0 + eps
        log_moment = order / 2.0 * math.log(2.0) + log_gamma((order + 1.0) / 2.0) - 0.5 * math.log(math.pi)
        return jnp.exp(log_moment / order) * self.spread


@pytree
class StudentT:
    """Student t noise, whose moments of orders below `df` are finite."""

    df: ArrayLike = param(2.1, "(1, inf)", "degrees of freedom")
    spread: ArrayLike = param(1.0, "[0, inf)", _SPREAD)

    def __post_init__(self) -> None:
        lists_to_arrays(self, "df", "spread")

    @property
    def tail_index(self) -> ArrayLike:
        return self.df

    def sample(self, key: jax.Array) -> jax.Array:
        return rng.student_t(key, self.df) * self.spread

    def scale(self, eps: ArrayLike) -> jax.Array:
        """Return the moment scale, computed from a closed form.

        For p < df, `E |T|^p = df^{p/2} Gamma((p+1)/2) Gamma((df-p)/2) / (sqrt(pi) Gamma(df/2))`. Above 1000 degrees of
        freedom, where logarithms of Gamma functions would cancel, the ratio of the last two is computed by its
        asymptotic expansion. The relative error is below 4e-4 in float32 and below 1e-12 in float64.
        """
        order, df = 1.0 + eps, jnp.asarray(self.df)
        log_moment = order / 2.0 * jnp.log(df) + log_gamma((order + 1.0) / 2.0) - 0.5 * math.log(math.pi)
        log_moment = log_moment + log_gamma(jnp.maximum(df - order, 0.0) / 2.0) - log_gamma(df / 2.0)
        ratio = _log_gamma_ratio(jnp.maximum(df, _MOST_DF), order / 2.0)
        log_moment = jnp.where(
            df > _MOST_DF, log_gamma((order + 1.0) / 2.0) - 0.5 * math.log(math.pi) + ratio, log_moment
        )
        return jnp.where(order < df, jnp.exp(log_moment / order), jnp.inf) * self.spread


def _log_gamma_ratio(df: jax.Array, half: ArrayLike) -> jax.Array:
    """Return `log(df^h Gamma(df/2 - h) / Gamma(df/2))` for df >= 1000 and h = `half` in [0, 1].

    With w = (df - h - 1) / 2 it is `h log(df / w) - h (1 - h^2) / (24 w^2)`, up to terms of the order w^-4.
    """
    twice = df - half - 1.0  # 2 w
    return half * (math.log(2.0) - jnp.log1p(-(half + 1.0) / df) - (1.0 - half * half) / (6.0 * twice * twice))


@pytree
class Pareto:
    """Pareto noise minus its mean `shape / (shape - 1)`, with the survival function `(x + mean)^-shape`.

    The spacing of draws in float32 is 1.2e-7 or more, times `spread`. For a shape above 10^4 it is over 0.1 % of their
    size, which is about 1 / shape; the draws of `Lomax` do not have this limit.
    """

    shape: ArrayLike = param(1.5, "(1, inf)", "tail index")
    spread: ArrayLike = param(1.0, "[0, inf)", _SPREAD)

    def __post_init__(self) -> None:
        lists_to_arrays(self, "shape", "spread")

    @property
    def tail_index(self) -> ArrayLike:
        return self.shape

    def sample(self, key: jax.Array) -> jax.Array:
        return (rng.pareto(key, self.shape) - self._mean) * self.spread

    def scale(self, eps: ArrayLike) -> jax.Array:
        """Return the moment scale, computed by quadrature."""
        shape, mean = jnp.asarray(self.shape), self._mean
        heavy = _central_scale(1.0 + eps, shape, mean, mean**-shape, jnp.ones_like)
        large = jnp.maximum(shape, _MOST_INDEX)
        light = _light_scale(1.0 + eps, large, 1.0 / (large - 1.0), lambda z: jnp.where(z > 0.0, jnp.exp(-z), 0.0))
        return jnp.where(shape > _MOST_INDEX, light, heavy) * self.spread

    @property
    def _mean(self) -> jax.Array:
        shape = jnp.asarray(self.shape)
        return shape / (shape - 1.0)


@pytree
class Lomax:
    """Lomax noise minus its mean `1 / (shape - 1)`; the centred distribution is that of `Pareto`."""

    shape: ArrayLike = param(1.5, "(1, inf)", "tail index")
    spread: ArrayLike = param(1.0, "[0, inf)", _SPREAD)

    def __post_init__(self) -> None:
        lists_to_arrays(self, "shape", "spread")

    @property
    def tail_index(self) -> ArrayLike:
        return self.shape

    def sample(self, key: jax.Array) -> jax.Array:
        mean = 1.0 / (jnp.asarray(self.shape) - 1.0)
        return (rng.lomax(key, self.shape) - mean) * self.spread

    def scale(self, eps: ArrayLike) -> jax.Array:
        """Return the moment scale of `Pareto`, since both centred distributions are the same."""
        return Pareto(shape=self.shape, spread=self.spread).scale(eps)


@pytree
class Fisk:
    """Fisk (log-logistic) noise minus its mean `(pi / shape) / sin(pi / shape)`.

    The spacing of draws in float32 is about 1.2e-7 times `spread`, which for a shape above 10^4 is over 0.1 % of their
    size.
    """

    shape: ArrayLike = param(1.5, "(1, inf)", "tail index")
    spread: ArrayLike = param(1.0, "[0, inf)", _SPREAD)

    def __post_init__(self) -> None:
        lists_to_arrays(self, "shape", "spread")

    @property
    def tail_index(self) -> ArrayLike:
        return self.shape

    def sample(self, key: jax.Array) -> jax.Array:
        return (rng.fisk(key, self.shape) - self._mean) * self.spread

    def scale(self, eps: ArrayLike) -> jax.Array:
        """Return the moment scale, computed by quadrature."""
        shape, mean = jnp.asarray(self.shape), self._mean
        survival = 1.0 / (1.0 + mean**shape)

        def factor(s: jax.Array) -> jax.Array:
            return (1.0 - s) ** (1.0 / shape[..., None])

        heavy = _central_scale(1.0 + eps, shape, mean, survival, factor)
        large = jnp.maximum(shape, _MOST_INDEX)
        square = jnp.square(math.pi / large)
        # mean - 1, from the series of x / sin(x), without cancellation
        excess = square * (1.0 / 6.0 + square * (7.0 / 360.0 + square * (31.0 / 15120.0)))

        def density(z: jax.Array) -> jax.Array:
            e = jnp.exp(-jnp.abs(z))
            return e / jnp.square(1.0 + e)

        return jnp.where(shape > _MOST_INDEX, _light_scale(1.0 + eps, large, excess, density), heavy) * self.spread

    @property
    def _mean(self) -> jax.Array:
        angle = math.pi / jnp.asarray(self.shape)
        return angle / jnp.sin(angle)


def _double_exponential() -> tuple[np.ndarray, ...]:
    """Return nodes and weights of the double exponential quadrature rules on (0, inf) and on (0, 1)."""
    tau, step = np.linspace(-4.5, 4.5, 181, retstep=True)
    half_line = np.exp(tau - np.exp(-tau))  # for integrands that decay exponentially
    half_weight = step * half_line * (1.0 + np.exp(-tau))
    unit = 1.0 / (1.0 + np.exp(-np.pi * np.sinh(tau * 0.75)))
    unit_weight = step * 0.75 * np.pi * np.cosh(tau * 0.75) * unit * (1.0 - unit)
    return half_line, half_weight, unit, unit_weight


_RULES = _double_exponential()


def _central_scale(
    order: ArrayLike, index: ArrayLike, mean: jax.Array, survival: jax.Array, factor: Callable[[jax.Array], jax.Array]
) -> jax.Array:
    """Return `(E |X - mean|^p)^{1/p}` for p = order, where X exceeds s^{-1/index} factor(s) with probability s.

    For the part above the mean let s = survival e^{-z} and g = factor - mean s^{1/index}, which tends to 1. Then

        E (X - mean)_+^p = survival^{1-r} (1/(1-r) - integral_0^inf e^{-(1-r) z} (1 - g^p) dz),   r = p / index,

    The heavy tail is thus integrated exactly, however close p is to the index. Below the mean the integrand is bounded.
    Both integrals use double exponential rules with 181 nodes. For an index in [1.05, 4] the relative error is below
    1e-9 in float64 (environments/linear/test_heavy_tailed.py::test_moment_scales_against_other_formulas), and below
    2e-5 in float32, where it is caused by the rounding of 1 - r (float32/test_linear.py::test_moment_scales).
    """
    order, index = jnp.asarray(order), jnp.asarray(index)
    decay = 1.0 - order / index
    # The nodes have one trailing axis; the other axes broadcast.
    power, root, top, middle = (a[..., None] for a in (order, 1.0 / index, survival, mean))

    # The dtype is explicit, since JAX caches the array made from a NumPy constant with the precision set at that time.
    half_line, half_weight, unit, unit_weight = (jnp.asarray(x, mean.dtype) for x in _RULES)
    z = half_line / root
    s = top * jnp.exp(-z)
    g = jnp.maximum(factor(s) - middle * s**root, jnp.finfo(mean.dtype).tiny)
    missing = jnp.sum(half_weight / root * jnp.exp(-decay[..., None] * z) * -jnp.expm1(power * jnp.log(g)), axis=-1)
    above = survival**decay * (1.0 / decay - missing)

    s = top + (1.0 - top) * unit
    gap = jnp.maximum(middle - s**-root * factor(s), 0.0)
    below = (1.0 - survival) * jnp.sum(unit_weight * gap**power, axis=-1)
    return jnp.where(order < index, (above + below) ** (1.0 / order), jnp.inf)


def _light_scale(
    order: ArrayLike, index: jax.Array, excess: jax.Array, density: Callable[[jax.Array], jax.Array]
) -> jax.Array:
    """Return `(E |X - mean|^p)^{1/p}` for p = order and X = exp(Z / index), for an index of at least 100.

    X - mean is of the size 1 / index. At z0 = index log(mean), where X is the mean, it changes its sign, and

        X - mean = mean (exp((Z - z0) / index) - 1)

    is computed without cancellation. The relative error is below 1e-9 in float64 and below 2e-5 in float32.

    Args:
      order: p.
      index: tail index of X.
      excess: mean - 1, with full relative precision.
      density: density of Z, elementwise; 0 outside the support.
    """
    power, index, excess = (jnp.asarray(a)[..., None] for a in (order, index, excess))
    half_line, half_weight, unit, unit_weight = (jnp.asarray(x, index.dtype) for x in _RULES)
    middle = index * jnp.log1p(excess)

    def moment(z: jax.Array, weight: jax.Array) -> jax.Array:
        gap = jnp.abs(index * jnp.expm1(z / index))  # index |X / mean - 1|
        return jnp.sum(weight * density(middle + z) * gap**power, axis=-1)

    # Below z0, the first integral ends where Z = 0, the end of the support of a Pareto variate.
    total = (
        moment(half_line, half_weight)
        + moment(-middle * unit, middle * unit_weight)
        + moment(-middle - half_line, half_weight)
    )
    mean = (1.0 + excess) / index
    return total ** (1.0 / power[..., 0]) * mean[..., 0]
