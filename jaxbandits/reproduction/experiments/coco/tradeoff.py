"""Regret against violation: a sweep of each learner over the weight of the constraint."""

import dataclasses
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from jaxbandits.analysis.intervals import Estimate, infinite_estimate
from jaxbandits.coco import LPM, OFWTVC, OPDP, SCOFWTVC, QuadraticConstraints, SinhaVaze
from jaxbandits.domains import L1Ball
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine import Learner, Learners, Measurements, Panel, Report
from jaxbandits.reproduction.experiments.coco.setting import OWN_STUDY, constants
from jaxbandits.reproduction.sentences import as_statistic, measure, observations, paired_mean
from jaxbandits.simulation import Grid, Trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MULTIPLIERS = tuple(10.0 ** (k / 2.0) for k in range(-6, 7))  # multipliers of the weight of the constraint
_PANEL = "half-space"
_METRICS = ("feasible_regret", "violation")


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make sweeps over the weight of the constraint: over the loss weight gamma, or over the step of the multiplier."""
    del preset
    setting, plain = constants(panel.environment, horizon), constants(panel.environment, horizon, scaled=False)
    G, D, T = setting["lipschitz"], float(setting["domain"].diameter), float(horizon)

    def lighter_loss(algorithm: Learner, middle: float) -> Grid:
        return Grid(algorithm, {"gamma": [middle / m for m in MULTIPLIERS]})

    # The multiplier converges to about g / damping.
    step, damping = T ** (-5.0 / 6.0) / (G * D), G * D * T ** (-1.0 / 6.0)
    return {
        "OFW-TVC": lighter_loss(OFWTVC.practical(**setting), 0.5 * T**-0.75),
        "SCOFW-TVC": lighter_loss(SCOFWTVC.theory(**setting, curvature=1.0), G / (G + D)),
        "OPDP": Grid(
            OPDP(**plain, hard=True, eta_scale=10.0),
            [{"dual_step": step * m, "damping": damping / m} for m in MULTIPLIERS],
        ),
        "LPM": Grid(
            LPM.queue(**plain, eta=10.0 * D / G * T**-0.75, eps=1e-3 * D**2 * T**-0.5),
            {"dual_step": [10.0 * T**-0.75 / (G * D) * m for m in MULTIPLIERS]},
        ),
        "Sinha-Vaze": lighter_loss(SinhaVaze(**plain), 0.5 * T**-0.5),
    }


def mean_points(trials: Trials) -> tuple[np.ndarray, np.ndarray]:
    """Return, for the H points of a sweep, mean regret against the best feasible point and mean violation per round.

    Both are arrays `[H]`: means of final values over the trials without failure, divided by the number of rounds; NaN
    for a point of which every trial failed.
    """
    good = _usable(trials)
    n = np.where(good.any(axis=1), good.sum(axis=1), np.nan)
    regret, violation = (
        np.sum(trials.final(metric), axis=1, where=good, initial=0.0) / n / trials.horizon for metric in _METRICS
    )
    return regret, violation


def _usable(trials: Trials) -> np.ndarray:
    """Return the mask `[H, S]` of the trials in which neither metric failed."""
    return np.all([trials.usable(metric) for metric in _METRICS], axis=0)


@as_statistic
def heavier(measured: Measurements, label: str, metric: str) -> Estimate:
    """Estimate the final mean of a metric per round at the largest weight, minus that at the smallest weight.

    Weights are those of the constraint, and seeds are paired.
    """
    trials = measured.results[_PANEL][label]
    good = trials.usable(metric)[[0, -1]].all(axis=0)
    light, heavy = trials.final(metric)[[0, -1]][:, good] / trials.horizon
    return paired_mean(heavy - light)._replace(failed=int((~good).sum()))


@as_statistic
def frontier_difference(measured: Measurements, first: str, second: str, allowed: float) -> Estimate:
    """Estimate the smallest regret per round of `first` minus that of `second`, at limited violation.

    For each label the point of the sweep is chosen that has the smallest mean regret, among points whose mean violation
    per round is at most `allowed`. The interval is that of the paired seeds without failure at the two chosen points;
    it is infinite if a label has no such point.
    """
    chosen, good = [], []
    for label in (first, second):
        trials = measured.results[_PANEL][label]
        regret, violation = mean_points(trials)
        admitted = np.where(violation <= allowed, regret, np.inf)
        if not np.isfinite(admitted).any():
            return infinite_estimate(len(trials.seeds))
        point = int(np.argmin(admitted))
        chosen.append(trials.final("feasible_regret")[point] / trials.horizon)
        good.append(_usable(trials)[point])
    both = np.all(good, axis=0)
    return paired_mean((chosen[0] - chosen[1])[both])._replace(failed=int((~both).sum()))


@dataclasses.dataclass(frozen=True)
class Frontier:
    """Mean regret against mean violation, both per round, with a curve for each learner and a point for each weight.

    Attributes:
      marked: violation per round at which learners are compared.
      name: suffix of the file names (`Drawing.name`).
    """

    swept: ClassVar[bool] = True
    marked: float
    name: str = "frontier"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw one axes, with a larger marker at the heaviest weight of each sweep, and return the figure."""
        figure, ax = plt.subplots(figsize=(7.6, 4.8), layout="constrained")
        order, least, most = report.order(), np.inf, 0.0
        for label, trials in report.results[_PANEL].trials.items():
            regret, violation = mean_points(trials)
            shown, look = np.maximum(violation, 1e-6), curves.look(order.index(label))
            least, most = min(least, shown.min()), max(most, shown.max())
            good = _usable(trials)
            deviation = np.nanstd(np.where(good, trials.final("feasible_regret"), np.nan), axis=1)
            half = 2.0 * deviation / trials.horizon / np.sqrt(good.sum(axis=1))
            ax.errorbar(shown, regret, half, label=label, markersize=4, capsize=2, **look)
            ax.plot(shown[-1], regret[-1], marker=look["marker"], color=look["color"], markersize=9)
        ax.axvline(self.marked, color="#888888", linewidth=0.8, linestyle="--")
        ax.axhline(0.0, color="#000000", linewidth=0.8)
        ax.set(xscale="log", xlim=(0.6 * least, 1.6 * most), xlabel="mean violation per round")
        ax.set_ylabel("mean regret per round against the best feasible point")
        ax.spines[["top", "right"]].set_visible(False)
        text = {"fontsize": 7, "va": "bottom", "ha": "center", "color": "#666666"}
        ax.annotate("compared here", (self.marked, 1.0), xycoords=("data", "axes fraction"), **text)
        figure.legend(title="large: heaviest weight", loc="outside right center", frameon=False)
        return figure


