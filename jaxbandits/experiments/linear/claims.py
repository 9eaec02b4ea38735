"""What the paper says about more than one of its figures."""

from collections.abc import Iterable

from jaxbandits.experiments.claim import Claim
from jaxbandits.experiments.statistic import mean_difference, time_growth, total_time_ratio


def time_claims(figure: str) -> tuple[Claim, ...]:
    """Section 5: HEAVY-OFUL is slower by orders, the others somewhat faster (no projection) and of the same order."""
    return (
        Claim(
            "Hvt-UCB is more than 800 times faster than HEAVY-OFUL over a whole trial",
            f"{figure}, right; Section 5", total_time_ratio(("max", "HEAVY-OFUL"), ("max", "Hvt-UCB")),
            low=800.0, trials=3,
        ),
        Claim(
            "a round of Hvt-UCB costs no more the later it is: log-log slope of its time below 0.1",
            f"{figure}, right; Table 1", time_growth("max", "Hvt-UCB"), high=0.1, trials=3,
        ),
        Claim(
            "a round of HEAVY-OFUL costs more the later it is: log-log slope of its time above 0.5",
            f"{figure}, right; Table 1", time_growth("max", "HEAVY-OFUL"), low=0.5, trials=3,
        ),
        *same_order(figure),
    )  # fmt: skip


def comparable(figure: str, panels: Iterable[str]) -> tuple[Claim, ...]:
    """Hvt-UCB loses little for its one pass over the data."""
    return tuple(
        Claim(
            f"Hvt-UCB is comparable to HEAVY-OFUL: mean regret at most twice HEAVY-OFUL's ({panel})",
            figure, mean_difference(panel, "Hvt-UCB", "HEAVY-OFUL", factor=2.0), high=0.0,
        )
        for panel in panels
    )  # fmt: skip


def same_order(figure: str) -> tuple[Claim, ...]:
    """Run times of the one-pass methods: CRMM the fastest, all within a factor of 10."""
    fastest = (
        Claim(
            f"CRMM is the fastest: a trial of {name} takes longer",
            f"{figure}, right; Section 5", total_time_ratio(("max", name), ("max", "CRMM")), low=1.0, trials=3,
        )
        for name in ("OFUL", "CRTM")
    )  # fmt: skip
    others = (
        Claim(
            f"{name} is faster than Hvt-UCB, by less than 10 times",
            f"{figure}, right; Section 5", total_time_ratio(("max", "Hvt-UCB"), ("max", name)),
            low=1.0, high=10.0, trials=3,
        )
        for name in ("OFUL", "CRTM", "CRMM")
    )  # fmt: skip
    return (*fastest, *others)
