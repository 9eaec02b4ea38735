"""Stored runs judged anew: only what a changed statistic changes differs, and no threshold may."""

import dataclasses
import json

import numpy as np
import pytest

from jaxbandits import cli
from jaxbandits.base.errors import InputError
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.claim import METHOD, Claim, Measured, region
from jaxbandits.reproduction.engine.statistic import exact_share, final_mean, share_below, total_time
from jaxbandits.reproduction.ledger import files, finished, ledger, record, rejudged
from jaxbandits.reproduction.papers import PAPERS
from jaxbandits.results.intervals import Estimate
from jaxbandits.results.result import Result
from tests.reproduction import made
from tests.results import made as results_made

NAME, SEEDS = "oco/e6", 400
ASKED = {"seeds": SEEDS, "horizon": made.HORIZON, "preset": None, "without": (), "seed": 0, "data": None}
CLAIMS = (
    Claim("a share", "Figure 1", share_below("n-2", "any learner", "regret", 1.5), low=0.99),
    Claim("a mean", "Figure 1", final_mean("n-2", "any learner"), high=1.2),
    Claim("a time", "Figure 1", total_time("n-2", "any learner"), high=1.0, trials=3),
    Claim("of another preset", "Figure 1", final_mean("n-2", "any learner"), high=0.1, presets=("tuned",)),
)


@pytest.fixture
def stored(tmp_path):
    """A run of 400 seeds whose share was judged by a statistic that decides less, and whose time was measured."""
    experiment = dataclasses.replace(EXPERIMENTS[NAME], claims=CLAIMS, figures=(), metric="regret", tabulated=())
    values = np.random.default_rng(1).uniform(0.9, 1.1, (1, SEEDS, 1))
    result = Result({"any learner": results_made.trials({"regret": values})})
    measured = Measured({"n-2": result}, {})
    judged = [claim.judge(measured, preset="theory") for claim in CLAIMS]
    assert [item.decision for item in judged[:2]] == ["holds", "holds"] and judged[2].missing
    judged[0] = dataclasses.replace(judged[0], decision="not decided", p=0.07, low=0.985)  # what the run had said
    judged[2] = dataclasses.replace(judged[2], decision="holds", p=0.001, value=0.5, low=0.4, high=0.6, missing=False)
    report = dataclasses.replace(made.report(EXPERIMENTS[NAME]), experiment=experiment, judged=tuple(judged), times={})
    report = dataclasses.replace(report, results={"n-2": result})
    files.write(report, tmp_path, finished.request(experiment, **ASKED), files.Start("abc123", 0.0))
    return tmp_path, {NAME: experiment}


def test_only_a_changed_statistic_changes_verdicts(stored):
    directory, experiments = stored
    before = (directory / "manifest.json").read_bytes()
    runs = ledger.read(directory)
    (run,) = rejudged.rejudged(runs, experiments, "def456")
    share, mean, time, other = run.manifest["claims"]
    assert share["verdict"] == "holds" and share["p"] == pytest.approx(2 * 0.99**SEEDS, rel=1e-6)
    assert share["interval"][0] == pytest.approx(float(exact_share(SEEDS, SEEDS).low))
    assert share["at run"] == {"verdict": "not decided", "p": 0.07, "interval": [0.985, 1.0]}
    assert [mean, time, other] == runs[0].manifest["claims"][1:]  # a time keeps its verdict
    assert (directory / "manifest.json").read_bytes() == before and run.digest == runs[0].digest


def _from_json(runs, directory):
    return ledger.markdown(record.read_settings(record.write_settings(runs, directory / "kept.json")), PAPERS)


def test_the_ledger_says_what_was_judged_anew(stored):
    """Both counts of verdicts, what the run had said, and that statistics came after the run."""
    directory, experiments = stored
    runs = ledger.read(directory)
    text = ledger.markdown(rejudged.rejudged(runs, experiments, "def456"), PAPERS)
    assert "statistics of commit def456" in text and METHOD in text
    assert "Of 4 claims 1 have other numbers than in the manifests, 1 another verdict, 1 another adjusted" in text
    assert "at the run: not decided, [0.985, 1], p = 0.07" in text
    assert "Thresholds were committed before the runs" in text and "Statistics and thresholds" not in text
    (kept,) = record.settings(rejudged.rejudged(runs, experiments, "def456"))["runs"]
    assert (kept["commit"], kept["judged anew"]) == ("abc123", "def456") and "judged anew" not in record.settings(runs)[
        "runs"
    ][0]
    assert _from_json(rejudged.rejudged(runs, experiments, "def456"), directory) == text
    usual = ledger.markdown(runs, PAPERS)
    assert "Judged anew" not in usual and "Statistics and thresholds were committed" in usual


