"""Time per round against the dimension, of learners with and without projections."""

import dataclasses
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jaxbandits.coco import OFWTVC, LinearConstraints, SinhaVaze
from jaxbandits.domains import L1Ball, NuclearBall
from jaxbandits.plots import curves
from jaxbandits.reproduction.engine import Learners, Panel, Report, TimePerRound
from jaxbandits.reproduction.experiments.coco.setting import OWN_STUDY, constants
from jaxbandits.reproduction.sentences import observations, time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Number of rounds by side or dimension; fast learners need many rounds to exceed the overhead of a call.
_SIDES = {4: 1000, 16: 250, 32: 80, 64: 20, 128: 12, 256: 10, 512: 6}
_LENGTHS = {10: 4000, 100: 4000, 1000: 1000, 10_000: 200, 100_000: 20}
_MATRICES, _VECTORS = {f"nuclear-{n}": n for n in _SIDES}, {f"l1-{d}": d for d in _LENGTHS}
_ROUNDS = 1000
_FREE, _PROJECTS = "OFW-TVC", "Sinha-Vaze"


def _panels(horizon: int) -> Mapping[str, Panel]:
    def panel(title: str, problem: LinearConstraints, x: int, rounds: int) -> Panel:
        return Panel(title, problem, x=float(x), rounds=max(2, round(rounds * horizon / _ROUNDS)))

    matrices = {
        f"nuclear-{n}": panel(
            f"trace-norm ball, {n} x {n}", LinearConstraints(dim=(n, n), domain=NuclearBall()), n, rounds
        )
        for n, rounds in _SIDES.items()
    }
    vectors = {
        f"l1-{d}": panel(f"l1 ball, d = {d:,}", LinearConstraints(dim=d, domain=L1Ball()), d, rounds)
        for d, rounds in _LENGTHS.items()
    }
    return matrices | vectors


def _learners(preset: str, horizon: int, panel: Panel) -> Learners:
    del preset
    environment, rounds = panel.environment, panel.horizon(horizon)
    return {
        _FREE: OFWTVC.practical(**constants(environment, rounds)),
        _PROJECTS: SinhaVaze(**constants(environment, rounds, scaled=False)),
    }


@dataclasses.dataclass(frozen=True)
class Crossover:
    """Median time per round against the dimension, with quartiles, for matrices (left) and vectors (right).

    Attributes:
      name: suffix of the file names (`Drawing.name`).
    """

    timed: ClassVar[bool] = True  # the figure shows times and is omitted without timings
    name: str = "crossover"

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw one axes for each kind of set, and return the figure."""
        figure, axes = plt.subplots(1, 2, figsize=(10.4, 4.4), layout="constrained")
        frames = (("trace-norm ball", "n (matrices n x n)", _MATRICES), ("l1 ball", "d", _VECTORS))
        times = {name: measured for (name, _), measured in report.times.items()}
        for ax, (title, axis, panels) in zip(axes, frames, strict=True):
            for label in report.labels:
                rows = [_microseconds(times[name], label) for name in panels]
                low, middle, high = np.transpose([np.quantile(row, (0.25, 0.5, 0.75)) for row in rows])
                look, at = curves.look(report.order().index(label)), list(panels.values())
                ax.plot(at, middle, label=label, markersize=4, **look)
                ax.fill_between(at, low, high, color=look["color"], alpha=0.2, linewidth=0)
            ax.set(xscale="log", yscale="log", xlabel=axis, ylabel="microseconds per round (one core)", title=title)
            ax.set_xticks(list(panels.values()), [f"{x:,}" for x in panels.values()])
            ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
            ax.spines[["top", "right"]].set_visible(False)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
        return figure


def _microseconds(times: Any, label: str) -> np.ndarray:
    """Return `[repeats]` microseconds per round, over a whole trial."""
    return times.ns[label] @ np.diff(times.stretch_ends, prepend=0) / times.stretch_ends[-1] / 1e3


COST = OWN_STUDY.experiment(
    "cost",
    "Section 1",
    title="time per round against the dimension, of learners with and without projections",
    horizon=_ROUNDS,
    seeds=2,
    presets={"practical": "constants are set by hand; times hardly depend on them"},
    algorithms=_learners,
    panels=_panels,
    metric="violation",
    record_points=2,
    timed=TimePerRound((*_MATRICES, *_VECTORS), at=(1,)),
    claims=(
        *observations("projection-slower", time(_FREE) < time(_PROJECTS), on=(*_MATRICES, *_VECTORS),
                      says="Sinha-Vaze, which projects, takes longer than OFW-TVC, which is projection-free",
                      place="Section 1"),
        *observations("far-slower", time(_PROJECTS) > 10.0 * time(_FREE), on="nuclear-512",
                      says="on matrices of 512 x 512 Sinha-Vaze takes more than 10 times as long as OFW-TVC"),
    ),
    notes=(
        "Times are those of a single trial on one core, and include the time for drawing the losses. OFW-TVC, the "
        "learner without projections, calls the oracle once per round; Sinha-Vaze projects once per round.",
        "On the trace-norm ball the oracle is an eigendecomposition of a Gram matrix for n below 64, and a "
        "warm-started Krylov space of six vectors from n = 64 on; the projection computes all singular values.",
        "On the l1 ball the oracle looks for the largest entry; the projection makes a few passes over the vector, "
        "without a sort.",
    ),
    figures=(Crossover(),),
)
