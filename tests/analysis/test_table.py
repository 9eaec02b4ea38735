"""The table of the command line, and what a notebook shows."""

import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

from jaxbandits.analysis.result_table import ResultTable, TextTable
from jaxbandits.analysis.table import align, mean_of, number
from jaxbandits.base.text import WIDTH, count_of, fold, refill
from jaxbandits.results.result import Result
from tests.results import factories


@pytest.fixture(autouse=True)
def _few_seeds():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_numbers_are_aligned_under_their_names():
    assert align(["name", "x"], [["a", "1"], ["longer", "200"]]).splitlines() == [
        "name      x",
        "-----------",
        "a         1",
        "longer  200",
    ]
    assert [number(x) for x in (0.0001234567, 999.96, 1234.56, 1e8)] == ["0.0001235", "1000", "1234.6", "1e+08"]


def test_the_table_has_a_line_per_row_and_a_column_per_field():
    result = factories.result()
    table = result.table("regret", level=0.9)
    first, second, rule, *lines = table.splitlines()
    assert sorted(f"{first} {second}".split()) == sorted(" ".join(table.header).split())
    assert table.header == ["label", "rate", "mean regret", "90 % t-interval", "median", "10 %", "25 %",
                                        "75 %", "90 %", "trials", "failed", "ns/round"]  # fmt: skip
    assert set(rule) == {"-"} and len(lines) == 4 and max(map(len, table.splitlines())) <= WIDTH
    assert lines[1].split()[:3] == ["swept", "0.2", number(result.final("regret", "swept")[1].mean())]
    ten, quarter = np.quantile(result.final("regret", "swept")[1], (0.1, 0.25))
    assert lines[1].split()[6:8] == [number(ten), number(quarter)]
    assert lines[3].split()[1] == number(result.final("regret", "grouped").mean())
    assert "group" in result.table("risk").header and len(result.table("risk").rows) == 3
    assert len(result.table("risk", group=1).rows) == 1


def test_the_mean_of_a_metric_that_is_a_mean_is_not_a_mean_mean(rng):
    result = Result({"a": factories.trials({"mean_reward": rng.normal(size=(1, 60, 2))})})
    assert result.table().header[1] == "mean reward"
    assert mean_of("simple_regret") == "mean simple regret" and mean_of("meander") == "mean meander"


