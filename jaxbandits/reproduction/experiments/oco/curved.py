"""Theorem 3.2 of Wang et al. (2025) for curved losses: regret on the unit ball compared with the bound."""

from typing import Any

from jaxbandits.base.pytree import FieldValue
from jaxbandits.oco import Alternating, Drift, IsolatedFlips, PseudoHuberLosses, QuadraticLosses
from jaxbandits.reproduction.engine import Against, Curves, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import (
    RADIUS_FOR_D,
    STUDY,
    on_the_ball,
    panels_beside_bounds,
    share_of_bound,
)
from jaxbandits.reproduction.sentences import growth, mean, observations

_DIM = 5


def environments(horizon: int) -> dict[str, tuple[str, Any]]:
    """Return a mapping from the name of each panel to its title and its environment."""

    def quadratic(noise: float, sequence: FieldValue = None) -> QuadraticLosses:
        moving = {} if sequence is None else {"sequence": sequence}
        return QuadraticLosses(dim=_DIM, center=0.5, noise_scale=noise, **moving)

    corrupted = IsolatedFlips(count=max(1, min(64, (horizon - 3) // 2)), horizon=horizon)
    return {
        "iid-0.5": ("quadratic, i.i.d., s = 0.5", quadratic(0.5)),
        "iid-0.1": ("quadratic, i.i.d., s = 0.1", quadratic(0.1)),
        "huber": (
            "pseudo-Huber, i.i.d., s = 0.5",
            PseudoHuberLosses(dim=_DIM, radius=1.0, center=0.5, noise_scale=0.5),
        ),
        "flips-1": ("quadratic, centre flips every round, s = 0.1", quadratic(0.1, Alternating(period=1))),
        "corrupted": ("quadratic, corrupted, C = 64, s = 0.3", quadratic(0.3, corrupted)),
        "drift": ("quadratic, drift, s = 0.3", quadratic(0.3, Drift(horizon=horizon))),
    }


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    return on_the_ball(_DIM, float(panel.environment.lipschitz))


_PANELS = tuple(environments(4096))

CURVED = STUDY.experiment(
    "curved",
    "Theorem 3.2",
    title="regret against the bound D (sqrt(sigma^2) + sqrt(Sigma^2)): curved losses on the unit ball of R^5",
    horizon=2**14,
    seeds=128,
    algorithms=_learners,
    panels=lambda horizon: panels_beside_bounds(environments(horizon), horizon, ("drift",)),
    tabulated=("share_of_bound",),
    derive=share_of_bound,
    record_points=("log", 50),
    claims=(
        *observations("within-bound", mean("OONS", of="share_of_bound") < 1.0, on=_PANELS,
                      says="on curved losses the regret of OONS ends below D (sqrt(sigma^2) + sqrt(Sigma^2)), with 1 "
                      "for the hidden constant",
                      place="Theorem 3.2"),
        *observations("grows-as-root-t", growth("OONS") < 0.5, on=("iid-0.5", "huber", "flips-1"),
                      says="if sigma^2 + Sigma^2 grows in proportion to T, the regret of OONS grows no faster than "
                      "T^(1/2)",
                      place="Theorem 3.2"),
        *observations("below-omd", mean("OONS") < mean("optimistic OMD"), on=_PANELS,
                      says="OONS has less regret than optimistic OMD, which receives the same information",
                      place="Remark 3.3"),
        *observations("hint-helps", mean("OGD") > mean("OONS"), on=("corrupted", "drift"),
                      says="if the mean changes, OONS with its hints has less regret than OGD"),
    ),
    notes=(
        "Losses on the unit ball are quadratic losses of smoothness L = 1 around the centre 0.5 v_t plus noise, where "
        "the panel determines the direction v_t, or pseudo-Huber losses. Learners receive G. For quadratic losses "
        "regret is against the best fixed point in hindsight, for pseudo-Huber losses against the minimiser of the "
        "mean loss.",
        "The bound grows as sqrt(T) only for large T. In oco/growth the growth after 2^18 rounds is compared with that "
        "of the bound.",
        "Neither the learners nor the theorem use the curvature. The test uses 1 for the hidden constant of the "
        "theorem.",
    ),
    interpretations={"radius-for-D": RADIUS_FOR_D},
    figures=(Against("D (sqrt(sigma^2) + sqrt(Sigma^2))"), Curves(logarithmic=True)),
)
