"""The experiments on group DRO: their sizes, rounds and derived numbers; rounds per label and equal tuning."""

import dataclasses
import math
import os

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxbandits import dro
from jaxbandits.base.errors import InputError
from jaxbandits.engine import checkpoint
from jaxbandits.engine.plan import resolve_record_points
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine import Experiment, Measurements, Panel, Report, Tuning
from jaxbandits.reproduction.engine import run as run_module
from jaxbandits.reproduction.engine.budget import parts
from jaxbandits.reproduction.engine.run import run
from jaxbandits.reproduction.experiments.dro import setting
from jaxbandits.reproduction.experiments.dro.setting import SEEDS
from jaxbandits.reproduction.figures import render
from jaxbandits.reproduction.ledger import files
from jaxbandits.results.result import Result
from jaxbandits.simulation import compare, racing
from jaxbandits.simulation.comparison import run_comparison
from tests.results import factories
from tests.toy_problems import Noisy, Shrink

NAMES = [name for name in EXPERIMENTS if name.startswith("dro/fig")]


@pytest.fixture(autouse=True)
def small_stand_in(monkeypatch):
    """No real data here, and a stand-in of a fiftieth of their size."""
    monkeypatch.delenv("JAXBANDITS_DATA", raising=False)
    monkeypatch.setattr(dro, "adult_like", lambda: _LIKE)
    monkeypatch.setattr(setting, "HELD_OUT", 7)
    for cached in (setting._table, setting._adult):
        cached.cache_clear()
    yield
    for cached in (setting._table, setting._adult):
        cached.cache_clear()


_LIKE = dro.adult_like(scale=0.02)


def test_without_the_files_adult_is_a_labelled_stand_in():
    for name in ("dro/fig2", "dro/fig5", "dro/fig8"):
        panel = EXPERIMENTS[name].panels(100)["adult"]
        assert "stand-in for Adult (synthetic)" in panel.title and panel.environment.dataset == "stand-in"


def test_files_that_change_during_a_process_are_read_again(monkeypatch, tmp_path):
    """Even if their sizes and times of modification stay as they were."""
    monkeypatch.setenv("JAXBANDITS_DATA", str(tmp_path))
    monkeypatch.setattr(dro, "load_adult", lambda path: read.append(path) or _LIKE)
    read, file = [], tmp_path / "adult" / "adult.data"
    file.parent.mkdir()
    for content in ("1", "1", "2"):
        file.write_text(content)
        os.utime(file, (0, 0))
        EXPERIMENTS["dro/fig2"].panels(100)
    assert read == [tmp_path / "adult"] * 2


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_speaks_of_data_takes_them(name):
    experiment = EXPERIMENTS[name]
    assert experiment.from_file is not None or not any("--data" in note for note in experiment.notes)
    assert experiment.from_file is None or experiment.stand_ins


def test_a_figure_with_a_synthetic_panel_takes_the_real_adult(monkeypatch, tmp_path):
    monkeypatch.setattr(dro, "load_adult", lambda path: _LIKE)
    for name in ("dro/fig2", "dro/fig3", "dro/fig8"):
        panels = EXPERIMENTS[name].with_data(tmp_path).panels(480)
        assert panels["adult"].title.startswith("Adult") and len(panels) == 2


@pytest.mark.parametrize("name", NAMES)
def test_presets_differ_in_steps_only(name):
    """The demonstration multiplies steps; theory and tuned start from the theorems' own."""
    experiment = EXPERIMENTS[name]
    assert experiment.preset(None) == ("tuned" if experiment.tuning else "theory") and experiment.seeds >= SEEDS
    assert all(claim.least == SEEDS for claim in experiment.claims)
    for panel in experiment.panels(480).values():
        for preset in experiment.presets:
            for learner in experiment.algorithms(preset, 480, panel).values():
                assert (learner.w_scale, learner.q_scale) == (1.0, 1.0) or preset == "demonstration"
                plain = dataclasses.replace(learner, w_scale=1.0, q_scale=1.0)
                assert type(plain) in {type(x) for x in experiment.algorithms("theory", 480, panel).values()}
    assert ("tuned" in experiment.presets) == (experiment.tuning is not None)


