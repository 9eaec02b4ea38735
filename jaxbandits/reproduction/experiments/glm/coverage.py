"""Theorem 1 and the rivals' own: theta* in the confidence sets."""

from collections.abc import Iterable, Mapping
from typing import Any

from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog
from jaxbandits.algorithms.glm.ecolog import ECOLog
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.glm.glm_ucb import GLMUCB
from jaxbandits.algorithms.glm.gloc import GLOC
from jaxbandits.algorithms.glm.ofuglb import OFUGLB
from jaxbandits.algorithms.glm.ofulog_r import OFULogR
from jaxbandits.diagnostics import glm as meters
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.estimation.links import Bernoulli, Poisson
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Interpretation, Panel
from jaxbandits.reproduction.engine.figures import Shares
from jaxbandits.reproduction.engine.statements import mostly_below
from jaxbandits.reproduction.experiments.glm.setting import DELTA, THEOREMS


def _with_confidence_sets(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Make each learner with the constants of its promise; GLB-OMD also with lambda = d, which promises nothing."""
    del preset
    environment: Any = panel.environment
    common = {"dim": environment.dim, "norm_bound": float(environment.norm_bound), "delta": DELTA}
    linked = {**common, "link": environment.link}
    learners = {
        "OFUGLB": OFUGLB.theory(**linked, n_arms=environment.n_arms),
        "GLB-OMD, theory": GLBOMD.theory(**linked),
        "GLB-OMD, lambda = d": GLBOMD.experiments(**linked),
        "GLB-OMD, data radius": GLBOMD.practical(**linked),
    }
    if isinstance(environment.link, Bernoulli):
        learners["OFULog-r"] = OFULogR.theory(**common, n_arms=environment.n_arms)
        learners["ECOLog"] = ECOLog.experiments(**common)
        learners["ada-OFU-ECOLog"] = AdaOFUECOLog.theory(**common, n_arms=environment.n_arms)
        learners["GLM-UCB"] = GLMUCB.theory(**linked, n_arms=environment.n_arms, horizon=horizon)
    if not isinstance(environment.link, Poisson):  # whose noise is not sub-Gaussian
        learners["GLOC"] = GLOC.experiments(**linked)
    return learners


# Learner to where theta* is promised to stay in all sets, and with which probability.
_PROMISES = {
    "OFUGLB": ("Lee, Yun & Jun, Theorem 3.1", 1 - DELTA),
    "GLB-OMD, theory": ("Theorem 1", 1 - DELTA),
    "GLB-OMD, data radius": ("ours, on Lemmas 4 and 5", 1 - DELTA),
    "OFULog-r": ("Abeille, Faury & Calauzenes", 1 - DELTA),
    "ECOLog": ("ours, on Faury et al. (whose radius it is not)", 1 - DELTA),
    "ada-OFU-ECOLog": ("ours, on Faury et al.; reconstructed, delta for each of its two sets", 1 - 2 * DELTA),
    "GLM-UCB": ("Filippi et al., Theorem 2", 1 - DELTA),
    "GLOC": ("ours, on Jun et al.; reconstructed", 1 - DELTA),
}
GENERAL = ("OFUGLB", "GLB-OMD, theory", "GLB-OMD, data radius")


def coverage_claims(panel: str, names: Iterable[str]) -> tuple[Claim, ...]:
    """Claim that the confidence sets hold theta*: those of learners that promise it, and those with lambda = d."""
    unpromised = "GLB-OMD, lambda = d"
    return (
        *(claim for name in names for claim in _covers(panel, name, *_PROMISES[name])),
        *_covers(panel, unpromised, "ours", 1 - DELTA, ", which no theorem covers,"),
    )


def _covers(panel: str, name: str, place: str, share: float, aside: str = "") -> tuple[Claim, ...]:
    says = f"{name}{aside} keeps theta* in all its confidence sets"
    return mostly_below(name, "error_ratio", on=panel, says=says, place=place, share=share, trials=1000)


COVERAGE = THEOREMS.experiment(
    "coverage",
    "Theorem 1; the rivals' own theorems",
    title="estimation error over the confidence radius, logistic bandits",
    horizon=1000,
    presets={"theory": "every constant as its paper states it; lambda = d where the label says so"},
    algorithms=_with_confidence_sets,
    panels=lambda horizon: {
        f"S{size}": Panel(f"S = {size}", GeneralizedLinear.fixed(norm_bound=float(size))) for size in (3, 5)
    },
    metric="error_ratio",
    meters=(meters.coverage(),),
    claims=(*coverage_claims("S3", _PROMISES), *coverage_claims("S5", _PROMISES)),
    notes=(
        "error_ratio: the largest distance of theta* from the centre so far, over the radius; for level sets the root "
        "of the excess loss over that of the level; for GLM-UCB C_mu ||.||_V over rho, which is sufficient.",
        "lambda = d is the paper's experiments' choice: Theorem 1 does not cover it. The data radius holds for any.",
        "delta = 0.05; d = 2, K = 20, one arm set a trial. ada-OFU-ECOLog spends delta on each of two sets, of which "
        "error_ratio takes the worse: it promises 90 %.",
    ),
    interpretations={
        "radii-of-code": Interpretation(
            "the radii of GLM-UCB and ECOLog are not restated: those of public code, in place of the theorems'",
            {"GLM-UCB": {"radius_rule": "det"}, "ECOLog": {"radius_rule": "code"}},
        )
    },
    figures=(Shares(),),
    float64=True,
)