def test_places_in_the_paper_are_those_of_this_version(stored):
    """Of what is judged again and of times, which are not; with the data that stand in, where the run had stand-ins."""
    directory, experiments = stored
    moved = tuple(dataclasses.replace(claim, source="ours, on Figure 1") for claim in CLAIMS)
    other = dataclasses.replace(experiments[NAME], claims=moved, stand_ins={"n-2": "Numbers"})
    (run,) = ledger.read(directory)
    for on, expected in (({}, ""), ({"another panel": "Numbers"}, "; on a stand-in for Numbers")):
        there = run._replace(manifest={**run.manifest, "stand_ins": on})
        (anew,) = rejudged.rejudged([there], {NAME: other}, None)
        share, mean, time, preset = (claim["source"] for claim in anew.manifest["claims"])
        assert share == mean == preset == f"ours, on Figure 1{expected}" and time == "ours, on Figure 1"


def test_runs_judged_by_other_statistics_are_named(stored):
    directory, _ = stored
    kept = json.loads((directory / "manifest.json").read_text())
    assert kept["method"] == METHOD and "which may be others" not in ledger.markdown(ledger.read(directory), PAPERS)
    del kept["method"]
    (directory / "manifest.json").write_text(json.dumps(kept))
    assert "which may be others than these: all of them." in ledger.markdown(ledger.read(directory), PAPERS)


@pytest.mark.parametrize(
    ("changed", "told"),
    [({"low": 0.9}, "another threshold"), ({"high": 2.0}, "another threshold"), ({"text": "more"}, "makes no more")],
)
def test_no_threshold_moves(stored, changed, told):
    """0.9 begins as 0.99 does: thresholds are compared as a whole."""
    directory, experiments = stored
    other = dataclasses.replace(experiments[NAME], claims=(dataclasses.replace(CLAIMS[0], **changed), *CLAIMS[1:]))
    with pytest.raises(InputError, match=told):
        rejudged.rejudged(ledger.read(directory), {NAME: other}, None)


def test_the_command_judges_anew(stored, monkeypatch, capsys):
    directory, experiments = stored
    monkeypatch.setattr("jaxbandits.reproduction.EXPERIMENTS", experiments)
    assert cli.main(["report", str(directory), "--rejudge", "--markdown", str(directory / "l.md")]) == 0
    assert all("Judged anew" in (directory / name).read_text() for name in ("l.md", "ledger.html"))


def _kept(text, why, p, seeds=SEEDS):
    flags = {"fixed": False, "applies": True, "missing": False}
    return {"claim": text, "source": "Figure 1", "verdict": "holds", "why": why, "seeds": seeds, "p": p, **flags}


def test_p_of_a_row_without_its_run_follows_from_what_is_printed(stored):
    """A mean's from its interval, a share's from its count; rows of this version keep theirs."""
    directory, experiments = stored
    (run,) = ledger.read(directory)
    share, mean = CLAIMS[:2]
    exact = exact_share(SEEDS, SEEDS)
    whys = [f"1 in [{float(exact.low):.4g}, 1], claimed {region(share)}", f"0.5 in [0.3, 0.6], claimed {region(mean)}"]
    claims = [_kept(claim.text, why, 0.07) for claim, why in zip((share, mean), whys, strict=True)]
    tied = _kept(share.text, f"0.9995 in [0.99, 1], claimed {region(share)}", 0.07)  # no count has this interval
    old = run._replace(manifest={**run.manifest, "claims": [*claims, tied], "method": "of another version"})
    (found,) = rejudged.described([old], experiments)
    first, second, third = (row["p"] for row in found.manifest["claims"])
    assert first == pytest.approx(2 * 0.99**SEEDS, rel=1e-6) and third == 0.07
    estimate = Estimate(*map(np.asarray, (0.5, 0.3, 0.6)), n=SEEDS)
    assert second == mean.p_value(estimate) != 0.07 and found.manifest["method"] == METHOD
    again = found._replace(manifest={**found.manifest, "claims": claims})
    assert [row["p"] for row in rejudged.described([again], experiments)[0].manifest["claims"]] == [0.07, 0.07]


def test_claims_that_are_gone_leave_earlier_runs_only_where_a_later_run_judges(stored):
    directory, experiments = stored
    (run,) = ledger.read(directory)
    gone = run._replace(manifest={**run.manifest, "claims": [_kept("made no more", "1 in [0, 2], claimed > 0", 0.5)]})
    with pytest.raises(InputError, match="makes no more"):
        rejudged.described([gone], experiments)
    (found,) = rejudged.described([gone], experiments, {NAME})
    assert found.manifest["claims"] == []
