"""The ledger: sentences counted over a paper, a table of numbers without words, pages made of both."""

import base64
import dataclasses
import html.parser
import json
import math
import re
import shutil
import subprocess
import types
from pathlib import Path

import numpy as np
import pytest

from jaxbandits import cli
from jaxbandits.base.errors import InputError
from jaxbandits.commands import reproduce
from jaxbandits.engine import process_memory
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.budget import BUDGETS, parts
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.engine.statistic import final_mean, time_growth
from jaxbandits.reproduction.engine.verdict import Verdict
from jaxbandits.reproduction.ledger import errata, files, finished, pages, runs
from jaxbandits.reproduction.ledger.new_verdicts import update_verdicts
from jaxbandits.reproduction.ledger.runs import About, Run
from jaxbandits.reproduction.ledger.sentences import chapters
from jaxbandits.reproduction.papers import PAPERS
from jaxbandits.results.result import Result
from jaxbandits.sweeps.directory import Directory
from tests.reproduction import factories
from tests.results import factories as results

ROOT = Path(__file__).parents[2]
ASKED = {"seeds": 6, "horizon": factories.HORIZON, "preset": None, "without": (), "seed": 0, "data": None}
SINGLE = {"precision": "float32"}  # whatever the tests compute in
YES, NO, OPEN = "holds", "does not hold", "open"
ABOUT = About("title", "Authors, Figure 1", {"theory": "as stated", "tuned": "tuned"}, (), 100, False)


def judge(id="wins/a", decision=YES, p=0.001, **fields):
    """A verdict; fields of the claim are told from those of the verdict by their names."""
    names = {field.name for field in dataclasses.fields(Claim)}
    claim = {"says": "a <b>wins</b> & more", "place": "Figure 1", "high": 1.0} | {
        name: value for name, value in fields.items() if name in names
    }
    more = {name: value for name, value in fields.items() if name not in names}
    p = math.nan if decision == OPEN else p
    return Verdict(Claim(id, statistic=lambda measured: None, **claim), decision, 0.5, 0.4, 0.6, 99, p=p, **more)


def run_of(*verdicts, **fields):
    usual = {
        "experiment": "oco/e1",
        "about": ABOUT,
        "preset": "theory",
        "reading": "",
        "precision": "float32",
        "data": "",
        "seed": 0,
        "first_seed": 0,
        "seeds": 64,
        "rounds": 100,
        "commit": "abc123",
    }
    found = usual | fields
    return Run(**{"whole": "yes" if found["rounds"] >= found["about"].horizon else "no"} | found, verdicts=verdicts)


def sentences_of(*found):
    (chapter,) = chapters(sorted(found, key=runs._order), PAPERS)
    return {sentence.id.rpartition("/")[2]: sentence for sentence in chapter.sentences}


@pytest.mark.parametrize(
    ("decisions", "standing"),
    [
        ((YES, YES), "yes"),
        ((YES, NO), "in part"),
        ((NO, OPEN), "no"),
        ((YES, OPEN), "open"),
        ((OPEN, OPEN), "open"),
    ],
)
def test_rows_of_a_sentence_are_one_entry(decisions, standing):
    rows = [judge(f"wins/{i}", decision) for i, decision in enumerate(decisions)]
    found = sentences_of(run_of(*rows, judge("other/a", NO, kind="observation")))
    assert found["wins"].standing == standing and len(found["wins"].rows) == 2 and found["other"].standing == "no"


@pytest.mark.parametrize(
    ("says", "joined"),
    [
        (("a wins",), "a wins"),
        (("a wins", "a wins"), "a wins"),
        (("a beats b", "a beats c", "a beats d"), "a beats b, c and d"),
        (("a is best", "b is best", "c is best"), "a is best; likewise b and c"),
        (("at T = 9 a beats b, as tuned", "at T = 9 a beats c, as tuned"), "at T = 9 a beats b and c, as tuned"),
        (("a beats b, which waits", "c beats d, which waits"), "a beats b, which waits; likewise c beats d"),
        (("rank counts: a of 1 is b", "rank counts: a of 4 is c"), "rank counts: a of 1 is b and a of 4 is c"),
        (("a beats b", "a beats c", "d beats b", "d beats c"), "a beats b and c; d beats b and c"),
        (("a wins", "b loses"), "a wins; b loses"),
        (("a wins", "a wins twice"), "a wins; a wins twice"),
    ],
)
def test_rows_that_say_nearly_the_same_are_joined(says, joined):
    rows = [judge(f"a/{i}", says=text) for i, text in enumerate(says)]
    assert sentences_of(run_of(*rows))["a"].says == joined


