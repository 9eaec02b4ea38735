"""Seeds added until every pair is decided: which groups run, what is reported, and how often it is wrong."""

import numpy as np
import pytest

from jaxbandits import OFUL, Grid, HeavyTailed, Meter, Options, StoppingRule, armed, compare, data, dro, race
from jaxbandits.analysis import pairs
from jaxbandits.base.errors import InputError
from jaxbandits.engine import driver
from jaxbandits.results.result import Result
from jaxbandits.simulation import stopping
from tests.results import factories
from tests.toy_problems import Hindsight, Noisy, Shrink

SEEDS = 20
POINT = Meter("x", lambda played: played.decision.x, "sum")


@pytest.fixture
def play(rng, monkeypatch):
    """Runs of learners whose losses share an instance and differ by shifts and noise of their own."""

    def play(rule, shifts, calls=None, first_seed=0, **settings):
        def run_comparison(algorithms, environment, horizon, seeds, record_points, options, *, metric, part):
            assert part.is_first is (options.first_seed == first_seed)  # once, at the first look
            if calls is not None:
                calls.append((tuple(algorithms), options.first_seed, options.checkpoint))
            shared = rng.gamma(2.0, size=seeds)
            losses = {label: shared + shift + rng.normal(size=seeds) for label, shift in algorithms.items()}
            trials = {
                label: factories.trials({"loss": loss[None, :, None]}, first_seed=options.first_seed)
                for label, loss in losses.items()
            }
            return Result(trials, {"base_seed": 0})

        monkeypatch.setattr(stopping, "run_comparison", run_comparison)
        return stopping.run_until_decided(rule, shifts, None, 10, SEEDS, 1, Options(first_seed=first_seed, **settings))

    return play


@pytest.mark.parametrize(("looks", "first_seed"), [(3, 2**31 - 3 * SEEDS + 1), (1000, 2**31 - 1000), (2, 2**31 - 1)])
def test_seeds_that_later_groups_lack_are_refused_before_the_first_group(play, looks, first_seed):
    """Equal learners, which play all groups: the last index of a seed is 2^31 - 1."""
    calls, shifts = [], {"a": 0.0, "b": 0.0}
    most = 2**31 - looks * SEEDS
    message = f"with {looks} groups of 20 seeds, first_seed can be at most {most:,}, got {first_seed:,}"
    with pytest.raises(InputError, match=message) as error:
        play(StoppingRule(looks=looks), shifts, calls, first_seed=first_seed)
    assert not calls and "\n" not in str(error.value)
    assert play(StoppingRule(looks=3), shifts, calls, first_seed=2**31 - 3 * SEEDS)["a"].seeds[-1] < 2**31


def test_groups_go_to_labels_with_an_open_pair(play, tmp_path):
    calls, shifts = [], {"a": 0.0, "b": 0.0, "far": 50.0}
    result = play(StoppingRule(looks=3), shifts, calls, first_seed=100, checkpoint=tmp_path)
    assert calls[0] == (("a", "b", "far"), 100, tmp_path / "look-1")
    assert [call[:2] for call in calls[1:]] == [(("a", "b"), 120), (("a", "b"), 140)]
    assert [len(result[label].seeds) for label in result] == [60, 60, 20]
    said = result.info["until"]
    assert (said["metric"], said["look"], said["looks"], said["seeds_per_look"]) == ("loss", 3, 3, SEEDS)
    assert [(p["first"], p["second"], p["decided"], p["seeds"]) for p in said["pairs"]] == [
        ("a", "b", False, 60),
        ("a", "far", True, 20),
        ("b", "far", True, 20),
    ]
    # The intervals that a reader asks for afterwards are those of the looks, each pair at its own.
    again = result.pairs()
    assert [float(pair.difference.low) for pair in again] == [p["low"] for p in said["pairs"]]
    last, first = pairs.spending(0.05 / 3, 3)[[2, 0]]
    for pair, alpha in zip(again, (last, first, first), strict=True):
        a, b = (result[name] for name in pair[:2])
        n = min(len(a.seeds), len(b.seeds))
        wanted = pairs.skewed_mean(a.final()[0, :n] - b.final()[0, :n], alpha)
        assert pair.difference[1:3] == pytest.approx((float(wanted.low), float(wanted.high)), rel=1e-12)


def test_it_stops_when_all_is_decided(play):
    calls = []
    result = play(StoppingRule(), {"a": 0.0, "b": 50.0}, calls)
    assert len(calls) == 1 and result.info["until"]["pairs"][0]["decided"]


def test_the_first_of_many_looks_decides_nothing(play):
    """It may spend less than the smallest float, so that no difference is large enough."""
    result = play(StoppingRule(looks=1000), {"a": 0.0, "b": 50.0})
    (pair,) = result.info["until"]["pairs"]
    assert 1 < result.info["until"]["look"] < 20 and pair["decided"] and not pair["comparable"]
    assert -60.0 < pair["low"] < -50.0 < pair["high"] < 0.0


