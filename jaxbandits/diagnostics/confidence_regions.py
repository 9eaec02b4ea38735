"""Confidence regions in the plane, from a recorded trace: GLB-OMD's ellipse, the likelihood's level set, GLM-UCB's.

Computation only (NumPy on the host; the learner's own update for GLB-OMD), for figures and for areas:

    trace   = arms [T, 2] and rewards [T] that some policy played
    regions = [glb_omd(learner, xs, rs), ofuglb(link, xs, rs, S, delta), glm_ucb(link, xs, rs, S, delta)]
    points  = boundary(within_ball(region, S));   area(points)

Every region is convex, so its boundary is found along the rays from a point inside it.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import as_arrays
from jaxbandits.estimation import links
from jaxbandits.estimation.links import Link
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmDecision, Reward


class Region(NamedTuple):
    """A convex set of the plane."""

    name: str
    center: np.ndarray  # [2]  a point inside, from which the boundary is seen
    value: Callable[[np.ndarray], np.ndarray]  # [N, 2] -> [N], at most 0 inside, increasing along rays from `center`

    def contains(self, points: np.ndarray) -> np.ndarray:
        """`[N]` which of the points `[N, 2]` are inside."""
        return self.value(np.asarray(points, np.float64)) <= 0.0


def ellipse(name: str, center: np.ndarray, matrix: np.ndarray, radius: float) -> Region:
    """`{ ||theta - center||_matrix <= radius }`; its area is `pi radius^2 / sqrt(det matrix)`."""
    center, matrix = np.asarray(center, np.float64), np.asarray(matrix, np.float64)

    def value(points: np.ndarray) -> np.ndarray:
        gap = points - center
        return np.einsum("ni,ij,nj->n", gap, matrix, gap) / radius**2 - 1.0

    return Region(name, center, value)


def within_ball(region: Region, bound: float) -> Region:
    """The region cut by `||theta|| <= bound`; its centre must be in the ball."""
    if np.linalg.norm(region.center) > bound * (1.0 + 1e-9):
        raise InputError(f"the centre of {region.name} has norm {np.linalg.norm(region.center):.4g}, above {bound:.4g}")

    def value(points: np.ndarray) -> np.ndarray:
        return np.maximum(region.value(points), np.sum(points**2, axis=-1) / bound**2 - 1.0)

    center = region.center * min(1.0, (1.0 - 1e-9) * bound / max(np.linalg.norm(region.center), 1e-300))
    return Region(region.name, center, value)


def boundary(region: Region, n: int = 720) -> np.ndarray:
    """`[n, 2]` points of the boundary in order, by bisection along n rays from the centre."""
    angles = 2.0 * np.pi * np.arange(n) / n
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    outer = np.full(n, 1.0)
    while (inside := region.contains(region.center + outer[:, None] * rays)).any():
        outer = np.where(inside, 2.0 * outer, outer)
        if outer.max() > 1e12:
            raise InputError(f"{region.name} is not bounded")
    low, high = np.zeros(n), outer
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = region.contains(region.center + middle[:, None] * rays)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return region.center + low[:, None] * rays


def area(points: np.ndarray) -> float:
    """Area of the polygon `[n, 2]`."""
    x, y = points.T
    return 0.5 * abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))))


# The three regions, before the round that follows the trace -----------------------------------------------------------


def glb_omd(learner: Any, xs: np.ndarray, rs: np.ndarray) -> Region:
    """`{ ||theta - theta_t||_{H_t} <= beta_t }` of a `GLBOMD` with `dim=2` that was made to play the trace."""
    xs, rs = np.asarray(xs), np.asarray(rs)
    _in_the_plane(xs)
    learner = as_arrays(learner)
    state = _replay(learner, jnp.asarray(xs, jnp.result_type(float)), jnp.asarray(rs, jnp.result_type(float)))
    matrix = np.linalg.inv(np.asarray(inverse_factors.to_dense(state.inverse), np.float64))
    radius = float(learner.radius(jnp.int32(len(rs)), state))
    return ellipse("GLB-OMD", np.asarray(state.theta), matrix, radius)


@jax.jit
def _replay(learner: Any, xs: jax.Array, rs: jax.Array) -> Any:
    key = jax.random.key(0)

    def round_(state: Any, row: Any) -> tuple[Any, None]:
        t, x, r = row
        decision = ArmDecision(jnp.int32(0), x)
        return learner.update(key, t, state, None, decision, Reward(r)), None

    return jax.lax.scan(round_, learner.init(key), (jnp.arange(len(rs), dtype=jnp.int32), xs, rs))[0]


def ofuglb(link: Link, xs: np.ndarray, rs: np.ndarray, bound: float, delta: float) -> Region:
    """`{ L(theta) - L(theta_hat) <= beta^2 }`, the level set of OFUGLB (Lee, Yun & Jun, NeurIPS 2024).

    theta_hat minimises L over the ball; `beta^2 = log(1/delta) + inf_{c <= 1} d log(1/c) + 2 S Lip c`, in closed form.
    The set is this one cut by the ball (`within_ball`).
    """
    xs, rs = np.asarray(xs, np.float64), np.asarray(rs, np.float64)
    _in_the_plane(xs)
    loss = functools.partial(_loss, link, xs, rs)
    best = _ball_mle(link, xs, rs, bound)
    least = loss(best[None])[0]
    reach = 2.0 * bound * _lipschitz(link, rs, bound, delta)
    u = reach / 2.0
    beta_sq = np.log(1.0 / delta) + (2.0 * (1.0 + np.log(u)) if u > 1.0 else reach)
    return Region("OFUGLB", best, lambda points: (loss(points) - least) / beta_sq - 1.0)


def glm_ucb(
    link: Link,
    xs: np.ndarray,
    rs: np.ndarray,
    bound: float,
    delta: float,
    horizon: int | None = None,
    largest_reward: float = 1.0,
) -> Region:
    """`{ ||theta - theta_hat||_V <= rho_t / C_mu }`, the parameters behind GLM-UCB's bonus (Filippi et al., NIPS 2010).

    `rho_t = (2 C_mu kappa_0 R_max / c_mu) sqrt(2 d log t log(2 d T / delta))` is in reward space; mu has slope at most
    C_mu, so that a set of this radius in parameter space gives that bonus. `V = d log(1 + t) I + sum x x'`, and T is
    `horizon` (None: the length of the trace).
    """
    xs, rs = np.asarray(xs, np.float64), np.asarray(rs, np.float64)
    _in_the_plane(xs)
    t = len(rs) + 1
    ridge = 2.0 * np.log1p(t)
    smallest, _ = (float(slope) for slope in link.slope_bounds(-bound, bound))
    kappa_0 = np.sqrt(3.0 + 2.0 * np.log1p(2.0 / ridge))
    spread = np.sqrt(
        2.0 * 2.0 * np.log(max(t, 2)) * np.log(2.0 * 2.0 * (len(rs) if horizon is None else horizon) / delta)
    )
    radius = 2.0 * kappa_0 * largest_reward / smallest * spread
    return ellipse("GLM-UCB", _ball_mle(link, xs, rs, bound, ridge), ridge * np.eye(2) + xs.T @ xs, radius)


def _in_the_plane(xs: np.ndarray) -> None:
    if xs.ndim != 2 or xs.shape[1] != 2:
        raise InputError(f"regions are drawn for arms [T, 2], got shape {xs.shape}")


def _loss(link: Link, xs: np.ndarray, rs: np.ndarray, points: np.ndarray) -> np.ndarray:
    """`[N]` the negative log-likelihood of the trace at the points `[N, 2]`, up to a constant."""
    z = np.asarray(points) @ xs.T
    return (np.asarray(link.log_partition(z), np.float64) - rs * z).sum(axis=1) / float(link.dispersion)


def _lipschitz(link: Link, rs: np.ndarray, bound: float, delta: float) -> float:
    """A bound on the norm of the gradient of L over the ball, for unit arms."""
    stated = links.lipschitz(link, len(rs), bound, 2, delta)
    return float(links.reward_lipschitz(link, rs, bound).sum() if stated is None else stated)


def _ball_mle(link: Link, xs: np.ndarray, rs: np.ndarray, bound: float, ridge: float = 0.0) -> np.ndarray:
    """The minimiser of `L + ridge/2 ||theta||^2` over the disc: damped Newton, or a scan of the circle if outside."""
    g = float(link.dispersion)

    def objective(points: np.ndarray) -> np.ndarray:
        return _loss(link, xs, rs, points) + 0.5 * ridge * np.sum(points**2, axis=-1)

    theta = np.zeros(2)
    steps = 0.5 ** np.arange(30.0)
    for _ in range(60):
        z = xs @ theta
        slope, curvature = np.asarray(link.mean(z)) - rs, np.asarray(link.slope(z))
        hessian = (xs * curvature[:, None]).T @ xs / g + (ridge + 1e-9) * np.eye(2)
        step = np.linalg.solve(hessian, xs.T @ slope / g + ridge * theta)
        trial = theta - steps[:, None] * step
        theta = trial[np.argmin(objective(trial))]
        if np.linalg.norm(theta) > 10.0 * bound:
            break
    if np.linalg.norm(theta) <= bound:
        return theta
    center, width = 0.0, np.pi
    for _ in range(12):  # the optimum is on the circle: zoom in on the best angle
        angles = center + width * np.linspace(-1.0, 1.0, 721)
        circle = bound * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        center, width = angles[np.argmin(objective(circle))], width / 60.0
    return bound * np.array([np.cos(center), np.sin(center)])
