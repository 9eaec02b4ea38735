"""Duality gaps on Example 1 of Zhang et al., whose losses are in [0, 1], compared with the explicit bounds."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from jaxbandits import dro
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.base.text import count_of
from jaxbandits.domains import Box
from jaxbandits.reproduction.engine import Claim, Learner, Learners, Panel, Report
from jaxbandits.reproduction.experiments.dro import setting
from jaxbandits.reproduction.sentences import OUT_OF_REACH, mean, observations, share, share_for_all, slug, theorems
from jaxbandits.theory import dro as theory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRIALS, HORIZON = 1000, 40_000
DELTA = 0.01
_K = 5
DIAMETER_SQ, LIPSCHITZ = 0.5, 2.0  # D^2 of [0, 1] from 0, and G of (w - z)^2 on [0, 1]
PRODUCT = DIAMETER_SQ * LIPSCHITZ**2  # D^2 G^2


class _Theorem(NamedTuple):
    """Learner with the panel in which it plays and the theorem about it."""

    learner: type
    panel: str
    source: str
    bounds: Callable[..., tuple[float, float]]

    def at(self, rounds: float, n_groups: int = dro.ExampleGroups().n_groups) -> tuple[float, float]:
        """Return the bound in expectation and the high-probability bound, after `rounds` rounds of Example 1."""
        k = _K if self.panel == "top-5" else 1
        return self.bounds(n_groups, rounds, k, product=PRODUCT, delta=DELTA)


THEOREMS: Mapping[str, _Theorem] = {
    "SMD(m)": _Theorem(dro.SMD, "max", "Theorem 1", theory.theorem_1),
    "SMD(m)_a": _Theorem(dro.AnytimeSMD, "max", "Theorem 2", theory.theorem_2),
    "Online(1)": _Theorem(dro.Online, "max", "Theorem 5", theory.theorem_5),
    "Online(1)_a": _Theorem(dro.AnytimeOnline, "max", "Theorem 8", theory.theorem_8),
    "ATkRO(m)": _Theorem(dro.ATkROm, "top-5", "Theorem 12", theory.theorem_1),
    "ATkRO(m)_a": _Theorem(dro.AnytimeATkROm, "top-5", "Theorem 13", theory.theorem_2),
    "ATkRO(k)": _Theorem(dro.ATkROk, "top-5", "Theorem 15", theory.theorem_15),
    "ATkRO(1)_a": _Theorem(dro.AnytimeATkRO1, "top-5", "Theorem 16", theory.theorem_8),
}
ANYTIME = tuple(label for label in THEOREMS if label.endswith("_a"))
_STYLES = {
    "mean": {"color": "#0072B2"},
    "largest of all trials": {"color": "#0072B2", "linestyle": ":"},
    "bound of the mean": {"color": "#000000", "linestyle": "--"},
    f"bound of {1.0 - DELTA:.0%} of gaps": {"color": "#000000", "linestyle": "-."},
    "no gap is larger": {"color": "0.6", "linewidth": 0.8},
}


def panels(horizon: int) -> Mapping[str, Panel]:
    """Make two panels of Example 1, with the maximal risk and with the mean of the 5 largest risks as objective."""
    del horizon
    return {
        "max": Panel("maximal risk", dro.ExampleGroups()),
        "top-5": Panel("mean of the 5 largest risks", dro.ExampleGroups(top_k=_K)),
    }


def learners(horizon: int, panel: Panel) -> Learners:
    """Make the learners of a panel, by label, with the step sizes of their theorems."""
    common = {"dim": 1, "n_groups": panel.environment.n_groups, "domain": Box(dim=1, low=0.0, high=1.0)}
    common |= {"lipschitz": LIPSCHITZ, "diameter_sq": DIAMETER_SQ}
    if (k := panel.environment.top_k) > 1:
        common["k"] = k
    return {
        label: theorem.learner(**common, **({} if label in ANYTIME else {"horizon": horizon}))
        for label, theorem in THEOREMS.items()
        if theorem.panel == ("max" if k == 1 else "top-5")
    }


def _with_bounds(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Compute bounds: at the horizon for fixed step sizes, and at every record point for anytime variants."""
    environment, gap = panel.environment, trials.get("duality_gap")
    at = np.full_like(trials.record_points, trials.horizon) if hasattr(algorithm, "horizon") else trials.record_points
    (theorem,) = (theorem for theorem in THEOREMS.values() if theorem.learner is type(algorithm))
    bounds = np.array([theorem.at(float(t), environment.n_groups) for t in at]).T
    mean, likely = (np.broadcast_to(bound, gap.shape) for bound in bounds)
    return {"mean_bound": mean, "likely_bound": likely, "share_of_mean": gap / mean, "share_of_likely": gap / likely}


