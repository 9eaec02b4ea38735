"""Figure 1 of Zhang et al.: Example 1, in which one outlier group determines the minimiser of the maximal risk."""

import dataclasses
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from jaxbandits.base.pytree import Fields
from jaxbandits.domains import Box
from jaxbandits.dro import SMD, ATkROk, ATkROm, ExampleGroups, Online
from jaxbandits.plots.curves import COLOURS, SMALL_LEGEND
from jaxbandits.reproduction.engine import Claim, Learners, Panel, PanelCurves, Report
from jaxbandits.reproduction.experiments.dro.setting import SEEDS, THEOREMS
from jaxbandits.reproduction.sentences import exact_value, mean, measure, observations, theorems

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_K = 5


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    return {
        "max": Panel("maximal risk", ExampleGroups(), x=1.0, bound=0.5),
        "top-5": Panel("mean of the 5 largest risks", ExampleGroups(top_k=_K), x=float(_K), bound=0.8),
    }


def _algorithms(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    common = {"dim": 1, "n_groups": panel.environment.n_groups, "horizon": horizon, "lipschitz": 2.0}
    common |= {"domain": Box(dim=1, low=0.0, high=1.0)}
    if panel.environment.top_k == 1:
        return {"SMD(m)": SMD(**common), "Online(1)": Online(**common)}
    return {"ATkRO(m)": ATkROm(k=_K, **common), "ATkRO(k)": ATkROk(k=_K, **common)}


@dataclasses.dataclass(frozen=True)
class Example:
    """Risks of the example as functions of w, with their maximum, the mean of the 5 largest, and both minimisers.

    Attributes:
      name: suffix of the file names (`Drawing.name`).
    """

    name: str = "example"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw and return the figure, without its title; it does not depend on the trials."""
        environment = report.panels["max"].environment
        w = np.linspace(0.0, 1.0, 401)
        risks = np.asarray(environment.risks(w))
        figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 3.8), layout="constrained")
        shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, 8))
        left.plot(w, risks[:, 0], color=COLOURS[1], linewidth=2.0, label="group 1, mean 0.5")
        for shade, group in zip(shades, range(1, 16, 2), strict=True):
            left.plot(w, risks[:, group], color=shade, label=f"group {group + 1}, mean {environment.means[group]:g}")
        top = np.sort(risks, axis=1)[:, ::-1]
        right.plot(w, top[:, 0], color=COLOURS[0], label="largest")
        right.plot(w, top[:, :_K].mean(axis=1), color=COLOURS[2], linestyle="--", label="mean of the 5 largest")
        for k, colour in ((1, COLOURS[0]), (_K, COLOURS[2])):
            at, value = map(float, environment.optimum(k))
            right.plot(at, value, "o", color=colour)
            text = f"w = {at:.2g}: {value:.3g}"
            right.annotate(text, (at, value), (-6, -14), textcoords="offset points", ha="right", color=colour)
        for ax, title in ((left, "risks of single groups"), (right, "what is minimised")):
            ax.set(xlabel="w", ylabel="risk", title=title)
            ax.spines[["top", "right"]].set_visible(False)
        right.set_ylim(bottom=0.0)
        left.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), **SMALL_LEGEND)
        right.legend(**SMALL_LEGEND)
        return figure


def _change(of: slice) -> float:
    """Compute the mean change of the risks of some groups from w = 0.5 to w = 0.8."""
    risks = np.asarray(ExampleGroups().risks(np.array([0.5, 0.8])), float)
    return float(np.mean((risks[1] - risks[0])[of]))


def _optimum(k: int, of: int) -> float:
    """Return the minimiser w of the mean of the k largest risks if `of` is 0, or the minimum if `of` is 1."""
    return float(ExampleGroups().optimum(k)[of])


_EXACT = {  # by sentence: wording, number in the sentence, and function that returns the exact number
    "max-optimum": ("the maximal risk is least at w = 0.5", 0.5, lambda: _optimum(1, of=0)),
    "max-value": ("the least maximal risk is 0.25", 0.25, lambda: _optimum(1, of=1)),
    "top-5-optimum": ("the mean of the 5 largest risks is least at w = 0.8", 0.8, lambda: _optimum(5, of=0)),
    "top-5-value": ("the least mean of the 5 largest risks is 0.16", 0.16, lambda: _optimum(5, of=1)),
    "outlier-cost": ("w = 0.8 instead of 0.5 costs the outlier 0.09", 0.09, lambda: _change(slice(0, 1))),
    "others-gain": ("w = 0.8 instead of 0.5 gains others 0.168 on average", -0.168, lambda: _change(slice(1, None))),
}
_ROUNDING = 1e-6  # the programs of a run are in float32
_FIELDS: Fields = {"place": "Example 1", "least": SEEDS}


def _claims() -> Iterable[Claim]:
    for id, (says, number, exact) in _EXACT.items():
        found = measure("", exact_value(exact), template="").between(number - _ROUNDING, number + _ROUNDING)
        yield from theorems(id, found, says=says, **_FIELDS)
    for panel, w, labels in (("max", 0.5, ("SMD(m)", "Online(1)")), ("top-5", 0.8, ("ATkRO(m)", "ATkRO(k)"))):
        says = f"{{label}} ends within 0.05 of w = {w}"
        yield from observations(f"finds-{w}", mean(*labels, of="distance") < 0.05, on=panel, says=says, **_FIELDS)


FIG1 = THEOREMS.experiment(
    "fig1",
    "Figure 1",
    title="Example 1: squared loss on 16 Bernoulli groups, one of them an outlier",
    shows="Figure 1 illustrates Example 1: panel (a) shows the risks of 9 of its 16 distributions as functions of w, "
    "panel (b) the largest risk and the mean of the 5 largest, each with its minimiser. The paper states w in [0, 1], "
    "squared loss, and Bernoulli distributions with means 0.5, 0.86, 0.87, ..., 0.99 and 1.",
    horizon=40_000,
    seeds=SEEDS,
    presets={"theory": "the figure is computed exactly; learners have the theorems' step sizes for D^2 = 1/2, G = 2"},
    algorithms=_algorithms,
    panels=_panels,
    metric="distance",
    claims=tuple(_claims()),
    notes=("The paper shows only the risks; the claims that learners find the minimisers are ours.",),
    figures=(Example(), PanelCurves(name="learners")),
)
