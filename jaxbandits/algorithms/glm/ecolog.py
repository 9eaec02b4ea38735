"""OFU-ECOLog (Faury, Abeille, Jun & Calauzenes, Jointly Efficient and Optimal Algorithms for Logistic Bandits, 2022).

    play         argmax_x  x'theta_t + radius_t ||x||_{W_t^{-1}}
    theta_t+1    = argmin_{||theta|| <= S} ||theta - theta_t||^2_{W_t} / (2 + D) + l(x'theta; r)     (an implicit step)
    theta_bar_t  = the same minimiser with l(x'theta; 0) + l(x'theta; 1) in place of l(x'theta; r)
    W_t+1        = W_t + mu'(x'theta_t+1) x x',   W_1 = lambda I
    "ville"      radius^2 = 4 lambda S^2 + (2 + D) (log(1/delta) + G_t),   G_t = sum_s l_s(theta_bar_s) - l_s(theta_s+1)
    "code"       radius^2 = 4 lambda S^2 + 2 (2 + D) ((2 + D) nu_t/4 + D^2/(2 + D) + G_t) + 4 log(1 + t),
                 nu_t = 1/2 + 2 log(2 sqrt(1 + t/(4 lambda)) / delta)
    "public"     radius^2 = 2 lambda S^2 + (1 + S)^2 (sqrt(lambda)/2 + (nu_t - 1/2)/sqrt(lambda)) + 2 (1 + S) G_t
                            - sum_s ||theta_s+1 - theta_bar_s||_{W_s} / 2,
                 with 1/2 for 1/(2 + D) in both steps, and theta_bar_t around theta_t+1 in place of theta_t
    score        "link": as above;   "mean": argmax_x  mu(x'theta_t) + radius_t ||x||_{W_t^{-1}}

The learner is for logistic rewards: mu is the logistic function, and l(z; r) = log(1 + e^z) - r z. Notation: lambda is
the field `ridge`, S is `norm_bound` and D is `diameter`. The cost per round is $O(K d^2)$ and two scalar root searches,
plus $O(d^3)$ for a step in which the ball constraint is active. The memory is $O(d^2)$.
"""

import dataclasses
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.glm.learner import EllipsoidLearner
from jaxbandits.base import errors, ranges
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.estimation.arms import choose_best, widths
from jaxbandits.estimation.implicit import logistic_step
from jaxbandits.estimation.links import Bernoulli
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.numerics.linalg import Vector
from jaxbandits.numerics.projection import project_ball
from jaxbandits.types import ArmDecision, ArmObs, Reward

_RADIUS_RULES, _SCORES = ("ville", "code", "public"), ("link", "mean")
_LOGISTIC = Bernoulli()


class ECOLogState(NamedTuple):
    """State of `ECOLog` at the start of a round, of size $O(d^2)$ for every t."""

    theta: Vector  # [d]  theta_t
    inverse: InverseFactors  # W_t^{-1}
    gap: jax.Array  # []  G_t; "public": G_t - sum_s ||theta_s+1 - theta_bar_s||_{W_s} / (4 (1 + S))


