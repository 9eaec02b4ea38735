"""Figure 4 of Zhang et al. (2025): the Covertype data, or a synthetic stand-in for them."""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jaxbandits.environments.datasets.files import require_complete_files
from jaxbandits.glm import Covertype
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine import Against, Curves, Learner, Learners, Panel, TimePerRound
from jaxbandits.reproduction.experiments.glm import setting
from jaxbandits.reproduction.sentences import COMPARABLE, MUCH, claims, mean, observations, time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jaxbandits.reproduction.engine import Report

_FACTORS = (1.0, 0.1, 0.02)
_PLAYED = ("OFUGLB", "OFULog-r", "GLB-OMD", "GLB-OMD, data radius", "ECOLog", "GLOC", "GLM-UCB", "RS-GLinCB", "uniform")
_UNDRAWN = ("GLM-UCB", "uniform")
_JUDGED = ("x0.1", "x0.02")
_TITLE = "Covertype (UCI)"


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    """Make the learners of the figure, with every radius multiplied by the factor of the panel."""
    every = setting.learners(preset, horizon, panel.environment, bound=6.0, delta=0.01, fixed_arms=True)
    every["RS-GLinCB"] = dataclasses.replace(every["RS-GLinCB, theorem"], kappa=200.0)
    return {name: _shrunk(every[name], panel.x) for name in _PLAYED}


def _shrunk(learner: Learner, factor: float) -> Learner:
    return dataclasses.replace(learner, **{name: factor * getattr(learner, name) for name in setting.scales(learner)})


def _below(learner: Learner) -> Mapping[str, tuple[float, ...]]:
    """Return the grid of the other figures, multiplied by the factors that the learner has in this panel."""
    return {
        name: tuple(getattr(learner, name) * value for value in values)
        for name, values in setting.grid(learner).items()
    }


def _covertype_panels(environment: Covertype) -> Mapping[str, Panel]:
    dataset = environment.dataset
    data = {"covertype": "Covertype", "stand-in": "stand-in for Covertype"}.get(dataset, dataset)
    return {f"x{factor:g}": Panel(f"{data}, radii x {factor:g}", environment, x=factor) for factor in _FACTORS}


@functools.cache  # two seconds of clustering
def _stand_in() -> Covertype:
    return Covertype.stand_in()


def _from_file(path: Path) -> Mapping[str, Any]:
    with require_complete_files():
        environment = Covertype.from_file(path)
    return {"title": _TITLE, "panels": lambda horizon: _covertype_panels(environment)}


@dataclasses.dataclass(frozen=True)
class RegretAgainstTime:
    """Mean regret of each learner against the time of one of its trials, in the timed panel (Figure 4, right).

    Attributes:
      name: suffix of the file names (`Drawing.name`).
    """

    timed: ClassVar[bool] = True
    name: str = "scatter"

    def draw(self, plt: ModuleType, report: "Report") -> "Figure":
        """Draw one marker per learner, at its median time over repeats and its mean regret, and return the figure."""
        figure, ax = plt.subplots(figsize=(8.0, 4.6), layout="constrained")
        ((panel, _), times), *_ = report.times.items()
        rows = {row.label: row for row in report.results[panel].summary("regret")}
        for label, ns in times.ns.items():
            i, row = report.order(_UNDRAWN).index(label), rows[label]
            seconds = float(np.median(ns @ np.diff(times.stretch_ends, prepend=0))) / 1e9
            reach = [[row.mean - row.low], [row.high - row.mean]]
            look = curves.look(i) | {"linestyle": ""}
            ax.errorbar(seconds, row.mean, reach, label=label, capsize=2, markersize=6, **look)
        ax.set(xscale="log", xlabel="seconds per trial (one core)", ylabel=f"mean regret, {report.panels[panel].title}")
        ax.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside right center", frameon=False, fontsize="small")
        return figure


COVERTYPE = setting.OTHER_ARMS.experiment(
    "covertype",
    "Figure 4 (v2: 5)",
    horizon_stated=True,
    title="stand-in for Covertype: synthetic data of the same shape",
    data_title=_TITLE,
    shows="Figure 4 shows, for the learners of Figure 1 on the Forest Cover Type data, regret over time, running "
    "times, and regret against running time. The paper states 60 arms (centroids of clusters in 10 features and a "
    "constant), mean rewards from 0.103 to 0.881, T = 1000, delta = 0.01, S = 6, kappa = 200, confidence sets of all "
    "learners shrunk in a comparable way, and 10 trials.",
    horizon=1000,
    guessed="the factor that shrinks the radii and the scale of the arms are guessed",
    algorithms=_learners,
    panels=lambda horizon: _covertype_panels(_stand_in()),
    from_file=_from_file,
    stand_ins={f"x{factor:g}": "Covertype" for factor in _FACTORS},
    claims=(
        *claims("performance", mean("GLB-OMD") < COMPARABLE * mean("OFUGLB", "ECOLog", "OFULog-r", "RS-GLinCB"),
                on=_JUDGED, says="GLB-OMD does not compromise performance", place="Figure 4; Appendix F.3", least=32),
        *claims("faster", time("OFUGLB", "ECOLog", "OFULog-r", "GLM-UCB", "RS-GLinCB") > MUCH * time("GLB-OMD"),
                on="x0.1", says="with 32 trials at once, GLB-OMD is significantly faster than {label}",
                place="Figure 4; Appendix F.3"),
        *observations("gloc-pays", mean("GLOC") > mean("GLB-OMD"), on=_JUDGED,
                      says="GLOC has more regret than GLB-OMD",
                      place="Figure 4, right", least=32),
    ),
    notes=(
        "ECOLog is that of public code (as in glm/fig1), with its radius multiplied by the factor of the panel. Unlike "
        "in glm/fig1, RS-GLinCB has the constants of its theorem, but lambda = d.",
        "There are K = 60 clusters; d = 11, S = 6 and delta = 0.01. Only RS-GLinCB uses kappa = 200; GLM-UCB and GLOC "
        "use the smallest slope over the ball, 1 / 405.",
        "The paper shrinks all confidence sets by an amount that it does not state. Here radii are multiplied by 1, "
        "0.1 or 0.02. If a learner's confidence set is a level set, its level is multiplied by the square of the "
        "factor; RS-GLinCB has a radius for the warm-up and one for later rounds, which are both multiplied. In the "
        "preset experiments the warm-up of RS-GLinCB is longer than these 1,000 rounds with each factor, so its regret "
        "does not depend on the factor.",
        "Regret is computed from the average rewards of the clusters, which no logistic model fits exactly.",
        "The option `--data FILE` reads the real data from covtype.data or covtype.data.gz; without it the experiment "
        "runs on a stand-in.",
        "Methods that fit a likelihood run on the first 64 seeds; comparisons with them use only these seeds.",
        setting.PRESETS_NOTE,
        "Here the factors of the presets practical and tuned are applied in addition to the factor of the panel. At "
        "most points of its grid, the warm-up of RS-GLinCB is longer than the third of the rounds on which it is "
        "tuned. These points have equal regret, and if no point is better, the radii of the panel are kept.",
    ),
    slow={name: 64 for name in setting.MLE if name != "RS-GLinCB, theorem"},
    figures=(
        Curves(not_drawn=_UNDRAWN, logarithmic=True, times=True),
        Against("factor on the radii", not_drawn=_UNDRAWN),
        RegretAgainstTime(),
    ),
    timed=TimePerRound(("x0.1",), at=(None,)),
    tuning=dataclasses.replace(setting.PER_PANEL, grid=_below),
)
