"""Regret against the comparator u = 0: the cost of moving away from the origin."""

from collections.abc import Mapping

from jaxbandits.oco import CAOONS, CLAOONS, Alternating, KTBetting, LinearLosses, ParameterFreeMD, PseudoHuberLosses
from jaxbandits.reproduction.engine import Curves, Learners, Panel
from jaxbandits.reproduction.experiments.oco.setting import STUDY, VALUES
from jaxbandits.reproduction.sentences import FLAT, MUCH, growth, mean, observations, share, share_for_all, theorems

_PANELS = ("flips", "noise")
_SMALL = 8  # number of additional radii 1, 1/2, ..., 1/128
_BET = 1.0  # eps of KT betting, which bounds its loss against 0


def panels(horizon: int) -> Mapping[str, Panel]:
    """Make two panels: `flips`, in which hints are wrong, and `noise`, in which targets scatter around the origin."""
    del horizon
    flips = LinearLosses(dim=2, mean=0.8, noise_scale=0.2, sequence=Alternating(period=1), comparator=0.0)
    return {
        "flips": Panel("linear, the mean flips every round, m = 0.8, s = 0.2", flips),
        "noise": Panel("pseudo-Huber around 0, s = 1", PseudoHuberLosses(dim=2, center=0.0, noise_scale=1.0)),
    }


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    dim = panel.environment.dim
    return {
        "CA-OONS": CAOONS.theory(dim=dim, horizon=horizon),
        "CA-OONS, small radii too": CAOONS.theory(dim=dim, horizon=horizon, n_small=_SMALL),
        "CLA-OONS": CLAOONS(dim=dim),
        "KT betting": KTBetting(dim=dim, initial_wealth=_BET),
        "parameter-free MD": ParameterFreeMD(dim=dim),
    }


ORIGIN = STUDY.experiment(
    "origin",
    "Theorems 4.1 and 4.5",
    title="regret against the comparator u = 0",
    horizon=2**15,
    seeds=200,
    algorithms=_learners,
    panels=panels,
    record_points=("log", 60),
    claims=(
        *theorems("flat", growth("CA-OONS") < FLAT, on=_PANELS,
                  says="the regret of CA-OONS against the origin does not grow with T, since the bound at u = 0 is "
                  "O~(0)",
                  place="Theorem 4.1, (8) read at u = 0"),
        *observations(
            "ca-oons-root-t",
            growth("CA-OONS") < 0.5,
            on=_PANELS,
            says="the regret of CA-OONS against the origin grows no faster than T^(1/2), as in the proof, which has 2 "
            "in place of ||u||",
            place="Appendix D",
        ),
        *observations(
            "cla-oons-root-t",
            growth("CLA-OONS") < 0.5,
            on=_PANELS,
            says="the regret of CLA-OONS against the origin grows no faster than T^(1/2), like the only term of its "
            "bound that remains at u = 0",
            place="Theorem 4.5",
        ),
        *observations("small-radii", mean("CA-OONS") > MUCH * mean("CA-OONS, small radii too"), on=_PANELS,
                      says="radii 1, 1/2, ... in addition to the paper's radii 2, 4, ... "
                      "reduce the regret of CA-OONS against the origin"),
        *observations("keeps-wealth", share("KT betting", of="regret", at_most=1.001 * _BET) > share_for_all(200),
                      on=_PANELS,
                      says=f"the regret of KT betting against the origin ends at most at its initial wealth, {_BET:g}",
                      place="Orabona & Pal 2016", least=200),
    ),
    notes=(
        "At u = 0 the bound (8) of Theorem 4.1 is O~(0), that is, 0 whatever the hidden constant. The proof has "
        "max(||u||, D_1) with D_1 = 2 in place of ||u||, which leaves the square root of the variances. Both forms are "
        "tested.",
        "The bounds grow as sqrt(T) only for large T. Step sizes stay at their cap until V_t, the sum of the squared "
        "errors of the hints, reaches 16384 G^2, and longer for CLA-OONS, whose cap decreases as its ball grows. The "
        "experiment oco/growth has 2^18 rounds.",
        "As long as step sizes stay at their cap, a learner whose hints are always wrong (panel flips) has a constant "
        "loss per round.",
    ),
    interpretations={"values": VALUES},
    figures=(Curves(logarithmic=True),),
)
