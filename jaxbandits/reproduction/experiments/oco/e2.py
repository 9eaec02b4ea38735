"""Regret of learners on R^d against the norm of the comparator."""


from jaxbandits import oco
from jaxbandits.reproduction.engine import Against, Curves, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import STUDY, VALUES
from jaxbandits.reproduction.sentences import growth_over, mean, observations

_NORM_PANELS = {f"norm-{norm}": norm for norm in (1, 2, 4, 8, 16, 32)}
_LARGE = {name: norm for name, norm in _NORM_PANELS.items() if norm >= 4}


def _unbounded_learners(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make learners on R^d with G = 1, and optimistic OMD, which is given the wrong diameter 2."""
    del preset
    dim = panel.environment.dim
    return {
        "CA-OONS": oco.CAOONS.theory(dim=dim, horizon=horizon),
        "CA-OONS as printed": oco.CAOONS.theory(dim=dim, horizon=horizon, meta_loss="paper"),
        "CA-OONS, values": oco.CAOONS.theory(dim=dim, horizon=horizon, meta_loss="value"),
        "CA-OONS, practical": oco.CAOONS.practical(dim=dim, horizon=horizon),
        "CLA-OONS": oco.CLAOONS(dim=dim),
        "KT betting": oco.KTBetting(dim=dim),
        "parameter-free MD": oco.ParameterFreeMD(dim=dim),
        "clipped parameter-free MD": oco.ClippedParameterFreeMD(dim=dim),
        "scale-free FTRL": oco.ScaleFreeFTRL(dim=dim),
        "DoG": oco.DoG(dim=dim),
        "DoWG": oco.DoWG(dim=dim),
        "optax COCOB": oco.OptaxLearner.cocob(dim=dim),
        "optax Prodigy": oco.OptaxLearner.prodigy(dim=dim),
        "optax D-Adapt AdamW": oco.OptaxLearner.dadapt_adamw(dim=dim),
        "optax mechanized SGD": oco.OptaxLearner.mechanized_sgd(dim=dim),
        "optimistic OMD, D = 2": oco.OptimisticOMD(dim=dim),
    }


E2 = STUDY.experiment(
    "e2",
    "Theorems 4.1 and 4.5",
    title="regret against ||u||: pseudo-Huber losses on R^2",
    horizon=2**13,
    algorithms=_unbounded_learners,
    panels=lambda horizon: {
        name: Panel(f"||u|| = {norm}", oco.PseudoHuberLosses(dim=2, center=float(norm), noise_scale=0.2), x=float(norm))
        for name, norm in _NORM_PANELS.items()
    },
    record_points=("log", 50),
    claims=(
        *observations("grows-as-norm-squared", growth_over(_LARGE, "||u|| >= 4", "CA-OONS") < 2.0,
                      says="for ||u|| >= 4 the regret of CA-OONS (repaired) grows no faster than "
                      "||u||^2", place="Theorem 4.1 (repaired)"),
        *observations("grows-as-norm-to-4", growth_over(_LARGE, "||u|| >= 4", "CLA-OONS") < 4.0,
                      says="for ||u|| >= 4 the regret of CLA-OONS grows no faster than ||u||^4", place="Theorem 4.5"),
        *observations("repair-costs-nothing", mean("CA-OONS") < mean("CA-OONS as printed"), on=_LARGE.keys(),
                      says="CA-OONS repaired with gradients at the play has less regret than the printed CA-OONS"),
        *observations("one-learner-better", mean("CLA-OONS") < mean("CA-OONS"), on=("norm-1", "norm-8", "norm-32"),
                      says="CLA-OONS, one learner with a growing radius that is not given G, has less regret than "
                      "CA-OONS, which mixes N learners"),
        *observations("wrong-diameter", mean("optimistic OMD, D = 2") > mean("CA-OONS"), on="norm-8",
                      says="at ||u|| = 8 optimistic OMD with a wrong diameter (2) has more regret than CA-OONS"),
    ),
    notes=(
        "Regret is against u = ||u|| e_1, the minimiser of the mean loss. The theorems state rates, but at this "
        "horizon the start-up costs dominate.",
        "CLA-OONS does not have the start-up cost of the meta algorithm of CA-OONS. Adaptation to G is no advantage "
        "here, because CA-OONS is given the correct G = 1.",
    ),
    interpretations={"values": VALUES},
    figures=(Against("||u||"), Curves(logarithmic=True)),
)
