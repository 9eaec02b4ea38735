"""Convert the formulas of docstrings, which are plain text for terminals, to TeX.

Formulas are plain text such as `O(d sqrt(T log T))`, `sum_{t<=T} ||g_t||^2` or `theta_t in R^d`. Names of Greek
letters, functions and relations become commands of TeX, other words are set upright, and TeX is left unchanged.
"""

import re

GREEK = frozenset(
    """
    alpha beta gamma delta eps epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega
    Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega
    """.split()  # noqa: SIM905
)
_FUNCTIONS = frozenset("log exp min max sup inf det tr cos sin sinh cosh tanh ln lim".split())  # noqa: SIM905
_SIGNS = {
    "sum": r"\sum", "prod": r"\prod", "in": r"\in", "infinity": r"\infty", "grad": r"\nabla", "ell": r"\ell",
    "lam": r"\lambda", "x": "x",
}  # fmt: skip
_RELATIONS = (
    ("<=>", r" \Leftrightarrow "), ("<=", r" \le "), (">=", r" \ge "), ("!=", r" \ne "), ("->", r" \to "),
    ("<-", r" \leftarrow "), ("...", r" \ldots "), ("..", r" \ldots "), ("&", r"\&"), ("#", r"\#"),
    ("||", r"\|"), ("+-", r" \pm "), ("%", r"\%"),
)  # fmt: skip
# R^d is a space and R^2 the square of a constant; E[...] and P[...] are an expectation and a probability.
_BLACKBOARD = {"R": re.compile(r"\^\{?[a-zK]"), "E": re.compile(r"\["), "P": re.compile(r"\[")}
# A word with what belongs to it: a tilde (O~), a star (theta*).
_WORD = re.compile(r"(?<![\\A-Za-z])([A-Za-z]+)(~)?(\*(?![A-Za-z0-9(]))?")


def tex(plain: str) -> str:
    """Return a formula in plain text as TeX."""
    text = " ".join(plain.split())
    text = re.sub(r"(?:^| )~ ", r" \\sim ", text)
    text = re.sub(r"(?:^| )\*(?: |$)", r" \\cdot ", text)
    text = re.sub(r"\^\{(\w+) x (\w+)\}", r"^{\1 \\times \2}", text)  # the shape of a matrix
    text = re.sub(r"<(?! )([^<>=]*?,[^<>]*?)(?<! )>", r"\\langle \1\\rangle ", text)
    text = re.sub(rf"(?<![A-Za-z\\_^{{])({'|'.join(GREEK)}|log|[a-z])(\d)(?![\w.])", r"\1_\2", text)  # tau0 is tau_0
    text = re.sub(r"(?<=_)([A-Za-z][+-]1)(?![\w}])", r"{\1}", text)  # theta_t+1 is the next theta
    text = re.sub(r"(?<![A-Za-z\\])([A-Za-z]+)('+)(_(?:\w|\{[^{}]*\})|\^\{[^{}]*\})", r"\1\3\2", text)  # x'_t is x_t'
    text = _brackets(_roots(_accents(_set_braces(text))))
    for sign, command in _RELATIONS:
        text = text.replace(sign, command)
    text = _WORD.sub(_word, text)
    return " ".join(text.split())


_ACCENT = re.compile(r"(?<![A-Za-z\\])(?:([A-Za-z]|th)(hat|til|bar)|([A-Za-z]+)_(bar|hat)|(xh)|(thh?))(?![A-Za-z])")


def _accents(text: str) -> str:
    r"""Set accents that are part of a name, as in `yhat`, `rtil` and `theta_bar`; `th` becomes `\vartheta`."""

    def set_one(found: re.Match[str]) -> str:
        letter, accent = found[1] or found[3], found[2] or found[4]
        if found[5] or found[6]:
            return {"xh": r"{\hat{x}}", "th": r"\vartheta ", "thh": r"{\hat{\vartheta}}"}[found[0]]
        letter = {"th": r"\vartheta"}.get(letter, _word(_WORD.match(letter)))  # pyright: ignore[reportArgumentType]
        command = {"hat": "hat", "til": "tilde", "bar": "bar"}[accent]
        return rf"{{\{command}{{{letter}}}}}"  # a group: TeX puts a subscript beside it

    return _ACCENT.sub(set_one, text)


def _set_braces(text: str) -> str:
    """Escape the braces of sets, but not those of subscripts, exponents and TeX's commands."""
    found, opened = [], []
    for i, character in enumerate(text):
        if character == "{":
            opened.append(text[i - 1 : i] in ("^", "_", "}") or re.search(r"\\[a-z]+$", text[:i]) is not None)
        plain = character in "{}" and not (opened[-1] if opened else False) and text[i - 1 : i] != "\\"
        found.append(f"\\{character}" if plain else character)
        if character == "}" and opened:
            opened.pop()
    return "".join(found)


def _word(found: re.Match[str]) -> str:
    name, tilde, star = found.groups()
    if name in GREEK:
        name = {"eps": r"\varepsilon", "epsilon": r"\varepsilon"}.get(name, f"\\{name}")
    elif name in _FUNCTIONS:
        name = f"\\{name} "
    elif name in _SIGNS:
        name = f"{_SIGNS[name]} " if name != "x" else name
    elif name in _BLACKBOARD and not tilde and not star and _BLACKBOARD[name].match(found.string, found.end()):
        name = rf"\mathbb{{{name}}}"
    elif len(name) > 1:
        name = rf"\mathrm{{{name}}} " if name.islower() and len(name) > 2 else rf"\mathrm{{{name}}}"
    return (rf"{{\tilde{{{name}}}}}" if tilde else name) + ("^*" if star else "")


def _roots(text: str) -> str:
    """Set `sqrt(...)`, which ends at the matching bracket, and `sqrt x`."""
    while (at := re.search(r"(?<!\\)\bsqrt\(", text)) is not None:
        end = _closing(text, at.end() - 1)
        text = f"{text[: at.start()]}\\sqrt{{{text[at.end() : end]}}}{text[end + 1 :]}"
    return re.sub(r"(?<!\\)\bsqrt (\w+)", r"\\sqrt{\1}", text)


def _brackets(text: str) -> str:
    """Replace the brackets around an exponent or subscript, as in `T^(1/2)`, by braces."""
    while (at := re.search(r"[\^_]\(", text)) is not None:
        end = _closing(text, at.end() - 1)
        text = f"{text[: at.start() + 1]}{{{text[at.end() : end]}}}{text[end + 1 :]}"
    return re.sub(r"([\^_])(-?\d+(?:\.\d+)?|[A-Za-z]{2,})(?![\w}])", r"\1{\2}", text)


def _closing(text: str, opening: int) -> int:
    """Return the index of the bracket that closes the one at `opening`; the length of the text if there is none."""
    depth = 0
    for i in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)
