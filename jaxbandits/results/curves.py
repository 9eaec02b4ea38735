"""Curves with bands over seeds, in colours and line styles that also read in grey."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxbandits.core.errors import InputError
from jaxbandits.results import intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from jaxbandits.results.result import Result

# Okabe & Ito's palette, distinguishable with colour-vision deficiency.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
STYLES = ("-", "--", "-.", ":", (0, (3, 1, 1, 1, 1, 1)), (0, (5, 1)), (0, (1, 1)), (0, (3, 5, 1, 5)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
BANDS = {"mean": "mean, 95 % t-interval", "quantile": "median, 10 to 90 %"}


def draw(
    result: "Result", metric: str | None = None, ax: "Axes | None" = None, band: str = "mean", skip: Sequence[str] = ()
) -> "Axes":
    """Draws one curve per algorithm and hyperparameter point.

    Args:
      result: what to draw.
      metric: which metric; the first by default.
      ax: where; a new figure by default.
      band: `"mean"` or `"quantile"`.
      skip: algorithms not to draw (the colours of the others stay as they are).

    Raises:
      InputError: for an unknown metric or band.
    """
    import matplotlib.pyplot as plt

    if band not in BANDS:
        raise InputError(f"band must be one of {', '.join(BANDS)}, got {band!r}")
    metric = result.metrics[0] if metric is None else metric
    values, usable, failed = result.get(metric), result.usable(metric), result.failed(metric)
    if ax is None:
        ax = plt.subplots(figsize=(5.0, 3.6), layout="constrained")[1]
    for a, name in enumerate(result.algorithms):
        if name in skip:
            continue
        for h, point in enumerate(result.points):
            label = name + (f" ({', '.join(f'{k}={v:g}' for k, v in point.items())})" if point else "")
            good = values[a, h][usable[a, h]]
            if result.trials[a] < len(result.seeds):
                label += f" [{result.trials[a]} seeds]"
            if failed[a, h].any():
                label += f" [{int(failed[a, h].sum())} failed]"
            if len(good):
                _one_curve(ax, result.records, good, band, a * len(result.points) + h, label)
    unit = result.units.get(metric, "")
    ax.set_xlabel("round")
    ax.set_ylabel(metric.replace("_", " ") + (f" ({unit})" if unit else ""))
    title = f"{BANDS[band]}\n{len(result.seeds)} seeds"
    ax.legend(title=title, fontsize="small", title_fontsize="small", frameon=False, alignment="left", loc="upper left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _one_curve(ax: "Axes", records: np.ndarray, values: np.ndarray, band: str, index: int, label: str) -> None:
    # From the ninth curve on, colours come again with another style and marker.
    colour, style, marker = (
        kind[(index + index // 8 * step) % 8] for kind, step in ((COLOURS, 0), (STYLES, 1), (MARKERS, 3))
    )
    if band == "mean":
        centre, low, high = intervals.t_interval(values)[:3]
    else:
        low, centre, high = np.quantile(values, (0.1, 0.5, 0.9), axis=0)
    # Markers at a few staggered points keep the curves apart in grey.
    every = max(1, len(records) // 8)
    ax.plot(records, centre, color=colour, linestyle=style, marker=marker, markersize=4,
            markevery=((index * every) // 8, every), label=label)  # fmt: skip
    if np.isfinite(low).all() and np.isfinite(high).all():
        ax.fill_between(records, low, high, color=colour, alpha=0.2, linewidth=0)
