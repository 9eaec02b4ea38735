"""Claims of the paper about more than one of its figures."""

from collections.abc import Sequence

from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.statements import (
    equivalent,
    growth,
    higher,
    lower,
    panel_ratio,
    slower,
    trial_time_ratio,
)
from jaxbandits.experiments.engine.statistic import total_time
from jaxbandits.experiments.engine.thresholds import COMPARABLE, LITTLE, MODEST

_POISSON, _OURS_POISSON = "Figure 2; Section 5", "ours, on Figure 2"
_SIZE = "Figure 3; Appendix F.2"
_SIZE_TIMES = "Figure 3, right; Appendix F.2"
_RARELY_SWITCHING = ("RS-GLinCB", "RS-GLinCB, tuned")  # with the constants of its theorem and of its authors' code


def logistic_regret(panels: Sequence[str]) -> tuple[Claim, ...]:
    """Compare regret with a logistic link in each panel, and from the first panel to the last."""
    first, last = panels[0], panels[-1]
    return (
        *(claim for panel in panels for claim in _logistic_regret_in(panel)),
        panel_ratio(
            "GLB-OMD",
            last,
            first,
            says="regret of GLB-OMD does not grow significantly with S",
            place=_SIZE,
            high=COMPARABLE,
        ),
        *_root_of_t(panels),
        *(
            panel_ratio(name, last, first, says=f"{name} degrades as S grows", place=_SIZE, low=COMPARABLE, trials=32)
            for name in _RARELY_SWITCHING
        ),
    )


def _logistic_regret_in(panel: str) -> tuple[Claim, ...]:
    place = "Figures 1 and 3; Section 5"
    here = {"on": panel, "trials": 16}
    comparable = ("ECOLog", *_RARELY_SWITCHING)
    return (
        *_lowest(panel, place, ("GLB-OMD", *comparable, "GLOC", "GLM-UCB", "OFULog-r")),
        *equivalent("GLB-OMD", comparable, says="GLB-OMD is comparable to {second}", place=place, **here),
        *lower("GLB-OMD", comparable, says="GLB-OMD is even slightly better", place=place, **here),
        *_modest(panel, place, "a modest price for one pass over the data"),
        *higher("GLOC", "GLB-OMD", factor=COMPARABLE, says="GLOC has relatively large regret", place=place, **here),
        *higher("OFULog-r", "GLB-OMD", says="OFULog-r has more regret", place="ours, on Figures 1 and 3", **here),
        *lower(
            "GLB-OMD, data radius", "GLB-OMD", says="the data radius is better than Theorem 1's", place="ours", **here
        ),
    )


def poisson_regret(panels: Sequence[str]) -> tuple[Claim, ...]:
    """Compare regret with a Poisson link in each panel."""
    return (
        *(claim for panel in panels for claim in _poisson_regret_in(panel)),
        *higher(
            "GLB-OMD, data radius",
            "GLB-OMD",
            on="S5",
            says="the data radius is worse than Theorem 1's",
            place="ours",
            trials=16,
        ),
        *_root_of_t(panels),
    )


def _poisson_regret_in(panel: str) -> tuple[Claim, ...]:
    here = {"on": panel, "place": _OURS_POISSON, "trials": 16}
    return (
        *_lowest(panel, _OURS_POISSON, ("GLB-OMD", *_RARELY_SWITCHING, "GLM-UCB", "GLOC")),
        *(
            claim
            for rival in (*_RARELY_SWITCHING, "GLM-UCB")
            for claim in higher(rival, "GLB-OMD", says=f"{rival} has more regret", **here)
        ),
        *_modest(panel, _POISSON, "a modest increase over OFUGLB"),
        *higher("GLOC", "GLB-OMD", factor=COMPARABLE, says="GLOC has large regret", **here),
    )


def _lowest(panel: str, place: str, rivals: Sequence[str]) -> tuple[Claim, ...]:
    return lower("OFUGLB", rivals, on=panel, says="OFUGLB has the lowest regret", place=place, trials=16)


def _modest(panel: str, place: str, says: str) -> tuple[Claim, ...]:
    return lower("GLB-OMD", "OFUGLB", on=panel, factor=MODEST, says=says, place=place, trials=16)


