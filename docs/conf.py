"""Settings of the site: Sphinx, MyST, myst-nb, pydata-sphinx-theme. `make docs` builds it into results/docs."""

import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import address
import mathml
import plain_tex
import site_pages
import typeset

from jaxbandits import __version__

project = "jaxbandits"
author = "The jaxbandits developers"
copyright = author
release = version = __version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_design", "myst_nb"]
default_role = "literal"  # docstrings write `code` between single backticks
show_warning_types = True

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / ".cache" / "notebooks")
nb_execution_timeout = 900
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_output_stderr = "remove"  # progress bars
nb_merge_streams = True
nb_ipywidgets_js = {}  # nothing is loaded from elsewhere
os.environ["TQDM_DISABLE"] = "1"  # in the kernels: no progress bars

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
napoleon_use_rtype = False
SECTIONS = ("Guarantee", "Deviations", "Numerics", "Cost")  # of this package's docstrings
napoleon_custom_sections = [(name, "notes_style") for name in SECTIONS]

html_theme = "pydata_sphinx_theme"
html_title = "jaxbandits"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"  # drawn by the browser itself: no script, no network
html_sidebars = {name: [] for name in ("index", "choosing", "generated/gallery")}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "icon_links": [{"name": "Source", "url": address.REPOSITORY, "icon": "fa-solid fa-code-branch"}][
        : bool(address.REPOSITORY)
    ],
}


# --- mathematics -------------------------------------------------------------------------------------------------


def visit_math(self: Any, node: Any) -> None:
    """Write a formula in a sentence as MathML."""
    self.body.append(mathml.mathml(node.astext()))
    raise nodes.SkipNode


def visit_displaymath(self: Any, node: Any) -> None:
    """Write a formula on lines of its own as MathML."""
    self.body.append(f'<div class="math">{mathml.mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


# --- docstrings and links ----------------------------------------------------------------------------------------

# Formulas between dollars, code between backticks, examples, names of arguments, names of several words.
_PROSE_OR_CODE = re.compile(
    r"(\$[^$]+\$|^::\n\n(?: {4}.*\n?)+|`+[^`]+`+|^ *>>>.*\n(?:.+\n?)*|^ +(?:\*\*?)?\w+:(?= |$)"
    r"|(?<![\w\\/.:])[a-z]+_[a-z]{3,}\b(?![\w(/.:^]))",
    re.MULTILINE,
)
_INDENTED = re.compile(r"(?<=\n)\n((?: {4}.*(?:\n|$))+)(?=\n|$)")  # a paragraph of formulas, or of code
_SECTION = re.compile(rf"^( *)({'|'.join(SECTIONS)}|References): +(?=\S)", re.MULTILINE)
_BEGINNING = re.compile(rf"^( *(?:{'|'.join(SECTIONS)}):\n *)([a-z])(?=[a-z]* )", re.MULTILINE)
_LETTER = re.compile(r"^( *(?:\w+: )?)([A-Za-z]\.)$", re.MULTILINE)  # alone on a line: no item of a list
_BULLET = re.compile(r"(?:\A|(?<=\n))( *)([*-] )")
_MARK = re.compile("(\0|\1\\d+\1)")  # of a bullet, of a block of formulas
_LATER_BULLET = re.compile(r"(?<=\n)( *)([*-] )")  # in what follows a formula or code on its line


def write_docstring_as_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring, prose with `code` and formulas, into reStructuredText in which all else is literal."""
    text = "\n".join(lines)
    if what == "class" and (header := site_pages.header_of(obj)):
        first, _, rest = text.partition("\n\n")
        text = f"{first}\n\n{header}\n\n{rest}"  # a link to the class shows its formulas
    text = _SECTION.sub(r"\n\1\2:\n\1  ", text)
    text = _BEGINNING.sub(lambda found: found[1] + found[2].upper(), text)
    formulas: list[str] = []

    def put_aside(found: re.Match[str]) -> str:
        if not typeset.is_formulas(found[1]):
            return f"\n::\n\n{found[1]}"
        formulas.append(typeset.block(found[1].splitlines()))
        return f"\n\1{len(formulas) - 1}\1\n"

    parts = _PROSE_OR_CODE.split(_INDENTED.sub(put_aside, text))
    for i in range(0, len(parts), 2):
        marked = (_LATER_BULLET if i else _BULLET).sub("\\1\0", parts[i])  # bullets stay
        text = "".join(part if k % 2 else _prose_as_rst(part) for k, part in enumerate(_MARK.split(marked)))
        parts[i] = _LETTER.sub(r"\1\\\2", re.sub(r"^( *)\0", r"\n\1* ", text, flags=re.MULTILINE))
    for i in range(1, len(parts), 2):
        if parts[i].startswith("$"):
            parts[i] = _math_as_rst(parts[i].strip("$"))
        elif not parts[i].lstrip().startswith((">>>", "::")) and not parts[i].startswith(" "):
            parts[i] = f"``{' '.join(parts[i].strip('`').split())}``" + r"\ " * parts[i + 1][:1].isalnum()
    text = re.sub("\1(\\d+)\1", lambda found: f".. raw:: html\n\n   {formulas[int(found[1])]}\n", "".join(parts))
    lines[:] = text.split("\n")


def _prose_as_rst(text: str) -> str:
    found = []
    for kind, content in typeset.prose(text):
        if kind == "math":
            content = _math_as_rst(content)
        else:
            content = re.sub(r"([\\*|]|_(?!\w))", r"\\\1", content)
            content = re.sub(r"(?<!\w)\\\*(\w[\w ]*)\\\*(?!\w)", r"*\1*", content)  # emphasis
        found.append(content)
    return "".join(found)


def _math_as_rst(plain: str) -> str:
    return rf"\ :math:`{plain_tex.tex(plain)}`\ " if typeset.is_settable(plain) else f"``{' '.join(plain.split())}``"


def lead_links_to_pages(app: Any, docname: str, source: list[str]) -> None:
    """Turn links to files of the repository into links to pages: the same Markdown is read there and here."""
    here = docname.count("/")
    up = "../" * here
    copied = {page.removesuffix(".md"): file for file, page in site_pages.COPIES.items()}
    text = source[0]
    if (file := copied.get(docname.removeprefix("generated/"))) is not None:  # its links begin at its own place
        root = "../" * file.count("/")
        text = text.replace(f"]({root}docs/", f"]({up}")
        for other, page in site_pages.COPIES.items():
            text = text.replace(f"]({root}{other}", f"]({up}generated/{page}")
    else:
        for other, page in site_pages.COPIES.items():
            text = text.replace(f"](../{other}", f"]({up}generated/{page}")
    source[0] = text


_CARD_PICTURE = re.compile(r'<img (?=[^>]*sd-card-img-top)[^>]*src="([^"]+)"[^>]*>')


def mend_pictures(app: Any, pagename: str, templatename: str, context: Any, doctree: Any) -> None:
    """Make pictures lazy, for the gallery has two hundred, and link those of its cards to their full size."""
    if "body" in context:
        body = _CARD_PICTURE.sub(r'<a class="picture" href="\1" title="enlarge">\g<0></a>', context["body"])
        context["body"] = body.replace("<img ", '<img loading="lazy" ')


def setup(app: Any) -> None:
    """Write the generated pages, and register formulas and hooks."""
    site_pages.write()
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    app.connect("autodoc-process-docstring", write_docstring_as_rst, priority=400)  # before napoleon
    app.connect("source-read", lead_links_to_pages)
    app.connect("html-page-context", mend_pictures)