def test_points_that_print_alike_are_different_pairs(rng, monkeypatch):
    """The first point is far from the baseline, the second is equal to it, so that their pair stays open."""

    def run_comparison(algorithms, *_, **__):
        shared, first_seed = rng.gamma(2.0, size=SEEDS), SEEDS * len(calls)
        calls.append(tuple(algorithms))
        losses = {"swept": np.stack([shared + 50.0 + rng.normal(size=SEEDS), shared]), "base": shared[None]}
        points = {"swept": [{"rate": 0.1 + 1e-9}, {"rate": 0.1}], "base": [{}]}
        return Result(
            {k: factories.trials({"loss": losses[k][..., None]}, points[k], first_seed) for k in algorithms}, {}
        )

    calls = []
    monkeypatch.setattr(stopping, "run_comparison", run_comparison)
    algorithms = {"swept": Grid(OFUL(dim=2), {"ridge": [0.1, 0.2]}), "base": OFUL(dim=2)}
    result = stopping.run_until_decided(StoppingRule(looks=3), algorithms, None, 10, SEEDS, 1, Options())
    assert calls == [("swept", "base")] * 3
    assert [pair["decided"] for pair in result.info["until"]["pairs"]] == [True, True, False]


def test_equal_learners_are_comparable_once_a_margin_is_met(play):
    """They run no further, nor do pairs that differ by more than the margin; what lies between goes on."""
    calls = []
    result = play(StoppingRule(looks=10, margin=1.0), {"a": 0.0, "b": 0.0, "far": 9.0}, calls)
    said = result.info["until"]
    assert 1 < said["look"] < 10 and said["margin"] == 1.0 and calls[-1][0] == ("a", "b")
    verdicts = [(p["decided"], p["comparable"]) for p in said["pairs"]]
    assert verdicts[1:] == [(True, False)] * 2 and verdicts[0][1]
    assert "comparable" in str(result.pairs()) and not any(pair.comparable for pair in result.pairs(margin=0.0))
    at_margin = play(StoppingRule(looks=3, margin=1.0), {"a": 0.0, "b": 1.0})
    assert not at_margin.pairs()[0].comparable


@pytest.mark.parametrize("level", [0.5, 0.999999])
def test_pairs_have_the_level_of_the_rule(play, level):
    """At another level, they would show decisions other than those by which the run stopped."""
    result = play(StoppingRule(looks=2, level=level), {"a": 0.0, "b": 1.0})
    (pair,), (said,) = result.pairs(), result.info["until"]["pairs"]
    assert (pair.decided, float(pair.difference.low)) == (said["decided"], said["low"])
    assert result.pairs(level=0.95)[0].difference.low != said["low"]


LAWS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "heavy": lambda rng, shape: rng.standard_t(2.5, size=shape),
    "skewed": lambda rng, shape: (
        (rng.lognormal(size=shape) - np.exp(0.5)) * np.asarray([1, 0.1, 0.1, 0.1])[:, None, None]
    ),
}


@pytest.mark.quick_cases("skewed")
@pytest.mark.parametrize("law", LAWS)
def test_equal_learners_are_rarely_told_apart(law, rng):
    """The family-wise error over 6 looks and all pairs of 4 learners of one mean stays below 5 %."""
    runs, looks, group, several = 1000, 6, 50, [(i, j) for j in range(4) for i in range(j)]
    losses = LAWS[law](rng, (4, runs, looks * group))
    spent = pairs.spending(0.05 / len(several), looks)
    wrong, naive = np.zeros((2, runs), bool)
    for look, alpha in enumerate(spent, start=1):
        seen = losses[..., : look * group]
        for i, j in several:
            for errs, error in ((wrong, alpha), (naive, 0.05)):
                found = pairs.skewed_mean(seen[i] - seen[j], error)
                errs |= (found.low > 0.0) | (found.high < 0.0)
    assert wrong.mean() < 0.05
    assert naive.mean() > 0.25  # a test that is repeated at 5 % until it says yes


@pytest.mark.parametrize("law", LAWS)
def test_learners_that_differ_by_the_margin_are_rarely_comparable(law, rng):
    """The worst case: they differ by the margin, which is one that an interval can lie within at the second look."""
    runs, looks, group = 2000, 6, 50
    losses = LAWS[law](rng, (4, runs, looks * group))[:2]
    seen = losses[0] - losses[1]
    margin = 5.0 * seen.std() / np.sqrt(2 * group)
    wrong, right = np.zeros((2, runs), bool)
    for look, alpha in enumerate(pairs.spending(0.05, looks), start=1):
        found = pairs.skewed_mean(seen[:, : look * group], alpha)
        right |= (found.low > -margin) & (found.high < margin)
        wrong |= (found.low + margin > -margin) & (found.high + margin < margin)
    assert 0.0 < wrong.mean() < 0.05 < 0.9 < right.mean()


def test_what_is_spent_adds_up():
    for alpha, looks in ((0.05, 1), (0.05, 10), (1e-4, 7), (0.05 / 190, 1000)):
        spent = pairs.spending(alpha, looks)
        assert spent.sum() == pytest.approx(alpha, rel=1e-9) and (np.diff(spent) >= 0.0).all() and spent[0] >= 0.0


