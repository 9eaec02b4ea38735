"""Theorem 1 of Zhang et al. (2025) and theorems on its rivals: coverage of theta* by the confidence sets."""

from collections.abc import Iterable, Mapping

from jaxbandits.diagnostics import glm as meters
from jaxbandits.glm import (
    GLBOMD,
    GLMUCB,
    GLOC,
    OFUGLB,
    AdaOFUECOLog,
    ECOLog,
    GeneralizedLinear,
    OFULogR,
    links,
)
from jaxbandits.reproduction.engine import Claim, Interpretation, Learners, Panel, Problem, Shares
from jaxbandits.reproduction.experiments.glm.setting import DELTA, THEOREMS
from jaxbandits.reproduction.sentences import claims, observations, share, slug


def _with_confidence_sets(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make each learner with the constants of its theorem, and GLB-OMD with lambda = d, which has no theorem."""
    del preset
    environment: Problem = panel.environment
    common = {"dim": environment.dim, "norm_bound": float(environment.norm_bound), "delta": DELTA}
    linked = {**common, "link": environment.link}
    learners = {
        "OFUGLB": OFUGLB.theory(**linked, n_arms=environment.n_arms),
        "GLB-OMD, theory": GLBOMD.theory(**linked),
        "GLB-OMD, lambda = d": GLBOMD.experiments(**linked),
        "GLB-OMD, data radius": GLBOMD.practical(**linked),
    }
    if isinstance(environment.link, links.Bernoulli):
        learners["OFULog-r"] = OFULogR.theory(**common, n_arms=environment.n_arms)
        learners["ECOLog"] = ECOLog.experiments(**common)
        learners["ada-OFU-ECOLog"] = AdaOFUECOLog.theory(**common, n_arms=environment.n_arms)
        learners["GLM-UCB"] = GLMUCB.theory(**linked, n_arms=environment.n_arms, horizon=horizon)
    if not isinstance(environment.link, links.Poisson):  # Poisson noise is not sub-Gaussian
        learners["GLOC"] = GLOC.experiments(**linked)
    return learners


# By learner: source of the coverage guarantee, its probability, and the kind of claim.
_PROMISES = {
    "OFUGLB": ("Lee, Yun & Jun, Theorem 3.1", 1 - DELTA, "theorem"),
    "GLB-OMD, theory": ("Theorem 1", 1 - DELTA, "theorem"),
    "GLB-OMD, data radius": ("Lemmas 4 and 5", 1 - DELTA, "observation"),
    "OFULog-r": ("Abeille, Faury & Calauzenes", 1 - DELTA, "theorem"),
    "ECOLog": ("Faury et al. (with another radius)", 1 - DELTA, "observation"),
    "ada-OFU-ECOLog": ("Faury et al.; reconstructed, delta for each of its two sets", 1 - 2 * DELTA, "observation"),
    "GLM-UCB": ("Filippi et al., Theorem 2", 1 - DELTA, "theorem"),
    "GLOC": ("Jun et al.; reconstructed", 1 - DELTA, "observation"),
}
GENERAL = ("OFUGLB", "GLB-OMD, theory", "GLB-OMD, data radius")


def coverage_claims(promised: Mapping[str, Iterable[str]]) -> tuple[Claim, ...]:
    """Make the claim that confidence sets contain theta*, for learners with a guarantee and GLB-OMD with lambda = d.

    Args:
      promised: mapping from a panel to the learners with a guarantee on it.
    """
    unpromised = observations(
        "covers-lambda-d",
        share("GLB-OMD, lambda = d", of="error_ratio") > 1 - DELTA,
        on=promised.keys(),
        says="theta* lies in all confidence sets of {label}, which no theorem covers, in at least 95 % of the trials",
        least=1000,
    )
    return (
        *(
            claim
            for name, (place, probability, kind) in _PROMISES.items()
            if any(name in names for names in promised.values())
            for claim in claims(
                f"covers-{slug(name)}",
                share(name, of="error_ratio") > probability,
                on=[panel for panel, names in promised.items() if name in names],
                says=f"theta* lies in all confidence sets of {{label}} in at least {100.0 * probability:.0f} % of the "
                "trials",
                place=place,
                kind=kind,
                least=1000,
            )
        ),
        *unpromised,
    )


COVERAGE = THEOREMS.experiment(
    "coverage",
    "Theorem 1; the rivals' own theorems",
    title="estimation error divided by the confidence radius, logistic bandits",
    horizon=1000,
    presets={
        "theory": "every constant as the paper of the learner states it, except lambda if the label says lambda = d, "
        "and the radii of ECOLog and 'GLB-OMD, data radius', which are ours"
    },
    algorithms=_with_confidence_sets,
    panels=lambda horizon: {
        f"S{size}": Panel(f"S = {size}", GeneralizedLinear.fixed(norm_bound=float(size))) for size in (3, 5)
    },
    metric="error_ratio",
    meters=(meters.coverage(),),
    claims=coverage_claims({"S3": _PROMISES, "S5": _PROMISES}),
    notes=(
        "The metric error_ratio is the running maximum of the distance of theta* from the centre of the confidence "
        "set, divided by the radius. For a level set it is the square root of the ratio of the excess loss of theta* "
        "to the level. For GLM-UCB it is C_mu ||.||_V / rho; if this is at most 1, theta* is in the set.",
        "The experiments of the paper use lambda = d, which Theorem 1 does not cover. The data radius is valid "
        "for any lambda.",
        "In all panels delta = 0.05, d = 2 and K = 20, and each trial has one arm set.",
        "ada-OFU-ECOLog has two confidence sets with a failure probability of delta each. Its error_ratio is the "
        "larger of their two ratios, so it should be at most 1 in at least 90 % of the trials.",
    ),
    interpretations={
        "radii-of-code": Interpretation(
            "the paper does not restate the radii of GLM-UCB and ECOLog; in this reading they are those of public code "
            "instead of those of the theorems",
            {"GLM-UCB": {"radius_rule": "det"}, "ECOLog": {"radius_rule": "code"}},
        )
    },
    figures=(Shares(),),
    float64=True,
)
