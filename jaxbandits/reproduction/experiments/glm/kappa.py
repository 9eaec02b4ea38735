"""Theorem 2 and Table 1 of Zhang et al. (2025): regret against kappa."""


import numpy as np

from jaxbandits.diagnostics import glm as meters
from jaxbandits.glm import GLBOMD, GLOC, ECOLog, GeneralizedLinear
from jaxbandits.reproduction.engine import Against, Interpretation, Learners, Panel
from jaxbandits.reproduction.experiments.glm.setting import DELTA, THEOREMS
from jaxbandits.reproduction.sentences import COMPARABLE, growth_over, observations, panel_ratio

_KAPPA = {f"S{size}": float(2.0 + 2.0 * np.cosh(size)) for size in range(1, 10)}  # over the ball of radius S


def _one_pass(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    common = {"dim": 2, "norm_bound": float(panel.environment.norm_bound), "delta": DELTA}
    return {
        "GLB-OMD": GLBOMD.experiments(**common),
        "GLB-OMD, theory": GLBOMD.theory(**common),
        "GLB-OMD, data radius": GLBOMD.practical(**common),
        "ECOLog": ECOLog.experiments(**common),
        "GLOC": GLOC.experiments(**common),
    }


KAPPA = THEOREMS.experiment(
    "kappa",
    "Theorem 2 and Table 1",
    title="regret against kappa, logistic bandits",
    presets={"experiments": "constants of the theorems, but lambda = d unless the label says 'theory'"},
    algorithms=_one_pass,
    panels=lambda horizon: {
        name: Panel(f"S = {size}", GeneralizedLinear.fixed(norm_bound=float(size)), x=kappa)
        for size, (name, kappa) in enumerate(_KAPPA.items(), start=1)
    },
    meters=(meters.kappa(), meters.optimal_slope()),
    claims=(
        *observations("free-of-kappa", growth_over(_KAPPA, "kappa", "GLB-OMD", "GLB-OMD, theory") < 0.1,
                      says="the regret of {label} does not grow with "
                      "kappa", place="Theorem 2 (an upper bound)", least=1000),
        *observations("gloc-not-free", growth_over(_KAPPA, "kappa", "GLOC") > 0.25,
                      says="the regret of GLOC grows with kappa", place="Table 1 (an upper bound)",
                      least=1000),
        *observations("stable-in-s", panel_ratio("GLB-OMD", "S9", "S3") < COMPARABLE,
                      says="from S = 3 to S = 9 the regret of GLB-OMD does not grow "
                      "much", place="Figure 3 (with more seeds)", least=1000),
    ),
    notes=(
        "In the figure and the rows, kappa is the largest one over the ball, 2 + 2 cosh(S); the metric kappa is that "
        "of each instance. d = 2, K = 20, and each trial has one arm set. Regret is at most T = 3,000, so its growth "
        "with kappa must level off.",
    ),
    interpretations={
        "delta-0.01": Interpretation(
            "delta is not stated for the synthetic experiments; in this reading it is 0.01, the value for Covertype, "
            "instead of 0.05",
            {key: {"delta": 0.01} for key in ("GLB-OMD", "GLB-OMD, theory", "GLB-OMD, data radius", "ECOLog", "GLOC")},
        )
    },
    figures=(Against("kappa"),),
)
