"""Groups of linear classification problems with exact population risks (Zhang et al., JMLR, section 7.1).

    w_0, u_i uniform on the unit sphere,   w*_i = (w_0 + rho u_i) / ||w_0 + rho u_i||
    x ~ N(0, I_d);   y = sign(x'w*_i) with probability pi_i, else its opposite;   loss(w; x, y) = log(1 + exp(-y x'w))

With a_i = (pi_i - 1/2) w*_i and H(s) = E log(2 cosh(s g / 2)), g ~ N(0, 1), the risks are known exactly (ours; the
paper estimates them from samples):

    R_i(w) = H(||w||) - sqrt(2/pi) a_i'w
    min_{||w|| <= B} sum_i q_i R_i(w) = min_{0 <= s <= B} H(s) - sqrt(2/pi) s ||sum_i q_i a_i||
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.core import linalg, losses, rng
from jaxbandits.core.batching import trials_last
from jaxbandits.core.errors import InputError
from jaxbandits.core.fusion import once
from jaxbandits.core.linalg import Vector
from jaxbandits.core.pytree import ArrayLike, param, pytree, static
from jaxbandits.estimation.arms import take
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
    def homogeneous(cls, *, dim: int = 1000, n_groups: int = 20, **fields: Any) -> "SyntheticGroups":
        """The paper's balanced and imbalanced experiments: rho = 0.5, pi_i = 0.9."""
        return cls(dim=dim, n_groups=n_groups, **fields)

    @classmethod
    def heterogeneous(cls, *, dim: int = 1000, n_groups: int = 20, **fields: Any) -> "SyntheticGroups":
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
        return GroupsState(optima, correct.at[0].set(self.first_correct))

    def observe(self, key: jax.Array, t: jax.Array, state: GroupsState) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: GroupsState, obs: None, decision: GroupDecision
    ) -> tuple[GroupsState, Gradient, GroupsOutcome]:
        del t, obs
        x, y = self.sample(key, state, decision.group)
        drawn = jnp.ones(len(y), y.dtype) if decision.drawn is None else decision.drawn.astype(y.dtype)
        loss, slope = once(_charge(linalg.matvec(x, decision.play), y, drawn))
        samples = linalg.total(drawn)
        outcome = GroupsOutcome(samples=samples, loss=linalg.total(loss) / jnp.maximum(samples, 1.0))
        return state, Gradient(loss=loss, grad=_scaled_rows(x, slope)), outcome

    def admits(self, state: GroupsState, obs: None, decision: GroupDecision) -> jax.Array:
        """Whether every group asked for exists."""
        del state, obs
        if isinstance(decision.group, np.ndarray):
            return jnp.asarray(((decision.group >= 0) & (decision.group < self.n_groups)).all())
        inside = (decision.group >= 0) & (decision.group < self.n_groups)
        return linalg.total((~inside).astype(jnp.int32)) == 0

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
        count = len(group)
        x = rng.normals(key, count, self.dim)
        u = rng.uniforms(key, count, counter=count * ((self.dim + 1) // 2))  # the blocks after those of x
        every = isinstance(group, np.ndarray) and np.array_equal(group, np.arange(self.n_groups))
        optima, correct = state
        if not every:
            optima = linalg.as_rows(*(take(state.optima, linalg.row(group, k)) for k in range(count)))
            chances = state.correct[:, None]
            correct = linalg.as_rows(*(linalg.row(take(chances, linalg.row(group, k)), 0) for k in range(count)))
        return x, once(_labels(x, optima, u, correct))

    def risks(self, state: GroupsState, w: Vector) -> jax.Array:
        """The population risks `[m]` of a model."""
        attraction = _HALF_NORMAL * (state.correct - 0.5) * linalg.matvec(state.optima, w)
        return expected_log_cosh(linalg.norm(w)) - attraction

    def least_risk(self, state: GroupsState, q: Vector) -> jax.Array:
        """`min_{||w|| <= radius} sum_i q_i R_i(w)`, by bisection on the norm of w."""
        pull = linalg.combine(q * (state.correct - 0.5), state.optima)
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


@trials_last
def _labels(x: jax.Array, optima: jax.Array, u: jax.Array, correct: jax.Array) -> jax.Array:
    """`[Q]` labels: the side of its group's optimum on which a row `[Q, d]` lies, kept where u < correct."""
    if x.shape[1] > linalg.UNROLLED:
        product = jnp.sum(x * optima, axis=1)
    else:
        product = linalg.added(x[:, i] * optima[:, i] for i in range(x.shape[1]))
    side = jnp.where(product < 0.0, -1.0, 1.0).astype(x.dtype)
    return jnp.where(u < correct, side, -side)


@trials_last
def _charge(score: jax.Array, y: jax.Array, drawn: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`[Q]` losses, and their derivatives by the score x'w; 0 where nothing is drawn."""
    loss, slope = losses.log_loss(once(y * score))
    return loss * drawn, slope * drawn * y


@trials_last
def _scaled_rows(x: jax.Array, factor: jax.Array) -> jax.Array:
    """`[Q, d]` with each row multiplied by its factor `[Q]`."""
    return x * factor[:, None]


def _unit(x: jax.Array) -> jax.Array:
    return x / jnp.sqrt(jnp.sum(x * x, axis=-1, keepdims=True))
