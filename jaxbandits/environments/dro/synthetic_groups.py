"""Groups of linear classification problems with exact population risks (Zhang et al., JMLR, section 7.1).

    w_0, u_i uniform on the unit sphere,   w*_i = (w_0 + rho u_i) / ||w_0 + rho u_i||
    x ~ N(0, I_d);   y = sign(x'w*_i) with probability pi_i, else its opposite;   loss(w; x, y) = log(1 + exp(-y x'w))

With a_i = (pi_i - 1/2) w*_i and `H(s) = E log(2 cosh(s g / 2))` for g ~ N(0, 1), the risks have closed forms (ours; the
paper estimates the risks from samples):

    R_i(w) = H(||w||) - sqrt(2/pi) a_i'w
    min_{||w|| <= B} sum_i q_i R_i(w) = min_{0 <= s <= B} H(s) - sqrt(2/pi) s ||sum_i q_i a_i||
"""

import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.environments.dro import draws, group_losses, saddle
from jaxbandits.environments.dro.draws import GroupOutcome
from jaxbandits.environments.dro.log_cosh import (
    HALF_NORMAL,
    expected_log_cosh,
    expected_log_cosh_curvature,
    expected_log_cosh_slope,
)
from jaxbandits.numerics import rng
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import GroupDecision, SampledRows

_BISECTIONS = 30  # the error of the minimum is quadratic in the error of s, so that few steps suffice


class GroupsState(NamedTuple):
    """Problem instance, and the key from which it was drawn."""

    optima: Vector  # [m, d]  w*_i
    correct: jax.Array  # [m]  pi_i
    instance: jax.Array  # [4]  the key as 16-bit words, which every float type represents exactly


