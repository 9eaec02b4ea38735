"""What all figures of experiments look like."""

import re
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


_GREEK = "alpha|beta|gamma|delta|eta|kappa|lambda|mu|nu|sigma|tau|theta|Sigma|Theta"
_ROOT = re.compile(r"\bsqrt\(([^()]*)\)")
_POWER = r"\^(?:\{[^}]*\}|\d+(?:\.\d+)?|[A-Za-z]\w*)|\*"
_SYMBOL = re.compile(rf"(?<![\w\\])({_GREEK}|[A-Za-z](?=\^))(_[a-zA-Z0-9](?!\w))?({_POWER})?(?!\w)")


def mathtext(text: str) -> str:
    """Text with `Sigma^2`, `lambda_t`, `theta*`, `m^2` and `sqrt(...)` as matplotlib sets formulas.

    Names of fields such as `tau_scale` stay as they are, and so does text that has a formula already.
    """
    if "$" in text:
        return text
    parts = _ROOT.split(text)  # outside and inside of roots in turn
    for i, part in enumerate(parts):
        inside = _SYMBOL.sub(_formula, part)
        parts[i] = _SYMBOL.sub(lambda found: f"${_formula(found)}$", part) if i % 2 == 0 else rf"$\sqrt{{{inside}}}$"
    return "".join(parts)


def _formula(found: re.Match[str]) -> str:
    name, below, above = found.groups()
    exponent = "" if above is None else "^*" if above == "*" else "^{" + above[1:].strip("{}") + "}"
    return ("\\" if len(name) > 1 else "") + name + (below or "") + exponent


def open_frame(*axes: "Axes") -> None:
    """No spines at the top and on the right."""
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
