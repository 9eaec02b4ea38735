"""Deviation of float32 plays from float64 plays, for every online learner on the same recorded losses.

    python -m benchmarks.precision

The losses are pseudo-Huber losses around recorded targets. Their gradients depend on the play, so that a deviation
feeds back. Their parameters are float32 numbers, so that both runs have the same losses. Learners with constraints also
receive recorded half-spaces `a_t'x <= b_t`. The program prints a Markdown table of the largest distance between both
paths over the first rounds, relative to the largest norm of the float64 path. `benchmarks.one_arm` compares bandits.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.algorithms.coco.loo_bogd import LOOBOGD
from jaxbandits.algorithms.coco.lpm import LPM
from jaxbandits.algorithms.coco.ofw import OFW
from jaxbandits.algorithms.coco.ofw_tvc import OFWTVC
from jaxbandits.algorithms.coco.opdp import OPDP
from jaxbandits.algorithms.coco.pf_ofw import PFOFW
from jaxbandits.algorithms.coco.scofw import SCOFW
from jaxbandits.algorithms.coco.scofw_tvc import SCOFWTVC
from jaxbandits.algorithms.coco.sinha_vaze import SinhaVaze
from jaxbandits.algorithms.coco.strongly_convex_sinha_vaze import StronglyConvexSinhaVaze
from jaxbandits.algorithms.oco.adagrad_norm import AdaGradNorm
from jaxbandits.algorithms.oco.anytime_ca_oons import AnytimeCAOONS
from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.clipped_parameter_free_md import ClippedParameterFreeMD
from jaxbandits.algorithms.oco.dog import DoG
from jaxbandits.algorithms.oco.dowg import DoWG
from jaxbandits.algorithms.oco.kt_betting import KTBetting
from jaxbandits.algorithms.oco.msmwc import MsMwC
from jaxbandits.algorithms.oco.msmwc_master import MsMwCMaster
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.algorithms.oco.optax_learner import OptaxLearner
from jaxbandits.algorithms.oco.optimistic_ftrl_2022 import OptimisticFTRL2022
from jaxbandits.algorithms.oco.optimistic_ftrl_2023 import OptimisticFTRL2023
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.algorithms.oco.parameter_free_md import ParameterFreeMD
from jaxbandits.algorithms.oco.scale_free_ftrl import ScaleFreeFTRL
from jaxbandits.base.pytree import as_arrays
from jaxbandits.domains.ball import L2Ball
from jaxbandits.numerics.losses import Linear, PseudoHuber
from jaxbandits.types import Constrained, FullInformation, narrow

ROUNDS, AFTER, DIM, EXPERTS = 2000, (200, 2000), 2, 11

ON_THE_BALL: Mapping[str, Any] = {
    "OONS": OONS.theory(dim=DIM),
    "OONS, practical": OONS.practical(dim=DIM),
    "optimistic OMD": OptimisticOMD(dim=DIM),
    "optimistic FTRL 2022": OptimisticFTRL2022(dim=DIM),
    "optimistic FTRL 2023": OptimisticFTRL2023(dim=DIM),
    "OGD": OGD(dim=DIM),
    "AdaGrad-norm": AdaGradNorm(dim=DIM),
    "optax SGD": OptaxLearner.sgd(dim=DIM, learning_rate=2.0, domain=L2Ball()),
    "optax AdaGrad": OptaxLearner.adagrad(dim=DIM, domain=L2Ball()),
    "optax optimistic gradient": OptaxLearner.optimistic(dim=DIM, domain=L2Ball()),
}
UNBOUNDED: Mapping[str, Any] = {
    "CA-OONS": CAOONS.theory(dim=DIM, horizon=ROUNDS),
    "CA-OONS as printed": CAOONS.theory(dim=DIM, horizon=ROUNDS, meta_loss="paper"),
    "CA-OONS, values": CAOONS.theory(dim=DIM, horizon=ROUNDS, meta_loss="value"),
    "CA-OONS, practical": CAOONS.practical(dim=DIM, horizon=ROUNDS),
    "anytime CA-OONS": AnytimeCAOONS.theory(dim=DIM, horizon=ROUNDS),
    "CLA-OONS": CLAOONS(dim=DIM),
    "CLA-OONS, practical": CLAOONS.practical(dim=DIM),
    "KT betting": KTBetting(dim=DIM),
    "parameter-free MD": ParameterFreeMD(dim=DIM),
    "clipped parameter-free MD": ClippedParameterFreeMD(dim=DIM),
    "scale-free FTRL": ScaleFreeFTRL(dim=DIM),
    "DoG": DoG(dim=DIM),
    "DoWG": DoWG(dim=DIM),
    "optax Adam": OptaxLearner.adam(dim=DIM),
    "optax COCOB": OptaxLearner.cocob(dim=DIM),
    "optax DoG": OptaxLearner.dog(dim=DIM),
    "optax DoWG": OptaxLearner.dowg(dim=DIM),
    "optax Prodigy": OptaxLearner.prodigy(dim=DIM),
    "optax D-Adapt AdamW": OptaxLearner.dadapt_adamw(dim=DIM),
    "optax mechanized SGD": OptaxLearner.mechanized_sgd(dim=DIM),
}
OVER_EXPERTS: Mapping[str, Any] = {
    "MsMwC": MsMwC(n_experts=EXPERTS, loss_range=2.0 ** np.arange(1, EXPERTS + 1)),
    "MsMwC-Master": MsMwCMaster(n_experts=EXPERTS),
}
CONSTRAINED: Mapping[str, Any] = {
    "OFW-TVC": OFWTVC(dim=DIM, horizon=ROUNDS, beta=0.4, lam=0.01),
    "SCOFW-TVC": SCOFWTVC(dim=DIM, horizon=ROUNDS, curvature=0.4, beta=0.4, gamma=0.8),
    "LPM": LPM(dim=DIM, horizon=ROUNDS, block=5, eta=0.3, eps=0.01, damping=0.2, dual_step=0.4),
    "OPDP": OPDP(dim=DIM, horizon=ROUNDS),
    "Sinha-Vaze": SinhaVaze(dim=DIM, horizon=ROUNDS, beta=0.4, lam=0.01),
    "Sinha-Vaze, strongly convex": StronglyConvexSinhaVaze(dim=DIM, horizon=ROUNDS, curvature=0.4),
    "OFW": OFW(dim=DIM, horizon=ROUNDS),
    "PF-OFW": PFOFW(dim=DIM, horizon=ROUNDS),
    "SCOFW": SCOFW(dim=DIM, curvature=0.4),
    "LOO-BOGD": LOOBOGD(dim=DIM, horizon=ROUNDS, block=5, eta=0.3, eps=0.01),
}


LEARNERS = {  # learners by domain
    "unit ball": ON_THE_BALL,
    f"R^{DIM}": UNBOUNDED,
    f"{EXPERTS} experts": OVER_EXPERTS,
    "unit ball, constrained": CONSTRAINED,
}


class Recorded(NamedTuple):
    """Recorded feedback, in float32."""

    losses: dict[str, tuple[type, np.ndarray]]  # by domain: their kind and parameters `[T, ...]`
    half_spaces: np.ndarray  # [T, d + 1] a_t and b_t, for learners with constraints


def record() -> Recorded:
    """Draw feedback for all learners."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((ROUNDS, DIM))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    scales = 2.0 ** np.arange(1, EXPERTS + 1)
    expert_losses = (0.5 * rng.uniform(-1.0, 1.0, (ROUNDS, EXPERTS)) - 0.1 * (np.arange(EXPERTS) == 4)) * scales
    half_spaces = np.concatenate(
        [np.eye(DIM)[0] + 0.3 * rng.standard_normal((ROUNDS, DIM)), np.full((ROUNDS, 1), 0.2)], 1
    )
    near, far = ((PseudoHuber, (center * np.eye(DIM)[0] + noise).astype(np.float32)) for center in (0.6, 3.0))
    losses = (near, far, (Linear, expert_losses.astype(np.float32)), near)
    return Recorded(dict(zip(LEARNERS, losses, strict=True)), half_spaces.astype(np.float32))


