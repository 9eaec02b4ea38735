"""A finished run is found again with its verdicts, and with what JSON cannot hold."""

import dataclasses
import json
import math

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.linear import HeavyTailed
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.run import Report
from jaxbandits.reproduction.engine.verdict import Verdict
from jaxbandits.reproduction.ledger import files, finished, runs

ASKED = {"seeds": None, "horizon": 60, "preset": None, "without": (), "seed": 0, "data": None}


def judge_claims(experiment):
    """Every claim with some verdict, the first without any number."""
    rows = [("open", math.nan, -math.inf, math.inf, 3, 1, False), ("holds", 1.5, 1.0, math.inf, 9, 0, True)]
    return tuple(Verdict(claim, *rows[i % 2]) for i, claim in enumerate(experiment.claims))


def test_verdicts_come_back(tmp_path):
    experiment = EXPERIMENTS["oco/e6"]
    asked = finished.request(experiment, **ASKED)
    report = Report(experiment, experiment.preset(None), 60, {}, {}, judge_claims(experiment))
    experiment_without_figures = {"figures": ()}
    report = Report(
        type(experiment)(**{**vars(experiment), **experiment_without_figures}), report.preset, 60, {}, {}, report.judged
    )
    assert finished.find(experiment, asked, tmp_path) is None
    files.write(report, tmp_path, asked)
    found = finished.find(experiment, asked, tmp_path)
    assert found is not None and (found.preset, found.horizon) == (report.preset, 60)
    for ours, kept in zip(found.judged, report.judged, strict=True):
        assert (ours.claim, ours.decision, ours.n, ours.failed) == (
            kept.claim,
            kept.decision,
            kept.n,
            kept.failed,
        )
        np.testing.assert_array_equal((ours.value, ours.low, ours.high), (kept.value, kept.low, kept.high))
        assert ours.reason == kept.reason
    assert json.loads((tmp_path / "manifest.json").read_text())["request"]["seeds"] == experiment.seeds
    (tmp_path / "e6.txt").unlink()  # a run that lost a file is computed again
    assert finished.find(experiment, asked, tmp_path) is None


def test_the_data_file_is_part_of_the_request(tmp_path):
    digests = set()
    for content in (b"1", b"2"):
        (tmp_path / "data").write_bytes(content)
        digests.add(finished.request(EXPERIMENTS["oco/e6"], **{**ASKED, "data": tmp_path / "data"})["data"])
    assert len(digests) == 2


def test_a_directory_of_data_is_its_files_and_those_of_its_folders(tmp_path):
    def digest():
        return finished.request(EXPERIMENTS["oco/e6"], **{**ASKED, "data": tmp_path})["data"]

    found = [digest()]
    (tmp_path / "letter").mkdir()
    for name, content in (("sat.trn", "1 2"), ("letter/letter.data", "1 2"), ("sat.trn", "1 3")):
        (tmp_path / name).write_text(content)
        found.append(digest())
    (tmp_path / "sat.trn").rename(tmp_path / "sat.tst")
    found.append(digest())
    assert len(set(found)) == 5 and digest() == found[-1]


def test_data_that_an_experiment_finds_by_itself_are_part_of_the_request(run):
    """For example, a package with data sets has been installed since the run, which used stand-ins."""
    experiment, asked, directory = run
    panels = experiment.panels(60)
    name, panel = next(iter(panels.items()))
    changed = panel._replace(environment=HeavyTailed(dim=2, n_arms=5))
    other = dataclasses.replace(experiment, panels=lambda horizon: {**panels, name: changed})
    assert finished.request(experiment, **ASKED) == asked
    with pytest.raises(InputError, match="holds a finished run that differs in environments: --out DIR keeps both"):
        finished.find(other, finished.request(other, **ASKED), directory)


@pytest.fixture
def run(tmp_path):
    """A finished run in a directory, its experiment and its request."""
    experiment = dataclasses.replace(EXPERIMENTS["oco/e6"], figures=())
    asked = finished.request(experiment, **ASKED)
    files.write(Report(experiment, experiment.preset(None), 60, {}, {}, judge_claims(experiment)), tmp_path, asked)
    assert finished.find(experiment, asked, tmp_path) is not None
    return experiment, asked, tmp_path


