"""Formulas of docstrings, plain text between dollars, become TeX that the site sets."""

import ast
import re
import sys
from pathlib import Path

import pytest

import jaxbandits

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import plain_tex  # noqa: E402


@pytest.mark.parametrize(
    ("plain", "tex"),
    [
        ("O(d sqrt(T log T))", r"O(d \sqrt{T \log T})"),
        ("sum_{t<=T} ||g_t||^2", r"\sum _{t \le T} \|g_t\|^{2}"),
        ("theta_t in R^d", r"\theta_t \in \mathbb{R}^d"),
        ("O~(d T^(1/(1+eps)))", r"{\tilde{O}}(d T^{1/(1+\varepsilon)})"),
        ("2 R^2 / D_i", r"2 R^{2} / D_i"),
        ("X = {||x|| <= D}", r"X = \{\|x\| \le D\}"),
        ("kl(mu_i, mu*)", r"\mathrm{kl}(\mu_i, \mu^*)"),
        ("sqrt(a + sqrt(b (c + d)))", r"\sqrt{a + \sqrt{b (c + d)}}"),
        (r"\sqrt{T} <= \tilde{O}(1)", r"\sqrt{T} \le \tilde{O}(1)"),
    ],
)
def test_plain_text_becomes_tex(plain, tex):
    assert plain_tex.tex(plain) == tex


def formulas():
    """Every formula of every docstring, with its file."""
    for path in sorted(Path(jaxbandits.__file__).parent.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "$" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                for formula in re.findall(r"\$([^$]+)\$", ast.get_docstring(node) or ""):
                    yield path.name, formula


def test_formulas_of_docstrings_can_be_set():
    found = list(formulas())
    assert len(found) > 300
    for name, formula in found:
        tex = plain_tex.tex(formula)
        for opening, closing in ("()", "[]", "{}"):
            assert formula.count(opening) == formula.count(closing), (name, formula)
            assert tex.count(opening) == tex.count(closing), (name, formula, tex)
        assert "\n\n" not in formula and len(formula) < 200, (name, formula)
    latex2mathml = pytest.importorskip("docutils.utils.math.latex2mathml")  # of the extra `docs`
    for name, formula in found:
        assert "<math" in latex2mathml.tex2mathml(plain_tex.tex(formula)), (name, formula)
