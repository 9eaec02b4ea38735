"""Races: how often the best point drops out, what is saved, what wins, and what a race of real trials plays."""

import math
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits import Grid, Meter, race, sweep
from jaxbandits.base.errors import InputError
from jaxbandits.engine import driver
from jaxbandits.simulation import racing
from jaxbandits.simulation.racing import at_edge, best, log_wealth, race_values
from tests.toy_problems import NanLearner, Noisy, Shrink

SEEDS = 64
STATE = Meter("state", lambda played: jnp.ones(2), "sum")


def run_race(values: np.ndarray, error: float = 0.05, tolerance: float = 0.0):
    """A race over `[K, S]` values; the rivals of what dropped out, and the share that was played."""
    calls = []

    def play(points, first, count):
        calls.append((points.tolist(), first, count))
        return values[points, first : first + count]

    played, rivals = race_values(play, len(values), values.shape[1], error, tolerance)
    np.testing.assert_array_equal(played[~np.isnan(played)], values[~np.isnan(played)])
    return rivals, np.mean(~np.isnan(played)), calls


LAWS = {  # of points with one mean: the worst case, any of them is the best
    "normal": lambda rng, k: 100.0 + rng.normal(size=(k, SEEDS)) + 5.0 * rng.normal(size=SEEDS),
    "heavy": lambda rng, k: rng.standard_t(2.5, size=(k, SEEDS)),
    "skewed": lambda rng, k: rng.lognormal(size=(k, SEEDS)) * rng.lognormal(0.0, 0.5, size=SEEDS),
    "exponential": lambda rng, k: rng.exponential(size=(k, SEEDS)),
    "negative": lambda rng, k: -rng.gamma(4.0, size=(k, SEEDS)),
}


@pytest.mark.quick_cases("normal", "skewed")
@pytest.mark.parametrize("law", LAWS)
def test_the_best_point_rarely_drops_out(law, rng):
    """Of 10 points of equal means one is dropped in at most 5 % of races, and with 20 % allowed in at most 20 %."""
    for error in (0.05, 0.2):
        dropped = np.mean([3 in run_race(LAWS[law](rng, 10), error)[0] for _ in range(300)])
        assert dropped <= error, (law, error, dropped)


def test_points_within_the_tolerance_rarely_drop_out(rng):
    """The worst case: a point that is worse than the leader by just the tolerance."""
    means = np.asarray([1.0, 1.1, 1.1, 1.1])
    for law in ("normal", "exponential"):
        dropped = [1 in run_race(LAWS[law](rng, 4) * means[:, None], tolerance=0.1)[0] for _ in range(300)]
        assert np.mean(dropped) <= 0.05


@pytest.mark.parametrize("law", ["normal", "skewed"])
def test_the_same_winner_as_the_whole_grid_in_fewer_rounds(law, rng):
    """Means from 1 to 30 by factors; the winner has the least mean of all seeds."""
    most = {"normal": 0.5, "skewed": 0.7}[law]
    means = np.geomspace(1.0, 30.0, 30)[:, None]
    shares, same = [], []
    for _ in range(50):
        values = means * LAWS[law](rng, 30)
        rivals, share, _ = run_race(values)
        left = [i for i in range(30) if i not in rivals]
        shares.append(share)
        same.append(left[int(values[left].mean(axis=1).argmin())] == values.mean(axis=1).argmin())
    assert np.mean(shares) < most and np.mean(same) >= 0.95


def test_betting_finds_what_fails_on_some_seeds_where_student_does_not(rng, monkeypatch):
    """Beside a good point 20 that are better on most seeds and bad on three of ten."""
    several = []
    for _ in range(30):
        failing = np.where(rng.random(SEEDS) < 0.3, 300.0, rng.random((20, SEEDS)))
        several.append(np.vstack([rng.gamma(2.0, 5.0, size=SEEDS), failing]))
    shares = [run_race(values)[1] for values in several]
    monkeypatch.setattr(racing, "log_wealth", lambda difference, loss: np.zeros(len(difference)))
    assert np.mean(shares) < np.mean([run_race(values)[1] for values in several]) - 0.1


