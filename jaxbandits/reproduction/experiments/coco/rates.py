"""Growth of regret and violation with the horizon under full information, with a separate run for every horizon."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from jaxbandits.analysis.table import mean_of
from jaxbandits.coco import OFWTVC, SCOFWTVC, QuadraticConstraints, SinhaVaze
from jaxbandits.domains import L1Ball
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine import Claim, Learners, Panel, Problem, Report
from jaxbandits.reproduction.experiments.coco.setting import STUDY, constants, shares_of_bounds
from jaxbandits.reproduction.sentences import (
    OUT_OF_REACH,
    exponent_of,
    growth_over,
    observations,
    share,
    share_for_all,
    slug,
    theorems,
)
from jaxbandits.theory import coco as theory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHARES = {f"T-{k}": 10.0 ** (k / 2.0 - 3.0) for k in range(7)}  # 10^3, 10^3.5, ..., 10^6 for a horizon of 10^6
_LAST = "T-6"
_HORIZON = 10**6


def _problem() -> QuadraticConstraints:
    """Make the problem: the l1 ball of R^10 with a fixed half-space, and quadratic losses around a noisy centre."""
    return QuadraticConstraints(dim=10, domain=L1Ball(), slope_noise=0.0, margin_spread=0.0)


def _panels(horizon: int) -> Mapping[str, Panel]:
    """Make a panel for each horizon T."""
    problem = _problem()
    rounds = {name: max(4, round(part * horizon)) for name, part in _SHARES.items()}
    return {name: Panel(f"T = {t:,}", problem, x=float(t), rounds=t) for name, t in rounds.items()}


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    environment, rounds = panel.environment, panel.horizon(horizon)
    setting = constants(environment, rounds)
    return {
        "SCOFW-TVC": SCOFWTVC.theory(**setting, curvature=1.0),
        "OFW-TVC, theory": OFWTVC.theory(**setting),
        "OFW-TVC, G~ = 1": OFWTVC.theory(**setting, g_init=1.0),
        "OFW-TVC, balanced, eta x1": OFWTVC.practical(**setting, eta_scale=1.0),
        "OFW-TVC, balanced, eta x10": OFWTVC.practical(**setting),
        "OFW-TVC, balanced, eta x30": OFWTVC.practical(**setting, eta_scale=30.0),
        "Sinha-Vaze": SinhaVaze(**constants(environment, rounds, scaled=False)),
    }


@dataclasses.dataclass(frozen=True)
class Rates:
    """Final means against the horizon on logarithmic axes, with lines whose slopes are the rates of the theorems.

    Attributes:
      metrics: mapping from the name of a metric to the exponents of T that are drawn with it.
      name: suffix of the file names (`Drawing.name`).
    """

    metrics: Mapping[str, tuple[float, ...]]
    name: str = "growth"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw one column per metric, without values that are not positive, and return the figure."""
        size = (4.6 * len(self.metrics) + 2.6, 4.4)
        figure, axes = plt.subplots(1, len(self.metrics), figsize=size, layout="constrained", squeeze=False)
        order, panels = report.order(), report.panels
        horizons = np.asarray([panel.x for panel in panels.values()])
        for ax, (metric, exponents) in zip(axes[0], self.metrics.items(), strict=True):
            rows = {name: {row.label: row for row in report.results[name].summary(metric)} for name in panels}
            seen: list[float] = []
            for label in report.labels:
                mean, low, high = (
                    np.asarray([getattr(rows[name][label], field) for name in panels])
                    for field in ("mean", "low", "high")
                )
                good = mean > 0.0
                seen += list(mean[good])
                reach = [np.minimum(mean - low, 0.99 * mean)[good], (high - mean)[good]]
                look = curves.look(order.index(label))
                ax.errorbar(horizons[good], mean[good], reach, label=label, capsize=2, markersize=4, **look)
            if not seen:
                continue
            for exponent in exponents:  # lines through the upper left corner
                line = max(seen) * (horizons / horizons[-1]) ** exponent
                ax.plot(horizons, line, color="#888888", linewidth=0.8, linestyle="--")
                ax.annotate(f"$T^{{{exponent:.2g}}}$", (horizons[0], line[0]), fontsize=7, color="#666666", va="bottom")
            ax.spines[["top", "right"]].set_visible(False)
            ax.set(xscale="log", yscale="log", xlabel="T", ylabel=f"{mean_of(metric)} after T rounds")
        handles = axes[0][0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside right center", frameon=False, fontsize="small")
        return figure


_Law = Callable[[float, float, float], theory.Bounds]  # function from G, D and T to the bounds


def _theorem_2(G: float, D: float, T: float) -> theory.Bounds:
    return theory.theorem_2(G, D, T, float(_problem().curvature))


def _sinha_vaze(G: float, D: float, T: float) -> theory.Bounds:
    """Return the orders of Sinha & Vaze 2024, without constants: sqrt(T), and sqrt(T) log T."""
    del G, D
    return theory.Bounds(math.sqrt(T), math.sqrt(T) * math.log(T))


def _growth(law: _Law, place: str, *labels: str) -> Iterable[Claim]:
    """Make the claim that regret and violation grow no faster than their bounds (with logarithms) up to T = 10^6."""
    environment: Problem = _problem()
    geometry = float(environment.lipschitz), float(environment.domain.diameter)
    horizons = [part * _HORIZON for part in _SHARES.values()]
    learner = labels[0].partition(",")[0]
    for metric, what in (("feasible_regret", "regret"), ("violation", "violation")):
        exponent = exponent_of(lambda T, what=what: getattr(law(*geometry, T), what), horizons)
        yield from observations(
            f"growth-{slug(place)}-{what}",
            growth_over(_SHARES, "T", *labels, of=metric) < exponent,
            says=f"up to T = 10^6, the {what} of {learner} grows no faster than the bound of {place}, whose growth "
            f"exponent is {exponent:.3g}",
            place=f"{place} (an upper bound)",
            least=40,
        )


_OFW = tuple(
    f"OFW-TVC, {name}" for name in ("theory", "G~ = 1", "balanced, eta x1", "balanced, eta x10", "balanced, eta x30")
)

RATES = STUDY.experiment(
    "rates",
    "Theorems 1 and 2",
    title="growth of regret and violation with the horizon: l1 ball of R^10, quadratic losses, a fixed half-space",
    horizon=_HORIZON,
    seeds=128,
    presets={
        "theory": "constants of the theorems, with g scaled to the Lipschitz constant of f; in learners "
        "labelled 'balanced' (ours) gamma = lambda, set by hand"
    },
    algorithms=_learners,
    panels=_panels,
    metric="feasible_regret",
    tabulated=("violation", "regret_share", "violation_share"),
    derive=shares_of_bounds,
    record_points=2,
    claims=(
        *_growth(_theorem_2, "Theorem 2", "SCOFW-TVC"),
        *_growth(_sinha_vaze, "Sinha & Vaze 2024", "Sinha-Vaze"),
        *_growth(theory.theorem_1, "Theorem 1", *_OFW),
        *(
            row
            for label, theorem in (("SCOFW-TVC", "Theorem 2"), ("OFW-TVC, theory", "Theorem 1"))
            for what in ("regret", "violation")
            for row in theorems(
                f"{slug(theorem)}-{what}",
                share(label, of=f"{what}_share") > share_for_all(50),
                on=_LAST,
                place=theorem,
                says=f"after 10^6 rounds the {what} of {{label}} is within the bound of {theorem}, with all its "
                "constants",
                cannot_fail=OUT_OF_REACH.format(most="G D T", what=what),
            )
        ),
    ),
    notes=(
        "Regret is against the best point of K that satisfies the constraint; this point is known exactly. A growth "
        "exponent is the least-squares slope of log(final mean) on log(T) over seven horizons; each horizon has its "
        "own constants and runs, and seeds are paired. It is compared with the slope of the bound at the same "
        "horizons, including logarithms and constants (for Sinha-Vaze, of the order of the bound). The bounds of "
        "Theorems 1 and 2 exceed the largest possible values, G D T, so a larger exponent does not contradict them.",
        "A learner can have negative regret because it violates the constraint; a negative mean regret has no growth "
        "exponent. The mean regret of Sinha-Vaze and of 'OFW-TVC, theory' is negative at T = 10^6, so the rows about "
        "the growth of their regret stay open.",
        "Sinha-Vaze is a learner with projections. Its regret and violation, and those of learners labelled "
        "'balanced', are divided by the bounds of Theorem 1 in the tables, although the theorem does not cover them. "
        "The metrics regret_share and violation_share are regret and violation, divided by their bounds.",
    ),
    figures=(Rates({"feasible_regret": (0.75, 2.0 / 3.0), "violation": (0.75, 5.0 / 6.0)}),),
)