@pytree
class SyntheticGroups:
    """Logistic regression over m groups, whose rows are drawn when a decision requests them.

    The summed metrics are `samples`, `group_samples` [m] and `loss`. At record points, the metrics of a recommendation
    (w, q) are exact population risks: `risk` [m], `max_risk`, `mean_risk` and `duality_gap` = max_i R_i(w) -
    min_{||v|| <= radius} $sum_i q_i R_i(v)$. With `top_k` > 1, `top_k_risk` is the mean of the k largest risks; with
    `weights` b, `weighted_max_risk` is max_i $b_i R_i$. `duality_gap` is then the gap of the problem with k and b,
    which is nonnegative if the entries of q are at most 1/k.

    Further metrics are computed on the host after a run, once per instance. `optimum` is the minimum of max_i $R_i(w)$
    over the ball of `radius`; `top_k_optimum` and `weighted_optimum` are the minima of `top_k_risk` and
    `weighted_max_risk`, if these are recorded. `optimum_risk` [m] and `top_k_optimum_risk` [m] are the risks of the
    minimisers, and `optimum_gap` is the largest certified error of the minima. The differences from the minima are
    `excess_risk`, `excess_top_k_risk` and `excess_weighted_risk`.
    """

    source: ClassVar[str] = "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 7.1"
    axes: ClassVar = draws.AXES | {
        "instance": ("word",),
        "optimum_risk": ("group",),
        "top_k_optimum_risk": ("group",),
    }
    units: ClassVar = draws.units()
    hindsight_needs: ClassVar = ("instance",)
    dim: int = static(1000, "[1, inf)", "d, dimension of x")
    n_groups: int = static(20, "[1, inf)", "m, number of groups")
    rho: ArrayLike = param(0.5, "[0, inf)", "rho, which determines how much the w*_i differ")
    first_correct: ArrayLike = param(0.9, "[0, 1]", "pi_1, probability of a correct label in the first group")
    low_correct: ArrayLike = param(0.9, "[0, 1]", "smallest value of the other pi_i, which are drawn uniformly")
    high_correct: ArrayLike = param(0.9, "[0, 1]", "largest value of the other pi_i")
    radius: ArrayLike = param(3.0, "(0, inf]", "B, radius of the ball of models for duality_gap and optimum")
    top_k: int = static(1, "[1, inf)", doc="k, number of largest risks that are averaged")
    weights: ArrayLike | None = param(None, "(0, inf)", "[m] b, factors of the risks; None for 1")

    @classmethod
    def homogeneous(cls, *, dim: int = 1000, n_groups: int = 20, **fields: FieldValue) -> "SyntheticGroups":
        """Return the groups of the paper's balanced and imbalanced experiments, with rho = 0.5 and pi_i = 0.9."""
        return cls(dim=dim, n_groups=n_groups, **fields)

    @classmethod
    def heterogeneous(cls, *, dim: int = 1000, n_groups: int = 20, **fields: FieldValue) -> "SyntheticGroups":
        """Return the groups of the paper's outlier experiments: rho = 0.2, pi_1 = 0.6, other pi_i in [0.85, 0.95]."""
        labels: dict[str, Any] = {"rho": 0.2, "first_correct": 0.6, "low_correct": 0.85, "high_correct": 0.95}
        return cls(dim=dim, n_groups=n_groups, **(labels | fields))

    @classmethod
    def example(cls) -> "SyntheticGroups":
        return cls.homogeneous(dim=3, n_groups=4)

    def check(self) -> None:
        """Raise InputError if label probabilities are not ordered, or if k or b does not fit the number of groups."""
        if np.any(np.asarray(self.low_correct) > np.asarray(self.high_correct)):
            raise InputError("SyntheticGroups.low_correct must be at most high_correct")
        draws.check_objective("SyntheticGroups", self.n_groups, self.top_k, self.weights)

    def init(self, key: jax.Array) -> GroupsState:
        key_directions, key_labels = jax.random.split(key)
        directions = _unit(rng.normals(key_directions, self.n_groups + 1, self.dim))
        optima = _unit(directions[0] + self.rho * directions[1:])
        low, high = jnp.asarray(self.low_correct), jnp.asarray(self.high_correct)
        correct = low + (high - low) * rng.uniforms(key_labels, self.n_groups)
        return GroupsState(optima, correct.at[0].set(self.first_correct), _words(key))

    def observe(self, key: jax.Array, t: jax.Array, state: GroupsState) -> None:
        del key, t, state

    def step(
        self, key: jax.Array, t: jax.Array, state: GroupsState, obs: None, decision: GroupDecision
    ) -> tuple[GroupsState, SampledRows, GroupOutcome]:
        del t, obs
        x, y = self.sample(key, state, decision.group)
        loss, grad = group_losses.Logistic().gradients(decision.play, x, y)
        drawn = draws.drawn_of(decision)
        loss = loss * drawn
        if decision.drawn is not None:
            grad = group_losses.scaled_rows(grad, drawn)
        samples = jnp.sum(drawn)
        outcome = GroupOutcome(
            samples, draws.counts(decision, self.n_groups), jnp.sum(loss) / jnp.maximum(samples, 1.0)
        )
        return state, SampledRows(loss=loss, grad=grad, x=x, y=y), outcome

    def admits(self, state: GroupsState, obs: None, decision: GroupDecision) -> jax.Array:
        """Return True if all group indices of the decision are in range."""
        del state, obs
        return draws.groups_exist(decision.group, self.n_groups)

    def at_record(self, state: GroupsState, recommendation: tuple[Vector, Vector] | None) -> dict[str, jax.Array]:
        instance = {"instance": state.instance}
        if recommendation is None:
            return instance
        w, q = recommendation
        risks = self.risks(state, w)
        worst = draws.mean_of_largest(draws.weigh(risks, self.weights), self.top_k)
        gap = worst - self.least_risk(state, draws.weigh(q, self.weights))
        return draws.measures(risks, self.top_k, self.weights) | {"duality_gap": gap} | instance

    def rebuild_instance(self, recorded: dict[str, jax.Array]) -> dict[str, jax.Array]:
        """Return `attractions` [m, d], the vectors a_i = (pi_i - 1/2) w*_i; the instance is drawn again from a key."""
        state = self.init(_key_of(recorded["instance"][0]))
        return {"attractions": group_losses.scaled_rows(state.optima, state.correct - 0.5)}

    def in_hindsight(self, recorded: dict[str, np.ndarray], record_points: np.ndarray) -> dict[str, np.ndarray]:
        """Return the minima of the risks of the instance, and their certified error."""
        a = recorded["attractions"]
        found = {"optimum": self._optimum(a, 1, None)}
        if self.top_k > 1:
            found["top_k_optimum"] = self._optimum(a, self.top_k, None)
        if self.weights is not None:
            found["weighted_optimum"] = self._optimum(a, 1, self.weights)
        values = {name: answer.value for name, answer in found.items()}
        values["optimum_gap"] = max(answer.gap for answer in found.values())
        risks = {f"{name}_risk": found[name].risks for name in ("optimum", "top_k_optimum") if name in found}
        return {name: np.array([value] * len(record_points)) for name, value in (values | risks).items()}

    def derive(self, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the differences between the risks of a recommendation and their minima."""
        pairs = {
            "excess_risk": ("max_risk", "optimum"),
            "excess_top_k_risk": ("top_k_risk", "top_k_optimum"),
            "excess_weighted_risk": ("weighted_max_risk", "weighted_optimum"),
        }
        return {name: values[a] - values[b] for name, (a, b) in pairs.items() if a in values and b in values}

    def _optimum(self, a: np.ndarray, k: int, weights: ArrayLike | None) -> saddle.Optimum:
        """Return the optimum of `min_w max_q sum_i q_i b_i R_i(w)`.

        The minimiser w is a multiple of sum_i q_i b_i a_i, so that only the Gram matrix `a a'` is needed. If all b_i
        are 1, the best q minimises the norm of this sum.
        """
        scale = np.ones(len(a)) if weights is None else np.asarray(weights, float)
        unit = _unit_of(float(scale.max()))
        scale = scale / unit
        gram, radius = a @ a.T, float(self.radius)

        def dual(q: np.ndarray) -> tuple[float, np.ndarray]:
            mass, pulls = float(q @ scale), gram @ (q * scale)
            length = math.sqrt(max(float((q * scale) @ pulls), 0.0))
            s = _best_norm(HALF_NORMAL * length / mass, radius)
            level = float(expected_log_cosh(s, np))
            risks = level - HALF_NORMAL * s * pulls / max(length, 1e-300)
            return mass * level - HALF_NORMAL * s * length, scale * risks

        start = saddle.shortest(gram, k) if weights is None else np.full(len(a), 1.0 / len(a))
        value, gap, q, risks = saddle.optimum(dual, start, k)
        return saddle.Optimum(unit * value, unit * gap, q, unit * risks)

    def sample(self, key: jax.Array, state: GroupsState, group: jax.Array) -> tuple[Vector, jax.Array]:
        """Draw one row from each of the listed groups: features `[Q, d]` and labels `[Q]` in {-1, 1}."""
        count = len(group)
        x = rng.normals(key, count, self.dim)
        u = rng.uniforms(key, count, counter=count * ((self.dim + 1) // 2))  # uses the blocks after those of x
        return x, _labels(x, draws.rows_of(state.optima, group), u, draws.per_group(state.correct, group))

    def risks(self, state: GroupsState, w: Vector) -> jax.Array:
        """Return the population risks `[m]` of a model w `[d]`."""
        attraction = HALF_NORMAL * (state.correct - 0.5) * (state.optima @ w)
        return expected_log_cosh(jnp.linalg.norm(w)) - attraction

    def least_risk(self, state: GroupsState, q: Vector) -> jax.Array:
        """Return `min_{||w|| <= radius} sum_i q_i R_i(w)` for any q >= 0, by bisection on the norm of w."""
        mass = jnp.maximum(jnp.sum(q), jnp.finfo(q.dtype).tiny)
        pull = (q * (state.correct - 0.5)) @ state.optima
        slope = HALF_NORMAL * jnp.linalg.norm(pull) / mass
        # H'(s) >= H'(inf) - (pi^2 / 12) sqrt(2/pi) / s^2 bounds the root of H' = slope from above
        room = jnp.maximum(HALF_NORMAL / 2.0 - slope, 1e-12)
        high = jnp.minimum(self.radius, jnp.sqrt(math.pi**2 / 12.0 * HALF_NORMAL / room))

        def halve(_, bracket):
            low, high = bracket
            middle = (low + high) / 2.0
            below = expected_log_cosh_slope(middle) < slope
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        _, s = jax.lax.fori_loop(0, _BISECTIONS, halve, (jnp.zeros_like(high), high))
        return mass * (expected_log_cosh(s) - slope * s)


def _labels(x: jax.Array, optima: jax.Array, u: jax.Array, correct: jax.Array) -> jax.Array:
    """Return the labels `[Q]` of rows `[Q, d]`: the sign of x'w*_i, with the opposite sign unless u < correct."""
    side = jnp.where(jnp.einsum("qd,qd->q", x, optima) < 0.0, -1.0, 1.0).astype(x.dtype)
    return jnp.where(u < correct, side, -side)


def _unit(x: jax.Array) -> jax.Array:
    return x / jnp.sqrt(jnp.sum(x * x, axis=-1, keepdims=True))


def _words(key: jax.Array) -> jax.Array:
    """Return the key as four numbers `[4]` below 2^16."""
    data = jax.random.key_data(key).ravel()
    return jnp.concatenate([data >> 16, data & 0xFFFF]).astype(jnp.result_type(float))


def _key_of(words: jax.Array) -> jax.Array:
    """Return the key with these words, for the generator that `simulate` uses."""
    high, low = jnp.split(words.astype(jnp.uint32), 2)
    return jax.random.wrap_key_data((high << 16) | low, impl="threefry2x32")


def _unit_of(largest: float) -> float:
    """Return the power of two by which the weights b are divided, since the solver fails for risks far from 1.

    The division is exact. If the largest of the weights lies in [0.1, 100], the power is 1.
    """
    return 1.0 if 0.1 <= largest <= 100.0 else 2.0 ** math.ceil(math.log2(largest))


def _best_norm(slope: float, radius: float) -> float:
    """Return `argmin_{0 <= s <= radius} H(s) - slope s`, by Newton's method from 0.

    Since H' is concave, the steps never overshoot the minimiser.
    """
    s = 0.0
    for _ in range(100):
        step = (slope - float(expected_log_cosh_slope(s, np))) / float(expected_log_cosh_curvature(s, np))
        s += step
        if s >= radius or step <= 1e-12 * s:
            break
    return min(s, radius)
