"""What the paper says of its figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxbandits.experiments.engine.claim import Claim
from jaxbandits.experiments.engine.statistic import (
    growth_exponent,
    mean_difference,
    mean_ratio,
    time_growth,
    total_time,
    total_time_ratio,
    worst_ratio,
)
from jaxbandits.experiments.engine.thresholds import COMPARABLE, FLAT, GROWS, LITTLE, MODEST


def _lowest(panel: str, figure: str, rivals: Sequence[str]) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"OFUGLB has the lowest regret: mean below {rival}'s ({panel})",
            figure, mean_difference(panel, "OFUGLB", rival), high=0.0, trials=16,
        )
        for rival in rivals
    )  # fmt: skip


def _comparable(panel: str, figure: str, rival: str, text: str) -> Claim:
    return Claim(
        f"{text}: mean regret of GLB-OMD within {COMPARABLE:g} times {rival}'s either way ({panel})",
        figure, mean_ratio(panel, "GLB-OMD", rival), 1.0 / COMPARABLE, COMPARABLE, trials=16,
    )  # fmt: skip


def _better(panel: str, figure: str, rival: str) -> Claim:
    return Claim(
        f"and even slightly better: mean regret of GLB-OMD below {rival}'s ({panel})",
        figure, mean_difference(panel, "GLB-OMD", rival), high=0.0, trials=16,
    )  # fmt: skip


def _close_to(panel: str, figure: str, rival: str, factor: float, text: str) -> Claim:
    return Claim(
        f"{text}: mean regret of GLB-OMD at most {factor:g} times {rival}'s ({panel})",
        figure, mean_difference(panel, "GLB-OMD", rival, factor=factor), high=0.0, trials=16,
    )  # fmt: skip


def _above(panel: str, figure: str, rival: str, factor: float, text: str) -> Claim:
    return Claim(
        f"{text}: mean above {factor:g} times GLB-OMD's ({panel})",
        figure, mean_difference(panel, rival, "GLB-OMD", factor=factor), low=0.0, trials=16,
    )  # fmt: skip


def _data_radius(panel: str, *, better: bool) -> Claim:
    interval: dict[str, Any] = {"high": 0.0} if better else {"low": 0.0}
    return Claim(
        f"the data radius is {'better' if better else 'worse'} than Theorem 1's: mean regret of GLB-OMD is "
        f"{'lower' if better else 'higher'} with it ({panel})",
        "ours", mean_difference(panel, "GLB-OMD, data radius", "GLB-OMD"), **interval, trials=16,
    )  # fmt: skip


def _root_of_t(panels: Sequence[str]) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"regret of GLB-OMD grows no faster than sqrt(T): log-log slope at most 0.5 ({panel})",
            "ours, on Theorem 2 (an upper bound)", growth_exponent(panel, "GLB-OMD"), high=0.5,
        )
        for panel in panels
    )  # fmt: skip


EXPLODES = Claim(
    "GLM-UCB explodes with kappa: its mean regret at S7 is above 0.8 times that of uniform play",
    "ours (Table 1 has an upper bound)", mean_difference("S7", "GLM-UCB", "uniform", factor=0.8), low=0.0, trials=16,
)  # fmt: skip


def logistic_regret(panels: Sequence[str], first: str, last: str) -> tuple[Claim, ...]:
    """Who has how much regret with a logistic link, in each panel and from the first to the last."""
    figure, later = "Figures 1 and 3; Section 5", "Figure 3; Appendix F.2"
    claims: list[Claim] = []
    for panel in panels:
        claims += _lowest(panel, figure, ("GLB-OMD", "ECOLog"))
        claims += _lowest(panel, figure, ("RS-GLinCB", "RS-GLinCB, tuned", "GLOC", "GLM-UCB", "OFULog-r"))
        claims += [
            _comparable(panel, figure, "ECOLog", "comparable to ECOLog"),
            _comparable(panel, figure, "RS-GLinCB", "comparable to RS-GLinCB with the constants of its theorem"),
            _comparable(panel, figure, "RS-GLinCB, tuned", "comparable to RS-GLinCB with its authors' constants"),
            *(_better(panel, figure, rival) for rival in ("ECOLog", "RS-GLinCB", "RS-GLinCB, tuned")),
            _close_to(panel, figure, "OFUGLB", MODEST, "a modest price for one pass over the data"),
            _above(panel, figure, "GLOC", COMPARABLE, "GLOC has relatively large regret"),
            _above(panel, "ours, on Figures 1 and 3", "OFULog-r", 1.0, "OFULog-r has more regret"),
            _data_radius(panel, better=True),
        ]
    return (
        *claims,
        Claim(
            f"regret of GLB-OMD does not grow significantly with S: its mean at {last} is at most {COMPARABLE:g} times "
            f"that at {first}", later, worst_ratio((last,), (first,), "GLB-OMD"), high=COMPARABLE,
        ),
        *_root_of_t(panels),
        *(
            Claim(
                f"{name} degrades as S grows: its mean regret at {last} is above {COMPARABLE:g} times that at {first}",
                later, worst_ratio((last,), (first,), name), low=COMPARABLE, trials=32,
            )
            for name in ("RS-GLinCB", "RS-GLinCB, tuned")
        ),
    )  # fmt: skip


def poisson_regret(panels: Sequence[str]) -> tuple[Claim, ...]:
    """Who has how much regret with a Poisson link."""
    figure = "Figure 2; Section 5"
    claims: list[Claim] = []
    for panel in panels:
        rivals = ("GLB-OMD", "RS-GLinCB", "RS-GLinCB, tuned", "GLM-UCB", "GLOC")
        claims += _lowest(panel, "ours, on Figure 2", rivals)
        claims += [
            _above(panel, "ours, on Figure 2", rival, 1.0, f"{rival} has more regret")
            for rival in ("RS-GLinCB", "RS-GLinCB, tuned", "GLM-UCB")
        ]
        claims += [_close_to(panel, figure, "OFUGLB", MODEST, "a modest increase over OFUGLB")]
        claims += [_above(panel, "ours, on Figure 2", "GLOC", COMPARABLE, "GLOC has large regret")]
    return (*claims, _data_radius("S5", better=False), *_root_of_t(panels))


def times_against_size(panels: Sequence[str]) -> tuple[Claim, ...]:
    """Figure 3, right: GLB-OMD beside OFUGLB with a Poisson link, at each S from the first to the last panel."""
    figure, (first, *later) = "Figure 3, right; Appendix F.2", panels
    return (
        *(
            Claim(
                f"a trial of GLB-OMD takes less than a second ({panel})",
                figure, total_time(panel, "GLB-OMD"), high=1.0, trials=3,
            )
            for panel in panels
        ),
        *(
            Claim(
                f"the running time of GLB-OMD remains stable: a trial at {panel} within {LITTLE:g} times one at "
                f"{first}",
                figure, total_time_ratio((panel, "GLB-OMD"), (first, "GLB-OMD")), low=1.0 / LITTLE, high=LITTLE,
                trials=3,
            )
            for panel in later
        ),
        Claim(
            f"that of OFUGLB scales with S: a trial at {later[-1]} takes above {LITTLE:g} times one at {first}",
            figure, total_time_ratio((later[-1], "OFUGLB"), (first, "OFUGLB")), low=LITTLE, trials=3,
        ),
        Claim(
            f"7568 seconds for 2783: a trial of OFUGLB at {later[-1]} takes 2.7 times one at {first}, within "
            f"{COMPARABLE:g} times either way",
            figure, total_time_ratio((later[-1], "OFUGLB"), (first, "OFUGLB")),
            low=7568.0 / 2783.0 / COMPARABLE, high=7568.0 / 2783.0 * COMPARABLE, trials=3,
        ),
        _close_to(later[-1], "ours, on Figure 2", "OFUGLB", MODEST, "a modest increase over OFUGLB at this S too"),
    )  # fmt: skip


def costs(figure: str, first: str, last: str, names: Sequence[str], saving: str, least: float) -> tuple[Claim, ...]:
    """Run times, one trial at a time; `saving` is what is said of GLB-OMD against OFUGLB."""
    logistic = "ECOLog" in names
    poisson = "Figure 3, right; Appendix F.2"
    growth = "ours, on Figure 3, right (Poisson)" if logistic else poisson
    said = f"{figure}; Section 5" if logistic else f"ours, on {figure} (Section 5 says it of logistic bandits)"
    rivals = dict.fromkeys(("RS-GLinCB", "RS-GLinCB, tuned"), said)
    rivals |= {"ECOLog": said, "ada-OFU-ECOLog": "ours, on Table 2"} if logistic else {}
    return (
        Claim(
            "GLOC is the fastest: a trial of GLB-OMD takes longer",
            said, total_time_ratio((first, "GLB-OMD"), (first, "GLOC")), low=1.0, trials=3,
        ),
        *(
            Claim(
                f"OFUGLB is the slowest: a trial takes longer than one of {name}",
                said, total_time_ratio((first, "OFUGLB"), (first, name)), low=1.0, trials=3,
            )
            for name in names
        ),
        Claim(
            f"the cost of GLB-OMD does not depend on kappa: a trial at {last} within {LITTLE:g} times one at {first}",
            said if logistic else poisson, total_time_ratio((last, "GLB-OMD"), (first, "GLB-OMD")),
            low=1.0 / LITTLE, high=LITTLE, trials=3,
        ),
        *(
            Claim(
                f"the cost of {name} grows with kappa: a trial at {last} takes above {LITTLE:g} times one at {first}",
                said, total_time_ratio((last, name), (first, name)), low=LITTLE, trials=3,
            )
            for name in ("RS-GLinCB", "RS-GLinCB, tuned")
        ),
        Claim(
            f"a trial of GLB-OMD takes less than a second ({last})",
            growth, total_time(last, "GLB-OMD"), high=1.0, trials=3,
        ),
        Claim(
            f"the cost of OFUGLB grows with S: a trial at {last} takes above {LITTLE:g} times one at {first}",
            growth, total_time_ratio((last, "OFUGLB"), (first, "OFUGLB")), low=LITTLE, trials=3,
        ),
        *(
            Claim(
                f"GLB-OMD is faster than {name}: a trial of it takes longer ({first})",
                source, total_time_ratio((first, name), (first, "GLB-OMD")), low=1.0, trials=3,
            )
            for name, source in rivals.items()
        ),
        Claim(
            f"{saving}: a trial of OFUGLB takes more than {least:g} times one of GLB-OMD ({last})",
            f"{figure}; Section 5", total_time_ratio((last, "OFUGLB"), (last, "GLB-OMD")), low=least, trials=3,
        ),
    )  # fmt: skip


SAVINGS = ("substantial computational savings", 10.0)  # said of logistic bandits
THOUSAND = ("the cost of OFUGLB is reduced by 1000 times", 1000.0)  # said of Poisson bandits

# Table 1 and Table 2: exponents of t in the cost of a round, where the methods keep every round; logs read as constant.
# RS-GLinCB is not here: see the notes of FIG1_TV.
ORDERS = {
    "GLM-UCB": 1,
    "GLOC": 0,
    "OFUGLB": 1,
    "OFULog-r": 1,
    "ECOLog": 0,
    "ada-OFU-ECOLog": 0,
    "OFUL-MLogB": 0,
    "GLB-OMD": 0,
}


def table_claims(panel: str, names: Sequence[str]) -> tuple[Claim, ...]:
    """How the cost of a round grows with t."""
    return tuple(
        Claim(
            f"a round of {name} costs " + (f"no more the later it is: log-log slope of its time below {FLAT}"
            if ORDERS[name] == 0 else f"more the later it is: log-log slope of its time above {GROWS}"),
            "ours: in no table" if name == "OFULog-r" else "Tables 1 and 2, time per round", time_growth(panel, name),
            low=-np.inf if ORDERS[name] == 0 else GROWS, high=FLAT if ORDERS[name] == 0 else np.inf, trials=3,
        )
        for name in names
    )  # fmt: skip