def test_the_code_errs_as_the_rule_does(play):
    """Runs of the code itself: with an error of one half allowed it is wrong in some, and in no more than that."""
    wrong = 0
    for _ in range(40):
        result = play(StoppingRule(looks=3, level=0.5), {"a": 0.0, "b": 0.0})
        wrong += result.info["until"]["pairs"][0]["decided"]
    assert 1 <= wrong <= 20 + 5 * np.sqrt(10)


def test_a_first_metric_that_is_a_vector_is_refused_before_it_runs(monkeypatch):
    """Not after the first group, which may have taken hours."""
    monkeypatch.setattr(driver, "run", lambda *_, **__: pytest.fail("trials were played"))
    learner, groups = dro.SMD.example(), dro.GroupData.example()
    said = r"'group_samples' of \w+ is a vector of shape \(4,\), .* is needed: choose one of loss, samples,"
    with pytest.raises(InputError, match=said):
        compare({"a": learner, "b": learner}, groups, 5, 4, until="decided", progress=False)
    with pytest.raises(InputError, match=said):
        race(Grid(learner, {"w_scale": [0.1, 0.2]}), groups, 5, 4, progress=False)


def test_a_label_without_the_metric_is_refused_before_it_runs(monkeypatch):
    """It was never compared, and played a single group of seeds while the others played on."""
    monkeypatch.setattr(driver, "run", lambda *_, **__: pytest.fail("trials were played"))
    coins, log = armed.BernoulliArms.from_means([0.6, 0.5, 0.4]), data.LoggedReplay.example()
    learners = {label: armed.UCB1(n_arms=3) for label in "abc"}
    with pytest.raises(InputError, match=r"c has no metric 'regret', by which the learners are compared$"):
        compare(learners, {"a": coins, "b": coins, "c": log}, 5, 4, until="decided", progress=False)
    played = Meter("played", lambda played: played.decision.index)
    with pytest.raises(InputError, match=r"compared: choose one of played$"):
        compare(learners, {"a": coins, "b": coins, "c": log}, 5, 4, until="decided", progress=False, meters=[played])


def test_a_label_without_the_metric_is_refused_after_a_group_if_metrics_are_known_only_then():
    """A metric in hindsight; without the error, the label would be left out of all pairs."""
    learners = {label: Shrink(rate=0.1) for label in "abc"}
    environments = {"a": Hindsight(), "b": Hindsight(), "c": Noisy()}
    rule = StoppingRule(metric="best_point")
    with pytest.raises(InputError, match=r"^c has no metric 'best_point', by which the learners are compared$"):
        compare(learners, environments, 5, 4, until=rule, progress=False)


def test_a_race_is_about_the_first_metric_of_its_first_label():
    """Though another label has a metric `regret`, which would come first in the result."""
    played = Meter("played", lambda played: played.decision.index)
    coins, log = armed.BernoulliArms.from_means([0.6, 0.5, 0.4]), data.LoggedReplay.example()
    grid = Grid(armed.UCB1(n_arms=3), {"exploration": [0.5, 1.0]})
    settings = {"meters": [played], "progress": False}
    found = race(grid, {"log": log, "coins": coins}, 5, 4, metric="played", **settings)
    assert found.rounds > 0
    with pytest.raises(InputError, match=r"coins has no metric 'mean_reward', by which the learners are compared"):
        race(grid, {"log": log, "coins": coins}, 5, 4, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"until": "done"}, "until must be 'decided' or StoppingRule"),
        ({"until": "decided", "algorithms": {"a": OFUL(dim=2)}}, "between 2 and 20 of them, got 1"),
        ({"until": StoppingRule(), "algorithms": [Grid(OFUL(dim=2), {"ridge": range(1, 22)})]}, "got 21"),
        ({"until": "decided", "seeds": {"a": 3, "b": 4}}, "one number for all labels, the number of seeds in a group"),
        ({"until": "decided", "seeds": 0}, "seeds of a group must be a whole number"),
        ({"until": StoppingRule(metric="regert")}, "unknown metric 'regert'; did you mean 'regret'"),
        ({"until": StoppingRule(metric="x"), "meters": [POINT]}, r"'x' of a is a vector of shape \(2,\), but a scalar"),
    ],
)
def test_what_cannot_be_decided_is_refused_before_it_runs(settings, message, monkeypatch):
    monkeypatch.setattr(driver, "run", lambda *_, **__: pytest.fail("trials were played"))
    given = {"algorithms": {"a": OFUL(dim=2), "b": OFUL(dim=2, ridge=2.0)}, "seeds": 4} | settings
    with pytest.raises(InputError, match=message):
        compare(given.pop("algorithms"), HeavyTailed(dim=2, n_arms=3), 5, progress=False, **given)
    for wrong in ({"looks": 0}, {"level": 95}):
        with pytest.raises(InputError):
            StoppingRule(**wrong)
