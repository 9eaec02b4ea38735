"""Section 5 of Wang et al. (2025): share of rewards that CRTM truncates, and the effect on its regret."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.diagnostics import linear as meters
from jaxbandits.linear import CRTM
from jaxbandits.reproduction.engine import Curves, Interpretation, Learner, Learners, Panel, Problem
from jaxbandits.reproduction.experiments.linear.drop import panels
from jaxbandits.reproduction.experiments.linear.setting import DIM, RECONSTRUCTED, STUDY, TITLES, TWO_NORMALISATIONS
from jaxbandits.reproduction.sentences import claims, mean, observations
from jaxbandits.simulation import Meter

_NOTHING = "CRTM, nothing truncated"
_FACTORS = {"CRTM": 1.0, "CRTM, Gamma x 0.1": 0.1, "CRTM, Gamma x 0.01": 0.01, _NOTHING: np.inf}
_LARGE = 0.01  # share of rewards that counts as large; the paper gives no number


def _thresholds(preset: str, horizon: int, panel: Panel) -> Learners:
    environment: Problem = panel.environment
    learner = getattr(CRTM, preset)(
        dim=DIM, horizon=horizon, eps=float(environment.eps), noise_scale=float(environment.moment_scale)
    )
    scale = float(learner.threshold_scale)
    return {label: dataclasses.replace(learner, threshold_scale=scale * factor) for label, factor in _FACTORS.items()}


def _share_of_rewards(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    del algorithm, panel
    return {"truncated_share": trials.get("truncated") / trials.record_points}


_LIGHT = {f"gaussian-{name}": title for name, title in TITLES.items()}

TRUNCATION = STUDY.experiment(
    "truncation",
    "Section 5",
    horizon_stated=True,
    title="rewards that CRTM truncates",
    algorithms=_thresholds,
    panels=panels,
    reconstructed={label: RECONSTRUCTED["CRTM"] for label in _FACTORS if label != _NOTHING},
    tabulated=("truncated_share",),
    meters=(Meter("truncated", meters.is_truncated),),
    derive=_share_of_rewards,
    claims=(
        *observations("truncates-many", mean("CRTM", of="truncated_share") > _LARGE, on=_LIGHT,
                      says="CRTM truncates many rewards under Gaussian noise", place="Section 5"),
        *claims("loses-data", mean("CRTM") > mean(_NOTHING), on=_LIGHT,
                says="under Gaussian noise, truncation loses valuable data", place="Figure 2, left; Section 5"),
        *observations("smaller-threshold", mean("CRTM, Gamma x 0.01") > mean(_NOTHING), on=_LIGHT,
                      says="under Gaussian noise, truncation at a hundredth of the threshold loses valuable "
                      "data", place="Section 5"),
        *observations("heavy-tails", mean("CRTM") < mean(_NOTHING),
                      on={f"student-{name}": title for name, title in TITLES.items()},
                      says="truncation helps under heavy tails such as Student t noise", place="Section 1"),
    ),
    notes=(
        TWO_NORMALISATIONS,
        "The metric truncated_share is the share of rounds in which ||x||_{V^-1} |reward| exceeds the threshold Gamma. "
        "Gamma is that of the preset times the factor in the label. CRTM's paper was not at hand, so the formula "
        "for Gamma is reconstructed.",
    ),
    interpretations={
        "newton-steps": Interpretation(
            "Section 5 measures the time of a closed-form least-squares estimate, but the paper of CRTM has online "
            "Newton steps; this reading has online Newton steps",
            {key: {"mode": "ons"} for key in _FACTORS},
        )
    },
    figures=(Curves(metric="truncated_share"), Curves(name="regret")),
)