def _vacuous(name: str) -> str:
    """Return a warning if the high-probability bound is above 1, the largest possible gap; else ""."""
    bound = THEOREMS[name].at(HORIZON)[1]
    return "" if bound < 1.0 else f" (vacuous: the bound is {bound:.2g}, and no gap exceeds 1)"


@dataclasses.dataclass(frozen=True)
class GapsBesideBounds:
    """Mean and largest duality gap over the rounds, with the bound on the mean and the high-probability bound.

    There is one axes per learner.

    Attributes:
      name: suffix of the file names (`Drawing.name`).
    """

    needs: ClassVar = ("mean_bound", "likely_bound")
    name: str = "bounds"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw and return the figure, without its title."""
        from matplotlib.lines import Line2D

        figure, axes = plt.subplots(2, 4, figsize=(14.5, 6.0), layout="constrained", sharex=True, sharey=True)
        results = {name: report.results[theorem.panel] for name, theorem in THEOREMS.items()}
        trials = {name: result[name] for name, result in results.items() if name in result}
        for ax, name in zip(axes.flat, trials, strict=False):
            _draw(ax, trials[name], at_every_round=name in ANYTIME)
            ax.set(xscale="log", yscale="log", title=f"{name}, {THEOREMS[name].source}")
            ax.spines[["top", "right"]].set_visible(False)
        for ax in axes.flat[len(trials) :]:
            ax.set_axis_off()
        for ax in axes[-1]:
            ax.set_xlabel("round")
        for ax in axes[:, 0]:
            ax.set_ylabel("duality gap")
        lines = [Line2D([], [], **style) for style in _STYLES.values()]
        seeds = len(next(iter(trials.values())).seeds)
        title = f"{count_of(seeds, 'seed')}; bounds of fixed\nsteps: at T only, - and v"
        figure.legend(lines, _STYLES.keys(), title=title, loc="outside right center", frameon=False)
        return figure


def _draw(ax: "Axes", trials: Trials, at_every_round: bool) -> None:
    mean, largest, mean_bound, likely_bound, limit = _STYLES.values()
    gap = np.maximum(trials.get("duality_gap")[0, trials.usable("duality_gap")[0]], 1e-6)
    ax.plot(trials.record_points, gap.mean(axis=0), **mean)
    ax.plot(trials.record_points, gap.max(axis=0), **largest)
    for metric, style, marker in (("mean_bound", mean_bound, "_"), ("likely_bound", likely_bound, "v")):
        bound = trials.get(metric)[0, 0]
        if at_every_round:
            ax.plot(trials.record_points, bound, **style)
        else:
            ax.plot(trials.record_points[-1], bound[-1], color=style["color"], marker=marker, linestyle="")
    ax.axhline(1.0, **limit)


def _claims() -> Iterable[Claim]:
    likely = f"the gap of {{label}} is below its bound with probability at least 1 - delta = {1.0 - DELTA:g}"
    for name, (_, panel, source, _) in THEOREMS.items():
        at: Fields = {"on": panel, "place": source, "least": TRIALS}
        below, mostly = mean(name, of="share_of_mean") < 1.0, share(name, of="share_of_likely") > 1.0 - DELTA
        single, vacuous = share(name, of="share_of_mean") > share_for_all(TRIALS), _vacuous(name)
        beyond = OUT_OF_REACH.format(most="1", what="a gap") if vacuous else ""
        says = "the mean duality gap of {label} is below its bound"
        yield from theorems(f"{slug(source)}-mean", below, says=says, **at)
        yield from theorems(f"{slug(source)}-likely", mostly, says=f"{likely}{vacuous}", cannot_fail=beyond, **at)
        says = "the bound on the mean gap of {label} is loose: even single gaps are below it"
        yield from observations(f"{slug(source)}-loose", single, says=says, **at)


BOUNDS = setting.THEOREMS.experiment(
    "bounds",
    "Theorems 1-16",
    title="duality gaps and their explicit bounds on Example 1",
    horizon=HORIZON,
    seeds=TRIALS,
    presets={"theory": "the step sizes of the theorems for D^2 = 1/2, G = 2"},
    algorithms=lambda preset, horizon, panel: learners(horizon, panel),
    panels=panels,
    metric="duality_gap",
    tabulated=("share_of_mean", "share_of_likely"),
    derive=_with_bounds,
    claims=tuple(_claims()),
    notes=(
        "The losses (w - z)^2 with w and z in [0, 1] are at most 1, as the theorems require; the logistic losses of "
        "the paper's experiments are not. There are 16 groups, and w_1 = 0, so that D^2 = 1/2 and G = 2. Gaps are "
        "computed exactly.",
        "Bounds for fixed step sizes hold after T rounds and are drawn only there. A gap never exceeds 1 here, so a "
        "bound above 1 is vacuous. The high-probability bounds of SMD(m)_a and ATkRO(m)_a fall below 1 only from about "
        "T = 310,000 and T = 190,000 on, which is eight and five times the number of rounds here.",
    ),
    figures=(GapsBesideBounds(),),
)
