"""Inequalities of Wang et al. (2025) that hold on every path, checked during the runs."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.diagnostics import oco as meters
from jaxbandits.domains import L2Ball
from jaxbandits.oco import CAOONS, CLAOONS, OONS, LinearLosses, PseudoHuberLosses
from jaxbandits.reproduction.engine import Curves, Learner, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import THEOREMS
from jaxbandits.reproduction.sentences import share, share_for_all, theorems
from jaxbandits.simulation import Meter, Round


def _certify(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    dim = panel.environment.dim
    return {
        "OONS": OONS(dim=dim, domain=L2Ball(radius=4.0)),
        "CLA-OONS": CLAOONS(dim=dim),
        "CA-OONS": CAOONS.theory(dim=dim, horizon=horizon),
        "CA-OONS as printed": CAOONS.theory(dim=dim, horizon=horizon, meta_loss="paper"),
    }


_META = ("CA-OONS", "CA-OONS as printed")
_ALL = ("OONS", "CLA-OONS", *_META)
_ROWS = {"on": ("linear", "curved"), "least": 200}


def _of_meta(measure: Callable[[Round], Any]) -> Callable[[Round], Any]:
    """Return a function of a round for a meter: `measure`, or 0 for learners without a meta algorithm."""

    def of(r: Round) -> jax.Array:
        return 0.0 * r.outcome.loss if isinstance(r.algorithm, (OONS, CLAOONS)) else measure(r)

    return of


def _meta_excess(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Compute the largest violation of the meta regret inequality over base learners; negative if it always holds."""
    del algorithm, panel
    return {"meta_excess": trials.get("meta_loss") - trials.get("meta_budget")}


_SLACK = meters.least_slack((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0), (-30.0, 40.0), relative=True)

CERTIFICATES = THEOREMS.experiment(
    "certificates",
    "Appendix C; Lemma D.1",
    title="path-wise certificates checked during the runs",
    horizon=2**12,
    seeds=704,
    algorithms=_certify,
    panels=lambda horizon: {
        "linear": Panel("linear losses", LinearLosses(dim=2, mean=0.1, noise_scale=0.9, comparator=-1.0)),
        "curved": Panel("pseudo-Huber losses", PseudoHuberLosses(dim=2, center=3.0, noise_scale=0.2)),
    },
    metric="negative_slack",
    tabulated=("projection_residual", "precondition", "stability", "meta_precondition", "meta_excess", "regret"),
    record_points=8,
    meters=(
        Meter("projection_residual", meters.worst_projection, "max"),
        Meter("precondition", meters.worst_precondition, "max"),
        Meter("stability", meters.worst_stability, "max"),
        Meter("negative_slack", lambda r: -_SLACK(r), "max"),
        Meter("meta_precondition", _of_meta(meters.worst_meta_precondition), "max"),
        Meter("meta_loss", _of_meta(meters.meta_loss), "sum"),
        Meter("meta_budget", _of_meta(meters.meta_budget), "last"),
    ),
    derive=_meta_excess,
    figures=(Curves(limit=1e-5),),
    claims=(
        *theorems("minimisers", share(*_ALL, of="projection_residual", at_most=1e-5) > share_for_all(200),
                  says="both steps of a round are minimisers over the ball (KKT residual below 1e-5)",
                  place="Algorithm 1", **_ROWS),
        *theorems("preconditions", share(*_ALL, of="precondition", at_most=1.0 + 1e-4) > share_for_all(200),
                  says="the preconditions of Theorem 3.1 hold in every round", place="Theorem 3.1", **_ROWS),
        *theorems(
            "path-wise",
            share(*_ALL, of="negative_slack", at_most=1e-5) > share_for_all(200),
            says="the path-wise inequality of Appendix C holds in every round, for the comparators +-e_1, +-e_2 and "
            "(-30, 40) (to a relative accuracy of 1e-5)",
            place="Appendix C",
            **_ROWS,
        ),
        *theorems("stability", share(*_ALL, of="stability", at_most=1e-5) > share_for_all(200),
                  says="0 <= <x_t - x'_{t+1}, nabla_t - m_t> <= ||nabla_t - m_t||^2 in every round, in the norm of "
                  "A_t^{-1} (to a relative accuracy of 1e-5)",
                  place="Lemma C.3, which has twice this right side", **_ROWS),
        *theorems("meta-preconditions", share(*_META, of="meta_precondition", at_most=1.0 + 1e-4) > share_for_all(200),
                  says="64 beta_k |l_j - h_j| <= 1 for every expert of a middle learner, in every round",
                  place="Chen, Luo & Wei 2021, quoted in Lemma D.1", **_ROWS),
        *theorems("meta-regret", share(*_META, of="meta_excess", at_most=0.0) > share_for_all(200),
                  says="the regret of the meta algorithm against every base learner is within its bound, with all "
                  "constants",
                  place="Chen, Luo & Wei 2021, quoted in Lemma D.1", **_ROWS),
    ),
    notes=(
        "The metric negative_slack is the running maximum of the violation of the path-wise inequality, relative to "
        "its terms. In the stability inequality of Lemma C.3, nabla_t is the corrected gradient and m_t the hint. In "
        "the meta algorithm, beta_k is the step size of middle learner k, and l_j and h_j are the loss and the hint of "
        "its expert j.",
        "In float32, quantities that should be 0 are a few machine epsilons.",
        "CA-OONS as printed satisfies all these inequalities too; it fails because its surrogate loss does not bound "
        "its loss (oco/e3). For learners without a meta algorithm, metrics of the meta algorithm are 0.",
    ),
)
