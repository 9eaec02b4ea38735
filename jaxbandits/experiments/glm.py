"""Figures of "Generalized Linear Bandits: Almost Optimal Regret with One-Pass Update" (Zhang et al., 2025)."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog
from jaxbandits.algorithms.glm.ecolog import ECOLog
from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.glm.glm_ucb import GLMUCB
from jaxbandits.algorithms.glm.gloc import GLOC
from jaxbandits.algorithms.glm.ofuglb import OFUGLB
from jaxbandits.algorithms.glm.oful_mlogb import OFULMLogB
from jaxbandits.algorithms.glm.ofulog_r import OFULogR
from jaxbandits.algorithms.glm.rs_glincb import RSGLinCB
from jaxbandits.algorithms.linear.uniform import Uniform
from jaxbandits.environments.glm.covertype import Covertype
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.estimation.links import Bernoulli, Poisson
from jaxbandits.experiments.declare import Claim, Experiment, Panel
from jaxbandits.experiments.statistic import mean_difference, time_growth, total_time_ratio, worst_ratio

_HORIZON, _DELTA = 3000, 0.05
_PAPER = "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025"
_PRESETS = {
    "experiments": "constants of the theorems, but lambda = d (lambda_t = d log(1 + t) for likelihood methods), as the "
    "paper's figures have it; 'tuned' RS-GLinCB has the constants of its authors' code",
    "theory": "as before, but GLB-OMD with the lambda that Theorem 1 needs",
}
_UNSTATED = (
    "The paper states neither d, K, the arms nor delta. Here: K = 20 arms uniform in the unit ball, delta = 0.05, and "
    "d = 2 with one arm set a trial, or d = 5 with a fresh one each round."
)
_COUNTS = (
    "With fixed arms the likelihood needs only counts and reward sums of K arms: likelihood methods are exact and cost "
    "O(K) a round instead of O(t)."
)
_HISTORY = (
    "With fresh arms likelihood methods keep every round, and a round costs them O(t), as in the paper's timings."
)
_WORST_KAPPA = (
    "RS-GLinCB is told the largest kappa of the ball, 1 / c_mu = 22, 150, 1099 and 8105 at S = 3, 5, 7 and 9, since it "
    "cannot know that of its instance, which is smaller (the paper quotes 21, 137 and 963 at S = 3, 5 and 7)."
)
_ADA = "ada-OFU-ECOLog has a reconstructed warm-up, to whose rounds it fits a likelihood; tabulated, not drawn."
_MLE = ("OFUGLB", "OFULog-r", "GLM-UCB", "RS-GLinCB", "RS-GLinCB, tuned")


def _learners(
    preset: str, horizon: int, environment: Any, *, bound: float, delta: float = _DELTA, fixed_arms: bool
) -> dict[str, Any]:
    """The learners of the figures, in the order of their legends and tables.

    Args:
      preset: see `_PRESETS`.
      horizon: T.
      environment: with `dim`, `n_arms` and perhaps `link`.
      bound: S.
      delta: failure probability.
      fixed_arms: likelihood methods keep counts instead of all rounds.
    """
    link = getattr(environment, "link", Bernoulli())
    logistic = isinstance(link, Bernoulli)
    told = {"dim": environment.dim, "norm_bound": bound, "delta": delta}
    keeps: dict[str, Any] = {"n_arms": environment.n_arms} if fixed_arms else {"capacity": horizon}
    general = {**told, "link": link}
    largest = {"horizon": horizon, "reward_bound": 1.0 if logistic else 100.0}
    learners = {
        "OFUGLB": OFUGLB(**general, **keeps),
        **({"OFULog-r": OFULogR(**told, **keeps)} if logistic else {}),
        "GLB-OMD": getattr(GLBOMD, preset)(**general),
        "GLB-OMD, data radius": GLBOMD.practical(**general),
        **({"ECOLog": ECOLog.experiments(**told)} if logistic else {}),
        "GLOC": GLOC.experiments(**general),
        "GLM-UCB": GLMUCB(**general, **keeps, **largest),
        "RS-GLinCB": RSGLinCB.experiments(**general, **keeps, **largest),
        "RS-GLinCB, tuned": RSGLinCB.practical(**general, **keeps, **largest),
        **({"OFUL-MLogB": OFULMLogB(**told)} if logistic else {}),
        **({"ada-OFU-ECOLog": AdaOFUECOLog(**told, **keeps)} if logistic else {}),
        "uniform": Uniform(dim=environment.dim),
    }
    return learners


def _told_the_norm(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """S is the norm of theta*."""
    environment = panel.environment
    return _learners(
        preset, horizon, environment, bound=float(environment.norm_bound), fixed_arms=not environment.fresh_arms
    )


def _norms(sizes: Sequence[int], link: Any, fresh: bool) -> dict[str, Panel]:
    make = GeneralizedLinear.tv if fresh else GeneralizedLinear.fixed
    panels = {}
    for size in sizes:
        kappa = 1.0 / float(link.slope_bounds(-float(size), float(size))[0])
        panels[f"S{size}"] = Panel(f"S = {size} (kappa {kappa:.0f})", make(link=link, norm_bound=float(size)), x=size)
    return panels


# What the paper says of its figures -----------------------------------------------------------------------------------


def _lowest(panel: str, figure: str, rivals: Sequence[str]) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"OFUGLB has the lowest regret: mean below {rival}'s ({panel})",
            figure, mean_difference(panel, "OFUGLB", rival), high=0.0, trials=16,
        )
        for rival in rivals
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
    interval = {"high": 0.0} if better else {"low": 0.0}
    return Claim(
        f"the data radius is {'better' if better else 'worse'} than Theorem 1's: mean regret of GLB-OMD is "
        f"{'lower' if better else 'higher'} with it ({panel}; ours)",
        "no theorem", mean_difference(panel, "GLB-OMD, data radius", "GLB-OMD"), **interval, trials=16,
    )  # fmt: skip


_EXPLODES = Claim(
    "GLM-UCB explodes with kappa: its mean regret at S7 is above 0.8 times that of uniform play (ours)",
    "Table 1", mean_difference("S7", "GLM-UCB", "uniform", factor=0.8), low=0.0, trials=16,
)  # fmt: skip


def _logistic_regret(panels: Sequence[str], first: str, last: str) -> tuple[Claim, ...]:
    figure = "Figures 1 and 3; Section 5"
    claims: list[Claim] = []
    for panel in panels:
        claims += _lowest(panel, figure, ("GLB-OMD", "ECOLog"))
        claims += [
            _close_to(panel, figure, "ECOLog", 1.5, "comparable to ECOLog"),
            _close_to(panel, figure, "RS-GLinCB", 1.5, "comparable to RS-GLinCB with the constants of its theorem"),
            _close_to(panel, figure, "RS-GLinCB, tuned", 1.5, "comparable to RS-GLinCB with its authors' constants"),
            _close_to(panel, figure, "OFUGLB", 2.0, "a modest price for one pass over the data"),
            _above(panel, figure, "GLOC", 1.5, "GLOC has relatively large regret"),
            _above(panel, "Figures 1 and 3; ours", "OFULog-r", 1.0, "OFULog-r has more regret"),
            _data_radius(panel, better=True),
        ]
    return (
        *claims,
        Claim(
            f"regret of GLB-OMD does not grow significantly with S: its mean at {last} is at most 1.5 times that at "
            f"{first}", figure, worst_ratio((last,), (first,), "GLB-OMD"), high=1.5,
        ),
        *(
            Claim(
                f"{name} degrades as S grows: its mean regret at {last} is above 1.5 times that at {first}",
                figure, worst_ratio((last,), (first,), name), low=1.5, trials=32,
            )
            for name in ("RS-GLinCB", "RS-GLinCB, tuned")
        ),
    )  # fmt: skip


def _poisson_regret(panels: Sequence[str]) -> tuple[Claim, ...]:
    figure = "Figure 2; Section 5"
    claims: list[Claim] = []
    for panel in panels:
        claims += _lowest(panel, figure, ("GLB-OMD",))
        claims += [_close_to(panel, figure, "OFUGLB", 2.0, "a modest increase over OFUGLB")]
        claims += [_above(panel, figure, "GLOC", 1.5, "GLOC has large regret")]
    return (*claims, _data_radius("S5", better=False))


def _costs(figure: str, first: str, last: str, names: Sequence[str], saving: str, least: float) -> tuple[Claim, ...]:
    """Run times, one trial at a time; `saving` is what is said of GLB-OMD against OFUGLB."""
    return (
        Claim(
            "GLOC is the fastest: a trial of GLB-OMD takes longer",
            figure, total_time_ratio((first, "GLB-OMD"), (first, "GLOC")), low=1.0, trials=3,
        ),
        *(
            Claim(
                f"OFUGLB is the slowest: a trial takes longer than one of {name}",
                figure, total_time_ratio((first, "OFUGLB"), (first, name)), low=1.0, trials=3,
            )
            for name in names
        ),
        Claim(
            f"the cost of GLB-OMD does not depend on kappa: a trial at {last} takes within 25 % of one at {first}",
            figure, total_time_ratio((last, "GLB-OMD"), (first, "GLB-OMD")), low=0.8, high=1.25, trials=3,
        ),
        *(
            Claim(
                f"the cost of {name} grows with kappa: a trial at {last} takes above 1.25 times one at {first}",
                figure, total_time_ratio((last, name), (first, name)), low=1.25, trials=3,
            )
            for name in ("RS-GLinCB", "RS-GLinCB, tuned")
        ),
        Claim(
            f"{saving}: a trial of OFUGLB takes more than {least:g} times one of GLB-OMD ({last})",
            f"{figure}; Section 5", total_time_ratio((last, "OFUGLB"), (last, "GLB-OMD")), low=least, trials=3,
        ),
    )  # fmt: skip


_SAVINGS = ("substantial computational savings", 10.0)  # said of logistic bandits
_THOUSAND = ("the cost of OFUGLB is reduced by 1000 times", 300.0)  # said of Poisson bandits

# Table 1 and Table 2: exponents of t in the cost of a round, where the methods keep every round; logs read as constant.
# RS-GLinCB is not here: see the notes of FIG1_TV.
_ORDERS = {"GLM-UCB": 1, "GLOC": 0, "OFUGLB": 1, "OFULog-r": 1, "ECOLog": 0, "OFUL-MLogB": 0, "GLB-OMD": 0}


def _table_claims(panel: str, names: Sequence[str]) -> tuple[Claim, ...]:
    return tuple(
        Claim(
            f"a round of {name} costs " + ("no more the later it is: log-log slope of its time below 0.1"
            if _ORDERS[name] == 0 else "more the later it is: log-log slope of its time above 0.5"),
            "Tables 1 and 2, time per round", time_growth(panel, name),
            low=-np.inf if _ORDERS[name] == 0 else 0.5, high=0.1 if _ORDERS[name] == 0 else np.inf, trials=3,
        )
        for name in names
    )  # fmt: skip


# The experiments ------------------------------------------------------------------------------------------------------

# Tabulated: the curves of the first three would flatten all others, and there are eight colours.
_UNDRAWN = ("GLM-UCB", "OFUL-MLogB", "uniform", "ada-OFU-ECOLog")
_SIZES, _POISSON_SIZES = (3, 5, 7, 9), (3, 5, 7)
_MOST, _SOME = 512, 256  # seeds of one-pass and of likelihood methods
_SEEDS_NOTE = (
    f"Methods that fit a likelihood run on the first {_SOME} seeds of {_MOST}; comparisons are paired on those."
)

FIG1 = Experiment(
    name="glm/fig1",
    title="logistic bandits, one arm set a trial",
    source=f"{_PAPER}, Figures 1 and 3 (v2: 1 and 4)",
    horizon=_HORIZON,
    seeds=_MOST,
    presets=_PRESETS,
    algorithms=_told_the_norm,
    panels=lambda horizon: _norms(_SIZES, Bernoulli(), fresh=False),
    metric="regret",
    claims=(
        *_logistic_regret(("S3", "S5", "S7", "S9"), "S3", "S9"),
        _EXPLODES,
        *_costs("Figure 1, right", "S3", "S9", ("OFULog-r", "GLM-UCB", "ECOLog"), *_SAVINGS),
    ),
    notes=(_UNSTATED, _COUNTS, _SEEDS_NOTE, _WORST_KAPPA, _ADA),
    slow=dict.fromkeys((*_MLE, "ada-OFU-ECOLog"), _SOME),
    width=32,
    figures=("curves", "cost"),
    axis="S",
    logarithmic=True,
    timed=("S3", "S5", "S7", "S9"),
    timed_at=(1,),
    not_drawn=_UNDRAWN,
    float64=True,
)

FIG1_TV = dataclasses.replace(
    FIG1,
    name="glm/fig1-tv",
    title="logistic bandits, fresh arms each round",
    horizon=2000,
    panels=lambda horizon: _norms((3, 5), Bernoulli(), fresh=True),
    claims=(
        *_logistic_regret(("S3", "S5"), "S3", "S5"),
        *_costs("Figure 1, right", "S3", "S5", ("OFULog-r", "GLM-UCB", "ECOLog"), *_SAVINGS),
        *_table_claims("S3", tuple(_ORDERS)),
    ),
    notes=(
        _UNSTATED,
        _HISTORY,
        "Methods that fit a likelihood run on the first 64 seeds, OFUGLB and OFULog-r on 32; comparisons are paired on "
        "those.",
        "T = 2000, where the paper has 3000: likelihood methods cost O(t) a round.",
        _WORST_KAPPA,
        _ADA,
        "RS-GLinCB's O(log^2 t) a round is amortised over few fits. It is not tested: in the warm-up, which is all of "
        "these rounds with the constants of its theorem, every round has a fit, which costs O(t).",
    ),
    slow={**dict.fromkeys((*_MLE, "ada-OFU-ECOLog"), 64), "OFUGLB": 32, "OFULog-r": 32},
    calls_of=5,
    timed=("S3", "S5"),
)  # fmt: skip

FIG2 = dataclasses.replace(
    FIG1,
    name="glm/fig2",
    title="Poisson bandits, one arm set a trial",
    source=f"{_PAPER}, Figure 2 and Figure 3, right",
    panels=lambda horizon: _norms(_POISSON_SIZES, Poisson(), fresh=False),
    claims=(
        *_poisson_regret(("S3", "S5", "S7")),
        *_costs("Figure 2, right; Figure 3, right", "S3", "S7", ("GLM-UCB",), *_THOUSAND),
    ),
    notes=(
        _UNSTATED,
        _COUNTS,
        _SEEDS_NOTE,
        "GLM-UCB and RS-GLinCB are told that rewards are at most 100; RS-GLinCB's "
        "kappa is e^S, the largest of the ball.",
    ),
    slow={name: _SOME for name in _MLE if name != "OFULog-r"},
    timed=("S3", "S5", "S7"),
    not_drawn=("GLM-UCB", "uniform"),
)

# Covertype ------------------------------------------------------------------------------------------------------------

_FACTORS = (1.0, 0.1, 0.02)
_COVERTYPE = {"bound": 6.0, "delta": 0.01}


def _shrunk(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    """Every radius times the factor of the panel; for level sets it multiplies the root of the level."""
    learners = _learners(preset, horizon, panel.environment, **_COVERTYPE, fixed_arms=True)
    scales = {"OFULog-r": "gamma_scale", "GLM-UCB": "rho_scale"}
    kept = ("OFUGLB", "OFULog-r", "GLB-OMD", "GLB-OMD, data radius", "ECOLog", "GLOC", "GLM-UCB", "RS-GLinCB")
    told = {name: learners[name] for name in kept}
    shrunk = {
        name: dataclasses.replace(learner, **{scales.get(name, "beta_scale"): panel.x})
        for name, learner in told.items()
        if name != "RS-GLinCB"
    }
    kappa = dataclasses.replace(told["RS-GLinCB"], kappa=200.0)
    return {**shrunk, "RS-GLinCB": kappa, "uniform": learners["uniform"]}


def _covertype_panels(environment: Covertype) -> Mapping[str, Panel]:
    data = {"covertype": "Covertype", "stand-in": "stand-in for Covertype"}.get(environment.source, environment.source)
    return {f"x{factor:g}": Panel(f"{data}, radii x {factor:g}", environment, x=factor) for factor in _FACTORS}


@functools.cache  # two seconds of clustering
def _stand_in() -> Covertype:
    return Covertype.stand_in()


def _from_file(path: Path) -> Mapping[str, Any]:
    environment = Covertype.from_file(path)
    return {"title": "Covertype (UCI)", "panels": lambda horizon: _covertype_panels(environment)}


COVERTYPE = Experiment(
    name="glm/covertype",
    title="stand-in for Covertype: synthetic data of the same shape",
    source=f"{_PAPER}, Figure 4 (v2: 5)",
    horizon=1000,
    seeds=_MOST,
    presets=_PRESETS,
    algorithms=_shrunk,
    panels=lambda horizon: _covertype_panels(_stand_in()),
    from_file=_from_file,
    metric="regret",
    claims=tuple(
        Claim(
            f"GLB-OMD does not compromise performance: mean regret at most 1.5 times {rival}'s ({panel})",
            "Figure 4; Section 5", mean_difference(panel, "GLB-OMD", rival, factor=1.5), high=0.0, trials=16,
        )
        for panel in ("x0.1", "x0.02")
        for rival in ("OFUGLB", "ECOLog", "OFULog-r", "RS-GLinCB")
    )
    + tuple(
        Claim(
            f"GLB-OMD is significantly faster: {rival} takes more than twice as long, 32 trials at once",
            "Figure 4; Section 5", total_time_ratio(("x0.1", rival), ("x0.1", "GLB-OMD")), low=2.0, trials=3,
        )
        for rival in ("OFUGLB", "ECOLog", "OFULog-r", "GLM-UCB", "RS-GLinCB")
    ),
    notes=(
        "K = 60 clusters, d = 11, S = 6, delta = 0.01. kappa = 200 reaches RS-GLinCB only: GLM-UCB and GLOC take the "
        "least slope of the ball, 1 / 405.",
        "The paper shrinks all radii by an unstated factor; here by 1, 0.1 and 0.02, for level sets by the square; "
        "RS-GLinCB has none to shrink.",
        "Regret is by cluster averages, which no logistic model fits exactly.",
        "`--data FILE` takes the real covtype.data or covtype.data.gz; without it the figure is a stand-in.",
        "Likelihood methods run on the first 64 seeds; comparisons are paired on those.",
    ),
    slow={name: 64 for name in _MLE if name != "RS-GLinCB, tuned"},
    width=32,
    figures=("curves", "against"),
    axis="factor on the radii",
    logarithmic=True,
    timed=("x0.1",),
    timed_at=(None,),
    calls_of=1,  # as when timed: the same programs, which take minutes to compile
    not_drawn=("GLM-UCB", "uniform"),
    float64=True,
)  # fmt: skip

FIGURES = (FIG1, FIG1_TV, FIG2, COVERTYPE)
