"""Groups of linear classification problems with exact population risks (Zhang et al., JMLR, section 7.1).

    w_0, u_i uniform on the unit sphere,   w*_i = (w_0 + rho u_i) / ||w_0 + rho u_i||
    x ~ N(0, I_d);   y = sign(x'w*_i) with probability pi_i, else its opposite;   loss(w; x, y) = log(1 + exp(-y x'w))

With a_i = (pi_i - 1/2) w*_i and H(s) = E log(2 cosh(s g / 2)), g ~ N(0, 1), the risks are known exactly (ours; the
paper estimates them from samples):

    R_i(w) = H(||w||) - sqrt(2/pi) a_i'w
    min_{||w|| <= B} sum_i q_i R_i(w) = min_{0 <= s <= B} H(s) - sqrt(2/pi) s ||sum_i q_i a_i||
"""

import math
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core import linalg, rng
from jaxbandits.core.errors import InputError
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Vector
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.types import Gradient, GroupDecision

_HALF_NORMAL = math.sqrt(2.0 / math.pi)  # E|g|
_NODES, _WEIGHTS = (a / 2.0 for a in np.polynomial.legendre.leggauss(64))
_NODES = _NODES + 0.5  # on [0, 1]
_BISECTIONS = 30  # the value at a minimum is exact to the square of the error in s


class GroupsState(NamedTuple):
    """What `init` draws: the instance."""

    optima: Vector  # [m, d]  w*_i
    correct: jax.Array  # [m]  pi_i


class GroupsOutcome(NamedTuple):
    """Summed over the rounds of a block."""

    samples: jax.Array  # []  rows drawn
    loss: jax.Array  # []  their mean loss at w_t


@pytree
class SyntheticGroups:
    """Logistic regression over m groups; only the rows that a decision asks for are drawn.

    At a record point, for a recommendation `(w, q)`: `max_risk` = max_i R_i(w), `mean_risk`, and the exact
    `duality_gap` = max_i R_i(w) - min_{||v|| <= radius} sum_i q_i R_i(v).
    """

    dim: int = static(1000, "[1, inf)", "d, dimension of x")
    n_groups: int = static(20, "[1, inf)", "m, number of groups")
    rho: ArrayLike = param(0.5, "[0, inf)", "distance of the groups from each other")
    first_correct: ArrayLike = param(0.9, "[0, 1]", "pi_1, probability of a correct label in the first group")
    low_correct: ArrayLike = param(0.9, "[0, 1]", "the other pi_i are uniform between this")
    high_correct: ArrayLike = param(0.9, "[0, 1]", "and this")
    radius: ArrayLike = param(3.0, "(0, inf]", "B, radius of the models that the duality gap compares with")

    @classmethod
    def homogeneous(cls, dim: int = 1000, n_groups: int = 20, **fields) -> "SyntheticGroups":
        """The paper's balanced and imbalanced experiments: rho = 0.5, pi_i = 0.9."""
        return cls(dim=dim, n_groups=n_groups, **fields)

    @classmethod
    def heterogeneous(cls, dim: int = 1000, n_groups: int = 20, **fields) -> "SyntheticGroups":
        """The paper's outlier experiments: rho = 0.2, pi_1 = 0.6, the others uniform on [0.85, 0.95]."""
        labels = {"rho": 0.2, "first_correct": 0.6, "low_correct": 0.85, "high_correct": 0.95}
        return cls(dim=dim, n_groups=n_groups, **(labels | fields))

    def check(self) -> None:
        """The range of the label probabilities is in order."""
        if np.any(np.asarray(self.low_correct) > np.asarray(self.high_correct)):
            raise InputError("SyntheticGroups.low_correct must not exceed high_correct")

    def init(self, key: jax.Array) -> GroupsState:
        key_directions, key_labels = jax.random.split(key)
        directions = _unit(jax.random.normal(key_directions, (self.n_groups + 1, self.dim)))
        optima = _unit(directions[0] + self.rho * directions[1:])
        low, high = jnp.asarray(self.low_correct), jnp.asarray(self.high_correct)
        correct = low + (high - low) * jax.random.uniform(key_labels, (self.n_groups,))
        return GroupsState(linalg.vectors(optima), correct.at[0].set(self.first_correct))

    def observe(self, key: jax.Array, t: jax.Array, state: GroupsState) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: GroupsState, obs: None, decision: GroupDecision
    ) -> tuple[GroupsState, Gradient, GroupsOutcome]:
        del t, obs
        x, y = self.sample(key, state, decision.group)
        margin = once(y * jax.vmap(linalg.inner, (0, None))(x, decision.play))  # [Q]
        small = jnp.exp(-jnp.abs(margin))
        loss = jnp.maximum(-margin, 0.0) + jnp.log1p(small)
        slope = -y * jnp.where(margin < 0.0, 1.0, small) / (1.0 + small)  # of the loss, along x
        drawn = jnp.ones_like(loss) if decision.drawn is None else decision.drawn.astype(loss.dtype)
        loss, slope = once((loss * drawn, slope * drawn))
        samples = jnp.sum(drawn)
        outcome = GroupsOutcome(samples=samples, loss=jnp.sum(loss) / jnp.maximum(samples, 1.0))
        return state, Gradient(loss=loss, grad=jax.vmap(operator.mul)(x, slope)), outcome

    def at_record(self, state: GroupsState, recommendation: tuple[Vector, Vector] | None) -> dict[str, jax.Array]:
        if recommendation is None:
            return {}
        w, q = recommendation
        risks = self.risks(state, w)
        return {
            "max_risk": jnp.max(risks),
            "mean_risk": jnp.mean(risks),
            "duality_gap": jnp.max(risks) - self.least_risk(state, q),
        }

    def sample(self, key: jax.Array, state: GroupsState, group: jax.Array) -> tuple[Vector, jax.Array]:
        """One row of each listed group: features `[Q, d]` and labels `[Q]` in {-1, 1}."""
        x, u = _normals_and_uniforms(key, len(group), self.dim)
        every = isinstance(group, np.ndarray) and np.array_equal(group, np.arange(self.n_groups))
        optima, correct = state if every else jax.tree.map(lambda leaf: leaf[group], state)  # the gather costs 20 %
        side = jnp.where(jax.vmap(linalg.inner)(x, optima) < 0.0, -1.0, 1.0)
        return x, once(jnp.where(u < correct, side, -side))

    def risks(self, state: GroupsState, w: Vector) -> jax.Array:
        """The population risks `[m]` of a model."""
        w = linalg.dense(w)
        attraction = _HALF_NORMAL * (state.correct - 0.5) * (linalg.dense(state.optima) @ w)
        return expected_log_cosh(linalg.norm(w)) - attraction

    def least_risk(self, state: GroupsState, q: Vector) -> jax.Array:
        """`min_{||w|| <= radius} sum_i q_i R_i(w)`, by bisection on the norm of w."""
        pull = (linalg.dense(q) * (state.correct - 0.5)) @ linalg.dense(state.optima)
        slope = _HALF_NORMAL * linalg.norm(pull)
        # H'(s) >= H'(inf) - (pi^2 / 12) sqrt(2/pi) / s^2 bounds the root of H' = slope from above
        room = jnp.maximum(_HALF_NORMAL / 2.0 - slope, 1e-12)
        high = jnp.minimum(self.radius, jnp.sqrt(math.pi**2 / 12.0 * _HALF_NORMAL / room))

        def halve(_, bracket):
            low, high = bracket
            middle = (low + high) / 2.0
            below = expected_log_cosh_slope(middle) < slope
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        _, s = jax.lax.fori_loop(0, _BISECTIONS, halve, (jnp.zeros_like(high), high))
        return expected_log_cosh(s) - slope * s


