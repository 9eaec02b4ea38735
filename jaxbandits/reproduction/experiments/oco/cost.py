"""Time per round of CA-OONS and its rivals against d and N."""


from jaxbandits.oco import CAOONS, CLAOONS, OGD, OONS, OptimisticOMD, PseudoHuberLosses
from jaxbandits.reproduction.engine import Cost, Learners, Panel, TimePerRound
from jaxbandits.reproduction.experiments.oco.setting import AS_PRINTED, STUDY
from jaxbandits.reproduction.sentences import observations, time


def _cost_learners(preset: str, horizon: int, panel: Panel) -> Learners:
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
    timed=TimePerRound(tuple(f"d-{dim}" for dim in _DIMENSIONS), at=(None,)),
    claims=(
        *observations("gradients-cheap", time("CA-OONS, N = 14") < 2.0 * time("CA-OONS, N = 14, one gradient"),
                      on="d-2", says="N + 1 gradients per round cost little"),
        *observations("n-times-oons", time("CA-OONS, N = 14") < 14.0 * time("OONS"), on="d-12",
                      says="CA-OONS costs at most N times OONS"),
        *observations("grows-as-n-squared", time("CA-OONS, N = 14") < (14.0 / 3.0) ** 2 * time("CA-OONS, N = 3"),
                      on="d-2", says="the cost grows at most like N^2"),
    ),
    notes=(
        "64 trials run side by side. Times include drawing the losses (pseudo-Huber) and evaluating their gradients.",
        "CA-OONS queries N + 1 gradients per round, at the points of all base learners and at its play; 'one gradient' "
        "queries the gradient only at its play. The cost per round is O(N d^3 + N K) with K <= 3N/2, which is not "
        "linear in N for large N.",
    ),
    figures=(Cost("d"),),
)
