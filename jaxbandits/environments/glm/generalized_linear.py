"""The generalised linear bandit: rewards from an exponential family whose mean is `mu(x'theta*)`.

theta* uniform on the sphere of radius S;   K arms uniform in the unit ball, drawn once or afresh each round
regret of a round = max_k mu(x_k'theta*) - mu(x'theta*)      (means: no noise in it)
"""

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core import linalg, rng
from jaxbandits.core.arms import largest
from jaxbandits.core.errors import InputError
from jaxbandits.core.linalg import Vec, Vector
from jaxbandits.core.links import Bernoulli, Link
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.types import ArmDecision, ArmObs, ArmSet, Reward

_UNROLLED_WORK = 6000  # K d^2 up to which arms are K separate vectors: fastest, but the program grows with it


class GeneralizedLinearState(NamedTuple):
    """The instance; nothing in it changes over the rounds."""

    theta: Vector  # [d]  theta*
    arms: Any  # [K, d]  an `ArmSet`; None when they are drawn afresh each round
    best: Any  # []  max_k x_k'theta*; None likewise


class RegretOutcome(NamedTuple):
    """What meters sum."""

    regret: jax.Array  # []  pseudo-regret in mean space


@pytree
class GeneralizedLinear:
    """Generalised linear bandit with a fixed or a fresh set of K arms.

    The environment streams do not depend on the learner: every method meets the same theta*, arms and noise.

    Raises (by `validate`):
      InputError: for arms or theta of the wrong shape, or arms given together with `fresh_arms`.
    """

    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    n_arms: int = static(20, range="[1, inf)", doc="K, number of arms")
    fresh_arms: bool = static(False, doc="True: new arms each round; False: one set per trial")
    link: Link = param(factory=Bernoulli, doc="family of the rewards")
    norm_bound: ArrayLike = param(1.0, "(0, inf)", "S = ||theta*||; not used when theta is given")
    arms: ArrayLike | None = param(None, "(-inf, inf)", "[K, d] the arms; None: uniform in the unit ball")
    theta: ArrayLike | None = param(None, "(-inf, inf)", "[d] theta*; None: uniform on the sphere of radius S")

    def check(self) -> None:
        """Raises `InputError` for shapes that do not fit; warns of arms outside the unit ball."""
        if not isinstance(self.link, Link):
            raise InputError(f"link must have the members of core.links.Link, got {type(self.link).__name__}")
        if self.theta is not None and np.shape(self.theta)[-1:] != (self.dim,):
            raise InputError(f"theta must have shape ({self.dim},), got {np.shape(self.theta)}")
        if self.arms is None:
            return
        if self.fresh_arms:
            raise InputError("fresh_arms=True draws the arms of every round; leave arms at None")
        if np.shape(self.arms)[-2:] != (self.n_arms, self.dim):
            raise InputError(f"arms must have shape ({self.n_arms}, {self.dim}), got {np.shape(self.arms)}")
        longest = float(np.max(np.linalg.norm(np.asarray(self.arms), axis=-1)))
        if longest > 1.0 + 1e-6:
            warnings.warn(f"an arm has norm {longest:.6g}: the theory of these methods assumes at most 1", stacklevel=2)

    def init(self, key: jax.Array) -> GeneralizedLinearState:
        for_theta, for_arms = jax.random.split(key)
        if self.theta is None:
            direction = jax.random.normal(for_theta, (self.dim,))
            theta = direction * (self.norm_bound / jnp.sqrt(jnp.sum(direction * direction)))
        else:
            theta = jnp.asarray(self.theta, jnp.zeros(()).dtype)
        theta = linalg.vectors(linalg.keep(theta))
        if self.fresh_arms:
            return GeneralizedLinearState(theta, None, None)
        if self.arms is None:
            coordinates = uniform_ball(for_arms, self.n_arms, self.dim)
        else:
            coordinates = list(jnp.asarray(self.arms, jnp.zeros(()).dtype).T)
        arms = self._layout(coordinates)
        return GeneralizedLinearState(theta, arms, _best(arms, theta))

    def observe(self, key: jax.Array, t: jax.Array, state: GeneralizedLinearState) -> ArmObs:
        del t
        if self.fresh_arms:
            return ArmObs(self._layout(uniform_ball(key, self.n_arms, self.dim)))
        return ArmObs(state.arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: GeneralizedLinearState, obs: ArmObs, decision: ArmDecision
    ) -> tuple[GeneralizedLinearState, Reward, RegretOutcome]:
        del t
        z = linalg.keep(linalg.inner(decision.x, state.theta))
        best = _best(obs.arms, state.theta) if self.fresh_arms else state.best
        regret = self.link.mean(best) - self.link.mean(z)
        return state, Reward(self.link.sample(key, z)), RegretOutcome(regret)

    def at_record(self, state: GeneralizedLinearState, recommendation: Any) -> dict[str, jax.Array]:
        """`estimation_error`: `||recommendation - theta*||`, for learners that recommend an estimate `[d]`."""
        return {} if recommendation is None else {"estimation_error": linalg.norm(recommendation - state.theta)}

    def _layout(self, coordinates: list[jax.Array]) -> ArmSet:
        """The d coordinates `[K]` in the form of `ArmSet` that suits K and d."""
        coordinates = linalg.keep(coordinates)
        if self.dim > linalg.SMALL_DIM:
            return jnp.stack(coordinates, axis=1)
        if self.fresh_arms or self.n_arms * self.dim**2 > _UNROLLED_WORK:  # fresh arms: as fast, a third of the compile
            return Vec(coordinates)
        return tuple(Vec([c[k] for c in coordinates]) for k in range(self.n_arms))


def uniform_ball(key: jax.Array, count: int, dim: int) -> list[jax.Array]:
    """The d coordinates, each `[count]`, of independent points uniform in the unit ball.

    They are the first d coordinates of a uniform point on the sphere of R^{d+2}: normals over their length, the normals
    in pairs by the Box-Muller transform. One counter block gives two words, and every line is elementwise over points.
    """
    pairs, odd = (dim + 1) // 2, dim % 2
    n_blocks = pairs + 1  # one word per pair's length and one per pair's angle, the two extra normals included
    words = linalg.keep(jax.vmap(rng.random_words, in_axes=(None, 0))(key, jnp.arange(n_blocks * count)))
    uniform = [(word.astype(jnp.zeros(()).dtype) + 0.5) * 2.0**-32 for word in words]  # [n_blocks * count]
    rows = [slice(i * count, (i + 1) * count) for i in range(n_blocks)]
    square = [-jnp.log(uniform[0][row]) for row in rows]  # half the squared length of each pair of normals
    sine = [rng.sin_half_pi(2.0 * uniform[1][row] - 1.0) for row in rows]  # of half the angle of each pair
    if odd:  # d + 2 is odd too: of the last pair only one normal is there
        square[-1] = square[-1] * jnp.square(sine[-1])
    total = linalg.keep(sum(square[1:], square[0]))
    coordinates = []
    for part, half in zip(square[:-1], sine[:-1], strict=True):
        length = jnp.sqrt(part / total)
        coordinates.append(length * (1.0 - 2.0 * half * half))
        coordinates.append(length * 2.0 * half * jnp.sqrt(jnp.maximum(1.0 - half * half, 0.0)))
    return coordinates[:dim]


def _best(arms: ArmSet, theta: Vector) -> jax.Array:
    return largest([x @ theta for x in arms] if isinstance(arms, tuple) else arms @ theta)
