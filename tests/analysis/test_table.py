"""The table of the command line, and what a notebook shows."""

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pytest

from jaxbandits.analysis.table import aligned, number
from jaxbandits.results.result import Result
from tests.results import factories


@pytest.fixture(autouse=True)
def _few_seeds():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_numbers_are_aligned_under_their_names():
    assert aligned(["name", "x"], [["a", "1"], ["longer", "200"]]).splitlines() == [
        "name      x",
        "-----------",
        "a         1",
        "longer  200",
    ]
    assert [number(x) for x in (0.0001234567, 999.96, 1234.56, 1e8)] == ["0.0001235", "1000", "1234.6", "1e+08"]


def test_the_table_has_a_line_per_row_and_a_column_per_field():
    result = factories.result()
    header, rule, *lines = result.table("regret", level=0.9).splitlines()
    assert re.split(r"  +", header) == ["label", "rate", "mean regret", "90 % t-interval", "median", "10 %", "25 %",
                                        "75 %", "90 %", "trials", "failed", "ns/round"]  # fmt: skip
    assert set(rule) == {"-"} and len(lines) == 4
    assert lines[1].split()[:3] == ["swept", "0.2", number(result.final("regret", "swept")[1].mean())]
    ten, quarter = np.quantile(result.final("regret", "swept")[1], (0.1, 0.25))
    assert lines[1].split()[6:8] == [number(ten), number(quarter)]
    assert lines[3].split()[1] == number(result.final("regret", "grouped").mean())
    assert "group" in result.table("risk").splitlines()[0] and len(result.table("risk").splitlines()) == 5
    assert len(result.table("risk", group=1).splitlines()) == 3


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
