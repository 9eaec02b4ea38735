"""The ledger: adjusted by paper, one file that a browser can show alone, told apart from the runs beside it."""

import dataclasses
import html.parser
import json
import math
from pathlib import Path

import numpy as np
import pytest

from jaxbandits import cli
from jaxbandits.core.errors import InputError
from jaxbandits.experiments import EXPERIMENTS
from jaxbandits.experiments.budget import BUDGETS, parts
from jaxbandits.experiments.claim import Claim, Judged
from jaxbandits.experiments.papers import PAPERS
from jaxbandits.report import errata, files, finished, ledger, page
from tests.report import made

ROOT = Path(__file__).parents[2]
ASKED = {"seeds": 6, "horizon": made.HORIZON, "preset": None, "without": (), "seed": 0, "data": None}
TEXTS = ("first <b>claim</b> & more", "second")


def judged(p, verdict="holds", text=TEXTS[0], **more):
    claim = Claim(text, "Figure 1", lambda measured: None, high=1.0)
    return Judged(claim, verdict, 0.5, 0.4, 0.6, 99, 0, True, p, **more)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Two experiments of one paper and one of another, and one of them once more with another seed."""
    out = tmp_path_factory.mktemp("ledger")
    rows = {
        "oco/e6": (judged(0.02), judged(math.nan, "not decided", TEXTS[1])),
        "oco/e4": (judged(0.03), judged(1e-6, "does not hold", TEXTS[1])),
        "coco/fig2": (judged(0.04, stand_ins=("FilmTrust",)),),
    }
    for name, items in rows.items():
        drawn = EXPERIMENTS[name].figures[:1] if name != "oco/e4" else ()
        experiment = dataclasses.replace(EXPERIMENTS[name], claims=(), figures=drawn)
        report = dataclasses.replace(made.report(experiment), judged=items)
        files.write(report, _made(out / name.replace("/", "-")), finished.request(experiment, **ASKED))
        if name == "oco/e6":
            plain = dataclasses.replace(experiment, figures=())
            other = dataclasses.replace(report, experiment=plain, judged=(judged(0.5, "not decided"), *items[1:]))
            asked = finished.request(experiment, **{**ASKED, "seed": 1})
            files.write(other, _made(out / "oco-e6--seed-1"), asked)
    return out


def _made(path):
    path.mkdir()
    return path


pytestmark = pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")


def test_verdicts_are_adjusted_over_all_claims_of_a_paper(directory):
    """oco: 1e-6 <= 0.05/3, 0.02 <= 0.05/2, 0.03 <= 0.05; among the claims of one experiment alone 0.04 does, too."""
    coco, oco = ledger.chapters(ledger.read(directory), PAPERS)
    assert [c.paper.family for c in (coco, oco)] == ["coco", "oco"]
    assert [(row.experiment, row.adjusted) for row in oco.rows] == [
        ("oco/e4", "holds"), ("oco/e4", "does not hold"), ("oco/e6", "holds"), ("oco/e6", "not decided")
    ]  # fmt: skip
    first = {"fixed": False, "verdict": "holds"}
    claims = [{**first, "p": p} for p in (0.03, 0.03, None)] + [{"fixed": True, "p": 0.0, "verdict": "holds"}]
    assert ledger.adjusted_verdicts(claims) == ["not decided"] * 3 + ["holds"]  # 0.03 > 0.05/2; fixed is no test


def test_claims_of_several_experiments_stand_together(directory, tmp_path):
    """0.02 and 0.04 in experiments of one paper: alone each decides, together the second does not."""
    for i, p in enumerate((0.03, 0.04)):
        body = json.loads((directory / "oco-e6" / "manifest.json").read_text())
        body["experiment"], body["claims"] = f"oco/e{4 + i}", [{**body["claims"][0], "p": p}]
        (_made(tmp_path / f"{i}") / "manifest.json").write_text(json.dumps(body))
    (chapter,) = ledger.chapters(ledger.read(tmp_path), PAPERS)
    assert [row.adjusted for row in chapter.rows] == ["not decided", "not decided"]
    assert [row.claim["verdict"] for row in chapter.rows] == ["holds", "holds"]


def test_runs_that_differ_stand_beside_the_usual_one(directory):
    rows = [row for row in ledger.chapters(ledger.read(directory), PAPERS)[1].rows if row.experiment == "oco/e6"]
    ((what, verdict),) = rows[0].others
    assert "base seed 1" in what and verdict == "not decided" and rows[0].claim["verdict"] == "holds"


class Page(html.parser.HTMLParser):
    """Tags that are open, identifiers, references, and text."""

    VOID = ("meta", "link", "br", "img", "hr")

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.references, self.tags, self.text = [], [], [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        self.references += [value for name, value in attrs if name in ("href", "xlink:href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_stands_alone(directory, tmp_path, capsys):
    out = tmp_path / "ledger.html"
    assert cli.main(["report", str(directory), "-o", str(out), "--markdown", str(tmp_path / "ledger.md")]) == 0
    assert str(out) in capsys.readouterr().out
    text = out.read_text(encoding="utf-8")
    parsed = Page()
    parsed.feed(text)
    assert not parsed.open and len(set(parsed.ids)) == len(parsed.ids)
    inside = {reference.removeprefix("#") for reference in parsed.references}
    assert all(reference.startswith("#") for reference in parsed.references) and inside <= set(parsed.ids)
    assert not any(tag in ("script", "link", "img", "iframe") for tag, _ in parsed.tags)
    figures = [attrs for tag, attrs in parsed.tags if tag == "svg"]
    assert len(figures) == 2 and all(f["role"] == "img" and f["aria-label"] for f in figures)
    assert text.count("url(http") == 0 and "prefers-color-scheme: dark" in text and "@media print" in text
    assert TEXTS[0] in parsed.text and "<b>claim" not in text  # escaped
    for part in ("3 hold", "stand-in for FilmTrust", "Figure 1", "does not hold", "seeds 0 to 5", "manifest "):
        assert part in parsed.text, part
    for paper in ("coco", "oco"):
        assert all(row.because in parsed.text and row.command in parsed.text for row in PAPERS[paper].errata)
    markdown = (tmp_path / "ledger.md").read_text()
    assert markdown.count("\n| ") >= 5 and "## " + PAPERS["oco"].title in markdown


def test_a_figure_that_is_gone_leaves_a_line(directory):
    (run,) = [run for run in ledger.read(directory) if run.name == "coco/fig2"]
    lost = run._replace(directory=Path("nowhere"))
    assert "is not there any more" in page.page([lost], PAPERS)


def test_a_directory_without_runs_or_with_others_is_told(tmp_path):
    with pytest.raises(InputError, match="holds no finished run"):
        ledger.read(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="no manifest of this version"):
        ledger.read(tmp_path)


def test_budgets():
    experiment = EXPERIMENTS["linear/fig1"]
    (quick,) = parts(experiment, "quick")
    assert quick.settings == {"seeds": 50, "horizon": 360, "preset": None, "seed": 0}
    assert [part.suffix for part in parts(experiment, "standard")] == [""]
    full = parts(experiment, "full")
    assert [part.suffix for part in full] == ["", "--theory", "--seed-1"]
    assert full[1].settings["preset"] == "theory" and full[2].settings["seed"] == 1
    with pytest.raises(InputError, match="did you mean 'quick'"):
        parts(experiment, "quik")
    assert list(BUDGETS) == ["quick", "standard", "full"]


def test_a_budget_says_how_much(tmp_path, capsys):
    command = ["reproduce", "oco/e6", "--budget", "quick", "--seeds", "3", "--out", str(tmp_path)]
    assert cli.main(command) == 2
    assert "leave --seeds out" in capsys.readouterr().err


@pytest.mark.slow
def test_a_budget_runs_resumes_and_ends_with_the_ledger(tmp_path, capsys):
    command = ["reproduce", "oco/e6", "--budget", "quick", "--quiet", "--out", str(tmp_path)]
    assert cli.main(command) == 0
    first = (tmp_path / "oco-e6" / "manifest.json").read_bytes()
    assert "NOT DECIDED" in capsys.readouterr().out and "6 not decided" in (tmp_path / "ledger.html").read_text()
    assert cli.main(command) == 0
    assert (tmp_path / "oco-e6" / "manifest.json").read_bytes() == first


def test_errata_are_those_of_the_papers():
    """The page is written from them; every command names an experiment, or tests that there are."""
    assert (ROOT / "docs" / "errata.md").read_text(encoding="utf-8") == errata.markdown(PAPERS)
    names = " ".join(path.name + path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    assert set(PAPERS) == {name.partition("/")[0] for name in EXPERIMENTS}
    for paper in PAPERS.values():
        for row in paper.errata:
            words = row.command.split()
            known = words[2] in EXPERIMENTS if words[1] == "reproduce" else words[-1].strip('"') in names
            assert known, row.command
            assert all(row) and not np.any([len(field) > 200 for field in row])