def deviations(domain: str, name: str, recorded: Recorded, options: Mapping[str, Any] | None = None) -> list[float]:
    """Return the largest distance of both paths over the first rounds, relative to the largest norm in float64.

    The list has one value for each number of rounds in `AFTER`.

    Args:
      domain: key of `LEARNERS`.
      name: name of a learner in this domain.
      recorded: recorded feedback.
      options: compiler options of XLA.
    """
    paths = []
    loss, parameters = recorded.losses[domain]
    for double in (False, True):
        with jax.enable_x64(double):
            args = loss(jnp.asarray(parameters, float)), jnp.asarray(recorded.half_spaces, float)
            args = (as_arrays(LEARNERS[domain][name]), *args)
            path = np.asarray(jax.jit(_path).lower(*args).compile(compiler_options=dict(options or {}))(*args))
            assert path.dtype == (np.float64 if double else np.float32)
            paths.append(path.astype(float))
    distance, norm = np.linalg.norm(paths[0] - paths[1], axis=1), np.linalg.norm(paths[1], axis=1)
    return [float(distance[:rounds].max() / norm[:rounds].max()) for rounds in AFTER]


def _path(learner: Any, losses: Any, half_spaces: jax.Array) -> jax.Array:
    """Return the plays `[T, d]`; `half_spaces` are a_t and b_t `[T, d + 1]`, used by learners with constraints."""
    key = jax.random.key(0)  # deterministic learners

    def round_(state: Any, inputs: Any) -> tuple[Any, jax.Array]:
        t, loss, half_space = inputs
        decision = learner.select(key, t, state, None)
        feedback = FullInformation(jax.vmap(loss.value)(decision.query), jax.vmap(loss.gradient)(decision.query), loss)
        if learner.feedback is Constrained:
            a, b = half_space[None, :-1], half_space[-1:]
            feedback = Constrained(feedback.loss, feedback.grad, decision.query @ a[0] - b, a)
        state = learner.update(key, t, state, None, decision, narrow(feedback, learner.feedback))
        return state, decision.play

    rounds = jnp.arange(ROUNDS, dtype=jnp.int32)
    return jax.lax.scan(round_, learner.init(key), (rounds, losses, half_spaces))[1]


def main() -> None:
    recorded = record()
    print("| learner | domain |", " | ".join(f"{rounds} rounds" for rounds in AFTER), "|")
    print("|---|---|" + "---|" * len(AFTER))
    for domain, learners in LEARNERS.items():
        for name in learners:
            found = deviations(domain, name, recorded)
            print(f"| {name} | {domain} |", " | ".join(f"{x:.1e}" for x in found), "|", flush=True)


if __name__ == "__main__":
    main()