def test_a_fair_bet_rarely_wins(rng):
    """Ville's inequality: of mean 0, at least -1, the wealth ever reaches 1 / alpha with probability alpha at most."""
    gains = rng.exponential(size=(4000, 200)) - 1.0
    wealth = np.max([log_wealth(gains[:, :n], 1.0) for n in range(1, 201)], axis=0)
    for alpha in (0.3, 0.1, 0.03):
        assert 0.0 < np.mean(wealth >= -math.log(alpha)) <= alpha
    assert not log_wealth(gains, 0.0).any()


def test_nothing_is_decided_before_sixteen_seeds():
    values = np.linspace(0.0, 1e6, 5)[:, None] + np.zeros(15)
    rivals, share, calls = run_race(values)
    assert not rivals and share == 1.0 and len(calls) == 1
    rivals, share, calls = run_race(np.linspace(0.0, 1e6, 5)[:, None] + np.zeros(40))
    assert calls == [([0, 1, 2, 3, 4], 0, 16)] and rivals == dict.fromkeys((1, 2, 3, 4), 0)


def test_the_first_look_shows_failures_on_three_seeds_of_ten():
    """Of every rival, up to the error that it has: 0.7^n <= 0.05 / 65 from 21 seeds on."""
    _, _, calls = run_race(np.linspace(0.0, 1.0, 66)[:, None] + np.zeros(40))
    assert calls[0][1:] == (0, math.ceil(math.log(65 / 0.05) / -math.log(0.7))) == (0, 21)


def test_every_rival_has_a_part_of_the_error():
    """A difference with t = 2.8 drops the only rival; of eleven rivals each would need t = 3.3."""
    worse = 1.0 + 1.38 * np.tile([-1.0, 1.0], 8)
    for rivals, drops in ((1, True), (11, False)):
        assert bool(run_race(np.vstack([np.zeros(16), *[worse] * rivals]))[0]) == drops


def test_what_the_leader_may_still_show_keeps_points_in_the_race():
    """Four more seeds of the leader at the end of its range would outweigh a difference of 1 on every seed, or not."""
    noise = 0.01 * np.tile([-1.0, 1.0], 8)
    for largest, drops in ((2.0, True), (20.0, False)):
        leader = np.where(np.arange(16) == 5, largest, 0.0)
        assert bool(run_race(np.vstack([leader, leader + 1.0 + noise]))[0]) == drops


def test_one_more_seed_of_the_largest_difference_must_not_change_the_leader():
    """Of two points, one is worse by 1 on every seed; a third that has shown 100 keeps it in the race until then."""
    flat = np.tile([[0.0], [1.0]], (1, SEEDS))
    assert len(run_race(flat)[2]) == 1
    failing = np.vstack([flat, np.where(np.arange(SEEDS) == 5, 100.0, 1e-3)])
    rivals, _, calls = run_race(failing)
    assert 1 not in rivals and calls[-1][1] + calls[-1][2] == SEEDS


def test_groups_fill_the_width_of_a_program_once_few_points_are_left(rng):
    values = np.vstack([rng.normal(size=(2, 128)), 50.0 + rng.normal(size=(8, 128))])
    _, _, calls = run_race(values)
    assert [len(points) for points, _, _ in calls] == [10] + [2] * (len(calls) - 1)
    assert [count for _, _, count in calls] == [16] * 8


def test_a_point_with_a_failed_trial_drops_out_at_once(rng):
    values = rng.normal(size=(4, SEEDS)) + 10.0
    values[1, 3], values[2, 30] = np.nan, -np.inf
    played, rivals = race_values(lambda points, a, n: values[points, a : a + n], 4, SEEDS, 0.05, 0.0)
    assert rivals == {1: None, 2: None}
    assert np.isinf(played[1, 3]) and np.isnan(played[1, 16:]).all() and played[2, 30] == np.inf
    played, rivals = race_values(lambda points, a, n: np.full((len(points), n), np.nan), 4, SEEDS, 0.05, 0.0)
    assert rivals == dict.fromkeys(range(4)) and np.isnan(played[:, 16:]).all()


