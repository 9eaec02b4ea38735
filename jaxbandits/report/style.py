"""What all figures of experiments look like."""

from typing import TYPE_CHECKING, Any

from jaxbandits.results import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SETTINGS = {
    "svg.hashsalt": "jaxbandits", "svg.fonttype": "none", "pdf.fonttype": 42, "font.size": 9.0, "axes.titlesize": 10.0,
    "axes.grid": True, "grid.alpha": 0.25, "grid.linewidth": 0.6, "savefig.dpi": 160,
}  # fmt: skip


def of_label(i: int) -> dict[str, Any]:
    """Of the i-th label: for the first eight the same as in the curves, then other lines in the same colours."""
    k, turn = i % 8, i // 8
    line, marker = curves.STYLES[(k + turn) % 8], curves.MARKERS[(k + 3 * turn) % 8]
    return {"color": curves.COLOURS[k], "linestyle": line, "marker": marker}


def open_frame(*axes: "Axes") -> None:
    """No spines at the top and on the right."""
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