@pytree
class ECOLog(EllipsoidLearner):
    """Optimistic learner for logistic bandits, with implicit online steps on the logistic loss itself.

    Guarantee:
      [ours] For the radius "ville", with arms in the unit ball and `D = 2S`, theta* lies in every confidence set with
      probability `1 - delta`. The sum of `l_s(theta_bar_s) - l_s(theta*)` is bounded by Ville's inequality, since
      theta_bar_s does not depend on $r_s$; the remainder is the regret of the implicit step. In the paper, the leading
      term of the regret bound is $O(d log T sqrt(T / kappa*))$, where 1 / kappa* is the mean of mu' at the best arms.

    Deviations:
      * [printed] The adaptive branch of the paper is omitted, as in public code. In that branch, a round joins a
        warm-up set, which shrinks the parameter set, if the curvature at theta_bar is more than twice the curvature at
        one of the two possible next estimates. `AdaOFUECOLog` has this branch, with a reconstructed confidence set for
        the warm-up data.
      * [ours] The default radius is "ville" and the default score is "link".
      * [printed] "code" is the radius in the repository of OFUGLB's authors, which is a fork of the repository of
        ECOLog's authors. A comment in that code, by one of ECOLog's authors, refers to Lemmas 4 and 5 and equation
        (13). Here the first term of the radius contains lambda, unlike in that code. The preset `published` uses D =
        2S, the diameter of the ball in the lemmas; the code uses `D = S` and `ridge = S`.
      * [printed] "public" is the radius of the first author's code in the repository of RS-GLinCB's authors, together
        with the steps of that code. The preset `public` also uses the score "mean" of that code, but lambda = d instead
        of `ridge = 10`. Both public codes use this score, which adds a width in parameter space to a mean reward.
      * [ours] The steps are solved up to rounding errors by a safeguarded Newton search on `x'theta`; the paper stops a
        projected gradient method at accuracy 1/t, which costs $O(log t)$. `beta_scale` multiplies the radius.
      * [reconstructed] The implicit step has the weight $1 / (2 + D)$; arXiv:2507.11847 does not state this weight.

    Numerics:
      In float32 the estimate is within 1e-4 of its float64 value, and the relative errors of the radius and $W^{-1}$
      are below 1e-4, over 300 rounds ("ville", "public": $d = 5$, $S = 3$; "code": $d = 2$, $S = 5$;
      float32/test_glm_one_pass.py::test_follows_the_float64_reference). After 10^6 rounds of one arm, the relative
      error of the width of this arm is below 1e-4, and that of the estimate is below 1e-3
      (float32/test_one_arm.py::test_one_arm_for_as_long_as_it_can_be).

    References:
      Louis Faury, Marc Abeille, Kwang-Sung Jun, Clement Calauzenes. Jointly Efficient and Optimal Algorithms for
      Logistic Bandits. AISTATS 2022, arXiv:2201.01985: OFU-ECOLog.
    """

    source: ClassVar[str] = "Faury, Abeille, Jun & Calauzenes, AISTATS 2022"
    radius_rule: str = static(
        "ville", doc='radius: "ville" (proved, from the observed losses), or "code" or "public" (both from public code)'
    )
    score: str = static("link", doc='score of an arm: "link" (optimistic x\'theta) or "mean" (mean reward plus width)')
    diameter: ArrayLike | None = param(None, "(0, inf)", "D, largest |x'(theta - theta')|; None: 2S, or S for \"code\"")
    beta_scale: ArrayLike = param(1.0, "[0, inf)", "multiplier of the confidence radius; the theory uses 1")

    @classmethod
    def theory(cls, *, dim: int, **changes: FieldValue) -> "ECOLog":
        """Use the radius "ville" with `D = 2S`, which is valid for every lambda > 0; the default lambda is d."""
        return cls(**{"dim": dim, "radius_rule": "ville"} | changes)

    @classmethod
    def experiments(cls, *, dim: int, **changes: FieldValue) -> "ECOLog":
        """Use the constants of the theory with `ridge = d`, as in the figures of arXiv:2507.11847."""
        return cls(**{"dim": dim, "ridge": float(ranges.integer("dim", dim))} | changes)

    @classmethod
    def published(cls, *, dim: int, **changes: FieldValue) -> "ECOLog":
        """Use the radius of the paper's lemmas ("code" with `D = 2S`) and `ridge = d`, as in arXiv:2507.11847."""
        base = cls.experiments(dim=dim, **{"radius_rule": "code"} | changes)
        return base if base.diameter is not None else dataclasses.replace(base, diameter=2.0 * base.norm_bound)

    @classmethod
    def public(cls, *, dim: int, **changes: FieldValue) -> "ECOLog":
        """Use the code in the repository of RS-GLinCB's authors (radius, steps and score), but with `ridge = d`.

        The figures of arXiv:2507.11847 have this ridge parameter; it is 10 in that code.
        """
        return cls.experiments(dim=dim, **{"radius_rule": "public", "score": "mean"} | changes)

    @classmethod
    def example(cls) -> "ECOLog":
        return cls(dim=2, norm_bound=2.0)

    def check(self) -> None:
        """Raise `InputError` for an unknown radius or score."""
        if self.radius_rule not in _RADIUS_RULES:
            raise errors.unknown_name("ECOLog.radius_rule", self.radius_rule, _RADIUS_RULES)
        if self.score not in _SCORES:
            raise errors.unknown_name("ECOLog.score", self.score, _SCORES)

    def init(self, key: jax.Array) -> ECOLogState:
        del key  # deterministic
        inverse = inverse_factors.init(self.dim, self.lam)
        return ECOLogState(theta=jnp.zeros(self.dim), inverse=inverse, gap=jnp.zeros(()))

    def select(self, key: jax.Array, t: jax.Array, state: ECOLogState, obs: ArmObs) -> ArmDecision:
        if self.score == "link":
            return super().select(key, t, state, obs)
        bonus = self.radius(t, state) * widths(state.inverse, obs.arms)  # [K]
        return choose_best(obs.arms, obs.mask, _LOGISTIC.mean(obs.arms @ state.theta) + bonus)

    def update(
        self, key: jax.Array, t: jax.Array, state: ECOLogState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> ECOLogState:
        del key, t, obs
        x, r = decision.x, feedback.reward
        theta = self.implicit_step(state, x, 1.0, r)
        public = self.radius_rule == "public"
        # The loss of theta_bar is l(z; 0) + l(z; 1).
        theta_bar = self.implicit_step(state._replace(theta=theta) if public else state, x, 2.0, 1.0)
        z, z_bar = x @ theta, x @ theta_bar
        gap = _LOGISTIC.log_partition(z_bar) - _LOGISTIC.log_partition(z) - r * (z_bar - z)
        if public:
            distance = jnp.sqrt(inverse_factors.norm_sq(state.inverse, theta - theta_bar))
            gap = gap - distance / (4.0 * (1.0 + self.norm_bound))
        inverse = inverse_factors.add(state.inverse, _LOGISTIC.slope(z), inverse_factors.image(state.inverse, x))
        return ECOLogState(theta=theta, inverse=inverse, gap=state.gap + gap)

    def radius(self, t: jax.Array, state: ECOLogState) -> jax.Array:
        """Return the confidence radius `[]` in the norm of W before round t >= 0, times `beta_scale`.

        The formulas above count rounds from 1, so that this is their radius_{t+1}.
        """
        ridge, d = self.lam, self._diameter
        n, prior = t + 1.0, 4.0 * ridge * self.norm_bound**2
        nu = 0.5 + 2.0 * jnp.log(2.0 * jnp.sqrt(1.0 + n / (4.0 * ridge)) / self.delta)
        if self.radius_rule == "ville":
            spread = (2.0 + d) * (state.gap - jnp.log(self.delta))
        elif self.radius_rule == "code":
            spread = 2.0 * (2.0 + d) * ((2.0 + d) * nu / 4.0 + d * d / (2.0 + d) + state.gap) + 4.0 * jnp.log1p(n)
        else:
            prior, s, root = 0.5 * prior, 1.0 + self.norm_bound, jnp.sqrt(ridge)
            spread = s * s * (0.5 * root + (nu - 0.5) / root) + 2.0 * s * state.gap
        return self.beta_scale * jnp.sqrt(jnp.maximum(prior + spread, 0.0))

    def implicit_step(self, state: ECOLogState, x: Vector, count: ArrayLike, total: ArrayLike) -> Vector:
        """Return the estimate `[d]` after an implicit step for `count` plays of the arm x whose rewards sum to `total`.

        The estimate minimises ||theta - theta_t||^2_W / (2 + D) + count log(1 + e^z) - total z over ||theta|| <= S,
        with z = x'theta. For the radius "public", 1/2 replaces 1 / (2 + D).
        """
        scale = 1.0 if self.radius_rule == "public" else 0.5 * (2.0 + self._diameter)

        def project(inverse: InverseFactors, y: Vector, weight: jax.Array) -> Vector:
            del weight
            return project_ball(inverse, y, self.norm_bound)

        return logistic_step(state.inverse, state.theta, x, count, total, scale, self.norm_bound, project)

    @property
    def _diameter(self) -> ArrayLike:
        if self.diameter is not None:
            return self.diameter
        return self.norm_bound if self.radius_rule == "code" else 2.0 * self.norm_bound
