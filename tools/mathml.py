"""Convert TeX to MathML, which browsers show without JavaScript, with the spaces that TeX sets around functions."""

import re
from xml.etree import ElementTree

from docutils.utils.math import MathError, latex2mathml

__all__ = ["MathError", "mathml"]

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_UNKNOWN = ((r"\dots", r"\ldots"), (r"\Big", ""), (r"\big", ""))  # unknown to docutils: replacement
_LIMITS = frozenset("max min sup inf lim det Pr gcd".split())  # noqa: SIM905  operators whose names docutils sets as <mo>
_SPACE = "0.17em"  # TeX's thin space
_SCRIPTS = ("msub", "msup", "msubsup", "munder", "mover", "munderover")


def mathml(tex: str, *, as_block: bool = False) -> str:
    """Return a formula as MathML.

    A thin space, as in TeX, separates the name of a function from a letter, a number or a closing bracket on its left,
    and from a letter or a number on its right, since browsers set `C log t` without spaces.

    Raises:
      MathError: for TeX that docutils does not know.
    """
    for unknown, known in _UNKNOWN:
        tex = re.sub(re.escape(unknown) + r"(?![a-z])", lambda _, known=known: known, tex)
    text = latex2mathml.tex2mathml(tex, as_block=as_block).replace("&ApplyFunction;", "\u2061")
    root = ElementTree.fromstring(re.sub(r">\s+<", "><", text))
    for parent in list(root.iter()):
        _space(parent)
    ElementTree.register_namespace("", _NAMESPACE)
    return ElementTree.tostring(root, encoding="unicode")


def _space(parent: ElementTree.Element) -> None:
    """Insert spaces around functions among the children of an element, and correct primes, norms and hats."""
    if _tag(parent) in ("munder", "munderover") and _tag(parent[0]) == "mover" and parent[0].get("accent"):
        parent.tag = f"{{{_NAMESPACE}}}{'msub' if len(parent) == 2 else 'msubsup'}"  # the index of a letter with a hat
    for child in parent:
        if _tag(child) == "mo" and child.text in ("'", "\u2032"):
            child.text = "\u2032"
            child.attrib.update(lspace="0", rspace="0")
        elif _tag(child) == "mo" and child.text in ("\u2016", "|"):  # brackets of norms: neither spaced nor stretched
            child.attrib.update(lspace="0", rspace="0", stretchy="false")
    if _tag(parent) not in ("math", "mrow", "msqrt", "mtd", "mstyle"):
        return
    children = [child for child in parent if child.text != "\u2061"]
    spaced: list[ElementTree.Element] = []
    for i, child in enumerate(children):
        if _is_function(child):
            _base(child).attrib.update({"lspace": "0", "rspace": "0"} if _tag(_base(child)) == "mo" else {})
            if i and (_is_letter(children[i - 1]) or children[i - 1].text in (")", "]", "}", "\u2016")):
                spaced.append(_thin())
            spaced.append(child)
            if i + 1 < len(children) and _is_letter(children[i + 1]) and not _is_function(children[i + 1]):
                spaced.append(_thin())
        else:
            spaced.append(child)
    parent[:] = spaced


def _thin() -> ElementTree.Element:
    return ElementTree.Element(f"{{{_NAMESPACE}}}mspace", width=_SPACE)


def _tag(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _base(element: ElementTree.Element) -> ElementTree.Element:
    return element[0] if _tag(element) in _SCRIPTS and len(element) else element


def _is_function(element: ElementTree.Element) -> bool:
    base = _base(element)
    text = base.text or ""
    return (_tag(base) == "mi" and len(text) > 1 and text.isalpha()) or (_tag(base) == "mo" and text in _LIMITS)


def _is_letter(element: ElementTree.Element) -> bool:
    return _is_function(element) or _tag(_base(element)) in ("mi", "mn", "mfrac", "msqrt", "mrow", "mtext")