def test_a_plugin_that_gained_a_claim_is_told_which(run):
    experiment, asked, directory = run
    more = dataclasses.replace(experiment.claims[0], id="new")
    grown = dataclasses.replace(experiment, claims=(*experiment.claims, more))
    with pytest.raises(InputError, match=r"claims differ from those of oco/e6 \('new'\): --out DIR"):
        finished.find(grown, asked, directory)


def test_a_better_word_finds_the_run_and_another_threshold_does_not(run):
    experiment, asked, directory = run
    first, *others = experiment.claims
    worded = dataclasses.replace(experiment, claims=(dataclasses.replace(first, says="other words"), *others))
    found = finished.find(worded, asked, directory)
    assert found is not None and found.judged[0].claim.says == "other words"
    moved = dataclasses.replace(first, low=-7.0, high=8.0)
    with pytest.raises(InputError, match="was judged with another region"):
        finished.find(dataclasses.replace(experiment, claims=(moved, *others)), asked, directory)


@pytest.mark.parametrize(
    ("field", "value", "wrong"),
    [
        ("horizon", "60", "horizon must be a whole number"),
        ("claims", {}, "claims must be a list"),
        ("claims", [3], r"claims\[0\] must be an object"),
        ("claims", [{"says": "x"}], r"claims\[0\].id is missing"),
        ("files", None, "files must be a list"),
        ("request", 5, "request must be an object"),
        ("presets", [], "presets must be an object"),
        ("declared", {}, "declared.horizon is missing"),
        (None, None, "nested too deep|not JSON"),
        (None, "[3]", "it must be an object"),
    ],
)
def test_a_manifest_with_other_types_is_one_line_everywhere(run, field, value, wrong):
    experiment, asked, directory = run
    path = directory / "manifest.json"
    kept = json.loads(path.read_text())
    changed = json.dumps(kept | {field: value}) if field else value or "[" * 200_000
    path.write_text(changed)
    for door in (lambda: finished.find(experiment, asked, directory), lambda: runs.read(directory, EXPERIMENTS)):
        with pytest.raises(InputError, match=wrong) as error:
            door()
        assert "\n" not in str(error.value) and str(path) in str(error.value)
    finished.refuse_a_sweep(directory)
    finished.set_aside(directory)
    assert not path.exists() and finished.judged_before(asked, directory) in ("", "0 to 49")
    finished.discard_earlier(directory, [])
    assert not any(directory.glob("*.json"))


def test_an_interrupted_run_still_names_the_run_that_it_replaces(run):
    """Figures of the earlier run that the new one does not draw are deleted, but not before there are new ones."""
    experiment, asked, directory = run
    manifest = json.loads((directory / "manifest.json").read_text())
    for name in ("e6-old.svg", "own.svg"):
        (directory / name).write_text("")
    (directory / "manifest.json").write_text(json.dumps(manifest | {"files": [*manifest["files"], "e6-old.svg"]}))
    finished.set_aside(directory)
    assert finished.find(experiment, asked, directory) is None and (directory / "e6.txt").exists()
    finished.set_aside(directory)  # interrupted, and overwritten once more
    more = finished.request(experiment, **ASKED | {"seeds": experiment.seeds + 1})
    before = finished.judged_before(more, directory)
    assert before == f"0 to {experiment.seeds - 1}" and finished.judged_before(asked, directory) == ""
    report = Report(experiment, experiment.preset(None), 60, {}, {}, judge_claims(experiment))
    written = files.write(report, directory, more, before=before)
    finished.discard_earlier(directory, written)
    left = {path.name for path in directory.iterdir()}
    assert left == {"own.svg", *(path.name for path in written)} and finished.judged_before(more, directory) == ""
    assert json.loads((directory / "manifest.json").read_text())["judged before"] == before
