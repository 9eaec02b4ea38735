"""Draw figures of the kind `Heatmap`: maps of the mean final metric over all pairs of swept fields."""

import itertools
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.analysis.table import mean_of
from jaxbandits.analysis.trials import Trials
from jaxbandits.base.text import count_of
from jaxbandits.plots.curves import omitted_text
from jaxbandits.reproduction.engine.figures import Heatmap
from jaxbandits.reproduction.engine.run import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(drawing: Heatmap, plt: ModuleType, report: Report) -> "Figure":
    """Draw and return the figure, without its title."""
    (result,) = report.results.values()
    trials, metric = result.one(None), drawing.metric or report.experiment.metric
    nominal = {field: _nearest(trials, field, value) for field, value in drawing.nominal.items()}
    pairs = list(itertools.combinations(nominal, 2))
    columns = 5 if len(pairs) > 4 else len(pairs)
    rows = -(-len(pairs) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.3 * columns, 3.2 * rows), layout="constrained", squeeze=False)
    maps = [_means(trials, metric, first, second, nominal) for first, second in pairs]
    scale = plt.matplotlib.colors.LogNorm(min(np.nanmin(m) for m in maps), max(np.nanmax(m) for m in maps))
    for ax, (first, second), means in zip(axes.flat, pairs, maps, strict=False):
        image = ax.imshow(means, norm=scale, cmap="viridis_r", origin="lower", aspect="auto")
        across, up = (_values(trials, field) for field in (second, first))
        _numbers(ax, means, scale)
        corner = (across.index(nominal[second]) - 0.5, up.index(nominal[first]) - 0.5)
        ax.add_patch(plt.Rectangle(corner, 1, 1, fill=False, edgecolor="#D55E00", linewidth=2))
        ax.set_xticks(range(len(across)), [f"{v:.3g}" for v in across])
        ax.set_yticks(range(len(up)), [f"{v:.3g}" for v in up])
        ax.set(xlabel=second, ylabel=first)
        ax.grid(visible=False)
    for ax in list(axes.flat)[len(pairs) :]:
        ax.set_visible(False)
    notes = (mean_of(metric), count_of(len(trials.seeds), "seed"), omitted_text(int(trials.failures(metric).sum())))
    figure.colorbar(image, ax=axes, label=", ".join(filter(None, notes)), shrink=0.8)
    return figure


def _numbers(ax: "Axes", means: np.ndarray, scale: Any) -> None:
    for (i, j), value in np.ndenumerate(means):
        shade = "white" if scale(value) > 0.5 else "black"
        number = f"{value / 1000:.1f}k" if value >= 1000 else f"{value:.3g}"
        ax.text(j, i, number, ha="center", va="center", fontsize=6.5, color=shade)


def _values(trials: Trials, field: str) -> list[float]:
    return sorted({point[field] for point in trials.points})


def _nearest(trials: Trials, field: str, value: float) -> float:
    return min(_values(trials, field), key=lambda v: abs(v - value))


def _means(trials: Trials, metric: str, first: str, second: str, nominal: Mapping[str, float]) -> np.ndarray:
    """Return the mean final metric `[values of first, values of second]`; NaN if every trial failed."""
    finals, usable = trials.final(metric), trials.usable(metric)
    index = {tuple(point[f] for f in nominal): i for i, point in enumerate(trials.points)}
    up, across = _values(trials, first), _values(trials, second)
    means = np.full((len(up), len(across)), np.nan)
    for (i, a), (j, b) in itertools.product(enumerate(up), enumerate(across)):
        row = index[tuple(({**nominal, first: a, second: b})[f] for f in nominal)]
        if usable[row].any():
            means[i, j] = finals[row][usable[row]].mean()
    return means
