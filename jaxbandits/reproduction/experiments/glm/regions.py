"""Figure 3 in the second version of Zhang et al. (2025): confidence regions in the plane after one trial."""

import dataclasses
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from jaxbandits.analysis.trials import Trials
from jaxbandits.base.pytree import Fields
from jaxbandits.diagnostics import confidence_regions as plane
from jaxbandits.glm import GLBOMD, GLMUCB, OFUGLB, GeneralizedLinear
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine import Learner, Learners, Panel
from jaxbandits.reproduction.experiments.glm.setting import DELTA, THEOREMS
from jaxbandits.reproduction.sentences import COMPARABLE, claims, mean, observations
from jaxbandits.simulation import Meter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jaxbandits.reproduction.engine import Report

_MARKS = (50, 500, 3000)
_NORM, _ARMS = 3.0, 20
_NAMES = ("GLB-OMD", "OFUGLB", "GLM-UCB")
_FIGURE: Fields = {"on": "S3", "place": "v2 Figure 3; Appendix E.2", "least": 32}


def _player(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset, horizon
    return {"GLB-OMD": GLBOMD.experiments(dim=2, norm_bound=float(panel.environment.norm_bound), delta=DELTA)}


_TRACE = (
    Meter("arm", lambda r: r.decision.x, "last", axes=("coordinate",)),
    Meter("reward", lambda r: r.feedback.reward, "last"),
    Meter("theta", lambda r: r.env_state.theta, "last", axes=("coordinate",)),
)


def regions_of(trials: Trials, seed: int, rounds: int) -> tuple[list[plane.Region], np.ndarray, float]:
    """Return the confidence regions of GLB-OMD, OFUGLB and GLM-UCB after `rounds` rounds of one trial.

    Regions are not intersected with the ball of radius S.

    Args:
      trials: trials of GLB-OMD with the metrics `arm`, `reward` and `theta`.
      seed: index of the trial.
      rounds: number of rounds.

    Returns:
      The regions, theta*, and the radius S of the ball.
    """
    xs, rs, theta = (trials.get(name)[0, seed] for name in ("arm", "reward", "theta"))
    xs, rs = xs[:rounds], rs[:rounds]
    common: Fields = {"dim": 2, "norm_bound": _NORM, "delta": DELTA}
    learners = {
        "GLB-OMD": GLBOMD.experiments(**common),
        "OFUGLB": OFUGLB.theory(**common, n_arms=_ARMS),
        "GLM-UCB": GLMUCB.theory(**common, n_arms=_ARMS, horizon=trials.horizon),
    }
    regions = [plane.confidence_set(name, learner, xs, rs) for name, learner in learners.items()]
    return regions, theta[-1], _NORM


def marks(horizon: int) -> tuple[int, ...]:
    """Return the rounds at which regions are drawn and measured: 50, 500, 3000 (if played) and the last."""
    return (*(mark for mark in _MARKS if mark < horizon), horizon)


def _areas(trials: Trials, algorithm: Learner, panel: Panel) -> Mapping[str, np.ndarray]:
    """Compute the area of each region within the ball as a share of the ball, and 1 if theta* is inside, else 0.

    Rounds between two marks have the values of the later mark. `ellipses` is the area of GLB-OMD's ellipse divided by
    the area of GLM-UCB's ellipse, without intersection with the ball.
    """
    del algorithm, panel
    shape = (1, len(trials.seeds), len(trials.record_points))
    names = [f"{what} {name}" for what in ("area", "inside") for name in _NAMES]
    values = {name: np.full(shape, np.nan) for name in (*names, "ellipses")}
    for seed in range(len(trials.seeds)):
        since = 0
        for mark in marks(trials.horizon):
            found, theta, _ = regions_of(trials, seed, mark)
            at, since = (0, seed, slice(since, mark)), mark
            for region in found:
                cut = plane.within_ball(region, _NORM)
                share = plane.area(plane.boundary(cut, 180)) / (np.pi * _NORM**2)
                values[f"area {region.name}"][at] = share
                values[f"inside {region.name}"][at] = region.contains(theta[None])[0]
            whole = {region.name: plane.area(plane.boundary(region, 180)) for region in (found[0], found[2])}
            values["ellipses"][at] = whole["GLB-OMD"] / whole["GLM-UCB"]
    return values


@dataclasses.dataclass(frozen=True)
class Regions:
    """Three confidence regions of the first trial in the plane, after each of the rounds in `marks`.

    Attributes:
      name: suffix of the file names (`Drawing.name`).
    """

    name: str = "regions"

    def draw(self, plt: ModuleType, report: "Report") -> "Figure":
        """Draw one column per round in `marks`, with the ball, the regions and theta*, and return the figure."""
        (result,) = report.results.values()
        trials, at = result["GLB-OMD"], marks(report.horizon)
        size = (3.7 * len(at) + 1.7, 4.8)
        figure, axes = plt.subplots(1, len(at), figsize=size, layout="constrained", squeeze=False)
        for ax, mark in zip(axes[0], at, strict=True):
            found, theta, norm = regions_of(trials, 0, mark)
            circle = norm * np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 200))
            ax.plot(circle.real, circle.imag, color="#000000", linewidth=0.8, label=f"ball of radius {norm:g}")
            for i, region in enumerate(found):
                colour, style = curves.COLOURS[i], curves.STYLES[i]
                line = plane.boundary(plane.within_ball(region, norm))
                ax.fill(*line.T, color=colour, alpha=0.12, linewidth=0)
                ax.plot(*np.vstack([line, line[:1]]).T, color=colour, linestyle=style, label=region.name)
                ax.plot(*region.center, color=colour, marker="+", linestyle="")
            ax.plot([], [], color="0.4", marker="+", linestyle="", label="centre of a region")
            ax.plot(*theta, color="#000000", marker="*", markersize=9, linestyle="", label="theta*")
            ax.set(aspect="equal", title=f"after {mark:,} rounds", xlabel="theta, first coordinate")
            ax.spines[["top", "right"]].set_visible(False)
        axes[0][0].set_ylabel("second coordinate")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside right center", frameon=False)
        return figure


