"""Find the formulas in docstrings, and split the text into pieces that the site sets.

Docstrings are plain text for terminals. The docstring of a module has formulas on indented lines,

    play     argmax_x  x'theta_t + beta_t ||x||_{V_t^{-1}},   every arm once before

and prose has formulas between words: "at most 10^3", "sum_i (mu* - mu_i) / kl(mu_i, mu*)". The text is split into
tokens, and English words and code are not part of a formula. In prose, a formula must also contain a sign that English
does not have, such as a subscript.
"""

import html
import re
from collections.abc import Callable

import mathml
import plain_tex

Piece = tuple[str, str]  # kind ("text", "math", "code" or "gap") and content

# Names in formulas that are not English words, apart from Greek letters.
_NAMES = frozenset(
    """
    argmax argmin kl th thh thhat xh yhat zhat ell Res Lip huber log exp min max sup inf det tr cos sin sinh cosh tanh
    ln lim sqrt sum prod grad lam sign floor ceil clip
    """.split()  # noqa: SIM905
)
_BOTH = frozenset("in sum prod min max sup inf sign floor clip a A".split())  # noqa: SIM905  English next to English
_WORD = re.compile(r"[A-Za-z]-th\b|[A-Za-z]{2,}(?:['-][A-Za-z]+)+(?![\w(^])|[A-Za-z]+(?!\w)")
_FIELD = re.compile(r"[a-z]+(?:_[a-z]+)*_[a-z]{3,}(?![\w({^'])|__?\w{3,}\b")
_CODE = re.compile(r"`+[^`]+`+")
# Abbreviations, paths, units, emphasis, and arguments with stars.
_LITERAL = re.compile(
    r"(?:i\.e|e\.g|i\.i\.d|cf|vs)\.|[\w/]+\.(?:py|md|toml|npz|json|csv)(?:::\w+)?|[A-Za-z]{2,}(?:/[A-Za-z]+)+(?![\w(^])"
    r"|\*\w[\w ]*\*(?!\w)|\*\*?[a-z]{2,}\b"
)
_QUOTED = re.compile(r"\"[^\"]*\"")
_BLANK, _SPACE = re.compile(r"\s*\n *\n\s*"), re.compile(r"\s+")  # a formula ends at a blank line
_TEX = re.compile(r"\$[^$]+\$")
_ATOM = re.compile(
    r"\d+(?:[.,]\d+)*[A-Za-z]*(?!\w)|\d+(?:\.\d+)?|[A-Za-z]+(?:~|\*(?![A-Za-z0-9(]))*|\.{2,3}|<=>|<=|>=|!=|->|<-|\+=|\+-|\|\||."
)
_SCRIPT = re.compile(r"[+*](?!\w)|-?(?:\d+(?:\.\d+)?|[A-Za-z]+(?:[+-]1(?!\w))?)\*?|.")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_OPERATORS = frozenset(("=", "<", ">", "<=", ">=", "+", "-", "*", "/", "|", "||", "->", "<-", "+-", "~", "!="))
# A run of tokens in prose is a formula if it contains one of these patterns or a Greek letter.
_STRONG = re.compile(
    r"[\w)}\]*]\s*\^|(?<![A-Za-z])[A-Za-z]\w?[~'*]?_|\b(?:reward|regret|argmax|argmin|sum|max|min|prod)_|\bsqrt[( ]"
    r"|\|\||<=|>=|\b(?:log|exp|kl|det|ln)\(|\bO~?\(|\bsum \w|\w\*(?!\w)|[A-Za-z] [=<>] \S"
)
_GREEK = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(sorted(plain_tex.GREEK, key=len, reverse=True))})(?![A-Za-z])")


_NUMBERS = re.compile(r"(?:Eqs?\.? )?\(\d+[a-z]?\)(?:(?:, |-)\(\d+[a-z]?\))*")  # of a paper's equations


def prose(text: str) -> list[Piece]:
    """Return the text, code and formulas of prose, in order; joined, they are the text without the dollars of TeX."""
    return _pieces(text, lambda run: bool(_STRONG.search(run) or _GREEK.search(run)))


def is_settable(plain: str) -> bool:
    """Return whether a formula in plain text can be converted to MathML; a subscript alone, for example, cannot."""
    try:
        mathml.mathml(plain_tex.tex(plain))
    except (mathml.MathError, IndexError, SyntaxError):
        return False
    return True


