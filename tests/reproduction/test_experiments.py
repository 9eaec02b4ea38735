"""Every declared experiment runs, draws and judges; verdicts follow from the results alone."""

import dataclasses
import importlib
import itertools
import json
import math
import re

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.catalogue import to_spec
from jaxbandits.cli import main
from jaxbandits.engine.grid import Grid, list_points
from jaxbandits.environments.linear.noise import StudentT
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.claim import Claim
from jaxbandits.reproduction.engine.experiment import Experiment, Interpretation, Panel, TimePerRound, choose
from jaxbandits.reproduction.engine.figures import Against, Cost, Exponents, Heatmap
from jaxbandits.reproduction.engine.run import run
from jaxbandits.reproduction.engine.statistic import final_mean
from jaxbandits.reproduction.engine.tuning import Tuning
from jaxbandits.reproduction.ledger import files, finished
from tests.toy_problems import Noisy, Shrink

FAST = ("linear/sysid",)
TINY = {"seeds": 50, "horizon": 120, "progress": False}


def check(experiment, directory, **settings):
    """Runs an experiment far below its size and writes everything it would write."""
    report = run(experiment, **TINY, **settings)
    names = {path.name for path in files.write(report, directory)}
    stem = experiment.name.rpartition("/")[2]
    assert {f"{stem}.png", f"{stem}.svg", f"{stem}.pdf", f"{stem}.txt", "manifest.json"} <= names
    assert (directory / f"{stem}.png").stat().st_size > 10_000
    assert len(report.judged) == len(experiment.claims)
    assert {item.decision for item in report.judged if not item.deterministic} <= {"open"}  # too few rounds
    assert not [item.claim.id for item in report.judged if item.missing]  # a label or a metric that is not there
    for result in report.results.values():
        for trials in result.labels_with_metric(experiment.metric)[1].values():
            assert not trials.failures(experiment.metric).any()
    return report


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
def test_an_experiment_runs_draws_and_judges(name, tmp_path):
    check(EXPERIMENTS[name], tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")  # of slow learners, on few seeds by design
@pytest.mark.filterwarnings("ignore:.*as printed.* inadmissible decisions")  # shown to be so
@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in FAST])
def test_every_experiment_runs_draws_and_judges(name, tmp_path):
    check(EXPERIMENTS[name], tmp_path)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_declaration_is_complete(name):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name and experiment.title and experiment.source
    heatmaps = [drawing for drawing in experiment.figures if isinstance(drawing, Heatmap)]
    undrawn = {label for drawing in experiment.figures for label in getattr(drawing, "not_drawn", ())}
    for preset in experiment.presets:
        for panel in experiment.panels(100).values():
            labels = experiment.algorithms(preset, 100, panel)
            assert set(experiment.slow) <= set(labels)
            assert undrawn <= set(labels) or preset != next(iter(experiment.presets))  # others may play fewer
            swept = [label for label, algorithm in labels.items() if isinstance(algorithm, Grid)]
            draws_sweeps = heatmaps or any(getattr(drawing, "swept", False) for drawing in experiment.figures)
            assert swept == (list(labels) if draws_sweeps else [])
            for drawing, algorithm in itertools.product(heatmaps, labels.values()):
                assert set(drawing.nominal) == set(list_points(algorithm.points)[0])
                for field, value in drawing.nominal.items():  # the maps pass through what the preset plays
                    assert float(getattr(algorithm.algorithm, field)) == pytest.approx(value)
    timed = experiment.timed
    assert timed is None or set(timed.panels) <= set(experiment.panels(100))
    assert timed is None or not timed.unit or timed.unit in labels
    for drawing in experiment.figures:
        at = [panel.x for panel in experiment.panels(100).values()]
        assert not isinstance(drawing, (Against, Cost, Exponents)) or not all(map(math.isnan, at))
        assert timed is not None or not (isinstance(drawing, Cost) or getattr(drawing, "times", False))
    assert set(experiment.stand_ins) <= set(experiment.panels(100))
    assert experiment.width in (None, 1) or experiment.width % 32 == 0
    texts = [claim.text for claim in experiment.claims]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("family", ["linear", "glm", "dro"])
