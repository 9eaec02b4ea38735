"""Draw figures of experiments; with one version of matplotlib, equal results give byte-identical files."""

import io
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from jaxbandits.base.files import append_to_name, make_directory, write_atomically
from jaxbandits.base.pytree import FieldValue
from jaxbandits.plots import curves as curves_lib
from jaxbandits.reproduction.engine import figures as drawings
from jaxbandits.reproduction.engine.figures import Drawing
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.figures import (
    against,
    bound,
    cost,
    curves,
    exponents,
    group_curves,
    heatmap,
    panel_curves,
    shares,
)
from jaxbandits.reproduction.figures.style import PAPER, SETTINGS, mathtext, set_logarithmic
from jaxbandits.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@runtime_checkable
class DrawsItself(Drawing, Protocol):
    """Figure that only one experiment uses and that draws itself.

    An optional attribute `needs` lists further metrics that it draws.
    """

    def draw(self, plt: ModuleType, report: Report) -> "Figure":
        """Draw and return the figure, without its title.

        Args:
          plt: `matplotlib.pyplot`.
          report: the experiment and its results.
        """
        ...


_DRAW: dict[type, Callable[[Any, Any, Report], "Figure"]] = {
    drawings.Curves: curves.draw,
    drawings.Against: against.draw,
    drawings.Cost: cost.draw,
    drawings.Heatmap: heatmap.draw,
    drawings.Bound: bound.draw,
    drawings.Shares: shares.draw,
    drawings.Exponents: exponents.draw,
    drawings.PanelCurves: panel_curves.draw,
    drawings.GroupCurves: group_curves.draw,
}
_COLUMN = (3.3, 2.5)  # inches; one column of a two-column page
_METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
FORMATS = tuple(_METADATA)


def draw(report: Report, drawing: Drawing) -> "Figure":
    """Draw one of the figures that an experiment declares, and return it.

    Its title, source and preset are printed above the figure, and the description of the preset below it.
    """
    plt, experiment = _pyplot(), report.experiment
    with plt.rc_context(SETTINGS):
        figure = (
            drawing.draw(plt, report)
            if isinstance(drawing, DrawsItself)
            else _DRAW[type(drawing)](drawing, plt, report)
        )
        read = f", reading {experiment.interpretation}" if experiment.interpretation else ""
        rounds = f"T\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{report.horizon:,}"  # on one line
        title = f"{experiment.title}, {rounds}", f"{experiment.source}; {report.preset} preset{read}"
        inches = figure.get_size_inches()[0]
        figure.suptitle(
            "\n".join(line for part in title for line in textwrap.wrap(part, int(12 * inches))), fontsize=10
        )
        constants = f"{report.preset} preset: {experiment.presets[report.preset]}"  # show the tuning with the curves
        figure.supxlabel("\n".join(textwrap.wrap(constants, int(14 * inches))), fontsize=7)
        _formulas(figure, plt)
    return figure


def single(
    result: Result,
    metric: str | None = None,
    *,
    paper: bool = False,
    logarithmic: bool = False,
    order: Sequence[str] = (),
    **settings: FieldValue,
) -> "Figure":
    """Draw the curves of one result, and return the figure.

    Args:
      result: result to draw.
      metric: name of the metric; None: the first metric.
      paper: True for the layout of a paper: one-column width, small font, no title.
      logarithmic: True for an axis that is logarithmic above 1.
      order: all labels, in the order of their colours.
      **settings: as for `Result.plot`.

    Raises:
      InputError: as for `Result.plot`.
    """
    plt = _pyplot()
    with plt.rc_context(SETTINGS | (PAPER if paper else {})):
        figure, ax = plt.subplots(figsize=_COLUMN if paper else (5.4, 3.9), layout="constrained")
        curves_lib.draw(result, metric, ax=ax, order=order, **settings)
        if logarithmic:
            set_logarithmic(ax)
        if paper:
            ax.legend(fontsize="small", frameon=False, handlelength=2.4, labelspacing=0.3)
        _formulas(figure, plt)
    return figure


def _formulas(figure: "Figure", plt: ModuleType) -> None:
    """Typeset the mathematics in all texts of a figure."""
    texts: list[Any] = figure.findobj(plt.matplotlib.text.Text)
    for text in texts:
        if (formula := mathtext(text.get_text())) != text.get_text():
            text.set_text(formula)


def _pyplot() -> Any:
    """Return `matplotlib.pyplot` for figures that go to files, so that no display is needed."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as plt

    return plt


def save(figure: "Figure", stem: Path, formats: Sequence[str] = FORMATS) -> list[Path]:
    """Write a figure in each format, close it, and return the paths.

    Files are written atomically and without dates, so that equal results give equal bytes.

    Args:
      figure: figure to write.
      stem: path without the suffix of a format.
      formats: formats, a subset of `FORMATS`.

    Raises:
      InputError: if a path cannot be written.
    """
    plt = _pyplot()
    make_directory(stem.parent)
    written = []
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # compute the layout once, not for each format
    with plt.rc_context(SETTINGS):  # the salt of SVG identifiers must be active while saving
        for suffix in formats:
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=_METADATA[suffix])
            path = append_to_name(stem, f".{suffix}")
            write_atomically(path, buffer.getvalue())
            written.append(path)
    plt.close(figure)
    return written
