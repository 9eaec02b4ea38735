"""Generalised linear bandit: rewards from an exponential family whose mean is `mu(x'theta*)`.

    theta*     uniform on the sphere of radius S (around `center`)
    arms       K arms uniform in the unit ball, drawn once per trial or in every round, or row t of a table
    regret_t   max_k mu(x_k'theta*) - mu(x_t'theta*)       (computed from means)

The paper (arXiv:2507.11847) states neither d, K nor the distribution of its arms. `tv` has the dimensions of the
instance in `published_instance`, which has the values of kappa that the paper states.
"""

import warnings
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import ArrayLike, FieldValue, lists_to_arrays, param, pytree, shared, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.environments.outcomes import RegretOutcome
from jaxbandits.estimation.arms import largest
from jaxbandits.estimation.links import Bernoulli, Exponential, Link, is_defined_around_zero
from jaxbandits.numerics import rng
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, FixedArmObs, Recommendation, Reward


class GeneralizedLinearState(NamedTuple):
    """Problem instance of a trial, which is constant unless theta* drifts."""

    theta: Vector  # [d]  theta*
    arms: Any  # [K, d]; None if they are drawn in every round
    best: Any  # []  max_k x_k'theta*; None if arms are drawn in every round


@pytree
class GeneralizedLinear:
    """Generalised linear bandit with K arms, fixed or drawn in every round.

    The random streams do not depend on the learner, so that all learners have the same theta*, arms and noise.

    Raises (by `validate`):
      InputError: if arms, table or theta have the wrong shape, if arms are given together with `fresh_arms`, if a table
        is given without `fresh_arms`, or if the link is not defined at x'theta* for an arm x.
    """

    source: ClassVar[str] = "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025, Section 5"
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    n_arms: int = static(20, range="[1, inf)", doc="K, number of arms")
    fresh_arms: bool = static(False, BOOL, doc="whether arms are drawn in every round instead of once per trial")
    link: Link = param(factory=Bernoulli, doc="exponential family of the rewards")
    norm_bound: ArrayLike = param(1.0, "(0, inf)", "S = ||theta* - center||; not used if theta is given")
    center: ArrayLike | None = param(
        None, "(-inf, inf)", "[d] centre of the sphere of theta*; None for 0; not used if theta is given"
    )
    arms: ArrayLike | None = param(None, "(-inf, inf)", "[K, d] arms; None to draw them uniformly from the unit ball")
    theta: ArrayLike | None = param(
        None, "(-inf, inf)", "[d] theta*; None to draw it uniformly from the sphere of radius S"
    )
    table: ArrayLike | None = shared(
        None,
        "(-inf, inf)",
        "[T, K, d] arms of every round, the same in all trials; None to draw them uniformly from the unit ball",
    )

    def __post_init__(self) -> None:
        lists_to_arrays(self, "center", "theta", "arms")

    @classmethod
    def tv(cls, **changes: FieldValue) -> "GeneralizedLinear":
        """Return an environment with arms that change in every round, with the defaults d = 5, K = 20 and S = 3."""
        return cls(**{"dim": 5, "n_arms": 20, "fresh_arms": True, "norm_bound": 3.0} | changes)

    @classmethod
    def fixed(cls, **changes: FieldValue) -> "GeneralizedLinear":
        """Return an environment with arms that are fixed within a trial, with the defaults d = 2, K = 20 and S = 3."""
        return cls(**{"dim": 2, "n_arms": 20, "norm_bound": 3.0} | changes)

    @classmethod
    def exponential(cls, **changes: FieldValue) -> "GeneralizedLinear":
        """Return 8 arms `(1, cos a, sin a) / sqrt 2`, exponential rewards, and theta* at distance 1 from (-3, 0, 0)."""
        angles = 2.0 * np.pi * np.arange(8) / 8
        arms = np.stack([np.ones(8), np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(2.0)
        link = Exponential(margin=float(3.0 / np.sqrt(2.0) - 1.0))
        fields = {"dim": 3, "n_arms": 8, "link": link, "arms": arms, "center": np.array([-3.0, 0.0, 0.0])}
        return cls(**fields | changes)

    @classmethod
    def example(cls) -> "GeneralizedLinear":
        return cls(dim=2, n_arms=5, norm_bound=3.0)

    def check(self) -> None:
        """Raise `InputError` if shapes or the link are inconsistent; warn if an arm lies outside the unit ball."""
        if not isinstance(self.link, Link):
            raise InputError(f"link must be a link such as links.Bernoulli(), got {type(self.link).__name__}")
        has_both_signs = (self.arms is None and self.table is None) or (self.theta is None and self.center is None)
        if has_both_signs and not is_defined_around_zero(self.link):
            raise InputError(
                f"GeneralizedLinear.link must be defined around 0, but {type(self.link).__name__} is not; otherwise "
                "give arms (or a table), and theta or a center, as GeneralizedLinear.exponential() does"
            )
        if self.theta is not None and np.shape(self.theta)[-1:] != (self.dim,):
            raise InputError(f"theta must have shape ({self.dim},), got {np.shape(self.theta)}")
        if self.center is not None and np.shape(self.center)[-1:] != (self.dim,):
            raise InputError(f"center must have shape ({self.dim},), got {np.shape(self.center)}")
        if self.arms is not None:
            if self.fresh_arms:
                raise InputError("fresh_arms=True draws new arms in every round, so arms must be None")
            if np.shape(self.arms)[-2:] != (self.n_arms, self.dim):
                raise InputError(f"arms must have shape ({self.n_arms}, {self.dim}), got {np.shape(self.arms)}")
            _warn_of_long_arms(self.arms)
        if self.table is not None:
            shape = np.shape(self.table)
            if len(shape) != 3 or shape[1:] != (self.n_arms, self.dim):
                raise InputError(f"table must have shape (T, {self.n_arms}, {self.dim}), got {shape}")
            if not self.fresh_arms:
                raise InputError("a table has new arms in every round; set fresh_arms=True")
            _warn_of_long_arms(self.table)
        self._check_means()

    def _check_means(self) -> None:
        """Raise InputError if the link is not defined at x'theta* for a given arm x and a possible theta*.

        A link with swept fields is not checked; where it has no mean, the regret is NaN, and the trial fails.
        """
        arms = self.arms if self.table is None else self.table
        middle = self.center if self.theta is None else self.theta
        if arms is None or middle is None or any(np.ndim(leaf) for leaf in jax.tree.leaves(self.link)):
            return
        arms, middle = np.asarray(arms, float), np.asarray(middle, float)
        middle = np.expand_dims(middle, (-2,) if self.table is None else (-3, -2))
        spread = np.linalg.norm(arms, axis=-1) if self.theta is None else np.zeros(arms.shape[:-1])
        bound = np.expand_dims(np.asarray(self.norm_bound, float), (-1,) if self.table is None else (-2, -1))
        z = np.sum(arms * middle, axis=-1)
        for end in (z - bound * spread, z + bound * spread):
            outside = ~np.isfinite(np.asarray(self.link.log_partition(jnp.asarray(end))))
            if outside.any():
                raise InputError(
                    f"GeneralizedLinear.link: {type(self.link).__name__} is not defined, or overflows, at "
                    f"x'theta* = {end[outside].flat[0]:.6g}, which an arm x can have: change the arms, or theta (or "
                    "center and norm_bound)"
                )

    @property
    def max_horizon(self) -> int | None:
        """Number of rounds in the table; None without a table."""
        return None if self.table is None else np.shape(self.table)[0]

    @property
    def reward_range(self) -> tuple[ArrayLike, ArrayLike] | None:
        """Range of the link's rewards; None if they are unbounded."""
        return getattr(self.link, "reward_range", None)

    def init(self, key: jax.Array) -> GeneralizedLinearState:
        for_theta, for_arms = jax.random.split(key)
        if self.theta is None:
            theta = self.norm_bound * rng.unit_vector(for_theta, self.dim)
            theta = theta if self.center is None else theta + self.center
        else:
            theta = jnp.asarray(self.theta, jnp.result_type(float))
        if self.fresh_arms:
            return GeneralizedLinearState(theta, None, None)
        if self.arms is None:
            arms = rng.uniform_ball(for_arms, self.n_arms, self.dim)
        else:
            arms = jnp.asarray(self.arms, jnp.result_type(float))
        return GeneralizedLinearState(theta, arms, _best(arms, theta))

    def moved(self, state: GeneralizedLinearState, theta: Vector) -> GeneralizedLinearState:
        """Return the instance with theta* replaced by theta `[d]`."""
        return state._replace(theta=theta, best=None if self.fresh_arms else _best(state.arms, theta))

    def observe(self, key: jax.Array, t: jax.Array, state: GeneralizedLinearState) -> ArmObs:
        if self.table is not None:
            arms = jax.lax.dynamic_index_in_dim(jnp.asarray(self.table), t, keepdims=False)
            return ArmObs(arms.astype(jnp.result_type(float)))  # products of integers of small types overflow
        if self.fresh_arms:
            return ArmObs(rng.uniform_ball(key, self.n_arms, self.dim))
        return FixedArmObs(state.arms)

    def step(
        self, key: jax.Array, t: jax.Array, state: GeneralizedLinearState, obs: ArmObs, decision: ArmDecision
    ) -> tuple[GeneralizedLinearState, Reward, RegretOutcome]:
        del t
        z = decision.x @ state.theta
        best = _best(obs.arms, state.theta) if self.fresh_arms else state.best
        regret = self.link.mean(best) - self.link.mean(z)
        is_defined = getattr(self.link, "is_defined", None)
        if is_defined is not None:  # theta may drift to where the mean has no meaning
            regret = jnp.where(is_defined(best) & is_defined(z), regret, jnp.nan)
        return state, Reward(self.link.sample(key, z)), RegretOutcome(regret)

    def admits(self, state: GeneralizedLinearState, obs: ArmObs, decision: ArmDecision) -> jax.Array:
        """Return True if the index of the arm is in range."""
        del state, obs
        return (decision.index >= 0) & (decision.index < self.n_arms)

    def at_record(self, state: GeneralizedLinearState, recommendation: Recommendation) -> dict[str, jax.Array]:
        """Return `estimation_error`, `||recommendation - theta*||`, for learners that recommend an estimate `[d]`."""
        if recommendation is None or jnp.shape(recommendation) != state.theta.shape:  # the recommendation may be an arm
            return {}
        return {"estimation_error": jnp.linalg.norm(recommendation - state.theta)}

    def kappa(self, state: GeneralizedLinearState, obs: ArmObs) -> jax.Array:
        """Return `1 / min_k mu'(x_k'theta*)` over the arms of the observation.

        This is kappa of the instance if arms are fixed, and kappa of the round otherwise.
        """
        return 1.0 / -largest(-self.link.slope(obs.arms @ state.theta))


def _warn_of_long_arms(arms: ArrayLike) -> None:
    longest = float(np.max(np.linalg.norm(np.asarray(arms), axis=-1)))
    if longest > 1.0 + 1e-6:
        warnings.warn(f"an arm has norm {longest:.6g}: the theory of these methods assumes at most 1", stacklevel=3)


def _best(arms: jax.Array, theta: Vector) -> jax.Array:
    return largest(arms @ theta)
