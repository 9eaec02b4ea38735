"""Grids: products, fields that move together, static fields, one grid per label."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.armed import UCB1, BernoulliArms
from jaxbandits.base.errors import InputError
from jaxbandits.base.pytree import param, pytree
from jaxbandits.engine.grid import list_points, split_arrays
from jaxbandits.programs import compilation
from jaxbandits.results.merge import merge
from jaxbandits.results.result import Result
from jaxbandits.simulation import Grid, compare, product, race, simulate, sweep, zip_fields
from jaxbandits.types import PointDecision, Reward
from tests.toy_problems import Noisy, Shrink, Slow, Vectors

QUIET = {"progress": False, "width": 32}


def test_sweep_is_the_product_and_reaches_environment_fields():
    grid = {"rate": [0.1, 0.5], "environment.scale": [0.0, 1.0, 2.0]}
    trials = sweep(Shrink(), Noisy(), 4, 5, grid=grid, record_points=2, **QUIET)["Shrink"]
    assert trials.get("loss").shape == (6, 5, 2)
    assert trials.points[0] == {"rate": 0.1, "environment.scale": 0.0} and trials.points[5]["rate"] == 0.5
    quiet = [h for h, point in enumerate(trials.points) if point["environment.scale"] == 0.0]
    for h in quiet:
        keep = 1.0 - trials.points[h]["rate"]
        np.testing.assert_allclose(trials.final("loss")[h], sum(keep**k for k in range(4)))
    listed = sweep(Shrink(), Noisy(), 4, 5, grid=[{"rate": 0.5}, {"rate": 0.25}], **QUIET)
    np.testing.assert_allclose(listed.final("loss")[:, 0], [1.875, 2.734375])


@pytest.mark.parametrize("seeds", [3, 64])  # all points in a batch; two batches a point, which share what they are
def test_points_of_a_sweep_are_the_runs_of_their_values(seeds):
    grid = {"rate": [0.2, 0.7], "environment.scale": [1, 2]}
    swept = sweep(Shrink(), Noisy(), 9, seeds, grid=grid, **QUIET)["Shrink"]
    for h, point in enumerate(swept.points):
        alone = simulate(Shrink(rate=point["rate"]), Noisy(scale=point["environment.scale"]), 9, seeds, **QUIET)
        for metric in swept.metrics:
            np.testing.assert_array_equal(swept.get(metric)[h], alone.get(metric)[0])


@pytest.mark.parametrize("values", [[1, 2], [1, 2.5], [np.int32(1), 2], np.arange(1, 3), [1.0, 2.0]])
def test_whole_numbers_of_a_grid_are_floats_as_in_a_single_run(values):
    """In an integer state that copies the number, halves would be cut off."""

    @pytree
    class Halving(Shrink):
        def init(self, key):
            return jnp.full((), self.start)

        def update(self, key, t, state, obs, decision, feedback):
            return (0.5 * state).astype(state.dtype)

    swept = sweep(Halving(), Noisy(), 6, 3, grid={"start": values}, **QUIET)["Halving"]
    single = simulate(Halving(start=1), Noisy(), 6, 3, **QUIET)["Halving"]
    for metric in single.metrics:
        np.testing.assert_array_equal(swept.get(metric)[0], single.get(metric)[0])
    assert swept.points[0] == {"start": 1}


def test_products_and_zips_combine():
    assert zip_fields({"a": [1, 2], "algorithm.b": np.array([0.5, 0.25])}) == [{"a": 1, "b": 0.5}, {"a": 2, "b": 0.25}]
    assert product({"a": [1, 2], "c": 3.0}) == [{"a": 1, "c": 3.0}, {"a": 2, "c": 3.0}]
    assert product({"c": ["x", "y"]}, zip_fields({"a": [1, 2], "b": [3, 4]})) == [
        {"c": c, "a": a, "b": b} for c in ("x", "y") for a, b in ((1, 3), (2, 4))
    ]


def test_static_fields_have_a_program_each_and_one_label():
    grid = product({"work": [3, 1, 2]}, {"environment.scale": [0.0, 1.0]})
    trials = sweep(Slow(), Noisy(), 6, 3, grid=grid, record_points=2, **QUIET)["Slow"]
    assert trials.points == tuple(grid)
    for h, point in enumerate(grid):
        alone = simulate(
            Slow(work=point["work"]), Noisy(scale=point["environment.scale"]), 6, 3, record_points=2, **QUIET
        )
        for metric in trials.metrics:
            np.testing.assert_array_equal(trials.get(metric)[h], alone.get(metric)[0])
    assert len(np.unique(trials.final("newest")[:, 0])) == 3
    other = sweep(Slow(), Noisy(), 6, 3, grid={"work": [2], "environment.scale": [0.0]}, record_points=2, **QUIET)[
        "Slow"
    ]
    # Points are not part of it, so that results can be merged; of programs, those of equal static values are equal.
    assert other.spec | {"programs": None} == trials.spec | {"programs": None}
    assert other.spec["programs"].items() < trials.spec["programs"].items() and len(trials.spec["programs"]) == 3
    assert len(trials.timing["ns_per_round"]) == 3 and trials.timing["rounds"] == 6 * 3 * 6
    interleaved = sweep(
        Slow(), Noisy(), 6, 3, grid={"environment.scale": [0.0, 1.0], "work": [1, 2]}, record_points=2, **QUIET
    )["Slow"]
    assert [tuple(point.values()) for point in interleaved.points] == [(0.0, 1), (0.0, 2), (1.0, 1), (1.0, 2)]
    np.testing.assert_array_equal(interleaved.final("loss")[2], trials.final("loss")[3])


def test_every_label_has_its_own_grid():
    result = compare(
        {"many": Grid(Shrink(), {"rate": [0.1, 0.2, 0.3]}), "one": Shrink(), "slow": Grid(Slow(), {"work": [1, 2]})},
        Noisy(scale=1.0),
        5,
        4,
        record_points=2,
        **QUIET,
    )
    assert {label: len(result[label].points) for label in result} == {"many": 3, "one": 1, "slow": 2}
    assert result["one"].points == ({},)
    listed = compare(
        [Grid(Shrink(), {"rate": [0.1, 0.2, 0.3]}), Slow()], Noisy(scale=1.0), 5, 4, record_points=2, **QUIET
    )
    np.testing.assert_array_equal(listed.get("loss", "Shrink"), result.get("loss", "many"))


def test_a_generator_of_values_serves_every_label_and_call():
    grid = Grid(Shrink(), {"rate": (rate for rate in [0.1, 0.2])})
    several = {"first": Shrink(), "second": Shrink()}
    run = (Noisy(), 3, 2)
    result = sweep(several, *run, grid={"rate": iter([0.1, 0.2])}, record_points=1, **QUIET)
    found = [result["first"], result["second"], *(compare([grid], *run, **QUIET)["Shrink"] for _ in range(2))]
    assert [trials.points for trials in found] == [({"rate": 0.1}, {"rate": 0.2})] * 4


def test_a_traced_grid_compiles_one_program():
    simulate(Shrink(), Noisy(), 7, 2, record_points=3, **QUIET)
    before = compilation.compiled_count()
    sweep(Shrink(), Noisy(), 7, 2, grid={"rate": [0, 1, 0.5]}, record_points=3, **QUIET)  # whole numbers too
    assert compilation.compiled_count() == before


@pytree
class Below:
    """Learner that plays minus the square of `size`."""

    feedback: ClassVar[type] = Reward
    size: Any = param(1.0, "[0, inf)", "root of its play")

    def init(self, key):
        del key
        return jnp.zeros(())

    def select(self, key, t, state, obs):
        del key, t, obs
        return PointDecision.at(state + -self.size * self.size)

    def update(self, key, t, state, obs, decision, feedback):
        del key, t, obs, decision, feedback
        return state

    def recommend(self, state):
        return state


@pytest.mark.parametrize("size", [np.asarray(200, np.uint8), jnp.uint8(200), jnp.int16(200), jnp.int32(70_000)])
def test_an_integer_without_axes_is_the_same_number_in_a_field_and_in_a_grid(size):
    """The square and the negative of an integer of a small type overflow."""
    alone = simulate(Below(size=size), Noisy(scale=0.0), 3, 1, **QUIET)
    swept = sweep(Below(), Noisy(scale=0.0), 3, 1, grid={"size": [size]}, **QUIET)
    np.testing.assert_array_equal(alone.final("loss"), swept.final("loss"))
    np.testing.assert_allclose(alone.final("loss"), -3.0 * float(size) ** 2)


MEANS = [[0.9, 0.5, 0.1], [0.2, 0.6, 0.4]]


def sweep_means(means, **more):
    """Return the result of a sweep over the means of three coins."""
    grid = {"environment.means": means} | more
    return sweep(UCB1(n_arms=3), BernoulliArms(n_arms=3), 40, 4, grid=grid, record_points=2, **QUIET)


@pytest.mark.parametrize(
    ("means", "names"),
    [
        (MEANS, [0, 1]),
        (np.array(MEANS), [0, 1]),
        (jnp.array(MEANS), [0, 1]),
        ([np.array(MEANS[0]), tuple(MEANS[1])], [0, 1]),
        ({"easy": MEANS[0], "hard": MEANS[1]}, ["easy", "hard"]),
        ({0.4: MEANS[0], np.float64(0.2): np.array(MEANS[1])}, [0.4, 0.2]),
    ],
)
def test_arrays_are_points_with_names(means, names):
    """Every point is the run of an environment with these means, bit for bit, and its name is what results show."""
    trials = sweep_means(means)["UCB1"]
    assert [point["environment.means"] for point in trials.points] == names
    assert all(type(point["environment.means"]) in (int, str, float) for point in trials.points)
    for h, name in enumerate(names):
        coins = BernoulliArms.from_means(MEANS[h])
        alone = simulate(UCB1(n_arms=3), coins, 40, 4, record_points=2, **QUIET)
        np.testing.assert_array_equal(trials.get("regret")[h], alone.get("regret")[0])
        assert trials.index({"environment.means": name}) == h
    recorded = trials.spec["arrays"]["environment.means"]
    assert [name for name, _ in recorded] == names
    np.testing.assert_allclose([spec["array"] for _, spec in recorded], MEANS, rtol=1e-15)


def test_results_over_arrays_print_draw_convert_and_load(tmp_path):
    result = sweep_means({0.4: MEANS[0], 0.2: MEANS[1]}, exploration=[1.0, 2.0])
    result = Result({"a": result["UCB1"], "b": result["UCB1"]}, result.info)
    with pytest.warns(UserWarning, match="4 seeds"):
        table = result.table()
    assert table.header[1:3] == ["environment.means", "exploration"] and {row[1] for row in table.rows} == {
        "0.4",
        "0.2",
    }
    frame = result.to_pandas()
    assert sorted(frame["environment.means"].unique()) == [0.2, 0.4]
    selected = result.to_xarray()["a"].regret.sel({"environment.means": 0.2, "exploration": 1.0})
    np.testing.assert_array_equal(selected, result["a"].get("regret")[2])
    ax = result.sensitivity("regret", "environment.means", points={"exploration": 1.0})
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.2, 0.4])  # sorted
    result.heatmap(label="a")
    result.plot(points={"environment.means": 0.2})
    result.contrast("a", "b", x="environment.means", points={"exploration": 2.0})
    assert [row.point["environment.means"] for row in result.best(by="environment")["a"]] == [0.4, 0.2]
    loaded = Result.load(result.save(tmp_path / "means"))
    assert loaded["a"].points == result["a"].points and loaded["a"].spec["arrays"] == result["a"].spec["arrays"]
    assert merge([result, loaded])["b"].points == result["b"].points
    with pytest.raises(InputError, match=r"so they cannot be put on an axis \(arrays can be given numbers as names\)"):
        sweep_means({"easy": MEANS[0]}).sensitivity("regret", "environment.means")


def test_results_of_other_arrays_are_not_merged():
    """Names are the same; the numbers behind them are not."""
    with pytest.raises(InputError, match=r"the same arrays\.environment\.means, but UCB1 has"):
        merge([sweep_means(MEANS), sweep_means([MEANS[0], [0.2, 0.6, 0.3]])])


def test_arrays_zip_with_the_sizes_that_they_have():
    coins = BernoulliArms.from_means(MEANS[0])
    grid = zip_fields(
        {
            "n_arms": [2, 3, 2],
            "environment.n_arms": [2, 3, 2],
            "environment.means": [[0.9, 0.1], MEANS[0], [0.3, 0.4]],
        }
    )
    trials = sweep(UCB1(n_arms=3), coins, 40, 4, grid=grid, record_points=2, **QUIET)["UCB1"]
    assert [point["environment.means"] for point in trials.points] == [0, 1, 2]
    for h, means in enumerate(([0.9, 0.1], MEANS[0], [0.3, 0.4])):
        alone = simulate(UCB1(n_arms=len(means)), BernoulliArms.from_means(means), 40, 4, record_points=2, **QUIET)
        np.testing.assert_array_equal(trials.get("regret")[h], alone.get("regret")[0])
    with pytest.raises(
        InputError, match=r"arrays of environment.means have different shapes, \(2,\) and \(3,\); also sweep"
    ):
        sweep(
            UCB1(n_arms=2), BernoulliArms(n_arms=2), 5, 2, grid={"environment.means": [[0.1, 0.2], MEANS[0]]}, **QUIET
        )


def test_a_race_over_arrays_returns_them():
    grid = Grid(UCB1(n_arms=3), {"environment.means": {"hard": [0.5, 0.45, 0.4], "easy": [0.9, 0.1, 0.1]}})
    found = race(grid, BernoulliArms(n_arms=3), 400, 16, **QUIET)
    winner = found.winner["environment.means"]
    assert str(winner) in str(found) and winner.name in ("hard", "easy") and not found.at_edge
    np.testing.assert_array_equal(winner.array, grid.points["environment.means"][winner.name])
    same = Grid(grid.algorithm, [entry.point for entry in found.candidates])
    np.testing.assert_array_equal(race(same, BernoulliArms(n_arms=3), 400, 16, **QUIET).values, found.values)


def test_unnamed_arrays_count_different_ones_and_names_do_not_clash():
    twice = zip_fields({"a": [1, 2, 3], "m": [[1.0], [2.0], [1]]})
    points, arrays = split_arrays(list_points(twice))
    assert [point["m"] for point in points] == [0, 1, 0] and [*arrays["m"]] == [0, 1]
    more = [*zip_fields({"m": [[1.0], [2.0]]}), *zip_fields({"m": [[3.0], [2.0]]})]
    assert [point["m"] for point in split_arrays(list_points(more))[0]] == [0, 1, 2, 1]
    clash = [*product({"m": {"x": [1.0]}}), *product({"m": {"x": [2.0]}})]
    with pytest.raises(InputError, match="two different arrays of 'm' in a grid have the name 'x'"):
        list_points(clash)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"n_arms": [[3]]}, "UCB1.n_arms is not an array"),
        ({"environment.means": [[0.1, 0.2, 1.5]]}, r"BernoulliArms.means must lie in \[0, 1\], got 1.5"),
        ({"environment.means": [[0.1, 0.2]]}, r"BernoulliArms.means must have shape \[3\]"),
        ({"environment.means": [["a", "b", "c"]]}, "must be numbers, got"),
        ({"environment.noise": [[1.0]]}, "BernoulliArms has no field 'noise'"),
        ({"means": [MEANS[0]]}, "write 'environment.means'"),
    ],
)
def test_bad_arrays_are_one_clear_line(grid, message):
    with pytest.raises(InputError, match=message) as error:
        sweep(UCB1(n_arms=3), BernoulliArms(n_arms=3), 5, 2, grid=grid, **QUIET)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"rat": [0.1]}, "Shrink has no field 'rat'; it has: rate, start"),
        ({"environment.nothing": [0.1]}, "Noisy has no field 'nothing'"),
        ({"rate.deeper": [0.1]}, "float has no field 'deeper'; it has none"),
        ({}, "at least one field"),
        ([], "at least one point"),
        ({"rate": []}, "at least one value"),
        ({"rate": ["a"]}, "must be a number"),
        ({"rate": [[0.1]]}, r"Shrink.rate is not an array: a grid over it must list numbers, such as \[1, 2\]"),
        ({"rate": [[0.1], 0.2]}, "either all values of 'rate' in a grid must be arrays, or none"),
        ({"rate": [[[0.1], [0.2, 0.3]]]}, "a value of 'rate' in a grid must be numbers"),
        ({"rate": [[]]}, "values of 'rate' in a grid must be numbers, arrays of them"),
        ({"rate": [[float("nan")]]}, "must be finite, but row 0"),
        ({"rate": {"a": 0.1}}, "have names, but only arrays can have names: got 0.1"),
        ({"rate": {None: [0.1]}}, "names of arrays in a grid must be text or numbers, got None"),
        ({"rate": {}}, "at least one value"),
        ({"rate": [None]}, "must be numbers"),
        ({3: [0.1]}, "the names of fields in a grid must be text"),
        (3, "a grid must map fields to lists of values, or be a list of points"),
        ("rate", "a grid must map fields to lists of values, or be a list of points"),
        ({"rate": [0.1], "algorithm.rate": [0.2]}, "must not name a field twice: 'rate'"),
        ({"rate": [0.1, 7.0]}, "must lie in"),
        ([{"rate": 0.1}, {"start": 0.1}], "same fields"),
    ],
)
def test_bad_grids_are_one_clear_line(grid, message):
    with pytest.raises(InputError, match=message) as error:
        sweep(Shrink(), Noisy(), 5, 2, grid=grid, **QUIET)
    assert "\n" not in str(error.value)


def test_shared_data_static_ranges_and_unequal_zips_are_refused():
    environment = Vectors(table=np.ones((2, 3)))
    with pytest.raises(InputError, match=r"environment.table is shared data .* so it cannot be swept"):
        sweep(Shrink(), environment, 5, 2, grid={"environment.table": [1.0]}, **QUIET)
    with pytest.raises(InputError, match=r"Slow.work must lie in \[1, inf\), got 0"):
        sweep(Slow(), Noisy(), 5, 2, grid={"work": [1, 0]}, **QUIET)
    with pytest.raises(InputError, match=r"Slow.work must be a whole number"):
        sweep(Slow(), Noisy(), 5, 2, grid={"work": [1.5]}, **QUIET)
    with pytest.raises(InputError, match="`grid` has no effect"):
        sweep(Grid(Shrink(), {"rate": [0.1]}), Noisy(), 5, 2, grid={"rate": [0.5, 0.9]}, **QUIET)
    with pytest.raises(InputError, match="the same number of values, got a: 2, b: 1"):
        zip_fields({"a": [1, 2], "b": [1]})
    with pytest.raises(InputError, match="product needs at least one grid"):
        product()
    with pytest.raises(InputError, match="must not name a field twice: 'a'"):
        product({"a": [1]}, {"a": [2]})


def test_programs_whose_metrics_differ_are_not_joined():
    @pytree
    class SlowWithSize(Slow):
        def recommend(self, state):
            return jnp.ones(self.work) * state

    with pytest.raises(InputError, match=r"metrics or their shapes differ between .* under different labels"):
        sweep(SlowWithSize(), Noisy(), 5, 2, grid={"work": [1, 2]}, **QUIET)
