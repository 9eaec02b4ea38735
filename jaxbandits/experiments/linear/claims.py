"""Claims of the paper about more than one of its figures."""

import math

from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.statements import Panels, equivalent
from jaxbandits.experiments.engine.statistic import advantage_growth, time_growth, total_time_ratio
from jaxbandits.experiments.engine.thresholds import FLAT, GROWS


def comparable(place: str, on: Panels) -> tuple[Claim, ...]:
    """Hvt-UCB loses little for its one pass over the data."""
    return equivalent("Hvt-UCB", "HEAVY-OFUL", on=on, says="Hvt-UCB is comparable to HEAVY-OFUL", place=place)


def time_claims(figure: str) -> tuple[Claim, ...]:
    """Section 5: HEAVY-OFUL is slower by orders; the other learners, which do not project, are somewhat faster."""
    place, table = f"{figure}, right; Section 5", f"{figure}, right; Table 1"
    return (
        _slower("HEAVY-OFUL", "Hvt-UCB", place, times=800.0),
        Claim(
            f"a round of Hvt-UCB costs no more the later it is: log-log slope of its time below {FLAT}",
            table,
            time_growth("max", "Hvt-UCB"),
            high=FLAT,
            trials=3,
        ),
        Claim(
            f"a round of HEAVY-OFUL costs more the later it is: log-log slope of its time above {GROWS}",
            table,
            time_growth("max", "HEAVY-OFUL"),
            low=GROWS,
            trials=3,
        ),
        Claim(
            "the advantage over HEAVY-OFUL grows with T: log-log slope of the ratio of times per round above 0",
            place,
            advantage_growth("max", "HEAVY-OFUL", "Hvt-UCB"),
            low=0.0,
            trials=3,
        ),
        *(_slower(name, "CRMM", place) for name in ("OFUL", "CRTM")),  # CRMM is the fastest
        *(_slower("Hvt-UCB", name, place, at_most=10.0) for name in ("OFUL", "CRTM", "CRMM")),
    )


def _slower(slow: str, fast: str, place: str, times: float = 1.0, at_most: float = math.inf) -> Claim:
    """Claim that a trial of one learner takes between `times` and `at_most` times as long as one of another."""
    text = f"a trial of {slow} takes more than {times:g} times as long as one of {fast}"
    if at_most < math.inf:
        text += f", and less than {at_most:g} times"
    return Claim(
        text.replace("more than 1 times as long as", "longer than"),
        place,
        total_time_ratio(("max", slow), ("max", fast)),
        low=times,
        high=at_most,
        trials=3,
    )
