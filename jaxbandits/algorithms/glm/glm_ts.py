"""GLM-TS: Thompson sampling for generalised linear bandits with a one-pass approximation of the posterior.

    theta~ ~ N(theta_t, v^2 H_t^{-1}),   play argmax_x x'theta~

theta_t and $H_t$ are computed by `GLBOMD`: theta_t by one step of online mirror descent per round, and $H_t$ as the sum
of the curvatures. They replace the maximum-likelihood estimate and its Hessian, which cost $O(t)$. The link is
increasing, so that the arm with the largest x'theta~ also has the largest mean under theta~. Notation: v is the field
`width`. The cost per round is $O(K d + d^2)$, plus $O(d^3)$ when the projection of `GLBOMD` is active, and the memory
is $O(d^2)$.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxbandits.algorithms.glm.glb_omd import GLBOMD, GLBOMDState
from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.pytree import ArrayLike, FieldValue, param, pytree, static
from jaxbandits.base.ranges import BOOL
from jaxbandits.estimation.arms import choose_best
from jaxbandits.numerics import inverse_factors, rng
from jaxbandits.numerics.linalg import Vector
from jaxbandits.types import ArmDecision, ArmObs, Reward


@pytree
class GLMTS:
    """Thompson sampling from a Gaussian distribution around the estimate of GLB-OMD.

    Guarantee:
      None for v = 1. The preset `theory` multiplies v by the radius of the confidence set of GLB-OMD. Proofs for
      Thompson sampling need an inflation of this kind (Abeille & Lazaric 2017), but no proof is published for this
      estimator.

    Deviations:
      * [ours] Each round updates the estimate and the Hessian of the loss from its own observation, whereas GLM-TSL
        (Kveton et al.) computes a Laplace approximation from all data in every round. The field `ridge` of the
        estimator is the precision of the prior.
      * [ours] Ties go to the first arm.

    References:
      Branislav Kveton, Manzil Zaheer, Csaba Szepesvari, Lihong Li, Mohammad Ghavamzadeh, Craig Boutilier.
      Randomized Exploration in Generalized Linear Bandits. AISTATS 2020, GLM-TSL.
      Olivier Chapelle, Lihong Li. An Empirical Evaluation of Thompson Sampling. NIPS 2011, Algorithm 3.
      Marc Abeille, Alessandro Lazaric. Linear Thompson Sampling Revisited. AISTATS 2017.
    """

    feedback: ClassVar[type] = Reward
    source: ClassVar[str] = "Kveton et al., AISTATS 2020, GLM-TSL, with a one-pass posterior"
    environments: ClassVar[tuple[str, ...]] = ("glm/generalized_linear",)
    width: ArrayLike = param(1.0, "[0, inf)", "v, scale of the draws; 0: greedy play")
    draws_in_set: bool = static(False, BOOL, "True: multiply v by the radius of the confidence set")
    estimator: GLBOMD = param(
        doc="learner that provides the estimate and Hessian; its radius is used only with draws_in_set"
    )

    @classmethod
    def theory(cls, *, dim: int, width: ArrayLike = 1.0, **changes: FieldValue) -> "GLMTS":
        """Use the estimate of `GLBOMD.theory(dim=dim, **changes)`; the radius of its confidence set multiplies v."""
        ranges.numbers("width", width, "[0, inf)")
        return cls(estimator=GLBOMD.theory(dim=dim, **changes), width=width, draws_in_set=True)

    @classmethod
    def practical(cls, *, dim: int, width: ArrayLike = 1.0, **changes: FieldValue) -> "GLMTS":
        """Use the estimate of `GLBOMD.practical(dim=dim, **changes)`, and v = `width`."""
        ranges.numbers("width", width, "[0, inf)")
        return cls(estimator=GLBOMD.practical(dim=dim, **changes), width=width)

    @classmethod
    def example(cls) -> "GLMTS":
        return cls(estimator=GLBOMD.example())

    def check(self) -> None:
        """Raise InputError unless the estimator is a `GLBOMD`."""
        if not isinstance(self.estimator, GLBOMD):
            raise InputError(f"GLMTS.estimator must be a GLBOMD, got {format_value(self.estimator)}")

    @property
    def dim(self) -> int:
        """Dimension d of the arms."""
        return self.estimator.dim

    def init(self, key: jax.Array) -> GLBOMDState:
        return self.estimator.init(key)

    def select(self, key: jax.Array, t: jax.Array, state: GLBOMDState, obs: ArmObs) -> ArmDecision:
        return choose_best(obs.arms, obs.mask, obs.arms @ self.draw(key, t, state))

    def draw(self, key: jax.Array, t: jax.Array, state: GLBOMDState) -> Vector:
        """Draw theta~ `[d]` from its Gaussian distribution."""
        width = self.width * (self.estimator.radius(t, state) if self.draws_in_set else jnp.ones(()))
        return state.theta + width * inverse_factors.root_matvec(state.inverse, rng.normal_vector(key, self.dim))

    def update(
        self, key: jax.Array, t: jax.Array, state: GLBOMDState, obs: ArmObs, decision: ArmDecision, feedback: Reward
    ) -> GLBOMDState:
        return self.estimator.update(key, t, state, obs, decision, feedback)

    def recommend(self, state: GLBOMDState) -> Vector:
        """Return the estimate `[d]` of theta*."""
        return self.estimator.recommend(state)
