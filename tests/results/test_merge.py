"""Results of the same jobs for other seeds or other points become one."""

import dataclasses

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.results.merge import merge
from jaxbandits.results.result import Result
from tests.results import factories

SPEC = {"algorithm": {"type": "toy"}, "horizon": 40, "digest": "d0", "programs": {"{}": "p0"}}


def _part(whole, points=slice(None), seeds=slice(None)):
    """Some points and seeds of a result, cut out."""

    def cut(trials):
        values = {name: array[points, seeds].copy() for name, array in trials.values.items()}
        return dataclasses.replace(
            trials,
            values=values,
            points=trials.points[points],
            seeds=trials.seeds[seeds],
            healthy=trials.healthy[points, seeds].copy(),
            inadmissible=trials.inadmissible[points, seeds].copy(),
        )

    return Result({label: cut(whole[label]) for label in whole}, whole.info)


def _same(a, b):
    assert a.labels == b.labels
    for label in a:
        for name in ("seeds", "record_points", "healthy", "inadmissible"):
            np.testing.assert_array_equal(getattr(a[label], name), getattr(b[label], name))
        assert a[label].points == b[label].points and a[label].values.keys() == b[label].values.keys()
        for name, values in a[label].values.items():
            np.testing.assert_array_equal(values, b[label].values[name])


@pytest.fixture
def whole():
    result = factories.result()
    result["swept"].values["loss"][1, 2] = np.nan
    result["swept"].healthy[0, 1] = False
    result["grouped"].inadmissible[0, 3] = 5
    return result


@pytest.mark.parametrize(
    "cuts",
    [
        [{"seeds": slice(0, 1)}, {"seeds": slice(1, 3)}, {"seeds": slice(3, None)}],
        [{"seeds": slice(0, 3)}, {"seeds": slice(1, None)}],  # identical where they overlap
        [{"seeds": slice(2, None)}, {"seeds": slice(0, 2)}],
        [{}],
    ],
)
def test_parts_by_seeds_merge_to_the_whole(whole, cuts):
    _same(merge([_part(whole, **cut) for cut in cuts]), whole)


def test_parts_by_points_and_tiles_merge_to_the_whole(whole):
    swept = Result({"swept": whole["swept"]}, whole.info)
    tiles = [
        _part(swept, points, seeds) for points in (slice(0, 1), slice(1, 3)) for seeds in (slice(0, 2), slice(2, 6))
    ]
    _same(merge(tiles), swept)
    with pytest.raises(InputError, match=r"swept lacks 8 of 18 trials, such as seed 2 of point {'rate': 0.2}"):
        merge(tiles[:3])
    labels = [Result({label: whole[label]}, whole.info) for label in whole]
    _same(merge(labels), whole)


def test_equal_points_of_a_grid_are_kept(whole):
    trials = dataclasses.replace(whole["swept"], points=({"rate": 0.1}, {"rate": 0.2}, {"rate": 0.1}))
    repeated = Result({"swept": trials}, whole.info)
    _same(merge([_part(repeated, seeds=slice(0, 2)), _part(repeated, seeds=slice(1, None))]), repeated)
    with pytest.raises(InputError, match=r"swept lacks 4 of 18 trials, such as seed 2 of point {'rate': 0.1}"):
        merge([_part(repeated, seeds=slice(0, 2)), _part(repeated, slice(0, 2), slice(2, None))])


def test_time_adds_up(whole):
    merged = merge([_part(whole, seeds=slice(0, 2)), _part(whole, seeds=slice(2, None))])
    assert merged["swept"].timing == {"compile_s": 2.0, "run_s": 4.0, "rounds": 120, "ns_per_round": [10, 30, 20] * 2}
    assert merged.info == {"base_seed": 0, "wall_s": 3.0, "started_unix_s": 100.0}


def _until(label, first_seed=0, **change):
    """Result of a run whose seeds were added in groups of 8, with one pair of labels."""
    pair = {"first": label, "second": "b", "decided": True, "comparable": False, "mean": 1.0, "low": 0.5, "high": 1.5}
    rule = {"metric": "loss", "level": 0.95, "looks": 5, "margin": 0.0, "seeds_per_look": 8}
    until = {**rule, "look": 2, "pairs": [{**pair, "seeds": 16}], **change}
    loss = np.random.default_rng(len(label)).normal(size=(1, 16, 1))
    return Result({label: factories.trials({"loss": loss}, first_seed=first_seed)}, {"base_seed": 0, "until": until})


@pytest.mark.parametrize("order", [1, -1])
def test_the_rule_by_which_seeds_were_added_is_kept(order):
    """In either order, the intervals of `pairs` account for the stopping."""
    plain = Result({"other": factories.trials({"loss": np.arange(40.0).reshape(1, 40, 1)})}, {"base_seed": 0})
    merged = merge([plain, _until("a")][::order])
    assert merged.info["until"] == _until("a").info["until"]
    found, naive = (result.pairs()[0].difference for result in (merged, Result(merged.trials, {"base_seed": 0})))
    assert found.half_width > 1.5 * naive.half_width