def test_the_least_mean_is_taken_and_of_near_ones_that_by_1():
    points = [{"a": 0.01, "b": 1.0}, {"a": 0.1, "b": 0.3}, {"a": 1.0, "b": 1.0}, {"a": 0.1, "b": 3.0}]
    assert best(points, [5.0, 3.0, 9.0, 4.0]) == 1
    assert best(points, [3.02, 3.0, 3.02, 3.01], 0.01) == 2
    assert best(points, [3.0, 3.02, 3.04, 9.0], 0.01) == 1  # (0.1, 0.3) is nearer to (1, 1) than (0.01, 1); 3.04 is out
    assert best(points, [3.0, 3.02, 3.04, 9.0]) == 0
    assert best(points, [-3.02, -3.0, -2.0, 0.0], 0.01) == 1  # objectives may be negative
    assert best(points, [math.inf, math.inf, 7.0, math.inf], 0.5) == 2
    assert best([{"a": 0.0}, {"a": 0.5}], [1.0, 1.0]) == 1


def test_a_choice_at_the_end_of_a_range_is_marked():
    points = [{"a": a, "b": b, "c": 1.0} for a in (0.1, 0.3, 1.0) for b in (0.3, 1.0, 3.0)]
    assert not at_edge(points, {"a": 0.3, "b": 1.0, "c": 1.0})
    assert at_edge(points, {"a": 1.0, "b": 1.0, "c": 1.0}) and at_edge(points, {"a": 0.3, "b": 0.3, "c": 1.0})


def test_flags_and_names_have_no_distance_from_one():
    points = [{"a": 0.1, "mode": "x", "flag": True}, {"a": 0.5, "mode": "y", "flag": False}]
    assert best(points, [1.0, 1.0]) == 1 and at_edge(points, points[0])
    assert not at_edge([{"mode": "x"}, {"mode": "y"}], {"mode": "x"})
    mixed = [{"m": "all"}, {"m": 1}, {"m": 2}, {"m": 3}]
    assert [at_edge(mixed, point) for point in mixed] == [False, True, False, True]


POINTS = {"rate": [0.9, 0.5, 0.1, 0.05], "start": [1.0, 2.0]}
ENVIRONMENT = Noisy(scale=0.1)


@pytest.fixture(scope="module")
def settings():
    return {"metric": "loss", "first_seed": 100, "progress": False}


def test_a_race_plays_the_trials_of_the_sweep(settings, tmp_path):
    """The same numbers bit for bit; the same winner; killed and resumed, the same race."""
    found = race(Grid(Shrink(), POINTS), ENVIRONMENT, 20, 64, checkpoint=tmp_path / "race", **settings)
    whole = sweep(Shrink(), ENVIRONMENT, 20, 64, grid=POINTS, record_points=1, first_seed=100, progress=False)["Shrink"]
    played = ~np.isnan(found.values)
    np.testing.assert_array_equal(found.values[played], whole.final("loss")[played])
    assert found.winner == whole.points[int(whole.final("loss").mean(axis=1).argmin())] == {"rate": 0.9, "start": 1.0}
    assert (found.rounds, found.grid_rounds) == (20 * played.sum(), 20 * 8 * 64)
    assert found.rounds < 0.5 * found.grid_rounds and found.at_edge
    assert [entry.seeds for entry in found.candidates] == played.sum(axis=1).tolist()
    assert found.candidates[found.index].outcome == "winner" and found.winner in found.survivors
    dropped = [entry for entry in found.candidates if entry.outcome == "worse"]
    assert dropped and all(entry.rival == found.winner and entry.point not in found.survivors for entry in dropped)
    assert "worse than rate=0.9, start=1" in str(found.candidates) and "mean loss" in repr(found)
    again = race(Grid(Shrink(), POINTS), ENVIRONMENT, 20, 64, checkpoint=tmp_path / "race", **settings)
    np.testing.assert_array_equal(again.values, found.values)


