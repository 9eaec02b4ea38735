"""The ledger: adjusted by paper, one file that a browser can show alone, told apart from the runs beside it."""

import base64
import dataclasses
import html.parser
import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from jaxbandits import cli
from jaxbandits.base.errors import InputError
from jaxbandits.commands import reproduce
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.budget import BUDGETS, parts
from jaxbandits.reproduction.engine.claim import Claim, Verdict
from jaxbandits.reproduction.ledger import errata, files, finished, ledger, page, record
from jaxbandits.reproduction.papers import PAPERS
from jaxbandits.sweeps.directory import Directory
from tests.reproduction import made

ROOT = Path(__file__).parents[2]
ASKED = {"seeds": 6, "horizon": made.HORIZON, "preset": None, "without": (), "seed": 0, "data": None}
SINGLE = {"precision": "float32"}  # whatever the tests compute in
TEXTS = ("first <b>claim</b> & more", "second")


def judged(p, verdict="holds", text=TEXTS[0], **more):
    claim = Claim(text, "Figure 1", lambda measured: None, high=1.0)
    return Verdict(claim, verdict, 0.5, 0.4, 0.6, 99, 0, True, p, **more)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Two experiments of one paper and one of another; one of them also with another seed, and in double precision."""
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
        asked = finished.request(experiment, **ASKED) | SINGLE
        files.write(report, _made(out / name.replace("/", "-")), asked)
        if name == "oco/e6":
            plain = dataclasses.replace(experiment, figures=())
            other = dataclasses.replace(report, experiment=plain, judged=(judged(0.5, "not decided"), *items[1:]))
            files.write(other, _made(out / "oco-e6--seed-1"), asked | {"seed": 1})
            again = asked | {"precision": "float64"}
            files.write(dataclasses.replace(report, experiment=plain), _made(out / "oco-e6--float64"), again)
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
    assert rows[0].others == {"float64": "holds", "other seeds": "not decided"} and rows[0].claim["verdict"] == "holds"


def run_of(directory=Path("somewhere"), request=None, **fields):
    """A run as a manifest has it."""
    manifest = {
        "experiment": "oco/e1", "preset": "theory", "presets": {"theory": "", "tuned": ""}, "horizon": 100,
        "claims": [], "stand_ins": {}, "declared": {"horizon": 100, "seeds": 64, "float64": False}, "commit": "abc123",
        "title": "title", "notes": (),
        "request": {"seeds": 64, "first seed": 20_000, "seed": 0, "precision": ["float32", "None"], "without": [],
                    "data": None} | (request or {}),
    } | fields  # fmt: skip
    return ledger.Run(directory, manifest, "d1")


def test_columns_of_sensitivity():
    """Precision, preset, seeds, horizon, learners and data, each by its name; the usual run is the declared one."""
    main = run_of()
    assert main.usual and main.precision == "float32"
    for other, kind, usual in (
        (run_of(request={"precision": ["float64", "None"]}), "float64", False),
        (run_of(preset="tuned"), "preset tuned", False),
        (run_of(request={"seed": 1}), "other seeds", False),
        (run_of(request={"first seed": 0}), "other seeds", True),
        (run_of(horizon=50), "other horizon", True),
        (run_of(request={"without": ["OGD"]}), "fewer learners", False),
        (run_of(request={"data": "d0"}), "other data", True),
        (run_of(stand_ins={"a": "Adult", "b": "Adult"}), "stand-in", True),
        (run_of(request={"reading": "exact"}, reading="nu is 4.388"), "reading exact", False),
        (run_of(preset="tuned", request={"seed": 1}), "preset tuned and other seeds", False),
        (run_of(), "once more", True),
    ):
        beside = other.beside(main)
        assert (beside.kind, other.usual) == (kind, usual) and beside.detail.endswith("manifest d1")
    double = run_of(declared={"horizon": 100, "seeds": 64, "float64": True})
    assert not double.usual  # what needs double precision was run in single
    assert run_of(request={"precision": ["float64", "None"]}, declared=double.manifest["declared"]).usual
    assert run_of(request={"reading": "exact"}, reading="nu is 4.388").beside(main).detail.startswith("nu is 4.388, ")
    assert "seeds 0 to 63 of base seed 1" in run_of(request={"seed": 1, "first seed": 0}).beside(main).detail


def test_real_data_head_the_chapter_and_the_stand_in_is_a_column():
    """Whichever was run first, and whether a file was named or found; the header names both kinds of data."""
    claim = {"claim": "a", "source": "Figure 1", "verdict": "holds", "why": "", "seeds": 64, "p": 0.01, "fixed": False,
             "applies": True, "missing": False}  # fmt: skip
    on_file = run_of(request={"data": "d0"}, real_data=["Adult"], claims=[claim])
    made_up = run_of(stand_ins={"a": "Adult"}, claims=[{**claim, "verdict": "does not hold"}])._replace(digest="d2")
    other = run_of(experiment="oco/e2", stand_ins={"a": "Covertype"}, claims=[claim])
    for runs in ([made_up, on_file, other], [on_file, other, made_up]):
        (chapter,) = ledger.chapters(runs, PAPERS)
        first = chapter.rows[0]
        assert first.manifest == "d1" and first.others == {"stand-in": "does not hold"}
        assert chapter.beside["oco/e1"][0].detail == "for Adult, manifest d2"
        page = ledger.markdown(runs, PAPERS)
        assert "Real data: oco/e1: Adult." in page and "own: oco/e2: a stand-in for Covertype." in page
    kept = record.settings([on_file])["runs"][0]
    assert kept["real_data"] == ["Adult"] and kept["claims"]


def test_thresholds_were_committed_before_only_where_manifests_show_it():
    """A commit with no changed file in every manifest: one that has a + or none is enough to leave the sentence out."""
    clean = run_of()
    said = ledger.provenance([clean, run_of(request={"seeds": 512})])
    assert "were committed before the runs" in said and "Commit abc123;" in said
    assert "base seed 0, seeds 20000 to 20511." in said
    apart = ledger.provenance([clean, run_of(request={"first seed": 0}), run_of(request={"seed": 1})])
    assert "base seed 0, seeds 0 to 63; base seed 0, seeds 20000 to 20063; base seed 1, seeds 20000 to 20063" in apart
    for commit in ("abc123+", None, ""):
        said = ledger.provenance([clean, run_of(commit=commit)])
        assert "is not shown: 1 of 2 manifests" in said and "were committed before the runs" not in said


def test_the_summary_counts_per_experiment(directory):
    """One line each: verdicts alone, adjusted, seeds, rounds, commit, minutes, manifest; linked to its place."""
    runs = ledger.read(directory)
    oco = ledger.chapters(runs, PAPERS)[1]
    lines = {line.run.name: (line.raw, line.adjusted) for line in ledger.summary(oco)}
    assert lines == {"oco/e4": ("1 / 1 / 0", "1 / 1 / 0"), "oco/e6": ("1 / 0 / 1", "1 / 0 / 1")}
    (row,) = [line for line in ledger.summary(oco) if line.run.name == "oco/e6"]
    assert ledger.summary_cells(row)[3:6] == ("0 to 5 of base seed 0", "60", "unknown")
    assert ledger.minutes(run_of(wall_s=90.0)) == "1.5" and ledger.minutes(run_of()) == ""
    text = ledger.markdown(runs, PAPERS)
    anchors = {line.partition("](#")[2].partition(")")[0] for line in text.splitlines() if line.startswith("| [")}
    assert anchors == {ledger._anchor(run) for c in ledger.chapters(runs, PAPERS) for run in c.runs}
    assert text.index("## Summary") < text.index("### oco/e6") and "| other seeds |" in text


def test_seeds_that_an_earlier_verdict_rests_on_are_named():
    """More of the same seeds, or fewer, are no fresh test; other seeds, another base seed or another preset are one."""
    main = run_of()
    for request, shared in (({"seeds": 20}, True), ({"first seed": 20_063}, True), ({"first seed": 20_064}, False),
                            ({"first seed": 19_936}, False), ({"seed": 1}, False)):  # fmt: skip
        assert (ledger.SHARED in run_of(request=request).beside(main).detail) is shared, request
    assert ledger.SHARED not in run_of(preset="tuned", request={"seeds": 20}).beside(main).detail
    replaced = run_of(**{"judged before": "0 to 9 of base seed 0"})
    (kept,) = record.settings([replaced])["runs"]
    assert kept["judged before"] == "0 to 9 of base seed 0"
    assert f"* It replaced a run on seeds 0 to 9 of base seed 0, {ledger.SHARED}." in ledger.markdown(
        [replaced], PAPERS
    )


def test_a_run_says_which_commit_it_began_with(tmp_path):
    """Read before anything is computed, and how long all of it took."""
    start = files.Start.now()
    files.write(made.report(dataclasses.replace(EXPERIMENTS["oco/e6"], figures=())), tmp_path, None, start)
    kept = json.loads((tmp_path / "manifest.json").read_text())
    assert kept["commit"] == start.commit and kept["wall_s"] >= 0.0


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
    further = ["--markdown", str(tmp_path / "ledger.md"), "--settings", str(tmp_path / "ledger.json")]
    assert cli.main(["report", str(directory), "-o", str(out), *further]) == 0
    assert str(out) in capsys.readouterr().out
    text = out.read_text(encoding="utf-8")
    parsed = Page()
    parsed.feed(text)
    assert not parsed.open and len(set(parsed.ids)) == len(parsed.ids)
    inside = {reference.removeprefix("#") for reference in parsed.references}
    figures = [attrs for tag, attrs in parsed.tags if tag == "img"]
    assert len(figures) == 2 and all(f["alt"] and f["src"].startswith("data:image/svg+xml;base64,") for f in figures)
    inside -= {figure["src"] for figure in figures}
    assert inside <= set(parsed.ids)
    assert not any(tag in ("script", "link", "svg", "iframe") for tag, _ in parsed.tags)
    assert text.count("url(http") == 0 and "prefers-color-scheme: dark" in text and "@media print" in text
    assert TEXTS[0] in parsed.text and "<b>claim" not in text  # escaped
    for part in ("3 hold", "stand-in for FilmTrust", "Figure 1", "does not hold", "seeds 0 to 5", "manifest "):
        assert part in parsed.text, part
    for paper in ("coco", "oco"):
        assert all(row.because in parsed.text and row.command in parsed.text for row in PAPERS[paper].errata)
    every = {run.digest: run for run in ledger.read(directory)}
    rows = json.loads((tmp_path / "ledger.json").read_text())["runs"]
    assert {row["manifest"] for row in rows} == every.keys()
    for row in rows:
        run = every[row["manifest"]]
        asked = {name: value for name, value in run.manifest["request"].items() if name != "settings"}
        assert row["experiment"] == run.name and row["request"] == asked and "panels" not in row
    markdown = (tmp_path / "ledger.md").read_text()
    header = markdown.partition("## Summary")[0]
    assert "Data that are not the papers' own: coco/fig2: a stand-in for FilmTrust." in header
    assert markdown.count("\n| ") >= 5 and "## " + PAPERS["oco"].title in markdown


def test_runs_beside_share_a_column(directory):
    """A column for each left none for the claim on a screen of usual width, and cut lines off on a phone."""
    text = page.page(ledger.read(directory), PAPERS)
    beside = re.findall('<td data-of="beside it:">(.*?)</td>', text)
    lines = [re.sub("<.*?>", "", line) for line in beside[0].split("</div>")]
    assert lines == ["✓ holds: float64", "? not decided: other seeds", ""] and len(beside) == 2
    assert '<th scope="col">beside</th>' in text and '<th scope="col">float64</th>' not in text


def test_backticks_are_code(directory):
    (run, *_) = ledger.read(directory)
    noted = run._replace(manifest={**run.manifest, "notes": ["`--data <FILE>` takes it"]})
    assert "<code>--data &lt;FILE&gt;</code> takes it" in page.page([noted], PAPERS)


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
    (tmp_path / "manifest.json").unlink()
    Directory(tmp_path).begin({}, None)  # of a sweep, which may lie beside runs
    with pytest.raises(InputError, match="holds no finished run"):
        ledger.read(tmp_path)


def test_a_family_without_a_paper_has_its_chapter(directory):
    runs = [*ledger.read(directory), run_of(experiment="mine/race")]
    families = [chapter.paper.family for chapter in ledger.chapters(runs, PAPERS)]
    assert families[-1] == "mine" and len(families) > 1


SLOW = {"without": ("HEAVY-OFUL",), "no_timing": True}


def test_budgets():
    experiment = EXPERIMENTS["linear/fig1"]
    (quick,) = parts(experiment, "quick")
    assert quick.settings == {"seeds": 8, "horizon": 360, "preset": None, "seed": 0, "compile": "fast", **SLOW}
    usual, tuned = parts(experiment, "standard")
    assert (usual.suffix, tuned.suffix) == ("", "--tuned") and set(usual.settings.values()) == {None, 0}
    assert tuned.settings == usual.settings | {"preset": "tuned", **SLOW}
    assert [part.suffix for part in parts(EXPERIMENTS["glm/fig1"], "standard")] == [""]  # tuning takes minutes there
    full = parts(experiment, "full")
    readings = ["--interpretation-exact-nu", "--interpretation-extra-sigma"]
    assert [part.suffix for part in full] == ["", "--theory", "--tuned", *readings, "--seed-1", "--float64"]
    assert full[3].settings == full[0].settings | {"interpretation": "exact-nu"}
    assert full[1].settings["preset"] == "theory" and full[-2].settings["seed"] == 1
    assert full[-1].settings["float64"] and "float64" not in full[0].settings
    double = parts(experiment, "full", float64=True)
    assert [part.suffix for part in double] == [f"{part.suffix}--float64" for part in full[:-1]]
    needs = EXPERIMENTS["coco/rates"]  # double precision anyway
    for float64 in (False, True):
        assert [part.suffix for part in parts(needs, "standard", float64)] == [""]
    assert "--float64" not in [part.suffix for part in parts(needs, "full")]
    with pytest.raises(InputError, match="did you mean 'quick'"):
        parts(experiment, "quik")
    assert list(BUDGETS) == ["quick", "standard", "full"]


def test_a_budget_says_how_much(tmp_path, capsys):
    command = ["reproduce", "oco/e6", "--budget", "quick", "--seeds", "3", "--out", str(tmp_path)]
    assert cli.main(command) == 2
    assert "leave --seeds out" in capsys.readouterr().err
    for command, told in (
        (["reproduce", "linear/fig1", "--interpretation", "exact-mu"], "did you mean 'exact-nu'"),
        (["reproduce", "oco/e6", "--interpretation", "exact-nu"], "oco/e6 has one interpretation only"),
        (
            ["reproduce", "linear/fig1", "--interpretation", "exact-nu", "--budget", "full"],
            "leave --interpretation out",
        ),
    ):
        assert cli.main([*command, "--out", str(tmp_path)]) == 2
        assert told in capsys.readouterr().err


def test_a_budget_runs_resumes_and_ends_with_the_ledger(tmp_path, capsys):
    command = ["reproduce", "oco/e6", "--budget", "quick", "--quiet", "--out", str(tmp_path)]
    assert cli.main(command) == 0
    (place,) = tmp_path.glob("oco-e6*")  # --float64 where the process computes in it
    first = (place / "manifest.json").read_bytes()
    said = capsys.readouterr()
    assert "NOT DECIDED" in said.out and "0 / 0 / 6" in (tmp_path / "ledger.html").read_text()
    assert "s in all" in said.err and "## Summary" in (tmp_path / "ledger.md").read_text()
    assert cli.main(command) == 0
    assert (place / "manifest.json").read_bytes() == first


def test_a_run_that_fails_leaves_the_others(tmp_path, capsys, monkeypatch):
    """They are computed, the ledger has them, and the exit code says that something failed."""
    tried = []

    def one(experiment, data, out, arguments):
        tried.append(experiment.name)
        if experiment.name == "oco/e5":
            raise ValueError("broken")
        if experiment.name == "oco/e3":
            raise InputError("no such thing")
        plain = dataclasses.replace(experiment, claims=(), figures=())
        out.mkdir(parents=True)
        files.write(made.report(plain), out, finished.request(plain, **ASKED))

    monkeypatch.setattr(reproduce, "_reproduce_one", one)
    assert cli.main(["reproduce", "oco/all", "--budget", "quick", "--processes", "1", "--out", str(tmp_path)]) == 1
    assert tried == [name for name in EXPERIMENTS if name.startswith("oco/") and name != "oco/cost"]  # of times
    said = capsys.readouterr().err
    assert "no such thing" in said and "broken" in said and f"2 of {len(tried)} runs failed: oco-e3" in said
    assert "oco/e4" in (tmp_path / "ledger.md").read_text()


def test_the_committed_ledger_has_every_preset_of_every_experiment():
    """The page is what the JSON says; docs/verdicts.md names gaps: "The ledger lacks `experiment` (`preset`)"."""
    runs = record.read_settings(ROOT / "docs" / "ledger.json")
    page = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    assert page == ledger.markdown(runs, PAPERS)
    assert all(f"manifest {run.digest}" in page for run in runs)
    every = {(name, preset) for name, experiment in EXPERIMENTS.items() for preset in experiment.presets}
    text = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    named = re.findall(r"The ledger lacks `([^`]+)` \(`([^`]+)`\)", text)
    assert set(named) == every - {(run.name, run.manifest["preset"]) for run in runs}


def row_of(text, verdict, sentence="", **more):
    claim = {"claim": text, "sentence": sentence, "source": "Figure 1; LPM reconstructed", "verdict": verdict,
             "why": f"1 in [0, 2] ({text})", "seeds": 64, "p": 0.5, "fixed": False, "applies": True,
             "missing": False}  # fmt: skip
    return claim | more


@pytest.mark.parametrize(
    ("verdicts", "standing"),
    [
        (("holds", "holds"), "yes"),
        (("holds", "does not hold"), "in part"),
        (("does not hold", "not decided"), "no"),
        (("holds", "not decided"), "not decided"),
    ],
)
def test_panels_of_a_sentence_are_one_entry(verdicts, standing):
    rows = [row_of(f"a wins ({panel})", v, "a wins") for panel, v in zip("xy", verdicts, strict=True)]
    rows += [row_of("below the bound", "holds", **{"cannot fail": "the bound is 10^9", "source": "Theorem 1"})]
    rows += [row_of("b wins", "does not hold", source="ours, on Figure 1")]
    (chapter,) = ledger.chapters([run_of(claims=rows)], PAPERS)
    first, bound, ours = ledger.sentences(chapter.rows)
    assert [len(first.rows), first.standing, bound.standing, ours.standing] == [2, standing, "cannot fail", "no"]
    assert [cells[1:] for cells in ledger.glance(chapter)][1][2:] == ("0", "0", "0", "0", "1")  # no theorem holds
    named = ledger.refuted(chapter)
    assert named == ([first] if "does not hold" in verdicts else [])  # ours is not among a paper's statements
    text = ledger.markdown([run_of(claims=rows)], PAPERS)
    assert "| cannot fail |" in text and "| not observed |" in text and "violated |" not in text


def test_a_statement_that_does_not_hold_has_a_paragraph():
    """The paragraph names the run, its panels, other presets, and what would change the verdict."""
    rows = [row_of(f"a wins ({panel})", "does not hold", "a wins", remark="the horizon") for panel in "xy"]
    tuned = run_of(preset="tuned", claims=[row | {"verdict": "holds"} for row in rows])
    main = run_of(claims=rows, notes=["mind the gap"])
    text = ledger.markdown([main, tuned], PAPERS)
    numbers = "x (not decided after adjustment): 1 in [0, 2] (a wins (x)); y (not decided after adjustment): "
    assert f"It holds in 0 of 2 panels, fails in 2; where it does not hold, {numbers}" in text
    assert "preset tuned: 2 of 2 panels. What would change it: the horizon; it holds with preset tuned" in text
    assert "* mind the gap" in text
    (chapter,) = ledger.chapters([main, tuned], PAPERS)
    about = [run._replace(manifest={**run.manifest, "headline": "tuned"}) for run in (main, tuned)]
    (headline,) = ledger.chapters(about, PAPERS)
    assert [c.runs[0].manifest["preset"] for c in (chapter, headline)] == [main.manifest["preset"], "tuned"]


def test_a_paragraph_says_what_is_open_and_where_it_holds():
    """Panels that are not decided, runs that did not judge the sentence, and runs in which it fails nowhere."""
    verdicts = ("holds", "not decided", "does not hold", "does not hold")
    rows = [row_of(f"a wins ({p})", v, "a wins", p=1e-9) for p, v in zip("wxyz", verdicts, strict=True)]
    spared = [row | {"verdict": v} for row, v in zip(rows, ("holds", "holds", "not decided", "holds"), strict=True)]
    runs = [run_of(claims=rows), run_of(preset="tuned", claims=spared), run_of(request={"seed": 1}, claims=[])]
    (chapter,) = ledger.chapters(runs, PAPERS)
    (sentence,) = ledger.refuted(chapter)
    said = ledger.explained(sentence, chapter)
    assert (
        "It holds in 1 of 4 panels, fails in 2, undecided in 1; where it does not hold, x (not decided): 1 in" in said
    )
    assert "; y: 1 in [0, 2]" in said and "; z: 1 in [0, 2]" in said
    assert "preset tuned: 3 of 4 panels, undecided in 1, other seeds: not judged. What would change it: " in said
    assert said.endswith("it holds in w; it is not refuted with preset tuned.")
    assert "holds in 1 of 4 panels, fails in 2, undecided in 1; 1 in [0, 2]" in ledger.markdown(runs, PAPERS)


@pytest.mark.parametrize(
    ("behind", "where"),
    [
        ("", ""),
        (" (S3)", "S3"),
        (" (Student t (2.1))", "Student t (2.1)"),
        (": a less b (S3)", "a less b (S3)"),
    ],
)
def test_what_follows_a_sentence_keeps_its_brackets(behind, where):
    (chapter,) = ledger.chapters([run_of(claims=[row_of(f"a wins{behind}", "holds", "a wins")])], PAPERS)
    assert chapter.rows[0].where == where


def test_theorems_that_are_violated_are_listed():
    rows = [row_of("the bound holds", "does not hold", source="Theorem 1", p=1e-9)]
    text = ledger.markdown([run_of(claims=rows)], PAPERS)
    assert "* oco: the bound holds (Theorem 1): holds in 0 of 1 panel, fails in 1;" in text


def test_times_that_the_headline_run_did_not_take_are_those_of_another_run():
    """A tuned run without timings: its rows on regret head the ledger, those on times come from the default preset."""
    regret, time = row_of("a wins", "holds"), row_of("a is faster", "holds", source="Figure 1, right")
    missing = time | {"verdict": "not decided", "why": "not measured in this run", "missing": True, "p": None}
    tuned = run_of(preset="tuned", headline="tuned", claims=[regret | {"verdict": "does not hold"}, missing])
    main = run_of(headline="tuned", claims=[regret, time])._replace(digest="d2")
    (chapter,) = ledger.chapters([main, tuned], PAPERS)
    assert [(row.claim["verdict"], row.manifest) for row in chapter.rows] == [("does not hold", "d1"), ("holds", "d2")]


def test_p_has_three_digits_in_the_json():
    rows = [row_of("a wins", "holds", p=0.00123456), row_of("b wins", "holds", p=None)]
    (run,) = record.settings([run_of(claims=rows)])["runs"]
    assert [row["p"] for row in run["claims"]] == [0.00123, None]


def test_the_ledger_is_rebuilt_from_its_json_alone(tmp_path, capsys):
    """With kinds, sentences and notes as they are declared: the committed JSON says what the declarations say."""
    out = [str(tmp_path / "l.md"), str(tmp_path / "l.json")]
    kept = str(ROOT / "docs" / "ledger.json")
    assert cli.main(["report", "--kept", kept, "--rejudge", "--markdown", out[0], "--settings", out[1]]) == 0
    assert (tmp_path / "l.json").read_bytes() == (ROOT / "docs" / "ledger.json").read_bytes()
    assert (tmp_path / "l.md").read_bytes() == (ROOT / "docs" / "ledger.md").read_bytes()
    assert cli.main(["report"]) == 2 and "needs a directory" in capsys.readouterr().err


def test_tables_are_written_again_without_the_directories(directory, tmp_path):
    """From the JSON alone, byte for byte; and with one of the runs there again, in whose place nothing is kept."""
    runs = ledger.read(directory)
    kept = record.read_settings(record.write_settings(runs, tmp_path / "ledger.json"))
    assert ledger.markdown(kept, PAPERS) == ledger.markdown(runs, PAPERS)
    assert record.settings(kept) == record.settings(runs)
    out = ["-o", str(tmp_path / "page.html"), "--markdown", str(tmp_path / "ledger.md")]
    again = ["--kept", str(tmp_path / "ledger.json"), "--settings", str(tmp_path / "again.json")]
    assert cli.main(["report", str(directory / "oco-e6"), *out, *again]) == 0
    assert (tmp_path / "ledger.md").read_text() == ledger.markdown(runs, PAPERS)
    rows = json.loads((tmp_path / "again.json").read_text())["runs"]
    assert sorted(row["manifest"] for row in rows) == sorted(run.digest for run in runs)


def test_what_a_json_keeps_of_a_run(tmp_path):
    """Verdicts only where they were measured; everything where no usual run is there; statistics of another time."""
    claims = [
        {"claim": name, "source": "Figure 1", "verdict": "holds", "why": f"{name}, 1 in [0, 2]", "seeds": 64, "p": 0.5,
         "fixed": False, "applies": name != "other preset", "missing": name == "not timed"}
        for name in ("first", "other preset", "not timed")
    ]  # fmt: skip
    alone = run_of(preset="tuned", claims=claims, method="by eye")
    for runs in ([alone], [run_of(claims=claims), alone]):
        kept = record.read_settings(record.write_settings(runs, tmp_path / "ledger.json"))
        page = ledger.markdown(kept, PAPERS)
        assert page == ledger.markdown(runs, PAPERS)
        assert "Judged by the statistics of their own commits" in page


def test_what_is_new_takes_the_place_of_what_was_kept(tmp_path):
    """Of the same request; a usual run on other seeds stands before the earlier one, others come after it."""
    old = [run_of()._replace(digest="old"), run_of(preset="tuned")._replace(digest="tuned")]
    kept = record.read_settings(record.write_settings(old, tmp_path / "ledger.json"))

    def of(*new):
        return [run.digest for run in record.joined(new, kept)]

    assert of(run_of(preset="tuned")) == ["old", "d1"]
    assert of(run_of(request={"first seed": 0})) == ["d1", "old", "tuned"]
    assert of(run_of(request={"precision": ["float64", "None"]})) == ["old", "tuned", "d1"]
    assert of(run_of(request={"seeds": 8})) == ["d1", "old", "tuned"]
    (chapter,) = ledger.chapters(record.joined([run_of(horizon=20)], kept), PAPERS)
    assert [run.digest for run in chapter.runs] == ["old"]  # a quick look heads no chapter
    for request in ({"seed": 1}, {"reading": "exact"}, {"without": ["OGD"]}):
        assert of(run_of(request=request)) == ["old", "tuned", "d1"], request
    assert of() == ["old", "tuned"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"method": "", "runs": [{"manifest": "d1"}]}', '{"runs": [3]}', None]
)
def test_what_is_no_json_of_a_ledger_is_refused_in_a_line(text, directory, tmp_path, capsys):
    path = tmp_path / "kept.json"
    if text is not None:
        path.write_text(text)
    command = ["report", str(directory), "-o", str(tmp_path / "page.html"), "--kept", str(path)]
    assert cli.main(command) == 2
    message = capsys.readouterr().err.strip()
    said = "kept.json: No such file" if text is None else "kept.json was not written by `jaxbandits report --settings`"
    assert said in message and "\n" not in message
    assert not (tmp_path / "page.html").exists()


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


def test_figures_are_images_of_files_of_the_run_alone(directory, tmp_path, capsys):
    """A stranger's figures: a script inside, a file elsewhere, a link to a file elsewhere."""
    runs = tmp_path / "runs"
    shutil.copytree(directory, runs)
    (tmp_path / "secret.svg").write_text("<svg>secret</svg>")
    pictures = sorted(runs.rglob("*.svg"))
    pictures[0].write_text('<svg onload="alert(1)"><script>alert(1)</script></svg>')
    pictures[1].unlink()
    pictures[1].symlink_to(tmp_path / "secret.svg")
    for manifest in runs.rglob("manifest.json"):
        made_of = json.loads(manifest.read_text())
        made_of["files"].append("../../secret.svg")
        manifest.write_text(json.dumps(made_of))
    assert cli.main(["report", str(runs), "-o", str(tmp_path / "ledger.html")]) == 0
    parsed, page = Page(), (tmp_path / "ledger.html").read_text()
    parsed.feed(page)
    figures = [dict(attrs)["src"].partition(",")[2] for tag, attrs in parsed.tags if tag == "img"]
    assert [base64.b64decode(figure) for figure in figures] == [pictures[0].read_bytes()]
    assert "alert(1)" not in page and "not there any more" in parsed.text
