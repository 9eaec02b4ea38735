"""Time per round of CA-OONS and its rivals against d and N."""

from collections.abc import Mapping
from typing import Any

from jaxbandits.algorithms.oco.ca_oons import CAOONS
from jaxbandits.algorithms.oco.cla_oons import CLAOONS
from jaxbandits.algorithms.oco.ogd import OGD
from jaxbandits.algorithms.oco.oons import OONS
from jaxbandits.algorithms.oco.optimistic_omd import OptimisticOMD
from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses
from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.experiment import Experiment, Panel, Timed
from jaxbandits.experiments.engine.figures import Cost
from jaxbandits.experiments.engine.statistic import total_time_ratio
from jaxbandits.experiments.oco.setting import PAPER


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

COST = Experiment(
    name="oco/cost",
    title="time per round against d and N",
    source=f"ours, on {PAPER}, Appendix C.4",
    horizon=2**11,
    seeds=128,
    presets={"theory": "every constant as the papers state it"},
    algorithms=_cost_learners,
    panels=lambda horizon: {
        f"d-{dim}": Panel(f"d = {dim}", PseudoHuberLosses(dim=dim), x=float(dim)) for dim in _DIMENSIONS
    },
    metric="regret",
    record_points=4,
    timed=Timed(tuple(f"d-{dim}" for dim in _DIMENSIONS), at=(None,)),
    claims=(
        Claim(
            "N + 1 gradients a round cost less than twice as much time as one (N = 14, d = 2)",
            "ours",
            total_time_ratio(("d-2", "CA-OONS, N = 14"), ("d-2", "CA-OONS, N = 14, one gradient")),
            high=2.0,
            trials=3,
        ),
        Claim(
            "CA-OONS costs at most N times OONS (N = 14, d = 12)",
            "ours",
            total_time_ratio(("d-12", "CA-OONS, N = 14"), ("d-12", "OONS")),
            high=14.0,
            trials=3,
        ),
        Claim(
            "the cost grows at most like N^2, as N K does: N = 14 costs at most (14/3)^2 = 21.8 times N = 3 (d = 2)",
            "ours",
            total_time_ratio(("d-2", "CA-OONS, N = 14"), ("d-2", "CA-OONS, N = 3")),
            high=(14.0 / 3.0) ** 2,
            trials=3,
        ),
    ),
    notes=(
        "64 trials side by side; drawing the losses and evaluating their gradients (pseudo-Huber) is included.",
        "CA-OONS asks for N + 1 gradients a round, at every base learner's point and at the play; 'one gradient' asks "
        "for the last alone. O(N d^3 + N K) a round with K <= 3N/2: not linear in N for large N.",
    ),
    figures=(Cost("d"),),
)