def test_the_mean_of_several_problems_decides(settings):
    """Labels with algorithms, environments and horizons of their own; one grid on several environments."""
    grid = {"rate": [0.9, 0.1]}
    several = {"short": Grid(Shrink(start=1.0), grid), "long": Grid(Shrink(start=-5.0), grid)}
    found = race(several, ENVIRONMENT, {"short": 10, "long": 20}, 8, **settings)
    assert found.winner == {"rate": 0.1}  # the less -5 shrinks, the lower the loss
    assert found.grid_rounds == 2 * 8 * 30
    single = [race(each, ENVIRONMENT, n, 8, **settings) for each, n in zip(several.values(), (10, 20), strict=True)]
    np.testing.assert_allclose(found.values, np.mean([each.values for each in single], axis=0), rtol=1e-12)
    noisy = race(Grid(Shrink(), grid), {"a": ENVIRONMENT, "b": Noisy(scale=0.2)}, 10, 8, **settings)
    assert noisy.winner == {"rate": 0.9} and noisy.grid_rounds == 2 * 2 * 8 * 10


def test_failed_points_lose_and_the_first_wins_if_all_fail(settings):
    failing = race(Grid(NanLearner(), {"play": [0.5, 1.0]}), ENVIRONMENT, 5, 16, **settings)
    assert failing.winner == {"play": 0.5} and [entry.mean for entry in failing.candidates] == [math.inf] * 2
    assert [entry.outcome for entry in failing.candidates] == ["winner", "failed"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"grid": Shrink()}, "race needs a Grid"),
        ({"grid": {}}, "race needs a Grid"),
        ({"grid": Grid(Shrink(), {"rate": [0.5]})}, "at least two points, got 1"),
        (
            {"grid": {"a": Grid(Shrink(), {"rate": [0.1, 0.5]}), "b": Grid(Shrink(), {"rate": [0.1, 0.6]})}},
            "same points",
        ),
        ({"grid": Grid(Shrink(), {"rat": [0.1, 0.5]})}, "rat"),
        ({"seeds": 0}, "seeds must be a whole number"),
        ({"seeds": 64, "first_seed": 2**31 - 63}, "with 64 seeds, first_seed can be at most 2,147,483,584, got"),
        ({"error": 0.9}, r"error must lie in \(0, 0.5\]"),
        ({"tolerance": -0.1}, "tolerance must lie in"),
        ({"metric": "regert"}, "unknown metric 'regert'"),
        ({"metric": "state", "meters": [STATE]}, r"'state' of Shrink is a vector of shape \(2,\), but a scalar metric"),
        ({"record_points": 5}, "unknown option 'record_points'"),
    ],
)
def test_bad_input_is_one_clear_line_before_anything_is_played(changed, message, settings, monkeypatch):
    monkeypatch.setattr(driver, "run", lambda *_, **__: pytest.fail("trials were played"))
    given = {"grid": Grid(Shrink(), {"rate": [0.1, 0.5]}), "seeds": 8, **settings, **changed}
    with pytest.raises(InputError, match=message) as caught:
        race(given.pop("grid"), ENVIRONMENT, 5, **given)
    assert "\n" not in str(caught.value)


def test_a_long_race_of_short_groups_is_not_silent(monkeypatch, capsys):
    """Groups of 16 seconds leave nothing, except the first one after every half minute."""
    now, parts, run = 0.0, [], racing.run_comparison

    def run_and_note(*arguments, part, **settings):
        nonlocal now
        parts.append(part.brief)
        now += 16.0
        return run(*arguments, part=part, **settings)

    monkeypatch.setattr(racing, "time", SimpleNamespace(perf_counter=lambda: now))
    monkeypatch.setattr(racing, "run_comparison", run_and_note)
    race(Grid(Shrink(), POINTS), ENVIRONMENT, 20, 64, metric="loss")
    assert parts[:5] == [True, True, False, True, False]
    assert "simulating" in capsys.readouterr().err