def _root_of_t(panels: Sequence[str]) -> tuple[Claim, ...]:
    says = "regret of GLB-OMD grows no faster than sqrt(T)"
    return growth("GLB-OMD", on=panels, says=says, place="ours, on Theorem 2 (an upper bound)", high=0.5)


def times_against_norm(panels: Sequence[str]) -> tuple[Claim, ...]:
    """Compare times of GLB-OMD and OFUGLB with a Poisson link, at each S from the first panel to the last."""
    first, last = panels[0], panels[-1]
    grown = 7568.0 / 2783.0  # seconds of OFUGLB at S = 9 over those at S = 3
    return (
        *(_within_a_second(panel, _SIZE_TIMES) for panel in panels),
        *(_stable("the running time of GLB-OMD remains stable", panel, first, _SIZE_TIMES) for panel in panels[1:]),
        _grows("OFUGLB", "the running time of OFUGLB scales with S", last, first, _SIZE_TIMES),
        trial_time_ratio(
            "OFUGLB",
            last,
            first,
            says=f"7568 seconds for 2783, which is {grown:.2g} times, within {COMPARABLE:g} times either way",
            place=_SIZE_TIMES,
            low=grown / COMPARABLE,
            high=grown * COMPARABLE,
        ),
        *_modest(last, _OURS_POISSON, "a modest increase over OFUGLB at this S too"),
    )


def logistic_times(first: str, last: str) -> tuple[Claim, ...]:
    """Compare run times with a logistic link, one trial at a time."""
    place, growing = "Figure 1, right; Section 5", "ours, on Figure 3, right (Poisson)"
    return (
        *_times(first, last, ("OFULog-r", "GLM-UCB", "ECOLog"), place, place, growing),
        *_faster((*_RARELY_SWITCHING, "ECOLog"), first, place),
        *_faster("ada-OFU-ECOLog", first, "ours, on Table 2"),
        *slower("OFUGLB", "GLB-OMD", on=last, says="substantial computational savings", place=place, times=10.0),
    )


def poisson_times(first: str, last: str) -> tuple[Claim, ...]:
    """Compare run times with a Poisson link, one trial at a time."""
    place, ours = "Figure 2, right; Section 5", "ours, on Figure 2, right (Section 5 says it of logistic bandits)"
    says = "the cost of OFUGLB is reduced by 1000 times"
    return (
        *_times(first, last, ("GLM-UCB",), ours, _SIZE_TIMES, _SIZE_TIMES),
        *_faster(_RARELY_SWITCHING, first, ours),
        *slower("OFUGLB", "GLB-OMD", on=last, says=says, place=place, times=1000.0),
    )


def _times(first: str, last: str, others: Sequence[str], place: str, stable: str, growing: str) -> tuple[Claim, ...]:
    """Compare times of a trial; `stable` and `growing` are the places of what is said about times against S."""
    return (
        *slower("GLB-OMD", "GLOC", on=first, says="GLOC is the fastest", place=place),
        *slower("OFUGLB", others, on=first, says="OFUGLB is the slowest", place=place),
        _stable("the cost of GLB-OMD does not depend on kappa", last, first, stable),
        *(_grows(name, f"the cost of {name} grows with kappa", last, first, place) for name in _RARELY_SWITCHING),
        _within_a_second(last, growing),
        _grows("OFUGLB", "the cost of OFUGLB grows with S", last, first, growing),
    )


def _faster(rivals: str | Sequence[str], panel: str, place: str) -> tuple[Claim, ...]:
    return slower(rivals, "GLB-OMD", on=panel, says="GLB-OMD is faster than {slow}", place=place)


def _stable(says: str, panel: str, over: str, place: str) -> Claim:
    return trial_time_ratio("GLB-OMD", panel, over, says=says, place=place, low=1.0 / LITTLE, high=LITTLE)


def _grows(name: str, says: str, panel: str, over: str, place: str) -> Claim:
    return trial_time_ratio(name, panel, over, says=says, place=place, low=LITTLE)


def _within_a_second(panel: str, place: str) -> Claim:
    text = f"a trial of GLB-OMD takes less than a second ({panel})"
    return Claim(text, place, total_time(panel, "GLB-OMD"), high=1.0, trials=3)
