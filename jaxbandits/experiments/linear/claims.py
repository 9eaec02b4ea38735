"""What the paper says about more than one of its figures."""

from collections.abc import Iterable

from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.statistic import advantage_growth, mean_ratio, time_growth, total_time_ratio
from jaxbandits.experiments.engine.thresholds import COMPARABLE, FLAT, GROWS


def time_claims(figure: str) -> tuple[Claim, ...]:
    """Section 5: HEAVY-OFUL is slower by orders, the others somewhat faster (no projection) and of the same order."""
    return (
        Claim(
            "Hvt-UCB is more than 800 times faster than HEAVY-OFUL over a whole trial",
            f"{figure}, right; Section 5", total_time_ratio(("max", "HEAVY-OFUL"), ("max", "Hvt-UCB")),
            low=800.0, trials=3,
        ),
        Claim(
            f"a round of Hvt-UCB costs no more the later it is: log-log slope of its time below {FLAT}",
            f"{figure}, right; Table 1", time_growth("max", "Hvt-UCB"), high=FLAT, trials=3,
        ),
        Claim(
            f"a round of HEAVY-OFUL costs more the later it is: log-log slope of its time above {GROWS}",
            f"{figure}, right; Table 1", time_growth("max", "HEAVY-OFUL"), low=GROWS, trials=3,
        ),
        Claim(
            "the advantage over HEAVY-OFUL grows with T: log-log slope of the ratio of times per round above 0",
            f"{figure}, right; Section 5", advantage_growth("max", "HEAVY-OFUL", "Hvt-UCB"), low=0.0, trials=3,
        ),
        *same_order(figure),
    )  # fmt: skip


def comparable(figure: str, panels: Iterable[str]) -> tuple[Claim, ...]:
    """Hvt-UCB loses little for its one pass over the data."""
    return tuple(
        close("Hvt-UCB is comparable to HEAVY-OFUL", figure, panel, "Hvt-UCB", "HEAVY-OFUL") for panel in panels
    )


def close(text: str, source: str, panel: str, first: str, second: str) -> Claim:
    """Equivalence: the ratio of mean regrets within a factor."""
    return Claim(
        f"{text}: mean regret within {COMPARABLE:g} times either way ({panel})",
        source, mean_ratio(panel, first, second), 1.0 / COMPARABLE, COMPARABLE,
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