def expected_log_cosh(s: ArrayLike) -> jax.Array:
    """`H(s) = E log(2 cosh(s g / 2))`, g ~ N(0, 1), to rounding for every s >= 0."""
    _, decay, weights = _half_line(s)
    return _HALF_NORMAL / 2.0 * jnp.asarray(s) + jnp.sum(weights * jnp.log1p(decay), -1)


def expected_log_cosh_slope(s: ArrayLike) -> jax.Array:
    """`H'(s) = E (g / 2) tanh(s g / 2)`."""
    g, decay, weights = _half_line(s)
    return _HALF_NORMAL / 2.0 - jnp.sum(weights * g * decay / (1.0 + decay), -1)


def _half_line(s: ArrayLike) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Nodes g, `exp(-s g)` and weights for `E f(|g|)` when f falls off as `exp(-s |g|)`.

    Gauss-Legendre on `[0, c]`, beyond which the density or f is below rounding. The nearest poles of
    `1 / (1 + exp(s g))` stay at a fixed distance in units of c, so 64 nodes do for every s; Gauss-Hermite nodes, on a
    fixed scale, lose their digits as s grows.
    """
    s = jnp.asarray(s)[..., None]
    reach = jnp.minimum(9.0, 40.0 / jnp.maximum(s, 1.0))
    g = reach * _NODES
    return g, jnp.exp(-s * g), 2.0 * reach * _WEIGHTS * jnp.exp(-g * g / 2.0) / math.sqrt(2.0 * math.pi)


def _unit(x: jax.Array) -> jax.Array:
    return x / jnp.sqrt(jnp.sum(x * x, axis=-1, keepdims=True))


def _normals_and_uniforms(key: jax.Array, n: int, dim: int) -> tuple[Vector, jax.Array]:
    """Standard normals `[n, dim]` and uniforms on [0, 1) `[n]`; one counter block makes two normals (Box-Muller).

    Twice as fast as `jax.random.normal`, four times for few numbers. The tails end at 6.7 standard deviations.
    """
    pairs, real = (dim + 1) // 2, jnp.zeros(()).dtype
    high, low = once(rng.random_words(key, jnp.arange(pairs * n)))
    radius = jnp.sqrt(-2.0 * jnp.log((high.astype(real) + 0.5) * 2.0**-32))
    angle = ((low >> 8).astype(real) + 0.5) * 2.0**-23 - 1.0  # in quarter turns, (-1, 1); the last bit picks the half
    sine = radius * rng.sin_half_pi(angle)
    cosine = radius * rng.sin_half_pi(1.0 - jnp.abs(angle)) * jnp.where(low & 1, 1.0, -1.0)
    sine, cosine = once((sine, cosine))
    uniforms = (rng.random_words(key, jnp.arange(pairs * n, (pairs + 1) * n))[0] >> 8).astype(real) * 2.0**-24
    if dim <= linalg.SMALL_DIM:
        return linalg.Vec([*sine.reshape(pairs, n), *cosine.reshape(pairs, n)][:dim]), uniforms
    return jnp.concatenate([sine.reshape(n, pairs), cosine.reshape(n, pairs)], axis=1)[:, :dim], uniforms
