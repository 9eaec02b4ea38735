"""Time per round of CA-OONS and its rivals against d and N."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Panel, Timed
from jaxbandits.reproduction.engine.figures import Cost
from jaxbandits.reproduction.engine.statements import faster
from jaxbandits.reproduction.experiments.oco.setting import AS_PRINTED, STUDY


def _cost_learners(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset, horizon
    dim = panel.environment.dim
    return {
        "OONS": OONS.theory(dim=dim),
        "CLA-OONS": CLAOONS(dim=dim),
        "CA-OONS, N = 3": CAOONS(dim=dim, n_base=3),
        "CA-OONS, N = 7": CAOONS(dim=dim, n_base=7),
        "CA-OONS, N = 14": CAOONS(dim=dim, n_base=14),
        "CA-OONS, N = 14, one gradient": CAOONS(dim=dim, n_base=14, base_grad="played"),
        "optimistic OMD": OptimisticOMD(dim=dim),
        "OGD": OGD(dim=dim),
    }


_DIMENSIONS = (1, 2, 5, 12)


def _at_most(rival: str, panel: str, times: float, says: str) -> Claim:
    return faster("CA-OONS, N = 14", rival, on=panel, says=says, place="ours", times=times)


COST = STUDY.experiment(
    "cost",
    "Appendix C.4",
    title="time per round against d and N",
    horizon=2**11,
    seeds=128,
    presets=AS_PRINTED,
    algorithms=_cost_learners,
    panels=lambda horizon: {
        f"d-{dim}": Panel(f"d = {dim}", PseudoHuberLosses(dim=dim), x=float(dim)) for dim in _DIMENSIONS
    },
    record_points=4,
    timed=Timed(tuple(f"d-{dim}" for dim in _DIMENSIONS), at=(None,)),
    claims=(
        _at_most("CA-OONS, N = 14, one gradient", "d-2", 2.0, "N + 1 gradients a round cost little"),
        _at_most("OONS", "d-12", 14.0, "CA-OONS costs at most N times OONS"),
        _at_most("CA-OONS, N = 3", "d-2", (14.0 / 3.0) ** 2, "the cost grows at most like N^2"),
    ),
    notes=(
        "64 trials side by side; drawing the losses and evaluating their gradients (pseudo-Huber) is included.",
        "CA-OONS asks for N + 1 gradients a round, at every base learner's point and at the play; 'one gradient' asks "
        "for the last alone. O(N d^3 + N K) a round with K <= 3N/2: not linear in N for large N.",
    ),
    figures=(Cost("d"),),
)