@pytest.mark.parametrize(
    ("rows", "joined"),
    [
        ((("a beats b", "b"), ("a beats c", "c")), "a beats b and c"),
        (
            (("a beats b", "b"), ("a beats c", "c"), ("d beats b", "b"), ("d beats c", "c")),
            "a beats b and c; likewise d",
        ),
        ((("a beats 'b, small'", "b, small"), ("a beats c", "c")), "a beats 'b, small' and c"),
        (
            (("now a beats b", "b"), ("now a beats c", "c"), ("now d beats c", "c")),
            "now a beats b and c; now d beats c",
        ),
    ],
)
def test_rivals_of_one_wording_are_listed(rows, joined):
    """Labels with commas stand in quotation marks, and nothing is "likewise" if the sentences are not parallel."""
    rows = [judge(f"a/{i}", says=says, rival=rival) for i, (says, rival) in enumerate(rows)]
    assert sentences_of(run_of(*rows))["a"].says == joined


def test_a_page_says_what_is_stated_and_names_the_panels():
    """Our own number of rounds is an assumption; panels that rows call by their names have their titles."""
    about = ABOUT._replace(panels=lambda: {"S3": "S = 3", "digits": "stand-in for digits"})
    head = run_of(judge(where="S3"), judge("b/a", where="digits"), about=about)
    for stated, texts in ((False, ("| the number of rounds |",)), (True, ("| stated length | 100 rounds |",))):
        (chapter,) = chapters([head._replace(about=about._replace(horizon_stated=stated))], PAPERS)
        page = pages.paper(chapter)
        assert all(text in page for text in texts) and ("| stated length |" in page) is stated
        assert "| panels | S3 (S = 3) |" in page and "*Cannot fail* marks" in page.split("##")[0]


def test_a_page_describes_the_readings_that_were_run_and_counts_runs_on_other_seeds():
    """A description without stated settings is not referred to; a verdict without numbers says so."""
    about = ABOUT._replace(
        readings={"exact": "exact nu", "unused": "no run"}, horizon_stated=True, shows="As in Figure 1."
    )
    lost = dataclasses.replace(judge(decision=NO, p=math.nan), value=math.nan, n=0)
    others = [run_of(judge(), about=about, preset="tuned", first_seed=seed) for seed in (64, 128)]
    (chapter,) = chapters([run_of(lost, about=about), *others, run_of(judge(), about=about, reading="exact")], PAPERS)
    page = pages.paper(chapter)
    assert "| other runs | preset tuned (2 runs on different seeds); reading exact |" in page
    assert "| reading exact | exact nu |" in page and "no run |" not in page
    assert "| stated length | 100 rounds |" in page and "the numbers of this run were not recorded" in page


def test_a_run_on_real_data_has_the_title_of_these_data():
    experiment = EXPERIMENTS["glm/covertype"]
    real, made_up = (runs.about_of(experiment, data) for data in ("real", "stand-in"))
    assert "stand-in" not in real.title and "stand-in" in made_up.title
    assert real.panels()["x1"] == "Covertype, radii x 1"
    assert made_up.panels()["x1"] == "stand-in for Covertype, radii x 1"


def test_no_two_names_share_a_file():
    strangers = ["My_Fam/a", "my-fam/a", "my/fam-a", "my/fam.a", "\u56fe/1", "\u753b/1", "Oco/e4", "oco/E4"]
    names = [*EXPERIMENTS, *strangers]
    names += dict.fromkeys(name.partition("/")[0] for name in names)
    found = {name: pages.file_name(name) for name in names}
    assert len({file.casefold() for file in found.values()}) == len(names)
    assert all(found[name] == name.replace("/", "-") for name in (*EXPERIMENTS, *PAPERS))
    assert not any({*file} & {"/", " ", "_"} or file[0] in "-." for file in found.values())


def test_a_row_fails_after_correction_within_its_sentence_and_holm_over_the_paper():
    """One row of four at .01 is .04 for the sentence: alone it decides; beside another at .04 neither does."""
    rows = [judge("a/0", NO, 0.01), *(judge(f"a/{i}", OPEN) for i in (1,)), *(judge(f"a/{i}", YES) for i in (2, 3))]
    assert sentences_of(run_of(*rows))["a"].p == pytest.approx(0.03)  # an open row is no test
    rows[1] = judge("a/1", YES, 0.01)
    alone = sentences_of(run_of(*rows))["a"]
    assert (alone.p, alone.standing) == (pytest.approx(0.04), "in part")
    both = sentences_of(run_of(*rows), run_of(judge("b/0", YES, 0.04), experiment="oco/e2"))
    assert {name: sentence.standing for name, sentence in both.items()} == {"a": "open", "b": "open"}
    ours = sentences_of(run_of(*rows), run_of(judge("b/0", YES, 0.04, kind="observation"), experiment="oco/e2"))
    assert {sentence.standing for sentence in ours.values()} == {"in part", "yes"}  # counted among themselves


def test_a_sentence_that_holds_needs_no_correction_within():
    """Every row must hold: the largest p is that of the sentence, however many rows there are."""
    found = sentences_of(run_of(*(judge(f"a/{i}", YES, 0.04) for i in range(20))))["a"]
    assert (found.p, found.standing) == (0.04, "yes")


