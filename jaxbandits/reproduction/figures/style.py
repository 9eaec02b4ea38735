"""Style of the figures of experiments: settings of matplotlib, colours of labels, scales and formulas."""

import re
from typing import TYPE_CHECKING

from jaxbandits.base.pytree import Fields
from jaxbandits.plots import curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SETTINGS = {
    "svg.hashsalt": "jaxbandits",
    "svg.fonttype": "path",  # browsers have neither matplotlib's fonts for formulas nor, on most systems, its text font
    "pdf.fonttype": 42,
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "savefig.dpi": 160,
}
# Settings for a single panel in the layout of a paper.
PAPER = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.0,
    "grid.linewidth": 0.4,
}


def of_label(i: int) -> Fields:
    """Return colour, line style and marker of the i-th label in all figures, as keyword arguments of `plot`."""
    return curves.look(i)


def set_logarithmic(ax: "Axes") -> None:
    """Make the y-axis logarithmic above 1, with several labels per decade if it covers less than two decades."""
    from matplotlib import ticker

    ax.set_yscale("symlog", linthresh=1.0)
    low, high = ax.get_ylim()
    if 1.0 < low < high < 100.0 * low:
        digits = [1.0, 2.0, 5.0] if high > 10.0 * low else [1.0, 2.0, 3.0, 5.0, 7.0]
        ax.yaxis.set_major_locator(ticker.SymmetricalLogLocator(base=10.0, linthresh=1.0, subs=digits))
        ax.yaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))


_GREEK = "alpha|beta|gamma|delta|eta|kappa|lambda|mu|nu|sigma|tau|theta|Sigma|Theta"
_ROOT = re.compile(r"\bsqrt\(([^()]*)\)")
_POWER = r"\^(?:\{[^}]*\}|\d+(?:\.\d+)?|[A-Za-z]\w*)|\*"
# A Greek letter with a subscript of one character (tau_scale is a field), or a Latin letter with an exponent, a tilde
# or any subscript (c_eta, P_t, Q_{t-1}).
_NAME = rf"{_GREEK}|[A-Za-z](?=\^|~|_(?:[a-z]+|[A-Z0-9]|\{{[^}}]*\}})(?!\w))"
_SYMBOL = re.compile(
    rf"(?<![\w\\])({_NAME})(~)?(_(?:[a-zA-Z0-9]|\{{[^}}]*\}}|(?<=\b[A-Za-z]_)[a-z]+)(?!\w))?({_POWER})?(?!\w)"
)
_NORM = re.compile(r"\|\|([^|]+)\|\|")


def mathtext(text: str) -> str:
    """Return text in which expressions such as `lambda_t`, `theta*`, `G~`, `||u||` and `sqrt(...)` are TeX formulas.

    Names of fields, such as `tau_scale`, and text that already contains a formula are not changed.
    """
    if "$" in text:
        return text
    text = text.replace("+-", r"$\pm$")
    parts = _ROOT.split(text)  # parts outside and inside of roots alternate
    for i, part in enumerate(parts):
        inside = _SYMBOL.sub(_formula, part)
        parts[i] = _outside(part) if i % 2 == 0 else rf"$\sqrt{{{inside}}}$"
    return "".join(parts)


def _outside(text: str) -> str:
    parts = _NORM.split(text)  # parts outside and inside of norms alternate
    for i, part in enumerate(parts):
        inside = _SYMBOL.sub(_formula, part)
        parts[i] = _SYMBOL.sub(lambda found: f"${_formula(found)}$", part) if i % 2 == 0 else rf"$\|{inside}\|$"
    return "".join(parts)


def _formula(found: re.Match[str]) -> str:
    name, tilde, below, above = found.groups()
    if below is not None and below[1:].isalpha() and len(below) > 2:
        below = "_" + (f"{{\\{below[1:]}}}" if re.fullmatch(_GREEK, below[1:]) else rf"{{\mathrm{{{below[1:]}}}}}")
    exponent = "" if above is None else "^*" if above == "*" else "^{" + above[1:].strip("{}") + "}"
    letter = ("\\" if len(name) > 1 else "") + name
    return (rf"\tilde{{{letter}}}" if tilde else letter) + (below or "") + exponent


def open_frame(*axes: "Axes") -> None:
    """Remove the spines at the top and on the right."""
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
