"""Confidence sets of learners in the plane, after a recorded trace: boundaries and areas, for figures.

    trace   = arms xs [T, 2] and rewards rs [T] that some policy played
    region  = confidence_set("OFUGLB", OFUGLB.theory(dim=2, n_arms=20, norm_bound=S), xs, rs)
    points  = boundary(within_ball(region, S));   area(points)

A confidence set contains the parameters at which the learner's `error_ratio`, which also measures coverage, is at most
1. Every set is convex, so its boundary is found along rays from a point inside.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import PyTree, as_arrays
from jaxbandits.estimation import level_set
from jaxbandits.estimation.level_set import OptimisticDecision
from jaxbandits.tracing.jax_compat import trace_foreign_code_anew
from jaxbandits.types import FixedArmObs, Reward, State


class Region(NamedTuple):
    """Convex set in the plane."""

    name: str
    center: np.ndarray  # [2]  a point inside the set, from which rays are searched for the boundary
    value: Callable[[np.ndarray], np.ndarray]  # [N, 2] -> [N], at most 0 inside, increasing along rays from `center`

    def contains(self, points: np.ndarray) -> np.ndarray:
        """Return a mask `[N]`, True for the points `[N, 2]` that lie in the set."""
        return self.value(np.asarray(points, np.float64)) <= 0.0


def within_ball(region: Region, bound: float) -> Region:
    """Return the part of the region with `||theta|| <= bound`.

    Raises:
      InputError: if the centre of the region is not in the ball.
    """
    if np.linalg.norm(region.center) > bound * (1.0 + 1e-9):
        raise InputError(
            f"the centre of {region.name} has norm {np.linalg.norm(region.center):.4g}, which exceeds {bound:.4g}"
        )

    def value(points: np.ndarray) -> np.ndarray:
        return np.maximum(region.value(points), np.sum(points**2, axis=-1) / bound**2 - 1.0)

    center = region.center * min(1.0, (1.0 - 1e-9) * bound / max(np.linalg.norm(region.center), 1e-300))
    return Region(region.name, center, value)


def boundary(region: Region, n: int = 720) -> np.ndarray:
    """Return n points `[n, 2]` of the boundary, counterclockwise, found by bisection along rays from the centre.

    Raises:
      InputError: if the region is not bounded.
    """
    angles = 2.0 * np.pi * np.arange(n) / n
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    outer = np.full(n, 1.0)
    while (inside := region.contains(region.center + outer[:, None] * rays)).any():
        outer = np.where(inside, 2.0 * outer, outer)
        if outer.max() > 1e12:
            raise InputError(f"{region.name} is unbounded")
    low, high = np.zeros(n), outer
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = region.contains(region.center + middle[:, None] * rays)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return region.center + low[:, None] * rays


def area(points: np.ndarray) -> float:
    """Return the area of a polygon with corners `[n, 2]`."""
    x, y = points.T
    return 0.5 * abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))))


# Confidence sets of learners ------------------------------------------------------------------------------------------


def confidence_set(name: str, learner: Any, xs: np.ndarray, rs: np.ndarray) -> Region:
    """Return the set `{theta: error_ratio <= 1}` of a learner after a trace, without an intersection with the ball.

    The learner need not have chosen the arms: its state results from its updates with these arms.

    Args:
      name: name of the region.
      learner: learner with `dim=2`, `recommend`, which returns the centre, and `error_ratio`, which increases along the
        rays from the centre.
      xs: arms `[T, 2]`; if the learner has a field `n_arms`, at most `n_arms` of them are different.
      rs: rewards `[T]`.

    Raises:
      InputError: if the arms are not in the plane, if there are too many different arms, or if the numbers of arms and
        rewards differ.
    """
    xs, rs = np.asarray(xs), np.asarray(rs)
    if xs.ndim != 2 or xs.shape[1] != 2:
        raise InputError(f"regions are drawn only for two-dimensional arms, an array [T, 2], got shape {xs.shape}")
    if rs.shape != xs.shape[:1]:
        raise InputError(f"a trace needs one reward per arm, arrays [T, 2] and [T], got shapes {xs.shape}, {rs.shape}")
    played, index = np.unique(xs, axis=0, return_inverse=True)
    n_arms = getattr(learner, "n_arms", None)
    n_arms = max(len(played), 1) if n_arms is None else n_arms
    if len(played) > n_arms:
        raise InputError(f"{name} has n_arms = {n_arms}, but the trace has {len(played)} different arms")
    arms = jnp.zeros((n_arms, 2)).at[: len(played)].set(played)  # arms that were not played do not matter
    learner, rounds = as_arrays(learner), jnp.int32(len(rs))
    with trace_foreign_code_anew(learner):  # a global may have changed since the last call
        state = _replay(learner, arms, jnp.asarray(index.ravel(), jnp.int32), jnp.asarray(rs, arms.dtype))

    def value(points: np.ndarray) -> np.ndarray:
        with trace_foreign_code_anew(learner):
            ratios = _error_ratios(learner, rounds, state, jnp.asarray(points, arms.dtype))
        return np.asarray(ratios, np.float64) - 1.0

    return Region(name, np.asarray(learner.recommend(state), np.float64), value)


@jax.jit
def _replay(learner: Any, arms: jax.Array, index: jax.Array, rs: jax.Array) -> Any:
    """Return the state of a learner after updates with arms `arms[index]` and rewards `rs`, both `[T]`."""
    key, obs, nowhere = jax.random.key(0), FixedArmObs(arms), level_set.nowhere(*arms.shape)

    def play(state: State, row: PyTree) -> tuple[Any, None]:
        t, k, r = row
        decision = OptimisticDecision(k, arms[k], nowhere)
        return learner.update(key, t, state, obs, decision, Reward(r)), None

    return jax.lax.scan(play, learner.init(key), (jnp.arange(len(rs), dtype=jnp.int32), index, rs))[0]


@jax.jit
def _error_ratios(learner: Any, t: jax.Array, state: State, points: jax.Array) -> jax.Array:
    """Return the error ratio `[N]` at every point `[N, 2]`."""
    return jax.vmap(lambda theta: learner.error_ratio(t, state, theta))(points)