def test_what_cannot_fail_or_be_judged_is_not_counted_as_holding():
    found = sentences_of(
        run_of(
            judge("bound/a", cannot_fail="the bound is 10^9", kind="theorem"),
            judge("rival/a", NO, cannot_be_judged="rebuilt from an abstract"),
            judge("exact/a", YES, 0.0, deterministic=True),
            judge("mixed/a", YES),
            judge("mixed/b", NO, cannot_be_judged="rebuilt from an abstract"),
        )
    )
    assert found["mixed"].standing == "cannot be judged"  # not every row holds as far as is known
    assert [found[name].standing for name in ("bound", "rival", "exact")] == ["cannot fail", "cannot be judged", "yes"]
    assert math.isnan(found["exact"].p)  # no test of Holm's procedure


def test_every_choice_of_constants_that_was_run():
    """Presets and readings count; other seeds, precision, rounds or data are no choice of constants."""
    head = run_of(judge(), judge("b/a", NO))
    assert {s.every_choice for s in sentences_of(head, run_of(judge(decision=NO), seed=1)).values()} == {"not varied"}
    tuned = run_of(judge(), judge("b/a", OPEN), preset="tuned")
    found = sentences_of(head, tuned, run_of(judge(decision=NO), preset="tuned", rounds=10))
    assert (found["wins"].every_choice, found["b"].every_choice) == ("yes", "open")
    assert sentences_of(head, tuned, run_of(judge(decision=NO), reading="exact"))["wins"].every_choice == "no"
    undecided = run_of(judge(decision=OPEN), judge("b/a", NO), reading="exact")
    found = sentences_of(head, undecided)
    assert (found["wins"].every_choice, found["b"].every_choice) == ("open", "yes")
    found = sentences_of(run_of(judge(decision=OPEN), judge("b/a", NO)), tuned, run_of(judge(decision=NO), reading="x"))
    assert (found["wins"].every_choice, found["b"].every_choice) == ("no", "open")


def test_the_headline_run_heads_its_experiment():
    """Headline preset, all rounds, real data, most seeds, in this order; the others are told apart by name."""
    head = run_of(judge())
    others = {
        "preset tuned": run_of(judge(), preset="tuned"),
        "float64": run_of(judge(), precision="float64"),
        "50 rounds": run_of(judge(), rounds=50),
        "other seeds": run_of(judge(), first_seed=64, seeds=32),
        "reading exact": run_of(judge(), reading="exact"),
        "without OGD": run_of(judge(), excluded=("OGD",)),
        "preset tuned and float64": run_of(judge(), preset="tuned", precision="float64"),
        "on the stand-in": run_of(judge(), data="stand-in"),
        "50 rounds on the stand-in": run_of(judge(), data="stand-in", rounds=50),
    }
    for name, other in others.items():
        assert sorted([other, head], key=runs._order)[0] is head, name
        assert other.difference_from(head) == name
    real = run_of(judge(), data="real", seeds=8)
    assert sorted([others["on the stand-in"], real], key=runs._order)[0] is real
    assert not run_of(judge(), about=ABOUT._replace(presets={"tuned": "", **ABOUT.presets})).is_headline
    assert not run_of(judge(), about=ABOUT._replace(float64=True)).is_headline


def test_the_ledger_keeps_other_presets_without_their_slow_learners(declare_experiments, tmp_path):
    """A run with the usual settings and fewer learners would be read as the run whose verdicts count."""
    head, _ = runs_of(declare_experiments)
    fewer = head._replace(excluded=("OGD",))
    tuned, exact = fewer._replace(preset="tuned"), fewer._replace(reading="exact")
    path = runs.write([head, fewer, tuned, exact], {}, tmp_path / "ledger.csv")
    assert [(run.preset, run.reading) for run in runs.read(path, declare_experiments)] == [
        (head.preset, ""),
        ("tuned", ""),
        (head.preset, "exact"),
    ]
    assert tuned.difference_from(head) == "preset tuned" and exact.difference_from(head) == "reading exact"


def test_times_that_the_headline_run_did_not_take_are_those_of_another_run():
    timed = judge("fast/a", unit="repeats", kind="time")
    head = run_of(judge(), dataclasses.replace(timed, missing=True, decision=OPEN, p=math.nan))
    found = sentences_of(head, run_of(judge(decision=NO), timed, preset="tuned"))
    assert (found["fast"].standing, found["wins"].standing) == ("yes", "yes")


def test_seeds_that_are_shared_are_no_fresh_test():
    assert runs.overlap((0, 0, 64), (0, 32, 64)) and runs.overlap((0, 0, 64), (0, 0, 128))
    assert not runs.overlap((0, 0, 64), (0, 0, 64)) and not runs.overlap((0, 0, 64), (0, 64, 64))
    assert not runs.overlap((0, 0, 64), (1, 32, 64))


