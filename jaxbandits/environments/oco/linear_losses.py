"""Linear losses with an i.i.d. noisy gradient (SEA model: a mean that nature chooses plus noise that it draws).

    f_t(x) = <mu_t + xi_t, x>,   F_t(x) = E f_t(x) = <mu_t, x>
    mu_t = m e_1,   xi_t = s * (uniform on the unit sphere)

So the gradients are at most G = |m| + s, sigma^2_{1:T} = T s^2 and Sigma^2_{1:T} = m^2, exactly.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.core import linalg, rng
from jaxbandits.core.linalg import Vec, Vector
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.domains.ball import L2Ball
from jaxbandits.types import Gradient, PointDecision


class LinearLossesState(NamedTuple):
    """Sufficient statistics of the comparators."""

    rounds: jax.Array  # [] int32, rounds played
    gradient_sum: Vector  # [d]  sum of the gradients, without its rounding error
    gradient_rest: Vector  # [d]  the rounding error of gradient_sum, to be subtracted


class LinearLossesOutcome(NamedTuple):
    """What is charged."""

    loss: jax.Array  # []  f_t(x_t)
    mean_loss: jax.Array  # []  F_t(x_t)


@pytree
class LinearLosses:
    """Online linear optimisation with i.i.d. losses around a fixed mean.

    Recorded: `loss` and `mean_loss` (summed); at record points `comparator_loss`, the least cumulative loss of a fixed
    point of the domain on the losses that were drawn, and `mean_comparator_loss`, the same on their means; so that

        regret        = loss - comparator_loss              (realised, against the best point in hindsight)
        pseudo_regret = mean_loss - mean_comparator_loss    (against the best point in expectation: less noise)

    Numerics: the sum of the gradients is compensated (Kahan), so that in float32 `comparator_loss` carries one rounding
    of its own size (6e-8 relative: 0.006 at 10^5) after any number of rounds; a plain running sum would have lost the
    noise of the gradients after 10^7.

    References: the i.i.d. stochastic case of the stochastically extended adversarial model: S. Sachs, H. Hadiji,
      T. van Erven, C. Guzman, "Between Stochastic and Adversarial Online Convex Optimization", NeurIPS 2022.
    """

    dim: int = static(range="[1, inf)", doc="d, dimension of the domain")
    domain: Any = param(factory=L2Ball, doc="X, with lmo; the comparators")
    mean: ArrayLike = param(0.1, "(-inf, inf)", "m: the mean gradient is m e_1")
    noise_scale: ArrayLike = param(0.3, "[0, inf)", "s, norm of the noise in every round")

    def init(self, key: jax.Array) -> LinearLossesState:
        del key
        zero = linalg.zeros(self.dim)
        return LinearLossesState(jnp.zeros((), jnp.int32), zero, zero)

    def observe(self, key: jax.Array, t: jax.Array, state: LinearLossesState) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: LinearLossesState, obs: None, decision: PointDecision
    ) -> tuple[LinearLossesState, Gradient, LinearLossesOutcome]:
        del obs
        mean = self.mean_gradient(t)
        params = linalg.keep(mean + self.noise_scale * uniform_on_sphere(key, self.dim))
        feedback = Gradient(loss=value(params, decision.query), grad=gradient(params, decision.query))
        outcome = LinearLossesOutcome(loss=value(params, decision.play), mean_loss=value(mean, decision.play))
        total, rest = _add_compensated(state.gradient_sum, state.gradient_rest, params)
        return LinearLossesState(jnp.asarray(t + 1, jnp.int32), total, rest), feedback, outcome

    def at_record(self, state: LinearLossesState, recommendation: Any) -> dict[str, jax.Array]:
        del recommendation
        return {
            "comparator_loss": self._least(state.gradient_sum - state.gradient_rest),
            "mean_comparator_loss": self._least(self.mean_gradient_sum(state.rounds)),
        }

    def derive(self, values: dict[str, Any]) -> dict[str, Any]:
        """`regret` and `pseudo_regret` at record points, subtracted in float64."""
        return {
            "regret": values["loss"] - values["comparator_loss"],
            "pseudo_regret": values["mean_loss"] - values["mean_comparator_loss"],
        }

    def mean_gradient(self, t: jax.Array) -> Vector:
        """`[d]` mu_t, for the round that `t` counts from 0."""
        del t
        return _first_unit(self.dim, self.mean)

    def mean_gradient_sum(self, rounds: jax.Array) -> Vector:
        """`[d]` mu_1 + ... + mu_rounds."""
        return _first_unit(self.dim, self.mean * jnp.asarray(rounds, jnp.zeros(()).dtype))

    @property
    def lipschitz(self) -> ArrayLike:
        """G, the least bound on the norm of all gradients."""
        return abs(self.mean) + self.noise_scale

    def cumulative_variance(self, horizon: ArrayLike) -> ArrayLike:
        """sigma^2_{1:T}, the expected sum of sup_x E ||grad f_t(x) - grad F_t(x)||^2."""
        return horizon * self.noise_scale**2

    def cumulative_variation(self, horizon: ArrayLike) -> ArrayLike:
        """Sigma^2_{1:T}, the sum of sup_x ||grad F_t(x) - grad F_{t-1}(x)||^2 with F_0 = 0."""
        return self.mean**2 + 0.0 * horizon

    def _least(self, gradient_sum: Vector) -> jax.Array:
        return linalg.inner(gradient_sum, self.domain.lmo(gradient_sum))


def value(params: Vector, x: Any) -> jax.Array:
    """`f(x) = <params, x>` at one point `[d]`, or `[Q]` values at points `[Q, d]`."""
    return x @ params


def gradient(params: Vector, x: Any) -> Any:
    """The gradient of `f`, in the shape of `x`: `[d]`, or `[Q, d]`."""
    return jax.tree.map(lambda g, a: jnp.broadcast_to(g, a.shape), params, x)


def uniform_on_sphere(key: jax.Array, dim: int) -> Vector:
    """`[d]` a uniform unit vector: a sign for d = 1, an angle for d = 2, a normalised Gaussian above."""
    if dim == 1:
        return Vec([jnp.where(rng.tail_and_angle(key)[1] < 0.5, -1.0, 1.0)])
    if dim == 2:
        return Vec(_on_circle(rng.tail_and_angle(key)[1]))
    if dim > linalg.SMALL_DIM:
        direction = jax.random.normal(key, (dim,))
    else:  # Box-Muller in pairs of scalar leaves: 4 times faster under vmap than rows [d] of Gaussians
        entries = []
        for pair in range((dim + 1) // 2):
            tail, angle = rng.tail_and_angle(jax.random.fold_in(key, pair))
            radius = jnp.sqrt(-2.0 * jnp.log(tail))
            entries += [radius * entry for entry in _on_circle(angle)]
        direction = Vec(entries[:dim])
    direction = linalg.keep(direction)
    return direction / linalg.norm(direction)


def _on_circle(turns: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The point of the unit circle at `turns` in (0, 1), to full accuracy near both axes."""
    quarters = 4.0 * turns - 2.0
    cosine = rng.sin_half_pi(1.0 - jnp.abs(quarters))
    return cosine, jnp.sign(quarters) * rng.sin_half_pi(1.0 - jnp.abs(1.0 - jnp.abs(quarters)))


def _first_unit(dim: int, scale: ArrayLike) -> Vector:
    scale = jnp.asarray(scale, jnp.zeros(()).dtype)
    return linalg.vectors(jnp.zeros(dim).at[0].set(scale))


def _add_compensated(total: Vector, rest: Vector, x: Vector) -> tuple[Vector, Vector]:
    """Kahan: `total - rest` is the sum so far, far more accurately than `total`."""
    x = linalg.keep(x - rest)
    new = linalg.keep(total + x)
    return new, linalg.keep((new - total) - x)