def test_rules_of_several_runs_must_be_equal():
    merged = merge([_until("a"), _until("longer", look=4)])
    assert merged.info["until"]["look"] == 4
    assert [pair["first"] for pair in merged.info["until"]["pairs"]] == ["a", "longer"]
    for name, other in (("metric", "regret"), ("level", 0.9), ("looks", 3), ("margin", 1.0), ("seeds_per_look", 4)):
        with pytest.raises(InputError, match=f"results must have the same until.{name}, but they have"):
            merge([_until("a"), _until("longer", **{name: other})])


def test_a_pair_on_which_two_runs_stopped_is_in_no_merged_decision():
    """Each run decided on its own seeds, and neither on all of them."""
    runs = [_until("a"), _until("a", first_seed=100)]
    for order in (runs, runs[::-1]):
        assert merge([*order, _until("longer")]).info["until"]["pairs"] == _until("longer").info["until"]["pairs"]


def test_trials_that_contradict_each_other_are_refused(whole):
    other = _part(whole, seeds=slice(1, None))
    other["swept"].values["loss"][0, 0, 0] += 1e-12
    with pytest.raises(InputError, match="results of swept have other values of 'loss' for the same points and seeds"):
        merge([_part(whole, seeds=slice(0, 3)), other])


def _swept(**change):
    return lambda r: Result({**r.trials, "swept": dataclasses.replace(r["swept"], **change)}, r.info)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            _swept(spec=SPEC | {"algorithm": {"type": "other"}}),
            "the same algorithm.type, but swept has 'toy' and 'other'",
        ),
        (_swept(spec=SPEC | {"digest": "d1"}), "results of swept differ in their precision, the settings"),
        (_swept(spec=SPEC | {"width": 1}), "the same width, but swept has"),
        (_swept(record_points=np.array([1, 2, 3, 40])), "results must have the same record points, but swept has"),
        (_swept(units={}), "the same units.loss, but swept has 'points' and None"),
        (_swept(points=tuple({"ridge": float(i)} for i in range(3))), "the same swept fields, but swept has"),
        (lambda r: Result(r.trials, r.info | {"base_seed": 1}), "the same base_seed, but they have 0 and 1"),
    ],
)
def test_other_jobs_are_refused_by_the_field_that_differs(whole, change, message):
    with pytest.raises(InputError, match=message) as error:
        merge([whole, change(whole)])
    assert "\n" not in str(error.value)


def test_long_values_are_cut_where_they_differ(whole):
    first, second = (SPEC | {"names": ["arm"] * 40 + [last] + ["arm"] * 40} for last in ("left", "right"))
    one, other = (_swept(spec=spec)(whole) for spec in (first, second))
    with pytest.raises(
        InputError, match=r"the same names, but swept has \.\.\..*'left'.*\.\.\. and \.\.\..*'right'.*\.\.\.$"
    ) as error:
        merge([one, other])
    assert len(str(error.value)) < 220


def test_what_is_no_list_of_results_is_refused(whole):
    for results in ([], whole, [whole, 3], None):
        with pytest.raises(InputError, match="merge needs a list of results, got ") as said:
            merge(results)
        assert "got list" not in str(said.value)


def _with_programs(whole, programs, **spec):
    trials = whole["swept"]
    return Result({"swept": dataclasses.replace(trials, spec=trials.spec | {"programs": programs} | spec)}, whole.info)


def test_programs_are_compared_point_by_static_point(whole):
    """Shards of a grid over a static field hold different programs; those of one value must be equal."""
    first, second = _with_programs(whole, {"a": "1", "b": "2"}), _with_programs(whole, {"b": "2", "c": "3"})
    assert merge([first, second])["swept"].spec["programs"] == {"a": "1", "b": "2", "c": "3"}
    with pytest.raises(InputError, match="two different programs computed swept"):
        merge([first, _with_programs(whole, {"b": "4"})])


def test_host_code_is_merged_only_under_an_identity(whole):
    unknown = _with_programs(whole, {"a": "1"}, **{"host code": ["A uses a callback to Python"]})
    with pytest.raises(
        InputError, match="cannot merge: A uses a callback to Python; no digest identifies the version of this code"
    ):
        merge([unknown, unknown])
    assert merge([unknown])["swept"].spec["programs"] == {"a": "1"}  # nothing is joined
    known = _with_programs(whole, {"a": "1"}, identity="v1")
    assert merge([known, known])["swept"].spec["identity"] == "v1"
    with pytest.raises(InputError, match="the same identity, but swept has 'v1' and 'v2'"):
        merge([known, _with_programs(whole, {"a": "1"}, identity="v2")])