def test_claims_were_committed_before_only_where_every_run_shows_it():
    assert "committed before these runs" in pages._provenance([run_of()])
    for commit in ("abc123+", ""):
        said = pages._provenance([run_of(), run_of(commit=commit, experiment="oco/e2")])
        assert "is not shown for oco/e2" in said and "committed before these runs" not in said


# The table of numbers -------------------------------------------------------------------------------------------------


@pytest.fixture
def declare_experiments():
    """Two experiments that are declared, with a run of each: a statement that holds, one that fails, an exact one."""
    found = {}
    for name in ("oco/e6", "coco/fig2"):
        claims = tuple(judge(id).claim for id in ("wins/a", "wins/b", "exact"))
        found[name] = dataclasses.replace(EXPERIMENTS[name], claims=claims)
    return found


def runs_of(declared):
    found = []
    for name, experiment in declared.items():
        first, second, exact = experiment.claims
        numbers = (
            dataclasses.replace(judge(), claim=first, companions=(("share below 0", 0.25), ("a = b", 2.0))),
            dataclasses.replace(judge(decision=NO, p=1e-7), claim=second, low=-math.inf),
            dataclasses.replace(judge(p=0.0), claim=exact, deterministic=True),
        )
        fields = {"about": runs.about_of(experiment), "preset": experiment.preset(None), "rounds": experiment.horizon}
        precision = "float64" if experiment.float64 else "float32"
        found.append(run_of(*numbers, experiment=name, **fields, precision=precision))
    return found


def test_the_ledger_holds_ids_and_numbers_and_no_words(declare_experiments, tmp_path):
    """What is read from it counts the same, and says what is declared."""
    before = runs_of(declare_experiments)
    path = runs.write(before, {"oco/e6/wins": "in part"}, tmp_path / "ledger.csv")
    assert "<b>" not in path.read_text() and "Figure 1" not in path.read_text()
    header, *lines = (line.split(",") for line in path.read_text().splitlines())
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    assert rows[0]["id"] == "oco/e6/wins/a" and rows[0]["adjusted"] == "in part" and rows[3]["adjusted"] == ""
    after = runs.read(path, declare_experiments)
    for one, other in zip(before, after, strict=True):
        for kept, found in zip(one.verdicts, other.verdicts, strict=True):
            assert (kept.claim, kept.decision, kept.companions) == (found.claim, found.decision, found.companions)
            np.testing.assert_allclose([kept.value, kept.low, kept.p], [found.value, found.low, found.p])
            assert kept.deterministic == found.deterministic
    standings = [[s.standing for c in chapters(its, PAPERS) for s in c.sentences] for its in (after, before)]
    assert standings[0] == standings[1]


def test_other_words_break_nothing_and_need_no_run(declare_experiments, tmp_path):
    """Every sentence, test, place and remark in other words: the same numbers, and pages in these words."""
    path = runs.write(runs_of(declare_experiments), {}, tmp_path / "ledger.csv")
    other = {"says": "in other words", "test": "tested so", "place": "Figure 8", "remark": "r", "where": "there"}
    worded = {
        name: dataclasses.replace(e, claims=tuple(dataclasses.replace(claim, **other) for claim in e.claims))
        for name, e in declare_experiments.items()
    }
    old, new = (chapters(runs.read(path, its), PAPERS) for its in (declare_experiments, worded))
    assert [[(s.id, s.standing, s.p) for s in c.sentences] for c in old] == [
        [(s.id, s.standing, s.p) for s in c.sentences] for c in new
    ]
    assert "in other words" in pages.paper(new[0]) and "wins" not in pages.paper(new[0])


def test_a_claim_that_was_renamed_is_found_and_a_lost_one_is_one_line(declare_experiments, tmp_path, monkeypatch):
    path = runs.write(runs_of(declare_experiments), {}, tmp_path / "ledger.csv")
    path.write_text(path.read_text().replace("oco/e6/wins/a", "oco/e6/once/a"))
    with pytest.raises(InputError, match=r"ledger.csv, line \d: there is no claim 'oco/e6/once/a'"):
        runs.read(path, declare_experiments)
    monkeypatch.setattr(runs, "RENAMED", {"oco/e6/once/a": "oco/e6/wins/a"})
    assert len(runs.read(path, declare_experiments)[1].verdicts) == 3


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        (
            "id,preset",
            "claim,preset",
            "not a ledger in the format of this version of jaxbandits: its first line must be id,preset",
        ),
        (",0.5,0.4", ",half,0.4", "line 2: could not convert"),
        (",64,", ",,", "line 2: invalid literal"),
        (",64,", ",", "line 2: it has 19 cells, and must have 20"),
    ],
)
def test_a_ledger_of_another_form_is_one_line(declare_experiments, tmp_path, old, new, wrong):
    path = runs.write(runs_of(declare_experiments), {}, tmp_path / "ledger.csv")
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=wrong):
        runs.read(path, declare_experiments)