def test_rounds_use_as_many_samples():
    fig3, fig6 = EXPERIMENTS["dro/fig3"], EXPERIMENTS["dro/fig6"]
    for name, m in (("synthetic", 20), ("adult", 6)):
        panel = fig3.panels(1200)[name]
        labels = fig3.algorithms("theory", 1200, panel)
        assert fig3.horizons(1200, panel, labels) == {"SMD(m)": 1200 // m, "Online(1)": 1200, "SMD(1)": 1200}
        assert labels["SMD(m)"].horizon == 1200 // m  # its steps are made for its rounds
    panels = fig6.panels(300)
    labels = dict.fromkeys(("ATkRO(m)", "ATkRO(k)"))
    assert fig6.horizons(300, panels["iterations"], labels) == {"ATkRO(m)": 300, "ATkRO(k)": 300}
    assert fig6.horizons(300, panels["samples"], labels) == {"ATkRO(m)": 300, "ATkRO(k)": 2000}


def test_budgets_last_as_long_as_the_paper_says():
    """n_i = 1000 (21 - i): 20,000 rounds of SMD_r, 1,000 of the others; on Adult n_i are what is not held out."""
    fig4, fig5 = EXPERIMENTS["dro/fig4"], EXPERIMENTS["dro/fig5"]
    panel = fig4.panels(20_000)["synthetic"]
    labels = fig4.algorithms("theory", 20_000, panel)
    assert labels["SMD_r"].budgets == tuple(1000 * (21 - i) for i in range(1, 21))
    assert fig4.horizons(20_000, panel, labels) == {"SMD(m)": 1000, "SMD_r": 20_000, "SMPA_m": 1000}
    panel = fig5.panels(1)["adult"]
    labels = fig5.algorithms("theory", 10**6, panel)
    assert isinstance(labels["SMD_r"], dro.SMDr) and labels["SMD_r"].budgets == panel.environment.budgets
    assert labels["SMPA_m"].smoothness == 1.5
    least, most = min(panel.environment.budgets), max(panel.environment.budgets)
    assert fig5.horizons(10**6, panel, labels) == {"SMD(m)": least, "SMD_r": most, "SMPA_m": 2 * (least // 2)}
    assert fig5.horizons(3, panel, labels) == {"SMD(m)": 3, "SMD_r": 3, "SMPA_m": 3}


def test_statistics_count_groups():
    """Two seeds, three groups: the first label is lowest on two groups of both seeds, the second on one."""
    risks = {"a": [[1.0, 1.0, 9.0], [1.0, 1.5, 9.0]], "b": [[2.0, 2.0, 3.0], [2.0, 2.0, 3.0]]}
    trials = {
        k: factories.trials({"risk": np.asarray(v)[None, :, None]}, axes={"risk": ("group",)}) for k, v in risks.items()
    }
    measured = Measurements({"p": Result(trials)}, {})
    assert float(setting.lowest("p", "a", ("b",))(measured).mean) == 2.0
    assert float(setting.lowest("p", "b", ("a",))(measured).mean) == 1.0
    with pytest.raises(InputError):  # "c" was left out: not measured
        setting.lowest("p", "a", ("b", "c"))(measured)
    assert float(setting.wins("p", "b", "a")(measured).mean) == 1.0
    rounds = np.array([10, 20])
    longer = {"risk": np.array([[[[9.0, 0.0, 0.0]], [[9.0, 9.0, 0.0]]]] * 2)[None, :, :, 0]}
    longer = factories.trials(longer, axes={"risk": ("group",)}, record_points=rounds)
    short = factories.trials({"risk": np.full((1, 2, 2, 3), 5.0)}, axes={"risk": ("group",)}, record_points=rounds)
    twice = dro.SMPA(dim=3, budgets=(20, 20, 20))  # samples twice: 20 rounds are 10 iterations

    def pair(learner):
        both = {"short": (short, learner), "long": (longer, None)}
        derived = {k: {**x.values, **setting.outlier(x, of, Panel("p", None))} for k, (x, of) in both.items()}
        made_ = {k: dataclasses.replace(x, values=derived[k]) for k, (x, _) in both.items()}
        return Measurements({"p": Result(made_)}, {})

    assert float(setting.count_groups_ahead("p", "short", "long")(pair(twice)).mean) == 1.0  # after 10 iterations
    assert float(setting.count_groups_ahead("p", "short", "long")(pair(None)).mean) == 2.0  # after 20
    assert float(setting.count_groups_ahead("p", "long", "short")(pair(None)).mean) == 1.0
    derived = setting.outlier(trials["a"], None, Panel("p", None))
    assert derived["first_risk"].ravel().tolist() == [1.0, 1.0]
    assert derived["other_risk"].ravel().tolist() == [5.0, 5.25] and derived["last_risk"].ravel().tolist() == [9.0, 9.0]


def test_fig8_looks_at_the_preset_horizon():
    panel = EXPERIMENTS["dro/fig8"].panels(48)["heterogeneous"]
    records = np.arange(1, 49)
    trials = factories.trials({"top_k_risk": records[None, None] * 1.0}, record_points=records)
    derived = EXPERIMENTS["dro/fig8"].derive(trials, None, panel)
    assert set(derived["objective_at_preset"].ravel()) == {2.0}
    np.testing.assert_array_equal(derived["objective"], trials.get("top_k_risk"))


def test_fig8_has_a_record_where_fixed_steps_end():
    fig8 = EXPERIMENTS["dro/fig8"]
    for name, preset_rounds in (("adult", 2_000), ("heterogeneous", 50_000)):
        panel = fig8.panels(48)[name]
        algorithms = fig8.algorithms("tuned", fig8.horizon, panel)
        assert {learner.horizon for learner in algorithms.values() if hasattr(learner, "horizon")} == {preset_rounds}
        (rounds,) = set(fig8.horizons(fig8.horizon, panel, algorithms).values())
        nearest = np.abs(resolve_record_points(fig8.record_points, rounds) - preset_rounds).min()
        assert rounds == 24 * preset_rounds and nearest < 0.01 * preset_rounds


def test_a_quick_run_optimises_trials_that_are_long():
    """The heterogeneous set has 25 times the rounds of the run: there unoptimised code takes ten times as long."""
    for name, fast in (("dro/fig7", True), ("dro/fig6", True), ("dro/budgets", True), ("dro/fig8", False)):
        (quick,) = parts(EXPERIMENTS[name], "quick")
        assert ("compile" in quick.settings) == fast, name


def test_fig8_draws_a_pair_an_axes():
    """What a run leaves out, too: of the pair that stays alone one curve."""
    fig8, records = EXPERIMENTS["dro/fig8"], np.arange(1, 5)
    labels = {"adult": ("SMD(m)", "SMD(m)_a", "Online(1)", "Online(1)_a"), "heterogeneous": ("ATkRO(1)_a",)}
    trials = factories.trials({"objective": np.ones((1, 2, 4))}, record_points=records)
    results = {name: Result(dict.fromkeys(x, trials)) for name, x in labels.items()}
    report = Report(fig8, "theory", 4, results, {}, ())
    axes = render.draw(report, fig8.figures[0]).axes
    shown = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in axes if ax.get_legend()]
    assert shown == [["SMD(m)", "SMD(m)_a"], ["Online(1)", "Online(1)_a"], ["ATkRO(1)_a"]]
    plt.close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")
def test_fig1_is_exact_whatever_runs():
    report = run(EXPERIMENTS["dro/fig1"], seeds=2, horizon=60, without=("Online(1)", "ATkRO(k)"), progress=False)
    exact = [item for item in report.judged if item.claim.kind == "theorem"]
    assert len(exact) == 6 and all(item.claim.low < item.value < item.claim.high for item in exact)
    left, right = render.draw(report, report.experiment.figures[0]).axes
    assert len(left.lines) == 9  # of the 16 groups
    assert [text.get_text() for text in right.texts] == ["w = 0.5: 0.25", "w = 0.8: 0.16"]


# What the declarations use of `run` ----------------------------------------------------------------------------------

TUNED = Experiment(
    name="toy/tuned",
    title="tuned",
    source="nobody",
    horizon=20,
    seeds=3,
    presets={"theory": "none", "tuned": "best"},
    algorithms=lambda preset, horizon, panel: {"shrinks": Shrink(rate=0.25), "long": Shrink(rate=0.0)},
    panels=lambda horizon: {"one": Panel("one", Noisy())},
    horizons=lambda horizon, panel, labels: {label: horizon * (2 if label == "long" else 1) for label in labels},
    tuning=Tuning(("tuned",), lambda learner: {"rate": (0.1, 0.5, 0.3)}, "loss", seeds=2),
    metric="loss",
    record_points=4,
)


@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")
def test_every_label_runs_its_own_rounds_and_the_best_point():
    plain = run(TUNED, progress=False)
    assert [trials.horizon for trials in plain.results["one"].trials.values()] == [20, 40]
    assert not plain.chosen
    tuned = run(TUNED, preset="tuned", progress=False)
    assert tuned.chosen == {"one": {"shrinks": {"rate": 0.5}, "long": {"rate": 0.5}}}  # the loss falls with the rate
    for label, horizon in (("shrinks", 20), ("long", 40)):
        trials = tuned.results["one"][label]
        assert trials.horizon == horizon and list(trials.seeds) == [0, 1, 2] and trials.points == ({},)
        assert trials.final("loss").mean() < plain.results["one"][label].final("loss").mean()
    assert tuned.edges == {"one": ("shrinks", "long")}
    assert "shrinks: rate = 0.5 (edge)" in files.text(tuned) and "chosen on 2 other seeds\n" in files.text(tuned)
    tuning = dataclasses.replace(TUNED.tuning, part=5, slow={"long": (3, 10)})
    slow = dataclasses.replace(tuned, experiment=dataclasses.replace(TUNED, tuning=tuning))
    assert "on 2 other seeds and 1/5 of the rounds; long on 3 seeds and 1/10 of the rounds\n" in files.text(slow)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*intervals of skewed quantities")
def test_the_choice_is_made_by_the_learners_own_objective_after_a_part_of_the_run(monkeypatch):
    """The first runs choose, after a part of the rounds that a slow label has of its own; the last one judges."""
    played, asked = [], []

    def compare_and_note(algorithms, environment, horizon, seeds, **settings):
        played.append((list(algorithms), horizon, seeds, settings.get("first_seed", 0)))
        return compare(algorithms, environment, horizon, seeds, **settings)

    def race_and_note(algorithms, environment, horizon, seeds, record_points, options, **settings):
        played.append((list(algorithms), horizon, seeds, options.first_seed))
        return run_comparison(algorithms, environment, horizon, seeds, record_points, options, **settings)

    def metric(learner, panel):
        asked.append((learner.rate, panel.title))
        return "loss"

    monkeypatch.setattr(run_module, "compare", compare_and_note)
    monkeypatch.setattr(racing, "run_comparison", race_and_note)
    by_part = dataclasses.replace(TUNED.tuning, metric=metric, part=5, slow={"long": (3, 10)})
    report = run(dataclasses.replace(TUNED, tuning=by_part), preset="tuned", progress=False)
    chose = [(["shrinks"], 4, 2, 1_000_000), (["long"], 4, 3, 1_000_000)]
    judged = (["shrinks", "long"], {"shrinks": 20, "long": 40}, {"shrinks": 3, "long": 3}, 0)
    assert played == [*chose, judged]
    assert asked == [(0.25, "one"), (0.0, "one")]
    assert report.chosen["one"]["long"] == {"rate": 0.5}


def test_a_learner_without_a_grid_is_played_as_it_is_and_near_ones_give_way_to_1():
    def grid(learner):
        return {} if learner.rate == 0.0 else {"rate": (0.1, 0.5, 0.3)}

    report = run(
        dataclasses.replace(TUNED, tuning=Tuning(("tuned",), grid, "loss", seeds=2)), preset="tuned", progress=False
    )
    assert report.chosen == {"one": {"shrinks": {"rate": 0.5}}}
    played = report.results["one"]["long"].spec["algorithm"]
    assert "0.0" in repr(played) and "0.5" not in repr(played)
    for tolerance, start in ((0.0, 0.5), (0.9, 0.9)):
        alike = dataclasses.replace(TUNED.tuning, grid=lambda learner: {"start": (0.5, 0.9, 3.0)}, tolerance=tolerance)
        report = run(dataclasses.replace(TUNED, tuning=alike), preset="tuned", progress=False)
        assert report.chosen["one"]["shrinks"] == {"start": start}


def test_figures_7_and_8_are_tuned_by_what_learners_minimise():
    fig7, fig8 = EXPERIMENTS["dro/fig7"], EXPERIMENTS["dro/fig8"]
    panel = fig7.panels(48)["synthetic"]
    names = {label: fig7.tuning.metric(x, panel) for label, x in fig7.algorithms("tuned", 48, panel).items()}
    assert names == {"SMD(m)": "max_risk", "ATkRO(m)": "top_k_risk", "ATkRO(k)": "top_k_risk"}
    assert fig7.tuning.part == 1 and fig8.tuning.part == 24
    for name, metric in (("adult", "max_risk"), ("heterogeneous", "top_k_risk")):
        panel = fig8.panels(48)[name]
        learners = fig8.algorithms("tuned", 48, panel).values()
        assert {fig8.tuning.metric(learner, panel) for learner in learners} == {metric}
        grids = [fig8.tuning.grid(learner) for learner in learners]
        assert {math.prod(map(len, grid.values())) for grid in grids} == {12}  # as many points for everybody


def test_a_run_stopped_after_its_tuning_does_not_tune_again(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    saved, save = [], checkpoint.Store.save
    whole = run(TUNED, preset="tuned", progress=False)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(run_module, "compare", stop)
        run(TUNED, preset="tuned", progress=False, checkpoint=tmp_path)
    monkeypatch.setattr(checkpoint.Store, "save", lambda self, *a: saved.append(self.directory.name) or save(self, *a))
    resumed = run(TUNED, preset="tuned", progress=False, checkpoint=tmp_path)
    assert resumed.chosen == whole.chosen and set(saved) == {"one"}  # the panel, but no race
    checkpoint.discard_all(tmp_path)
    assert not list(tmp_path.rglob("*"))


def test_tuning_takes_the_fields_that_there_are():
    wrong = dataclasses.replace(TUNED, tuning=Tuning(("tuned",), lambda learner: {"rat": (0.1, 0.2)}, "loss"))
    with pytest.raises(InputError, match="rat"):
        run(wrong, preset="tuned", progress=False)
    assert not math.isnan(run(TUNED, seeds=1, progress=False).results["one"]["long"].final("loss")[0, 0])


def test_adult_is_read_from_a_directory_that_is_given(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(dro, "load_adult", lambda path: asked.append(path) or _LIKE)
    experiment = EXPERIMENTS["dro/fig5"].with_data(tmp_path)
    panel = experiment.panels(experiment.horizon)["adult"]
    assert asked == [tmp_path] and panel.title.startswith("Adult") and not experiment.stand_ins
