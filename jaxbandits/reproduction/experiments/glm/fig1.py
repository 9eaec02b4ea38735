"""Figures 1 and 3: logistic bandits, one arm set a trial."""

import dataclasses
from collections.abc import Sequence

from jaxbandits.estimation.links import Bernoulli
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Timed
from jaxbandits.reproduction.engine.figures import Cost, Curves
from jaxbandits.reproduction.engine.statements import (
    growth,
    higher,
    lower,
    not_worse,
    panel_ratio,
    slower,
    trial_time_ratio,
)
from jaxbandits.reproduction.engine.statistic import total_time
from jaxbandits.reproduction.engine.thresholds import COMPARABLE, LITTLE, MODEST
from jaxbandits.reproduction.experiments.glm import setting

_SIZE, PLACE_OF_TIMES = "Figure 3; Appendix F.2", "Figure 3, right; Appendix F.2"
RARELY_SWITCHING = ("RS-GLinCB", "RS-GLinCB, tuned")  # with the constants of its theorem and of its authors' code


_ECOLOG = (
    "ECOLog's radius, which the paper does not state; the smaller ones that were run ('ECOLog, code' and 'ECOLog, data "
    "radius') widen the gap"
)
_OTHER_RADII = ("ECOLog, code", "ECOLog, data radius")
_FIXED_ARMS = "the arms: with fresh ones in every round (glm/fig1-tv) OFUGLB gains less on one pass"
_WARM_UP = (
    "the constants of RS-GLinCB: with those of its theorem nearly all rounds are warm-up at every S, and the ratio is "
    "that of uniform play"
)


def logistic_regret(panels: Sequence[str], ours: str = "") -> tuple[Claim, ...]:
    """Compare regret with a logistic link in each panel, and from the first panel to the last.

    Args:
      panels: by S.
      ours: why the figures' sentences are not about these panels; "": they are.
    """
    first, last = panels[0], panels[-1]
    size = f"ours, on {_SIZE} ({ours})" if ours else _SIZE
    theorem, code = (
        panel_ratio(name, last, first, says=f"{name} degrades as S grows", place=place, low=COMPARABLE, trials=32)
        for name, place in zip(RARELY_SWITCHING, (f"ours, on {_SIZE}", size), strict=True)
    )
    return (
        *(claim for panel in panels for claim in _logistic_regret_in(panel, ours)),
        panel_ratio(
            "GLB-OMD",
            last,
            first,
            says="regret of GLB-OMD does not grow significantly with S",
            place=size,
            high=COMPARABLE,
        ),
        *root_of_t(panels),
        dataclasses.replace(theorem, remark=_WARM_UP),
        code,
    )


def _logistic_regret_in(panel: str, ours: str) -> tuple[Claim, ...]:
    """Compare regret at one S: Section 5 speaks of Figure 1, and Appendix F.2 of the larger S of Figure 3."""
    in_figure_1 = panel in ("S3", "S5")
    figure = "Figure 1; Section 5" if in_figure_1 else _SIZE
    place = f"ours, on {figure} ({ours})" if ours else figure  # of what the text says of this figure
    only_1 = place if in_figure_1 or ours else f"ours, on {figure}"  # of what it says of Figure 1 alone
    here = {"on": panel, "trials": 32}
    comparable = ("ECOLog", *RARELY_SWITCHING) if in_figure_1 else ("ECOLog",)
    underperform = () if in_figure_1 else RARELY_SWITCHING
    as_ofuglb = () if in_figure_1 else ("OFUGLB",)
    rivals = ("GLB-OMD", "ECOLog", *RARELY_SWITCHING, "GLOC", "GLM-UCB", "OFULog-r")
    says = "GLB-OMD is comparable to {second} or better"
    return (
        *ofuglb_is_lowest(panel, only_1, rivals),
        *not_worse("GLB-OMD", comparable, says=says, place=place, remark=_ECOLOG, **here),
        *lower("GLB-OMD", comparable, says="GLB-OMD is even slightly better", place=only_1, remark=_ECOLOG, **here),
        *not_worse("GLB-OMD", as_ofuglb, says=says, place=place, remark=_FIXED_ARMS, **here),
        *not_worse("GLB-OMD", (*_OTHER_RADII, "ada-OFU-ECOLog"), says=says, place=f"ours, on {figure}", **here),
        *lower("GLB-OMD", underperform, says="RS-GLinCB underperforms", place=place, **here),
        *modest_increase(panel, only_1, "a modest price for one pass over the data", _FIXED_ARMS),
        *higher("GLOC", "GLB-OMD", factor=COMPARABLE, says="GLOC has relatively large regret", place=only_1, **here),
        *higher("OFULog-r", "GLB-OMD", says="OFULog-r has more regret", place=f"ours, on {figure}", **here),
        *lower(
            "GLB-OMD, data radius", "GLB-OMD", says="the data radius is better than Theorem 1's", place="ours", **here
        ),
    )