_ALLOWED = 0.01
_LABELS = ("OFW-TVC", "SCOFW-TVC", "OPDP", "LPM", "Sinha-Vaze")
_COMPARED = (("SCOFW-TVC", "OFW-TVC"), ("SCOFW-TVC", "OPDP"), ("SCOFW-TVC", "Sinha-Vaze"), ("OFW-TVC", "OPDP"))
_SPAN = "per round of {} at the largest weight minus that at the smallest"


TRADEOFF = OWN_STUDY.experiment(
    "tradeoff",
    "Figure 1",
    title="trade-off between regret and violation as the weight of the constraint varies: l1 ball of R^10",
    horizon=10_000,
    seeds=64,
    presets={"practical": "13 weights for each learner, from 1e-3 to 1e3 times a central value: that of its preset for "
                          "OFW-TVC and SCOFW-TVC, the default for OPDP, and set by hand for LPM and Sinha-Vaze"},
    algorithms=_learners,
    panels=lambda horizon: {
        _PANEL: Panel(
            "one half-space, its slope and offset vary",
            QuadraticConstraints(dim=10, domain=L1Ball(), margin_spread=0.05, slope_noise=0.2),
        )
    },
    metric="feasible_regret",
    tabulated=("violation",),
    record_points=4,
    claims=(
        *observations("less-violation",
                      *(measure(f"violation {_SPAN.format(a)}", heavier(a, "violation"), (a,)) < 0.0 for a in _LABELS),
                      says="increasing the weight of the constraint by a factor of 10^6 reduces the violation"),
        *observations(
            "more-loss",
            *(measure(f"regret {_SPAN.format(a)}", heavier(a, "feasible_regret"), (a,)) > 0.0 for a in _LABELS),
            says="increasing the weight of the constraint by a factor of 10^6 increases the regret",
        ),
        *observations(
            "less-regret",
            *(
                measure(f"smallest regret per round of {a} minus that of "
                        f"{b}", frontier_difference(a, b, _ALLOWED), (a, b)) < 0.0
                for a, b in _COMPARED
            ),
            says=f"with each learner at its best weight and a violation of at most {_ALLOWED:g} per round, {{label}} "
                 f"has less regret than {{rival}}",
            place="Figure 1",
        ),
    ),
    notes=(
        "For OFW-TVC (with its balanced preset), SCOFW-TVC and Sinha-Vaze the weight of the loss, gamma, is varied. "
        "For OPDP the step of the multiplier increases and its damping decreases; for LPM the step of its queue "
        "increases. OPDP and LPM are reconstructions; their eta is set by hand, to 10 and 20 times its default.",
        "A learner that violates the constraint can have negative regret. The comparator satisfies every constraint "
        "and is known exactly.",
    ),
    figures=(Frontier(_ALLOWED),),
    float64=True,
)