def line(text: str) -> list[Piece]:
    """Return the text, code, formulas and gaps of a line of formulas; two or more spaces are a gap."""
    text = re.sub(r"\b(arg(?:max|min)_(?:\w|\{[^{}]*\})) +", r"\1 ", text)
    found: list[Piece] = []
    for i, part in enumerate(re.split(r"(?<=\S) {2,}(?=\S)", text.strip())):
        found += [("gap", "")] * (i > 0)
        found += [("text", part)] if _NUMBERS.fullmatch(part) else _pieces(part, lambda run: True, symbols=True)
    return found


def _pieces(text: str, accepts: Callable[[str], bool], symbols: bool = False) -> list[Piece]:
    """Split text; with `symbols`, a name such as `beta_scale` is a letter with a subscript, not the name of a field."""
    tokens = _tokens(text, symbols)
    found: list[Piece] = []

    def add(kind: str, content: str) -> None:
        if content and found and kind == "text" and found[-1][0] == "text":
            found[-1] = ("text", found[-1][1] + content)
        elif content:
            found.append((kind, content))

    at = 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and tokens[end][0] in ("math", "open", "close", "space", "comma"):
            end += 1
        if end > at:
            for is_run, first, last in _balanced(tokens, at, end):
                content = "".join(piece for _, piece in tokens[first:last])
                add("math" if is_run and accepts(content) else "text", content)
        if end < len(tokens):
            kind, content = tokens[end]
            add(kind if kind in ("code", "tex") else "text", content)
        at = end + 1
    return [("math", content.strip("$")) if kind == "tex" else (kind, content) for kind, content in found]


def _balanced(tokens: list[Piece], first: int, last: int) -> list[tuple[bool, int, int]]:
    """Split a range of tokens into possible formulas, in which brackets are balanced, and the tokens between them.

    Each part is a tuple: whether it is a possible formula, its first token, and the token after its last one.
    """
    unmatched, opened = [], []
    for i in range(first, last):
        if tokens[i][0] == "open":
            opened.append(i)
        elif tokens[i][0] == "close" and opened:
            opened.pop()
        elif tokens[i][0] == "close":
            unmatched.append(i)
    found, begin = [], first
    for stop in [*sorted([*unmatched, *opened]), last]:
        a, b = begin, stop
        while a < b and tokens[a][0] in ("space", "comma"):
            a += 1
        while b > a and tokens[b - 1][0] in ("space", "comma"):
            b -= 1
        has_math = any(tokens[i][0] == "math" for i in range(a, b))
        found += [(False, begin, a), (has_math, a, b), (False, b, min(stop + 1, last))]
        begin = stop + 1
    return [part for part in found if part[1] < part[2]]


def _tokens(text: str, symbols: bool) -> list[Piece]:
    """Split text into code, TeX, spaces, words, commas, stops, brackets, and atoms of formulas."""
    found: list[Piece] = []
    at = 0
    while at < len(text):
        kind, end = _next(text, at, symbols)
        found.append((kind, text[at:end]))
        at = end
    solid = [i for i, (kind, _) in enumerate(found) if kind != "space"]
    for _ in range(2):  # the second pass sees the neighbours that the first corrected
        for k, i in enumerate(solid):
            before, after = (found[solid[j]] if 0 <= j < len(solid) else ("stop", "") for j in (k - 1, k + 1))
            apart = i + 1 == len(found) or found[i + 1][0] != "math"
            if apart and found[i][0] == "math" and found[i][1] in _BOTH and _is_english(found[i][1], before, after):
                found[i] = ("text", found[i][1])
    return found


def _is_english(word: str, before: Piece, after: Piece) -> bool:
    """Return whether a word that also occurs in formulas belongs to the sentence here."""
    if word in "aA":
        return after[0] in ("text", "code") or (before[0] == "text" and after[1] not in _OPERATORS)
    if word == "in":
        return before[0] in ("text", "code", "stop") or after[0] in ("text", "code", "stop")
    if word == "sum" and after[1] in _OPERATORS:
        return True
    return after[0] in ("text", "code") or before[1] in ("the", "a", "an", "of", "and", "or")


def _next(text: str, at: int, symbols: bool) -> tuple[str, int]:
    for kind, pattern in (("code", _CODE), ("text", _QUOTED), ("tex", _TEX), ("text", _BLANK), ("space", _SPACE)):
        if token := pattern.match(text, at):
            return kind, token.end()
    last = text[at - 1 : at]
    apart = not last or not (last.isalnum() or last in ")]*'")
    if apart and (token := _LITERAL.match(text, at)):
        return "text", token.end()
    if not last.isalnum() and (token := _FIELD.match(text, at)) and not (symbols and _is_symbol(token[0])):
        return "text", token.end()
    if not (last.isalnum() or last in "_^'") or not last:
        token = _WORD.match(text, at)
        if token and not _belongs(text, token):
            return "text", token.end()
    character = text[at]
    if character in "([{":
        return "open", at + 1
    if character in ")]}":
        return "close", at + 1
    if character in ",;:.?!" and not text[at + 1 : at + 2].strip() and text[at - 1 : at + 1] != "..":
        return ("comma" if character == "," else "stop"), at + 1
    if character in "_^":
        return "math", _script(text, at + 1)
    token = _ATOM.match(text, at)
    end = token.end() if token else at + 1
    if text[at:end] == "sqrt" and text[end : end + 1] == "(":
        end = _closing(text, end)
    return "math", end