def logistic_times(first: str, last: str) -> tuple[Claim, ...]:
    """Compare run times with a logistic link, one trial at a time."""
    place, growing = "Figure 1, right; Section 5", "ours, on Figure 3, right (Poisson)"
    return (
        *times_of_a_trial(first, last, ("OFULog-r", "GLM-UCB", "ECOLog"), place, place, growing),
        *glb_omd_is_faster((*RARELY_SWITCHING, "ECOLog"), first, place),
        *glb_omd_is_faster("ada-OFU-ECOLog", first, "ours, on Table 2"),
        *slower("OFUGLB", "GLB-OMD", on=last, says="substantial computational savings", place=place, times=10.0),
    )


def ofuglb_is_lowest(panel: str, place: str, rivals: Sequence[str]) -> tuple[Claim, ...]:
    """Claim that no learner has less regret than OFUGLB, which keeps the data."""
    return lower("OFUGLB", rivals, on=panel, says="OFUGLB has the lowest regret", place=place, trials=32)


def modest_increase(panel: str, place: str, says: str, remark: str = "") -> tuple[Claim, ...]:
    """Claim that GLB-OMD pays little beside OFUGLB."""
    return lower("GLB-OMD", "OFUGLB", on=panel, factor=MODEST, says=says, place=place, remark=remark, trials=32)


def root_of_t(panels: Sequence[str]) -> tuple[Claim, ...]:
    """Claim the order of Theorem 2 in T."""
    says = "regret of GLB-OMD grows no faster than sqrt(T)"
    return growth("GLB-OMD", on=panels, says=says, place="ours, on Theorem 2 (an upper bound)", high=0.5)


def times_of_a_trial(
    first: str, last: str, others: Sequence[str], place: str, stable: str, growing: str
) -> tuple[Claim, ...]:
    """Compare times of a trial; `stable` and `growing` are the places of what is said about times against S."""
    return (
        *slower("GLB-OMD", "GLOC", on=first, says="GLOC is the fastest", place=place),
        *slower("OFUGLB", others, on=first, says="OFUGLB is the slowest", place=place),
        time_is_stable("the cost of GLB-OMD does not depend on kappa", last, first, stable),
        *(time_grows(name, f"the cost of {name} grows with kappa", last, first, place) for name in RARELY_SWITCHING),
        within_a_second(last, growing),
        time_grows("OFUGLB", "the cost of OFUGLB grows with S", last, first, growing),
    )


def glb_omd_is_faster(rivals: str | Sequence[str], panel: str, place: str) -> tuple[Claim, ...]:
    """Claim that a trial of GLB-OMD takes less time than one of these."""
    return slower(rivals, "GLB-OMD", on=panel, says="GLB-OMD is faster than {slow}", place=place)


def time_is_stable(says: str, panel: str, over: str, place: str) -> Claim:
    """Claim that a trial of GLB-OMD takes as long in one panel as in another."""
    return trial_time_ratio("GLB-OMD", panel, over, says=says, place=place, low=1.0 / LITTLE, high=LITTLE)


def time_grows(name: str, says: str, panel: str, over: str, place: str) -> Claim:
    """Claim that a trial of a learner takes longer in one panel than in another."""
    return trial_time_ratio(name, panel, over, says=says, place=place, low=LITTLE)


def within_a_second(panel: str, place: str) -> Claim:
    """Claim that a trial of GLB-OMD takes less than a second."""
    text = f"a trial of GLB-OMD takes less than a second ({panel})"
    return Claim(text, place, total_time(panel, "GLB-OMD"), high=1.0, trials=3)


_NORMS = (3, 5, 7, 9)
_PANELS = tuple(f"S{norm}" for norm in _NORMS)

FIG1 = setting.FIGURES.experiment(
    "fig1",
    "Figures 1 and 3 (v2: 1 and 4)",
    title="logistic bandits, one arm set a trial",
    panels=lambda horizon: setting.norms(_NORMS, Bernoulli(), fresh=False),
    claims=(
        *logistic_regret(_PANELS),
        *higher(
            "GLM-UCB",
            "uniform",
            on="S7",
            factor=0.8,
            says="GLM-UCB explodes with kappa",
            place="ours (Table 1 has an upper bound)",
            trials=32,
        ),
        *logistic_times("S3", "S9"),
    ),
    notes=(
        setting.UNSTATED,
        setting.COUNTS,
        setting.SEEDS_NOTE,
        setting.WORST_KAPPA,
        setting.ECOLOG,
        setting.ADA,
        setting.TUNING,
    ),
    slow=dict.fromkeys((*setting.MLE, "ada-OFU-ECOLog"), setting.SOME),
    figures=(Curves(not_drawn=setting.UNDRAWN, logarithmic=True), Cost("S")),
    timed=Timed(_PANELS, at=(1,)),
)