def test_learners_that_are_tuned_on_fewer_seeds_exist(family):
    """A label that no experiment has would leave a slow learner on all seeds."""
    tuned = [x for name, x in EXPERIMENTS.items() if name.startswith(f"{family}/") and x.tuning is not None]
    labels = {
        label
        for experiment in tuned
        for preset in experiment.tuning.presets
        for panel in experiment.panels(100).values()
        for label in experiment.algorithms(preset, 100, panel)
    }
    assert {label for experiment in tuned for label in experiment.tuning.slow} <= labels and tuned


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if EXPERIMENTS[name].interpretations])
def test_other_readings_change_what_they_name_and_nothing_else(name):
    """Fields of labels that there are, to other values than those of the usual preset."""
    experiment = EXPERIMENTS[name]
    for reading in experiment.interpretations:
        changed, met, other = (
            experiment.interpretations[reading].learners,
            set(),
            experiment.with_interpretation(reading),
        )
        for preset, panel in itertools.product(experiment.presets, experiment.panels(100).values()):
            usual, read = (one.algorithms(preset, 100, panel) for one in (experiment, other))
            assert list(usual) == list(read)
            for label, learner in usual.items():
                fields = changed.get(label, {})
                assert to_spec(read[label]) == to_spec(dataclasses.replace(learner, **fields))
                each = [dataclasses.replace(learner, **{field: value}) for field, value in fields.items()]
                if preset == experiment.preset(None):
                    assert to_spec(learner) not in map(to_spec, each)
                met |= {label} & set(changed)
        assert met == set(changed) and experiment.claims
        assert (other.interpretation, other.claims, other.name) == (reading, experiment.claims, name)
    assert experiment.with_interpretation(None) is experiment and experiment.interpretation is None
    with pytest.raises(InputError, match="unknown interpretation of"):
        experiment.with_interpretation("another")


def test_the_exact_moment_is_that_of_the_noise():
    exact = EXPERIMENTS["linear/fig1"].interpretations["exact-nu"].learners["OFUL"]["noise_scale"]
    assert exact == pytest.approx(float(StudentT(df=2.1).scale(0.99)), rel=1e-6)


def test_groups_of_experiments():
    family = choose(EXPERIMENTS, "linear/all")
    assert [e.name for e in family] == [name for name in EXPERIMENTS if name.startswith("linear/")]
    assert len(choose(EXPERIMENTS, "all")) == len(EXPERIMENTS)
    assert [e.name for e in choose(EXPERIMENTS, "linear/fig4")] == ["linear/fig4"]
    with pytest.raises(InputError, match="did you mean"):
        choose(EXPERIMENTS, "linear/fig44")


def test_experiments_that_redraw_a_figure_say_what_it_shows():
    """In at most two sentences, for readers of a page who do not have the paper at hand."""
    ours = {"linear/drop", "coco/tradeoff"}  # on the setting of a figure, but no part of it
    of_a_figure = re.compile(r", (v2 )?(Figures?|Table) \d")
    for name, experiment in EXPERIMENTS.items():
        redrawn = of_a_figure.search(experiment.source) and name not in ours
        assert bool(experiment.shows) >= bool(redrawn), name
        assert len(re.findall(r"\. |\.$", experiment.shows)) <= 3, name
        assert experiment.shows[-1:] in ("", "."), name


def test_an_experiment_stands_in_the_file_of_its_name():
    for name, experiment in EXPERIMENTS.items():
        place = name.replace("/", ".").replace("-", "_")
        module = importlib.import_module(f"jaxbandits.reproduction.experiments.{place}")
        assert any(value is experiment for value in vars(module).values())


# A small one ----------------------------------------------------------------------------------------------------------


def _double(trials, algorithm, panel):
    """Twice the loss, and what `derive` was given."""
    loss = trials.get("loss")
    return {"doubled": 2.0 * loss, "rate": np.full_like(loss, algorithm.rate), "x": np.full_like(loss, panel.x)}


def _algorithms(preset, horizon, panel):
    """The second panel has one label more."""
    labels = {"first": Shrink(rate=0.5), "slow": Shrink(rate=0.25)}
    return labels | ({"third": Shrink(rate=0.0)} if panel.x == 2.0 else {})


