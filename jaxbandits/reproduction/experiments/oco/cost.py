"""Time per round of CA-OONS and its rivals against the dimension d and the number N of base learners."""


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
    title="time per round against the dimension d and the number N of base learners",
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
                      on="d-2", says="for N = 14 evaluating N + 1 gradients per round instead of one at most doubles "
                                     "the time of CA-OONS"),
        *observations("n-times-oons", time("CA-OONS, N = 14") < 14.0 * time("OONS"), on="d-12",
                      says="for N = 14 CA-OONS takes at most N times as long as OONS"),
        *observations("grows-as-n-squared", time("CA-OONS, N = 14") < (14.0 / 3.0) ** 2 * time("CA-OONS, N = 3"),
                      on="d-2", says="from N = 3 to N = 14 the time of CA-OONS grows no faster than N^2"),
    ),
    notes=(
        "Times are measured with batches of the default number of trials, and include drawing the pseudo-Huber losses "
        "and evaluating their gradients.",
        "CA-OONS queries N + 1 gradients per round, at the points of all base learners and at its play; 'one gradient' "
        "queries the gradient only at its play. The cost per round is O(N d^3 + N K) for K middle learners, and K is "
        "at most about 3N/2, so the cost is not linear in N for large N.",
    ),
    figures=(Cost("d"),),
)