def test_the_committed_ledger_is_of_claims_that_are_declared():
    """An id that changes needs an entry in `runs.RENAMED`; the page counts what the table says, in 150 lines."""
    found = runs.read(ROOT / "docs" / "ledger.csv", EXPERIMENTS)
    parts = chapters(found, PAPERS)
    rendered = pages.overview(parts, "papers/{}.md".format)
    page = (ROOT / "docs" / "ledger.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 150
    counts = [line for line in rendered.splitlines() if line.startswith("| [")]
    assert counts == [line for line in page.splitlines() if line.startswith("| [")]
    for part in parts:
        assert (ROOT / "docs" / "papers" / f"{part.paper.family}.md").exists()


# Directories ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """Two experiments of one paper and one of another; one of them also with another seed, and in double precision."""
    out = tmp_path_factory.mktemp("ledger")
    rows = {
        "oco/e6": (judge(), judge("open/a", OPEN)),
        "oco/e4": (judge(p=0.03), judge("lost/a", NO, 1e-6)),
        "coco/fig2": (judge(p=0.04, stand_ins=("FilmTrust",)),),
    }
    for name, items in rows.items():
        drawn = EXPERIMENTS[name].figures[:1] if name != "oco/e4" else ()
        experiment = dataclasses.replace(EXPERIMENTS[name], name=f"my{name}", claims=(), figures=drawn)
        report = dataclasses.replace(factories.report(experiment), judged=items)
        asked = finished.request(experiment, **ASKED) | SINGLE
        files.write(report, _make_directory(out / name.replace("/", "-")), asked)
        if name == "oco/e6":
            plain = dataclasses.replace(experiment, figures=())
            other = dataclasses.replace(report, experiment=plain, judged=(judge(decision=OPEN), *items[1:]))
            files.write(other, _make_directory(out / "oco-e6--seed-1"), asked | {"seed": 1})
            again = asked | {"precision": "float64"}
            files.write(dataclasses.replace(report, experiment=plain), _make_directory(out / "oco-e6--float64"), again)
    return out


def _make_directory(path):
    path.mkdir()
    return path


pytestmark = pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")


@pytest.mark.slow
def test_experiments_of_a_stranger_have_their_words_from_the_manifests(directory):
    """None of them is registered here: their claims, titles and presets are those that were written."""
    found = runs.read(directory, EXPERIMENTS)
    assert [run.experiment for run in found] == ["mycoco/fig2", "myoco/e4", "myoco/e6", "myoco/e6", "myoco/e6"]
    coco, oco = chapters(found, PAPERS)
    assert (coco.paper.family, oco.paper.family) == ("mycoco", "myoco")
    assert {s.id: s.standing for s in oco.sentences} == {
        "myoco/e4/wins": "yes",
        "myoco/e4/lost": "no",
        "myoco/e6/wins": "yes",
        "myoco/e6/open": "open",
    }
    row = next(s for s in oco.sentences if s.id == "myoco/e6/wins").rows[0]
    assert {run.difference_from(oco.heads[1]): verdict.decision for run, verdict in row.others} == {
        "other seeds": "open",
        "float64": "holds",
    }


def test_a_run_says_which_commit_it_began_with(tmp_path):
    """Read before anything is computed, and how long all of it took."""
    start = files.Start.at_present()
    files.write(factories.report(dataclasses.replace(EXPERIMENTS["oco/e6"], figures=())), tmp_path, None, start)
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
    assert cli.main(["report", str(directory), "-o", str(out), "--pages", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert str(out) in said and str(tmp_path / "papers" / "myoco.md") in said
    text = out.read_text(encoding="utf-8")
    parsed = Page()
    parsed.feed(text)
    assert not parsed.open and len(set(parsed.ids)) == len(parsed.ids)
    inside = {reference.removeprefix("#") for reference in parsed.references}
    figures = [attrs for tag, attrs in parsed.tags if tag == "img"]
    assert len(figures) == 2 and all(f["alt"] and f["src"].startswith("data:image/svg+xml;base64,") for f in figures)
    assert inside - {figure["src"] for figure in figures} <= set(parsed.ids)
    assert not any(tag in ("script", "link", "svg", "iframe", "b") for tag, _ in parsed.tags)
    assert text.count("url(http") == 0 and "prefers-color-scheme: dark" in text and "@media print" in text
    assert "a <b>wins</b> & more" in parsed.text  # escaped
    for part in ("a stand-in for FilmTrust", "Figure 1", "does not hold", "seeds 0 to 5", "Do the figures reproduce?"):
        assert part in parsed.text, part
    assert "<svg" in (tmp_path / "papers" / "figures" / "myoco-e6.svg").read_text(encoding="utf-8")
    assert "![" in (tmp_path / "papers" / "myoco.md").read_text()


def test_without_a_renderer_the_pages_are_written(directory, tmp_path, capsys, monkeypatch):
    """`reproduce` has run for hours: it may not end with a package that is missing."""
    import importlib.util

    from jaxbandits.commands import report

    runs_ = tmp_path / "runs"
    shutil.copytree(directory, runs_)
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "markdown_it" else find(name))
    report.write_all(runs_)
    assert (runs_ / "pages" / "ledger.md").exists() and not (runs_ / "ledger.html").exists()
    assert "wrote" in capsys.readouterr().out


def test_stored_results_are_judged_by_the_statistics_of_this_version(tmp_path):
    """Times keep their verdicts; a table has no results."""
    claims = (
        dataclasses.replace(judge("low/a").claim, statistic=final_mean("one", "a"), high=9.0, least=2),
        dataclasses.replace(judge("time/a", unit="repeats").claim, statistic=time_growth("one", "a")),
    )
    small = {"metric": "regret", "tabulated": (), "claims": claims, "figures": ()}
    experiment = dataclasses.replace(EXPERIMENTS["oco/e6"], name="my/one", **small)
    values = {"regret": np.full((1, 64, 1), 2.0)}
    old = tuple(dataclasses.replace(judge(decision=NO), claim=claim) for claim in claims)
    report = Report(experiment, experiment.preset(None), 60, {"one": Result({"a": results.trials(values)})}, {}, old)
    files.write(report, tmp_path, finished.request(experiment, **ASKED))
    (run,) = runs.read(tmp_path, {"my/one": experiment})
    assert [verdict.decision for verdict in run.verdicts] == [NO, NO]
    low, time = update_verdicts(run).verdicts
    assert (low.decision, low.value, time.decision) == (YES, 2.0, NO)
    with pytest.raises(InputError, match="name the directory of the runs"):
        update_verdicts(run._replace(directory=None))


def test_a_directory_without_runs_or_with_others_is_told(tmp_path):
    with pytest.raises(InputError, match="holds no finished run"):
        runs.read(tmp_path, EXPERIMENTS)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="does not have the manifest format of this version"):
        runs.read(tmp_path, EXPERIMENTS)
    (tmp_path / "manifest.json").unlink()
    Directory(tmp_path).begin({}, None)  # of a sweep, which may lie beside runs
    with pytest.raises(InputError, match="holds no finished run"):
        runs.read(tmp_path, EXPERIMENTS)


def test_a_file_needs_something_to_be_written(tmp_path, capsys):
    (tmp_path / "ledger.csv").write_text("")
    assert cli.main(["report", str(tmp_path / "ledger.csv")]) == 2
    assert "--out, --pages and --ledger" in capsys.readouterr().err


SLOW = {"without": ("HEAVY-OFUL",), "no_timing": True}


def test_budgets():
    experiment = EXPERIMENTS["linear/fig1"]
    (quick,) = parts(experiment, "quick")
    few = {"seeds": 8, "horizon": 360, "preset": "practical", "seed": 0}  # tuning in the run would take minutes
    assert quick.settings == few | {"compile": "fast", "formats": ("svg",), **SLOW}
    usual, *others = parts(experiment, "standard")
    readings = ["--interpretation-exact-nu", "--interpretation-extra-sigma"]
    assert usual.suffix == "" and set(usual.settings.values()) == {None, 0}
    assert [part.suffix for part in others] == ["--practical", "--theory", *readings]
    fewer = {"seeds": 256, "without": (), "no_timing": True}  # HEAVY-OFUL runs on 512 seeds
    assert others[0].settings == usual.settings | fewer | {"preset": "practical"}
    assert others[2].settings == usual.settings | fewer | {"interpretation": "exact-nu"}
    slow = parts(EXPERIMENTS["glm/fig1"], "standard")[1].settings
    assert slow["seeds"] == 200 and {"OFUGLB", "RS-GLinCB"} < set(slow["without"])
    assert parts(EXPERIMENTS["glm/coverage"], "standard")[1].settings["seeds"] == 1000  # as its claims need
    full = parts(experiment, "full")
    assert [part.suffix for part in full] == ["", "--practical", "--theory", *readings, "--seed-1", "--float64"]
    assert full[3].settings == full[0].settings | {"interpretation": "exact-nu"}
    assert full[1].settings["preset"] == "practical" and full[-2].settings["seed"] == 1
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
    assert "omit --seeds" in capsys.readouterr().err
    for command, told in (
        (["reproduce", "linear/fig1", "--interpretation", "exact-mu"], "did you mean 'exact-nu'"),
        (["reproduce", "oco/e6", "--interpretation", "exact-nu"], "oco/e6 has one interpretation only"),
        (
            ["reproduce", "linear/fig1", "--interpretation", "exact-nu", "--budget", "full"],
            "omit --interpretation",
        ),
    ):
        assert cli.main([*command, "--out", str(tmp_path)]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.slow
def test_a_budget_runs_resumes_and_ends_with_the_ledger(tmp_path, capsys):
    command = ["reproduce", "oco/e6", "--budget", "quick", "--quiet", "--out", str(tmp_path)]
    assert cli.main(command) == 0
    (place,) = tmp_path.glob("oco-e6*")  # --float64 where the process computes in it
    first = (place / "manifest.json").read_bytes()
    said = capsys.readouterr()
    assert "cannot be judged on this run" in said.out and "oco/e6" in (tmp_path / "ledger.html").read_text()
    assert "s in total" in said.err and "# Do the figures" in (tmp_path / "pages" / "ledger.md").read_text()
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
        files.write(factories.report(plain), out, finished.request(plain, **ASKED))

    monkeypatch.setattr(reproduce, "_reproduce_one", one)
    monkeypatch.setattr(process_memory, "release", lambda: None)  # other tests need the traces of this process
    assert cli.main(["reproduce", "oco/all", "--budget", "quick", "--processes", "1", "--out", str(tmp_path)]) == 1
    assert tried == [name for name in EXPERIMENTS if name.startswith("oco/") and name != "oco/cost"]  # of times
    said = capsys.readouterr().err
    assert "no such thing" in said and "broken" in said and f"2 of {len(tried)} runs failed: oco-e3" in said
    assert "oco/e4" in (tmp_path / "pages" / "papers" / "oco.md").read_text()


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
            assert all(row[:5]) and not any(len(field) > 200 for field in row[:5])


def test_figures_are_images_of_files_of_the_run_alone(directory, tmp_path, capsys):
    """A stranger's figures: a script inside, a file elsewhere, a link to a file elsewhere."""
    copied = tmp_path / "runs"
    shutil.copytree(directory, copied)
    (tmp_path / "secret.svg").write_text("<svg>secret</svg>")
    pictures = sorted(copied.rglob("*.svg"))
    pictures[0].write_text('<svg onload="alert(1)"><script>alert(1)</script></svg>')
    pictures[1].unlink()
    pictures[1].symlink_to(tmp_path / "secret.svg")
    for manifest in copied.rglob("manifest.json"):
        made_of = json.loads(manifest.read_text())
        made_of["files"].append("../../secret.svg")
        manifest.write_text(json.dumps(made_of))
    assert cli.main(["report", str(copied), "-o", str(tmp_path / "ledger.html")]) == 0
    parsed, page = Page(), (tmp_path / "ledger.html").read_text()
    parsed.feed(page)
    figures = [dict(attrs)["src"].partition(",")[2] for tag, attrs in parsed.tags if tag == "img"]
    assert [base64.b64decode(figure) for figure in figures] == [pictures[0].read_bytes()]
    assert "alert(1)" not in page and "is missing" in parsed.text


# Doors by which a number could come from elsewhere --------------------------------------------------------------------


def read_back(declared, tmp_path, *found):
    return runs.read(runs.write(sorted(found, key=runs._order), {}, tmp_path / "l.csv"), declared)


def standings(found):
    return {s.id: (s.standing, len(s.rows)) for part in chapters(found, PAPERS) for s in part.sentences}


def of_experiment(declared, *verdicts, **fields):
    experiment = declared["oco/e6"]
    claims = {claim.id: claim for claim in experiment.claims}
    usual = {"about": runs.about_of(experiment), "preset": experiment.preset(None), "rounds": experiment.horizon}
    usual |= {"precision": "float64" if experiment.float64 else "float32", "experiment": experiment.name}
    return run_of(*(dataclasses.replace(v, claim=claims[v.claim.id]) for v in verdicts), **usual | fields)


def test_a_row_that_was_not_measured_stays_open_when_it_is_read_again(declare_experiments, tmp_path):
    """A sentence does not hold because its other row was lost on the way."""
    lost = dataclasses.replace(judge("wins/b", OPEN), missing=True)
    head = of_experiment(declare_experiments, judge(), lost, judge("exact"))
    assert standings([head]) == standings(read_back(declare_experiments, tmp_path, head))
    assert standings([head])["oco/e6/wins"] == ("open", 2)


def test_nothing_but_times_is_taken_from_another_run(declare_experiments, tmp_path):
    """A statement that the head did not measure is open, whatever another preset says of it."""
    lost = dataclasses.replace(judge("wins/b", OPEN), missing=True)
    head = of_experiment(declare_experiments, judge(), lost, judge("exact"))
    other = of_experiment(declare_experiments, judge(), judge("wins/b", NO), judge("exact"), preset="tuned")
    for found in ([head, other], read_back(declare_experiments, tmp_path, head, other)):
        assert standings(found)["oco/e6/wins"] == ("open", 2)


def test_a_claim_about_another_preset_has_the_verdict_of_that_preset(declare_experiments, tmp_path):
    first, *others = declare_experiments["oco/e6"].claims
    declare_experiments["oco/e6"] = dataclasses.replace(
        declare_experiments["oco/e6"], claims=(dataclasses.replace(first, presets=("tuned",)), *others)
    )
    away = dataclasses.replace(judge(decision=OPEN), applies=False)
    head = of_experiment(declare_experiments, away, judge("wins/b"), judge("exact"))
    tuned = of_experiment(declare_experiments, judge(decision=NO), judge("wins/b"), judge("exact"), preset="tuned")
    for found in ([head, tuned], read_back(declare_experiments, tmp_path, head, tuned)):
        assert standings(found)["oco/e6/wins"] == ("in part", 2)


def test_two_runs_of_equal_settings_stay_two(declare_experiments, tmp_path):
    one, other = (of_experiment(declare_experiments, judge(decision=d), judge("wins/b")) for d in (YES, NO))
    assert [run.verdicts[0].decision for run in read_back(declare_experiments, tmp_path, one, other)] == [YES, NO]


def test_a_whole_run_on_real_data_heads_though_it_has_fewer_rounds(declare_experiments, tmp_path):
    """Its data have an order of their own length; the stand-in is declared for more."""
    real = of_experiment(declare_experiments, judge(), data="real", rounds=10, whole="yes")
    made_up = of_experiment(declare_experiments, judge(decision=NO), data="stand-in")
    for found in (sorted([made_up, real], key=runs._order), read_back(declare_experiments, tmp_path, made_up, real)):
        assert found[0].data == "real" and found[0].verdicts[0].enough_rounds


def test_a_decided_row_without_its_p_is_not_decided_over_the_paper():
    assert sentences_of(run_of(judge(p=math.nan)))["wins"].standing == "open"


def test_rows_that_cannot_be_judged_are_not_counted_as_failures():
    found = sentences_of(run_of(judge(), judge("wins/b", NO, cannot_be_judged="rebuilt")))["wins"]
    assert found.count_of_rows() == "holds in 1 of 1 row, cannot be judged in 1"


def test_a_choice_is_compared_on_the_rows_that_it_has():
    """The other preset lacks the rival that fails here."""
    head = run_of(judge(), judge("wins/b", NO))
    assert sentences_of(head, run_of(judge(), preset="tuned"))["wins"].every_choice == "yes"


def test_a_strangers_words_neither_run_nor_begin_anything(directory, tmp_path):
    runs_ = tmp_path / "runs"
    shutil.copytree(directory, runs_)
    path = runs_ / "oco-e6" / "manifest.json"
    body = json.loads(path.read_text())
    hostile = "x\n\n![x](https://evil/x.png)<script>alert(1)</script>"
    body |= {"title": hostile, "source": "``" + "`", "files": ["<img src=x onerror=alert(1)>.svg", *body["files"]]}
    path.write_text(json.dumps(body))
    assert cli.main(["report", str(runs_), "-o", str(tmp_path / "l.html"), "--pages", str(tmp_path)]) == 0
    parsed = Page()
    parsed.feed((tmp_path / "l.html").read_text())
    assert not any(tag == "script" for tag, _ in parsed.tags) and not parsed.open
    assert all(
        attrs["src"].startswith("data:") and "onerror" not in attrs for tag, attrs in parsed.tags if tag == "img"
    )
    assert "<script" not in (tmp_path / "papers" / "myoco.md").read_text()
    body["claims"][0]["verdict"] = "banana"
    path.write_text(json.dumps(body))
    with pytest.raises(InputError, match="an unknown verdict, kind or unit"):
        runs.read(runs_, EXPERIMENTS)


def test_the_commit_of_a_run_watches_the_whole_package(monkeypatch):
    asked = []

    def run(command, **settings):
        asked.append(command)
        return types.SimpleNamespace(stdout="")

    monkeypatch.setattr(files.subprocess, "run", run)
    files.commit()
    assert asked[-1][-1] == str(ROOT / "jaxbandits")


def test_the_commit_of_a_project_around_an_installed_package_is_not_that_of_the_run(tmp_path, monkeypatch):
    """A virtual environment usually lies in the checkout of a user's project, whose commits say nothing of the code."""

    def git(*words):
        settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *settings, *words], cwd=tmp_path, check=True, capture_output=True)

    place = tmp_path / ".venv" / "jaxbandits" / "reproduction" / "ledger" / "files.py"
    place.parent.mkdir(parents=True)
    place.write_text("")
    monkeypatch.setattr(files, "__file__", str(place))
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "the user's project")
    assert files.commit() is None
    git("add", str(place))
    git("commit", "-q", "-m", "a checkout of the package")
    assert re.fullmatch("[0-9a-f]{12}", files.commit())
    place.write_text("changed")
    assert re.fullmatch(r"[0-9a-f]{12}\+", files.commit())
