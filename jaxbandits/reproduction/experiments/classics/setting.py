"""Settings of the papers on classical bandits: studies, learners and figures that several experiments share."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.analysis.intervals import mean_interval, t_interval
from jaxbandits.armed import KLUCB, MOSS, UCB1, UCBV, BayesUCB, BernoulliArms, NoisyArms, ThompsonBeta
from jaxbandits.base.pytree import Fields
from jaxbandits.base.text import count_of
from jaxbandits.linear import BallArms, DLinUCB, SWLinUCB
from jaxbandits.operators import Given, with_drift
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine import Claim, Learners, Panel, Report, Study, common_finals
from jaxbandits.reproduction.engine.statistic import check_single_point
from jaxbandits.reproduction.sentences import claims, log_growth, mean, observations
from jaxbandits.theory.classics import lai_robbins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRESETS = {"experiments": "the constants of the papers' experiments"}
CHAPELLE = "Chapelle & Li, NIPS 2011"
BOOK = "Lattimore & Szepesvari, Bandit Algorithms, 2020"
ZIMMERT = "Zimmert & Seldin, JMLR 22(28), 2021"
GARIVIER = "Garivier & Kaufmann, COLT 2016"
KVETON = "Kveton, Szepesvari, Wen & Ashkan, ICML 2015"
KVETON_SEMI = "Kveton, Wen, Ashkan & Szepesvari, AISTATS 2015"
KOMIYAMA = "Komiyama, Honda, Kashima & Nakagawa, COLT 2015"
BESSON = "Besson, PhD thesis, CentraleSupelec, 2019"

# Figures --------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class LogCurves:
    """Mean regret with t-intervals against the rounds on a logarithmic axis, and the lower bound of Lai and Robbins.

    Panels are side by side.

    Attributes:
      bound: True to draw the bound C log t, for panels of Bernoulli arms with given means.
      logarithmic: True to draw regret on a logarithmic axis as well, so that powers of t are straight lines.
      metric: name of the metric; None: the metric of the experiment.
      name: suffix of the file names (`Drawing.name`).
    """

    bound: bool = True
    logarithmic: bool = False
    metric: str | None = None
    name: str = "log"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw and return the figure, without its title."""
        metric = self.metric or report.experiment.metric
        panels = report.panels
        across = min(len(panels), 2)
        down = -(-len(panels) // across)
        size = (4.2 * across + 2.2, max(3.6, 3.1 * down))
        figure, axes = plt.subplots(down, across, figsize=size, layout="constrained", squeeze=False)
        for ax, (name, panel) in zip(axes.flat, panels.items(), strict=False):
            result = report.results[name]
            curves.draw(result, metric, ax=ax, order=report.order())
            t = next(iter(result.trials.values())).record_points
            if self.bound:
                bound = lai_robbins(list(panel.environment.means)) * np.log(t)
                top = ax.get_ylim()[1]  # C log t may leave the figure
                ax.plot(t, bound, color="#000000", linestyle="--", linewidth=0.9, label="C log t")
                ax.set_ylim(0.0, top)
            ax.set(xscale="log", yscale="log" if self.logarithmic else "linear", title=panel.title)
            ax.set_xlim(left=min(10.0, t[-1] / 10.0))
            if self.logarithmic:
                ax.set_ylim(bottom=1.0)
            ax.get_legend().remove()
            ax.spines[["top", "right"]].set_visible(False)
        for ax in axes.flat[len(panels) :]:
            ax.set_visible(False)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        seeds = max(len(trials.seeds) for trials in next(iter(report.results.values())).trials.values())
        title = count_of(seeds, "seed")
        figure.legend(handles, labels, title=title, fontsize="small", frameon=False, loc="outside right center")
        return figure


@dataclasses.dataclass(frozen=True)
class AgainstGap:
    """Mean final regret of each learner against the gap, on linear axes, with t-intervals and a bound (`Panel.bound`).

    Attributes:
      bound: label of the bound, which is drawn as a dashed line; "" to draw no bound.
      name: suffix of the file names (`Drawing.name`).
    """

    bound: str = ""
    name: str = "gaps"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw and return the figure, without its title."""
        figure, ax = plt.subplots(figsize=(7.4, 4.4), layout="constrained")
        panels = report.panels
        gaps = np.array([panel.x for panel in panels.values()])
        rows = [{row.label: row for row in report.results[name].summary("regret")} for name in panels]
        for i, label in enumerate(report.labels):
            mean, low, high = (np.array([getattr(row[label], end) for row in rows]) for end in ("mean", "low", "high"))
            look = curves.look(i)
            ax.errorbar(gaps, mean, [mean - low, high - mean], label=label, markersize=4, capsize=2, **look)
        if self.bound:
            bound = [panel.bound for panel in panels.values()]
            ax.plot(gaps, bound, color="#000000", linestyle="--", label=self.bound)
        ax.set(xlabel="gap D between the means", ylabel="mean regret", xlim=(0.0, None), ylim=(0.0, None))
        figure.legend(fontsize="small", frameon=False, loc="outside right center")
        ax.spines[["top", "right"]].set_visible(False)
        return figure


@dataclasses.dataclass(frozen=True)
class WinsAndLosses:
    """Share of mistakes on every data set, and a table of wins minus losses of the row against the column.

    A learner wins against another one on a data set if the 95 % interval of the mean paired difference of their final
    regrets is below 0. Failed trials are omitted.

    Attributes:
      name: suffix of the file names (`Drawing.name`).
    """

    name: str = "wins"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw and return the figure, without its title."""
        labels = report.labels
        net = np.zeros((len(labels), len(labels)), int)
        for result in report.results.values():
            for (i, first), (j, second) in itertools.permutations(enumerate(labels), 2):
                if first in result.trials and second in result.trials:
                    ours, rivals, _ = common_finals(result, "regret", first, second)
                    estimate = mean_interval(ours - rivals)
                    net[i, j] += int(estimate.high < 0.0) - int(estimate.low > 0.0)
        size = (8.0 + 0.6 * len(labels), 3.0 + 0.24 * len(labels))
        figure, (left, right) = plt.subplots(1, 2, figsize=size, layout="constrained")
        for i, label in enumerate(labels):
            every = [check_single_point(result[label]) for result in report.results.values()]
            found = [t_interval(x.final("regret")[0, x.usable("regret")[0]] / x.horizon) for x in every]
            error = [estimate.half_width for estimate in found]
            left.errorbar(
                np.arange(len(found)) + 0.05 * (i - 0.5 * (len(labels) - 1)),
                [estimate.mean for estimate in found],
                error,
                label=label,
                capsize=2,
                **(curves.look(i) | {"linestyle": ""}),
            )
        names = [panel.title.replace("stand-in for ", "stand-in for\n") for panel in report.panels.values()]
        left.set_xticks(range(len(names)), names)
        left.set(ylabel="share of mistakes", ylim=(0.0, None))
        left.legend(frameon=False, fontsize="small")
        left.spines[["top", "right"]].set_visible(False)
        shown, most = np.column_stack([net, net.sum(axis=1)]), max(1, len(report.results))
        right.imshow(np.clip(shown, -most, most), cmap="PuOr_r", vmin=-2 * most, vmax=2 * most, aspect="auto")
        for i, j in np.ndindex(shown.shape):
            if i != j:
                right.text(j, i, f"{shown[i, j]:+d}", ha="center", va="center")
        right.set_xticks(range(len(labels) + 1), [*labels, "in all"], rotation=30, ha="right")
        right.set_yticks(range(len(labels)), labels)
        right.grid(visible=False)
        right.set_title(f"wins minus losses over {len(report.results)} data sets")
        return figure


# Garivier & Cappe -----------------------------------------------------------------------------------------------------

_FEW = 2_000  # seeds of Bayes-UCB, whose quantiles take ten times as long as the indices of KL-UCB
KL = Study(
    "classics",
    "Garivier & Cappe, COLT 2011",
    seeds=50_000,
    presets=PRESETS,
    slow={"Bayes-UCB": _FEW},
    record_points=("log", 40),
    notes=(
        f"By default there are 50,000 runs, as in the paper. Bayes-UCB, which is not in the paper, has {_FEW:,} runs; "
        "comparisons with it use only these runs.",
        "UCB-Tuned and DMED, which the paper includes, are not run here (DMED is not in the library); Bayes-UCB and "
        "Thompson sampling are added. UCB1 is run with its constant 2, and with 1/2; by Pinsker's inequality, the "
        "latter index is still at least that of KL-UCB.",
        "MOSS has the bonus for rewards in [0, 1], sqrt(log(n / (K T_i)) / T_i) after T_i plays of arm i.",
    ),
)


def kl_learners(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make the learners of Figures 1 and 2 of Garivier and Cappe."""
    del preset
    n_arms = panel.environment.n_arms
    return {
        "UCB1": UCB1(n_arms=n_arms),
        "UCB1 with 1/2": UCB1(n_arms=n_arms, exploration=0.5),
        "MOSS": MOSS(n_arms=n_arms, horizon=horizon, noise_scale=0.5),
        "UCB-V": UCBV(n_arms=n_arms),
        "KL-UCB": KLUCB(n_arms=n_arms),
        "Bayes-UCB": BayesUCB(n_arms=n_arms),
        "Thompson": ThompsonBeta(n_arms=n_arms),
    }


def kl_claims(figure: str, panel: str, means: list[float], horizon: int) -> tuple[Claim, ...]:
    """Make the claims of Figure 1 or 2 of Garivier and Cappe on KL-UCB, and claims on two learners not in the paper.

    Args:
      figure: name of the figure, for the place of the claims.
      panel: name of the panel.
      means: means of the arms.
      horizon: number of rounds.
    """
    least = lai_robbins(means)
    on = {"on": panel, "place": figure}
    return (
        *claims("better", mean("KL-UCB") < mean("UCB1"), on=panel,
                says="KL-UCB always performs better than the basic UCB policy", place=f"{figure}; abstract"),
        *observations("better-than-pinsker", mean("KL-UCB") < mean("UCB1 with 1/2"),
                      says="KL-UCB is also better than UCB1 with the constant 1/2 of Pinsker's inequality", **on),
        *observations("lower-bound", log_growth("KL-UCB", unit=least, what=f"C = {least:.3f}").between(0.85, 1.15),
                      on=panel, says="the regret of KL-UCB grows like the lower bound of Lai and Robbins, C log t, "
                                "within 15 %",
                      place=f"Theorem 1 at n = {horizon:,}"),
        *observations("bayesians-not-worse", mean("Thompson", "Bayes-UCB") / mean("KL-UCB") < 1.1,
                      says="the regret of {label} is at most 1.1 times that of KL-UCB", **on),
    )


def coins(title: str, means: list[float]) -> Panel:
    """Make a panel of Bernoulli arms with given means."""
    return Panel(title, BernoulliArms.from_means(means))


# Lattimore & Szepesvari -----------------------------------------------------------------------------------------------

GAPS = tuple(round(0.05 * i, 2) for i in range(1, 21))
GAP_NAMES = {gap: f"gap{gap:g}" for gap in GAPS}


def gap_panels(horizon: int, bound: Callable[[float, int], float]) -> Mapping[str, Panel]:
    """Make a panel of two Gaussian arms with means 0 and -D for each gap D in `GAPS`.

    Args:
      horizon: number of rounds.
      bound: function from a gap and the horizon to the bound on regret.
    """
    return {
        name: Panel(f"D = {gap:g}", NoisyArms.from_means([0.0, -gap]), x=gap, bound=bound(gap, horizon))
        for gap, name in GAP_NAMES.items()
    }


def titles(gaps: Any) -> dict[str, str]:
    """Return a mapping from the names of the panels of these gaps to their titles."""
    return {GAP_NAMES[gap]: f"D = {gap:g}" for gap in gaps}


# Russac, Vernade & Cappe ----------------------------------------------------------------------------------------------

RUSSAC = Study(
    "classics",
    "Russac, Vernade & Cappe, NeurIPS 2019",
    horizon=6000,
    horizon_stated=True,
    seeds=512,
    presets=PRESETS,
    notes=(
        "The settings are those of the authors' notebooks: d = 2, 50 new arms per round, sigma = 1, lambda = 0.1, "
        "delta = 0.01 and S = 1; gamma and the window length follow from the variation of theta. LinUCB is run as "
        "D-LinUCB with gamma = 1.",
        "dLinUCB, which detects changes, and LinUCB restarted at the true changes are not in the library.",
        "'D-LinUCB as coded' has the recursion for W of the authors' code (see the table of errata below).",
    ),
)


def forgetting(variation: float) -> Callable[[str, int, Panel], Learners]:
    """Return a function that makes the learners of Russac et al. for a parameter theta of this total variation."""

    def learners(preset: str, horizon: int, panel: Panel) -> Learners:
        del preset, panel
        common: Fields = {"dim": 2, "ridge": 0.1, "delta": 0.01}
        moving = {"horizon": horizon, "variation": variation}
        return {
            "LinUCB": DLinUCB(discount=1.0, **common),
            "SW-LinUCB": SWLinUCB.theory(**moving, **common),
            "D-LinUCB": DLinUCB.theory(**moving, **common),
            "D-LinUCB as coded": DLinUCB.theory(**moving, **common, authors_code=True),
        }

    return learners


def forgetting_claims(figure: str, panel: str) -> tuple[Claim, ...]:
    """Make the claims on learners that forget in Figure 1 or 2 of Russac et al., and on their authors' code.

    Args:
      figure: name of the figure, for the place of the claims.
      panel: name of the panel.
    """
    on = {"on": panel, "place": figure}
    return (
        *observations("forgetting-helps", mean("D-LinUCB", "SW-LinUCB") < mean("LinUCB"),
                      says="{label} is ahead of LinUCB, which never forgets", **on),
        *observations("discounts", mean("D-LinUCB") / mean("SW-LinUCB") < 1.05,
                      says="the regret of D-LinUCB is at most 1.05 times that of SW-LinUCB", **on),
        *observations("code-explores-more", mean("D-LinUCB as coded") > mean("D-LinUCB"), on=panel,
                      says="D-LinUCB has more regret with the recursion of the authors' code than with that of the "
                      "paper",
                      place="Algorithm 1"),
    )


def moving_arms(path: np.ndarray) -> Any:
    """Make the environment of linear arms whose parameter theta in round t is row t of `path` `[T, 2]`."""
    return with_drift(BallArms(dim=2, n_arms=50, theta=path[0]), Given(path=path))