SMALL = Experiment(
    name="toy/small", title="small", source="nobody", horizon=20, seeds=5, presets={"theory": "none"},
    algorithms=_algorithms,
    panels=lambda horizon: {name: Panel(name, Noisy(), x=x) for name, x in (("one", 1.0), ("two", 2.0))},
    metric="loss", slow={"slow": 3}, derive=_double, record_points=4, stand_ins={"two": "Numbers"},
    claims=tuple(
        Claim(f"low/{name}", f"low ({name})", final_mean(name, "first", "loss"), "Figure 1", high=9.0, least=5)
        for name in ("one", "two")
    ),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")
def test_derived_metrics_are_those_of_each_label():
    report = run(SMALL, progress=False)
    assert report.labels == ("first", "slow", "third")
    for name, panel in report.panels.items():
        for label, trials in report.results[name].trials.items():
            np.testing.assert_array_equal(trials.get("doubled"), 2.0 * trials.get("loss"))
            assert (trials.get("x") == panel.x).all() and len(trials.seeds) == (3 if label == "slow" else 5)
        assert [float(report.results[name][label].final("rate")[0, 0]) for label in ("first", "slow")] == [0.5, 0.25]
    assert [item.stand_ins for item in report.judged] == [(), ("Numbers",)]
    assert "panel two: a stand-in for Numbers" in files.text(report)


def test_panels_name_files():
    """A file in a folder would not be found again; an error comes before anything is computed."""
    for experiment in EXPERIMENTS.values():
        experiment.check_panels(experiment.panels(100))
    claim = dataclasses.replace(SMALL.claims[0], panels=("one",))
    for names, claims, message in (
        (("one", "T/2"), (), "files are named after panel 'T/2', which must not contain '/'"),
        (("one", "One"), (), "files of panels 'one' and 'One' would differ only in case"),
        (("once",), (claim,), r"unknown panel of toy/small \(in the claim low/one\) 'one'; did you mean 'once'"),
    ):
        panels = dict.fromkeys(names, SMALL.panels(20)["one"])
        with pytest.raises(InputError, match=message):
            run(dataclasses.replace(SMALL, panels=lambda horizon, panels=panels: panels, claims=claims), progress=False)


def test_unknown_names_are_found_before_anything_is_computed():
    """A label that only another preset has is known, since a claim may be about all presets."""

    def algorithms(preset, horizon, panel):
        further = {} if preset == "theory" else {"tuned only": Shrink()}
        return {"first": Shrink(), "slow": Shrink(), **further}

    claim, two = SMALL.claims[0], {**SMALL.presets, "tuned": ""}
    small = dataclasses.replace(SMALL, presets=two, algorithms=algorithms)
    reading = Interpretation("the rate is read as 1", {"frist": {"rate": 1.0}})
    for changed, message in (
        ({"claims": (dataclasses.replace(claim, labels=("frist",)),)},
         r"label of toy/small \(in the claim low/one\) 'frist'; did you mean 'first'"),
        ({"claims": (dataclasses.replace(claim, presets=("teory",)),)},
         r"preset of toy/small \(in the claim low/one\) 'teory'; did you mean 'theory'"),
        ({"claims": (dataclasses.replace(claim, unit="repeats", panels=("one",)),)},
         r"toy/small does not time panel one \(in the claim low/one\); the field `timed` names no panels"),
        ({"slow": {"slwo": 3}}, r"label of toy/small \(in `slow`\) 'slwo'; did you mean 'slow'"),
        ({"interpretations": {"fast": reading}},
         r"label of toy/small \(in the interpretation fast\) 'frist'; did you mean 'first'"),
        ({"timed": TimePerRound(("on",))}, r"panel of toy/small \(in `timed`\) 'on'; did you mean 'one'"),
        ({"timed": TimePerRound(("one",), unit="frist")}, r"label of toy/small \(in `timed`\) 'frist'"),
        ({"stand_ins": {"tow": "Numbers"}}, r"panel of toy/small \(in `stand_ins`\) 'tow'; did you mean 'two'"),
        ({"tuning": Tuning(("tund",), lambda learner: {}, "loss")},
         r"preset of toy/small \(in `tuning`\) 'tund'; did you mean 'tuned'"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            run(dataclasses.replace(small, **changed), progress=False)
    learners = {"one": algorithms("theory", 20, None)}
    known = dataclasses.replace(small, claims=(dataclasses.replace(claim, labels=("tuned only",)),))
    known.check_names(learners, "theory", 20)


@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")
def test_a_claim_with_a_fault_is_one_line_and_its_trials_are_kept(tmp_path, monkeypatch, capsys):
    """The same command judges them when the claim is corrected."""
    wrong = dataclasses.replace(SMALL.claims[0], statistic=final_mean("one", "first", "losss"))
    asked = ["reproduce", "toy/small", "--quiet", "--out", str(tmp_path)]
    monkeypatch.setitem(EXPERIMENTS, "toy/small", dataclasses.replace(SMALL, claims=(wrong,), figures=()))
    assert main(asked) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.splitlines()[-1] == (
        "jaxbandits: claim low/one of toy/small: unknown metric 'losss'; did you mean 'loss'? (correct the claim, and "
        f"the same command judges the trials, which are kept in {tmp_path / 'checkpoint'})"
    )
    monkeypatch.setitem(EXPERIMENTS, "toy/small", dataclasses.replace(SMALL, figures=()))
    assert main(asked) == 0
    assert "0 rounds (of 420; the others were played in an earlier process)" in capsys.readouterr().out


def test_another_reading_is_a_run_of_its_own(tmp_path):
    """Its learners differ, its manifest and its tables say so, and it does not pass for the usual run."""
    read = dataclasses.replace(
        SMALL, interpretations={"fast": Interpretation("the rate is read as 1", {"first": {"rate": 1.0}})}
    )
    asked = {"seeds": 2, "horizon": 20, "preset": None, "without": (), "seed": 0, "data": None}
    found = {}
    for experiment in (read, read.with_interpretation("fast")):
        report = run(experiment, seeds=2, progress=False)
        found[experiment.interpretation] = float(report.results["one"]["first"].final("rate")[0, 0])
        request = finished.request(experiment, **asked)
    assert found == {None: 0.5, "fast": 1.0} and report.experiment.interpretations == read.interpretations
    plain = dataclasses.replace(report.experiment, figures=())
    with pytest.warns(UserWarning, match="skewed"):
        files.write(dataclasses.replace(report, experiment=plain), tmp_path, request)
    kept = json.loads((tmp_path / "manifest.json").read_text())
    assert kept["request"]["reading"] == "fast" and kept["reading"] == "the rate is read as 1"
    assert "reading fast: the rate is read as 1" in (tmp_path / "small.txt").read_text()
    assert finished.find(read.with_interpretation("fast"), request, tmp_path) is not None
    with pytest.raises(InputError, match="finished run that differs in interpretation"):
        finished.find(read, finished.request(read, **asked), tmp_path)
    with pytest.raises(InputError, match="one interpretation only"):
        SMALL.with_interpretation("fast")


@pytest.mark.parametrize(
    ("settings", "difference"),
    [({"identity": "1.2"}, r'identity \("1.2", now none\)'), ({"compile": "fast"}, r'compile \("fast", now none\)')],
)
def test_a_request_without_a_setting_of_the_finished_run_names_it(tmp_path, settings, difference):
    plain = dataclasses.replace(SMALL, figures=())
    asked = {"seeds": 2, "horizon": 20, "preset": None, "without": (), "seed": 0, "data": None}
    report = run(plain, seeds=2, progress=False)
    with pytest.warns(UserWarning, match="skewed"):
        files.write(report, tmp_path, finished.request(plain, **asked, **settings))
    with pytest.raises(InputError, match=f"differs in {difference}: --out"):
        finished.find(plain, finished.request(plain, **asked), tmp_path)


def test_a_swept_learner_is_given_to_derive_as_it_is():
    swept = dataclasses.replace(
        SMALL, slow={}, algorithms=lambda preset, horizon, panel: {"swept": Grid(Shrink(), {"rate": (0.0, 0.5)})}
    )
    trials = run(swept, seeds=2, progress=False).results["one"]["swept"]
    assert trials.points == ({"rate": 0.0}, {"rate": 0.5})
    np.testing.assert_array_equal(trials.get("doubled"), 2.0 * trials.get("loss"))


def test_labels_are_left_out_but_not_all_of_them():
    """Also one that only some panels have; what leaves a panel without any is an error before anything runs."""
    report = run(SMALL, without=("slow", "third"), progress=False)
    assert report.labels == ("first",)
    for without in (("first", "slow", "third"), ("first", "slow")):
        with pytest.raises(InputError, match="every algorithm of panel one is left out: keep at least one of first, "):
            run(SMALL, without=without, progress=False)
    with pytest.raises(InputError, match="did you mean 'third'"):
        run(SMALL, without=("thirt",), progress=False)
