"""Claims of the paper about more than one of its figures."""

from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.statements import Panels, equivalent, round_cost, slower
from jaxbandits.experiments.engine.statistic import advantage_growth


def comparable(place: str, on: Panels) -> tuple[Claim, ...]:
    """Claim that Hvt-UCB loses little for its one pass over the data."""
    return equivalent("Hvt-UCB", "HEAVY-OFUL", on=on, says="Hvt-UCB is comparable to HEAVY-OFUL", place=place)


def time_claims(figure: str) -> tuple[Claim, ...]:
    """Claim what Section 5 says of times: HEAVY-OFUL is slower by orders, the others, which do not project, faster."""
    place, table = f"{figure}, right; Section 5", f"{figure}, right; Table 1"
    return (
        *slower("HEAVY-OFUL", "Hvt-UCB", on="max", place=place, times=800.0),
        round_cost("Hvt-UCB", on="max", place=table, grows=False),
        round_cost("HEAVY-OFUL", on="max", place=table, grows=True),
        Claim(
            "the advantage over HEAVY-OFUL grows with T: log-log slope of the ratio of times per round above 0",
            place,
            advantage_growth("max", "HEAVY-OFUL", "Hvt-UCB"),
            low=0.0,
            trials=3,
        ),
        *slower(("OFUL", "CRTM"), "CRMM", on="max", place=place),  # CRMM is the fastest
        *slower("Hvt-UCB", ("OFUL", "CRTM", "CRMM"), on="max", place=place, at_most=10.0),
    )