def _belongs(text: str, word: re.Match[str]) -> bool:
    """Return whether a word is part of a formula, such as a letter, a known name, or a name with a subscript."""
    content, after = word[0], text[word.end() : word.end() + 1]
    first = re.split("['-]", content)[0]
    if content.endswith("-th"):
        return False
    if first in plain_tex.GREEK or first in _NAMES:
        return True
    script = (after in "^_~" and after != "") or (after == "*" and not text[word.end() + 1 : word.end() + 2].isalnum())
    return (
        len(content) == 1 or content == "in" or script or (after == "(" and content[0].isupper() and len(content) > 3)
    )


def _is_symbol(name: str) -> bool:
    """Return whether a name with an underscore is a symbol with a subscript, such as `beta_scale`, and not a field."""
    first, _, script = name.partition("_")
    return "_" not in script and (first in plain_tex.GREEK or first in _NAMES or len(first) == 1)


def _script(text: str, at: int) -> int:
    """Return the end of an exponent or a subscript that begins at an index."""
    if text[at : at + 1] in _PAIRS:
        return _closing(text, at)
    token = _SCRIPT.match(text, at)
    return token.end() if token else at


def _closing(text: str, opening: int) -> int:
    """Return the index after the bracket that closes the one at `opening`; the length of the text if there is none."""
    first, last, depth = text[opening], _PAIRS[text[opening]], 0
    for i in range(opening, len(text)):
        depth += (text[i] == first) - (text[i] == last)
        if depth == 0:
            return i + 1
    return len(text)


# --- blocks of formulas ------------------------------------------------------------------------------------------

_LEFT = re.compile(r"(\S(?:[^=\s]| (?! ))*?)(?: +(?=(?:=|<-|~|\+=) )|  +)(\S.*)$")  # what is defined, or a label
_WIDEST = 24  # characters of the left column


# Signs of code: a call of a method, a keyword argument, a call with a string, an import, a file.
_IS_CODE = re.compile(
    r"[a-z]\w+\.\w+\(|\b[a-z_]{3,}=\S|\{ ?\w+ = |\(\"|\bimport\b|>>>|\.(?:npz|json)\b|^ *[A-Z_]{6,}[=,]"
)


def is_formulas(block: str) -> bool:
    """Return whether every line of a paragraph is indented, as the formulas of a docstring are, and none is code."""
    lines = block.splitlines()
    indented = bool(lines) and all(part.startswith("    ") or not part for part in lines)
    return indented and not any(_IS_CODE.search(part) for part in lines)


def block(lines: list[str]) -> str:
    """Return lines of formulas as HTML in two columns: the defined quantity or a label, and the rest."""
    indent = min(len(part) - len(part.lstrip()) for part in lines if part.strip())
    rows = [_row(part[indent:]) for part in lines if part.strip()]
    return f'<div class="formulas">{"".join(rows)}</div>'


def _row(text: str) -> str:
    level = len(text) - len(text.lstrip())
    found = _LEFT.match(text.lstrip())
    if level > 8:  # it continues the line above
        return f'<div></div><div class="right">{_html(line(text))}</div>'
    inner = f' style="padding-left: {level / 2:g}em"' if level else ""
    if found and len(found[1]) <= _WIDEST and not found[1].endswith((",", ";")):
        return f'<div{inner}>{_html(line(found[1]))}</div><div class="right">{_html(line(found[2]))}</div>'
    return f'<div class="whole"{inner}>{_html(line(text))}</div>'


def _html(pieces: list[Piece]) -> str:
    parts = []
    for kind, content in pieces:
        if kind == "math" and is_settable(content):  # words between brackets may have split a formula
            parts.append(mathml.mathml(plain_tex.tex(content)))
        elif kind == "gap":
            parts.append('<span class="gap"></span>')
        elif kind == "code":
            parts.append(f"<code>{html.escape(content.strip('`'))}</code>")
        else:
            parts.append(html.escape(content, quote=False))
    return "".join(parts)