class _BalancedParser(HTMLParser):
    """Collects text; fails on tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        del attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_a_notebook_shows_a_small_table_with_escaped_labels():
    evil = "<script>alert('x')</script>&"
    result = Result({evil: factories.result()["swept"]})
    page = result._repr_html_()
    assert "<script" not in page and evil in _BalancedParser(page).text
    assert "src=" not in page and "href=" not in page
    many = Result({"a": factories.trials({"loss": np.ones((1000, 3, 2))}, [{"rate": float(i)} for i in range(1000)])})
    page = many._repr_html_()
    assert len(page) < 20_000 and "and 980 more" in "".join(_BalancedParser(page).text)


def test_a_notebook_shows_what_measured_nothing():
    assert "label" in Result({})._repr_html_()


def test_a_wide_table_breaks_its_header_and_then_its_text():
    header = ["who", "a name that is far too long for one line of a terminal", "x", "what is said about all of it"]
    rows = [["a", "1.234567", "2", "word " * 12], ["b", "2", "3", "short"]]
    text = align(header, rows, width=60)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 60
    above = " ".join(line for line in lines[: next(i for i, line in enumerate(lines) if set(line) == {"-"})])
    assert sorted(above.split()) == sorted(" ".join(header).split())
    assert text.count("word") == 12 and "1.234567" in text
    assert align(["a", "b"], [["1" * 80, "2" * 80]], width=100).splitlines()[2] == "1" * 80 + "  " + "2" * 80


def test_a_long_word_in_a_broken_column_keeps_the_next_columns_aligned():
    rows = [["hvt (dim=2, environment.dim=2)", "oful (dim=5, environment.dim=2)", "15178.7"]]
    *_, first, second = align(["first", "second", "difference"], rows, left=2, width=40).splitlines()
    assert first.split() == ["hvt", "(dim=2,", "oful", "(dim=5,", "15178.7"]
    assert second.index("environment.dim=2)") == 0 and second.rindex("environment.dim=2)") == first.index("oful")


def test_lines_are_folded_at_spaces_below_their_indent():
    text = "short\n  " + "word " * 40
    assert max(map(len, fold(text, 50).splitlines())) <= 50
    assert fold(text, 50).splitlines()[2].startswith("      word") and fold(text, 50).count("word") == 40
    assert fold("x" * 300, 50) == "x" * 300


def test_one_thing_is_counted_in_the_singular():
    assert [count_of(n, "seed") for n in (0, 1, 2, 1000)] == ["0 seeds", "1 seed", "2 seeds", "1,000 seeds"]


def test_a_table_of_text_is_a_string_that_notebooks_show_as_html():
    table = factories.result().table("regret")
    assert isinstance(table, str) and repr(table) == str(table) and "\n" in repr(table)
    page = table._repr_html_()
    text = _BalancedParser(page.partition("</style>")[2]).text
    assert text[: len(table.header)] == table.header and text.count("swept") == 3
    assert page.count("<td") == 4 * len(table.header) and 'class="dataframe' in page
    assert "wall time" in page  # ns/round says what it is


def test_rows_are_shown_as_html_with_their_verdict():
    found = factories.result().pairs("regret", points={"rate": 0.1})
    page = found._repr_html_()
    assert found.header[-1] == "verdict" and "<th>verdict</th>" in page and "undecided" in page
    many = ResultTable([(str(i),) for i in range(1000)], ["name"], list)
    assert "and 900 more" in many._repr_html_() and many._repr_html_().count("<td") == 101


def test_latex_has_the_rules_of_booktabs_and_escapes_text():
    evil = r"a_1 & 50 % {x} \y # $ ~ ^ <b> | [c]"
    table = TextTable(["name", "value"], [[evil, "-1.5"], ["[b", "1e-05"], ["*c", "[-inf, 2]"]])
    lines = table.to_latex().splitlines()
    assert lines[:2] == [r"\begin{tabular}{lr}", r"\toprule"] and lines[-2:] == [r"\bottomrule", r"\end{tabular}"]
    assert lines[2:4] == [r"name & value \\", r"\midrule"]
    assert lines[4] == (
        r"a\_1 \& 50 \% \{x\} \textbackslash{}y \# \$ \textasciitilde{} \textasciicircum{} "
        r"\textless{}b\textgreater{} \textbar{} {[}c] & $-1.5$ \\"
    )
    assert lines[5] == r"{[}b & $1 \times 10^{-5}$ \\"
    assert lines[6] == r"{*}c & {[}$-\infty$, 2] \\"
    pairs = factories.result().pairs("regret", points={"rate": 0.1}).to_latex()
    assert pairs.startswith(r"\begin{tabular}{llrrrrrr}") and pairs.count(r" \\") == 2


def test_paragraphs_are_filled_anew_and_formulas_keep_their_lines():
    prose, formula = "word " * 20 + "end", "    x_t   = a + b,   c"
    text = f"{prose}\nand so on.\n\n{formula}\n{formula}\n\nNotes:\n  * {prose}\n    more of it\n  * short\n    lines"
    lines = refill(text, 60).splitlines()
    assert max(map(len, lines)) <= 60 and " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert lines[1].endswith("end and so on.") or lines[2].endswith("and so on.")
    assert lines.count(formula) == 2 and lines[-2:] == ["  * short", "    lines"]
    bullet = next(i for i, line in enumerate(lines) if line.startswith("  * word"))
    assert lines[bullet + 1].startswith("    word")