REGIONS = THEOREMS.experiment(
    "regions",
    "v2 Figure 3",
    title="confidence regions in the plane, computed from the same plays, logistic bandits",
    shows="Figure 3 of the paper's second version shows confidence regions of the parameter in the plane, for "
    "GLB-OMD, OFUGLB and GLM-UCB.",
    seeds=32,
    presets={"experiments": "GLB-OMD with lambda = d plays; every region is computed from its plays and rewards"},
    algorithms=_player,
    panels=lambda horizon: {"S3": Panel("S = 3", GeneralizedLinear.fixed(norm_bound=_NORM, n_arms=_ARMS))},
    metric="area GLB-OMD",
    tabulated=("area OFUGLB", "area GLM-UCB", "ellipses"),
    meters=_TRACE,
    derive=_areas,
    record_points=3000,
    claims=(
        *claims("smaller", mean("GLB-OMD", of="ellipses") < 0.1,
                says="the ellipse of GLB-OMD is far smaller than that of GLM-UCB", **_FIGURE),
        *observations(
            "half-of-the-ball",
            mean("GLB-OMD", of="area GLB-OMD") < 0.5,
            says="the region of GLB-OMD covers at most half of the ball",
            **_FIGURE,
        ),
        *observations("ofuglb-half", mean("GLB-OMD", of="area OFUGLB") < 0.5,
                      says="the region of OFUGLB covers at most half of the ball", **_FIGURE),
        *claims("comparable",
                mean("GLB-OMD", of="area GLB-OMD") - COMPARABLE * mean("GLB-OMD", of="area OFUGLB") < 0.0,
                says="within the ball, the region of GLB-OMD is comparable to that of OFUGLB", **_FIGURE),
    ),
    notes=(
        "The metric 'area NAME' is the area of a learner's region within the ball of radius S = 3, as a share of the "
        "area of the ball. The picture shows the trial of the first seed. The region of GLM-UCB is the set of "
        "parameters from which its bonus is derived. The metric ellipses is the area of GLB-OMD's ellipse divided by "
        "that of GLM-UCB's, without intersection with the ball.",
    ),
    figures=(Regions(),),
    float64=True,
)
