"""Compare float32 with float64 for learners that carry V^{-1}, with one arm that is not parallel to a coordinate axis.

    python -m benchmarks.one_arm

This is the hardest case for V^{-1}: after t rounds x'V^{-1}x is about 1/t of the largest entry of V^{-1}, and only
rounding errors move theta orthogonally to the arm x. The program prints a Markdown table of the largest relative
deviations from float64 of the width sqrt(x'V^{-1}x), the estimate theta and x'theta, over 100 record points on the same
rewards.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog
from jaxbandits.algorithms.glm.ecolog import ECOLog
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.glm.gloc import GLOC
from jaxbandits.algorithms.glm.oful_mlogb import OFULMLogB
from jaxbandits.algorithms.glm.rs_glincb import RSGLinCB
from jaxbandits.algorithms.linear.crmm import CRMM
from jaxbandits.algorithms.linear.crtm import CRTM
from jaxbandits.algorithms.linear.heavy_oful import HeavyOFUL
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.menu import MENU
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.algorithms.linear.recursive_least_squares import RecursiveLeastSquares
from jaxbandits.algorithms.linear.tofu import TOFU
from jaxbandits.base.pytree import as_arrays
from jaxbandits.estimation.links import Gaussian
from jaxbandits.numerics import inverse_factors
from jaxbandits.numerics.inverse_factors import InverseFactors
from jaxbandits.types import ArmDecision, ArmObs, NextState, ScaledReward, SystemObs

KEY = jax.random.key(0)
X = np.array([0.6, 0.8], np.float32)
MILLION, RECORDS = 10**6, 100


class Case(NamedTuple):
    make: Callable[[int], Any]  # function from the number of rounds to a learner
    rounds: int  # number of rounds in the slow test
    moment: float = 1.0  # nu, known to the learner; ignored if rewards are 0 or 1
    binary: bool = False
    estimate: bool = True  # True if the estimate is compared


CASES = {
    "OFUL": Case(lambda T: OFUL(dim=2), MILLION),
    "CRTM, least squares": Case(lambda T: CRTM(dim=2, horizon=T, mode="ls", threshold_scale=np.inf), MILLION),
    "CRTM": Case(lambda T: CRTM(dim=2, horizon=T, mode="ons", threshold_scale=np.inf), MILLION),
    "Hvt-UCB, nu = 1.31": Case(lambda T: HvtUCB.practical(dim=2, horizon=T, eps=0.99), MILLION, moment=1.31),
    "Hvt-UCB, nu = 0.1": Case(lambda T: HvtUCB.practical(dim=2, horizon=T, eps=0.99), MILLION, moment=0.1),
    "GLB-OMD": Case(lambda T: GLBOMD.experiments(dim=2, link=Gaussian()), MILLION),
    "GLOC": Case(lambda T: GLOC.experiments(dim=2, link=Gaussian()), MILLION),
    "ECOLog": Case(lambda T: ECOLog(dim=2), MILLION, binary=True),
    "OFUL-MLogB": Case(lambda T: OFULMLogB(dim=2), MILLION, binary=True),
    "RS-GLinCB": Case(lambda T: RSGLinCB.practical(dim=2, n_arms=1, horizon=T), MILLION, binary=True),
    "ada-OFU-ECOLog": Case(lambda T: AdaOFUECOLog(dim=2, n_arms=1), 10**5, binary=True),
    "CRMM": Case(lambda T: CRMM.practical(dim=2, horizon=T), MILLION),
    "MENU": Case(lambda T: MENU.practical(dim=2, horizon=T), MILLION),
    "least squares": Case(lambda T: RecursiveLeastSquares(n_states=1, n_inputs=1), MILLION),
    "TOFU": Case(lambda T: TOFU.practical(dim=2, capacity=T, horizon=T), 18_000),
    "TOFU, widths": Case(lambda T: TOFU.practical(dim=2, capacity=1, horizon=1), MILLION, estimate=False),
    "HEAVY-OFUL": Case(lambda T: HeavyOFUL.practical(dim=2, horizon=T, eps=0.99), 3_000),
    "HEAVY-OFUL, widths": Case(
        lambda T: HeavyOFUL.practical(dim=2, horizon=1, eps=0.99, sigma_min=1e-3), MILLION, estimate=False
    ),
    "Hvt-UCB, nu = 0, sigma_min = 0.03": Case(
        lambda T: HvtUCB.practical(dim=2, horizon=T, eps=0.99, sigma_min=0.03), MILLION, moment=0.0
    ),
}

DRIFTING = {
    "OFUL, ridge = 0.001": Case(lambda T: OFUL(dim=2, ridge=1e-3), MILLION),
    "Hvt-UCB, nu = 0": Case(lambda T: HvtUCB.practical(dim=2, horizon=T, eps=0.99), MILLION, moment=0.0),
}


def round_inputs(algorithm: Any, moment: jax.Array, reward: jax.Array) -> tuple[Any, Any, Any]:
    """Return observation, decision and feedback of a round."""
    if isinstance(algorithm, RecursiveLeastSquares):
        return SystemObs(jnp.asarray(X)), None, NextState(reward[None])
    x = jnp.asarray(X)
    return ArmObs(x[None]), ArmDecision(jnp.int32(0), x), ScaledReward(reward, moment)


@jax.jit
def play(algorithm: Any, moment: jax.Array, rewards: jax.Array) -> tuple[Any, ...]:
    """Return the smallest x'V^{-1}x, and estimates and widths at R record points, for rewards `[R, T / R]`."""

    def one_round(carry, row):
        (state, least), (t, reward) = carry, row
        obs, decision, feedback = round_inputs(algorithm, moment, reward)
        state = algorithm.update(KEY, t, state, obs, decision, feedback)
        return (state, jnp.minimum(least, jnp.min(widths_sq(state)))), None

    def widths_sq(state):
        leaves = jax.tree.leaves(state, is_leaf=lambda leaf: isinstance(leaf, InverseFactors))
        return jnp.stack(
            [inverse_factors.quadratic_forms(a, jnp.asarray(X)) for a in leaves if isinstance(a, InverseFactors)]
        )

    def record(carry, rows):
        carry = jax.lax.scan(one_round, carry, rows)[0]
        # All k estimates of MENU: which of them is central may be decided by rounding.
        estimate = carry[0].estimates if isinstance(algorithm, MENU) else algorithm.recommend(carry[0])
        return carry, (jnp.ravel(estimate), jnp.sqrt(widths_sq(carry[0])))

    steps = jnp.arange(rewards.size, dtype=jnp.int32).reshape(rewards.shape)
    (_, least), recorded = jax.lax.scan(record, (algorithm.init(KEY), jnp.inf), (steps, rewards))
    return least, *recorded


