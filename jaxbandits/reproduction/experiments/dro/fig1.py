"""Figure 1: Example 1, where one outlier group decides what the maximal risk asks for."""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.algorithms.dro.atkro_k import ATkROk
from jaxbandits.algorithms.dro.atkro_m import ATkROm
from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.domains.box import Box
from jaxbandits.environments.dro.example_groups import ExampleGroups
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Panel
from jaxbandits.reproduction.engine.figures import PanelCurves
from jaxbandits.reproduction.engine.statements import mean_within
from jaxbandits.reproduction.engine.statistic import exactly
from jaxbandits.reproduction.experiments.dro.setting import SEEDS, THEOREMS
from jaxbandits.results.curves import COLOURS, SMALL_LEGEND

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jaxbandits.reproduction.engine.run import Report

_K = 5


def _panels(horizon: int) -> Mapping[str, Panel]:
    del horizon
    return {
        "max": Panel("maximal risk", ExampleGroups(), x=1.0, bound=0.5),
        "top-5": Panel("mean of the 5 largest risks", ExampleGroups(top_k=_K), x=float(_K), bound=0.8),
    }


def _algorithms(preset: str, horizon: int, panel: Panel) -> Mapping[str, Any]:
    del preset
    common = {"dim": 1, "n_groups": panel.environment.n_groups, "horizon": horizon, "lipschitz": 2.0}
    common |= {"domain": Box(dim=1, low=0.0, high=1.0)}
    if panel.environment.top_k == 1:
        return {"SMD(m)": SMD(**common), "Online(1)": Online(**common)}
    return {"ATkRO(m)": ATkROm(k=_K, **common), "ATkRO(k)": ATkROk(k=_K, **common)}


@dataclasses.dataclass(frozen=True)
class Example:
    """The risks of the example as functions of w, their maximum and the mean of the 5 largest, with both optima."""

    name: str = "example"

    def draw(self, plt: Any, report: "Report") -> "Figure":
        """Draw the figure, without its title: nothing in it is sampled."""
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
    """Compute the mean change of some risks from w = 0.5 to w = 0.8."""
    risks = np.asarray(ExampleGroups().risks(np.array([0.5, 0.8])), float)
    return float(np.mean((risks[1] - risks[0])[of]))


def _exact(text: str, value: Any, claimed: float) -> Claim:
    # the programs of a run are in float32
    return Claim(text, "Example 1", exactly(value), claimed - 1e-6, claimed + 1e-6, trials=SEEDS)


FIG1 = THEOREMS.experiment(
    "fig1",
    "Figure 1",
    title="Example 1: squared loss on 16 Bernoulli groups, one of them an outlier",
    horizon=40_000,
    seeds=SEEDS,
    presets={"theory": "the figure is exact; learners run with the theorems' step sizes for D^2 = 1/2, G = 2"},
    algorithms=_algorithms,
    panels=_panels,
    metric="distance",
    claims=(
        _exact("the maximal risk is least at w = 0.5", lambda: float(ExampleGroups().optimum(1)[0]), 0.5),
        _exact("where it is 0.25", lambda: float(ExampleGroups().optimum(1)[1]), 0.25),
        _exact("that of the 5 largest risks at w = 0.8", lambda: float(ExampleGroups().optimum(5)[0]), 0.8),
        _exact("where it is 0.16", lambda: float(ExampleGroups().optimum(5)[1]), 0.16),
        _exact("going there costs the outlier 0.09", lambda: _change(slice(0, 1)), 0.09),
        _exact("and gains the others 0.168 in the mean", lambda: _change(slice(1, None)), -0.168),
        *(
            claim
            for panel, w, labels in (("max", 0.5, ("SMD(m)", "Online(1)")), ("top-5", 0.8, ("ATkRO(m)", "ATkRO(k)")))
            for label in labels
            for claim in mean_within(
                label,
                "distance",
                on=panel,
                says=f"{label} ends within 0.05 of w = {w}",
                place="ours, on Example 1",
                high=0.05,
                trials=SEEDS,
            )
        ),
    ),
    notes=("The paper draws the risks only; that learners find the optima is ours.",),
    figures=(Example(), PanelCurves(name="learners")),
)