class Deviations(NamedTuple):
    """Largest relative deviations of float32 from float64 over the record points."""

    width: float  # deviation of ||x||_{V^{-1}}
    estimate: float  # deviation of theta
    along: float  # deviation of x'theta, on which alone the rewards depend
    least: float  # smallest x'V^{-1}x in float32 in any round


def deviations(case: Case, rounds: int, rng: np.random.Generator) -> Deviations:
    """Compare both precisions on the same rewards."""
    rewards = rng.random(rounds) < 0.62 if case.binary else 0.5 + case.moment * rng.standard_normal(rounds)
    rewards = rewards.astype(np.float32).reshape(RECORDS, -1)  # the same numbers for both
    found = []
    for double in (False, True):
        with jax.enable_x64(double):
            moment = jnp.asarray(case.moment, float)
            out = play(as_arrays(case.make(rounds)), moment, jnp.asarray(rewards, float))
            assert out[1].dtype == (np.float64 if double else np.float32)
            found.append([np.asarray(a, float) for a in out])
    (least, theta, width), (_, exact, wide) = found

    def largest(error: np.ndarray, of: np.ndarray) -> float:
        sizes = np.linalg.norm(of, axis=1)
        return float((np.linalg.norm(error, axis=1) / np.maximum(sizes, sizes[-1])).max())

    shown, exactly = (a.reshape(RECORDS, -1, len(X)) @ X.astype(float) for a in (theta, exact))  # k of them for MENU
    along = largest(shown - exactly, exactly)
    return Deviations(np.abs(width / wide - 1.0).max(), largest(theta - exact, exact), along, float(least))


def main() -> None:
    print("| learner | rounds | width | estimate | x'theta |")
    print("|---|---|---|---|---|")
    for name, case in (CASES | DRIFTING).items():
        off = deviations(case, case.rounds, np.random.default_rng(0))
        theta = f"{off.estimate:.1e} | {off.along:.1e}" if case.estimate else " | "
        print(f"| {name} | {case.rounds:,} | {off.width:.1e} | {theta} |", flush=True)


if __name__ == "__main__":
    main()
