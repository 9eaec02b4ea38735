"""What one label measured: shapes that are checked, entries of vector metrics, points by their values."""

import dataclasses

import numpy as np
import pytest

from jaxbandits.base.errors import InputError
from tests.results import factories


def test_metrics_come_in_order_with_regret_first():
    trials = factories.trials({"comparator": np.zeros((1, 2, 3)), "regret": np.ones((1, 2, 3))})
    assert trials.metrics == ("regret", "comparator")
    np.testing.assert_array_equal(trials.get(), np.ones((1, 2, 3)))
    assert trials.horizon == 30 and trials.final("comparator").shape == (1, 2)


def test_a_trial_fails_by_any_number_that_is_not_finite_or_by_its_state():
    values = np.zeros((2, 4, 3, 2))
    values[0, 1, 0, 1], values[1, 2, 2, 0] = np.nan, np.inf
    healthy = np.ones((2, 4), bool)
    healthy[1, 3] = False
    trials = factories.trials(
        {"risk": values, "loss": np.zeros((2, 4, 3))}, points=[{"a": 1.0}, {"a": 2.0}], healthy=healthy
    )
    assert np.argwhere(trials.failures("risk")).tolist() == [[0, 1], [1, 2], [1, 3]]
    assert np.argwhere(trials.failures("loss")).tolist() == [[1, 3]]
    np.testing.assert_array_equal(trials.usable("risk"), ~trials.failures("risk"))


def test_entries_of_a_matrix_metric_by_named_axes(rng):
    values = rng.normal(size=(1, 2, 3, 4, 5))
    trials = factories.trials({"gap": values}, axes={"gap": ("group", "arm")})
    assert len(trials.entries("gap", {})) == 20
    entries = trials.entries("gap", {"arm": -1})
    assert [entry for entry, _ in entries] == [{"group": g, "arm": 4} for g in range(4)]
    np.testing.assert_array_equal(entries[2][1], values[:, :, :, 2, 4])
    unnamed = factories.trials({"gap": values})
    assert unnamed.axis_names("gap") == ("gap_0", "gap_1")


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ({"grup": 1}, "'gap' has no axis 'grup'; its axes are group"),
        ({"group": 4}, "group must be an index below 4, got 4"),
        ({"group": 1.0}, "group must be an index"),
        ({"group": True}, "group must be an index"),
        ({"group": None}, "group must be an index"),
    ],
)
def test_entries_that_do_not_exist(at, message):
    trials = factories.trials({"gap": np.zeros((1, 2, 3, 4))}, axes={"gap": ("group",)})
    with pytest.raises(InputError, match=message):
        trials.entries("gap", at)


def test_points_are_found_by_their_values():
    points = [{"rate": rate, "scale": scale} for rate in (0.1, 0.2, 0.3) for scale in (1.0, 2.0)]
    trials = factories.trials({"loss": np.zeros((6, 2, 3))}, points=points)
    assert trials.indices({"rate": 0.1 + 0.2}) == [4, 5]  # 0.30000000000000004
    assert trials.indices({"rate": [0.1, 0.3], "scale": 2}) == [1, 5]
    assert trials.indices([-1, 0]) == [5, 0]
    named = factories.trials({"x": np.zeros((2, 1, 1))}, [{"kind": "a", "on": True}, {"kind": "b", "on": False}])
    assert named.indices({"kind": np.array(["b", "a"])}) == [0, 1] and named.indices({"on": np.array([False])}) == [1]
    assert trials.index({"rate": 0.2, "scale": 1.0}) == 2
    for wanted, message in (
        ({"rat": 0.1}, "did you mean 'rate'"),
        ({"rate": 0.15}, "no point has rate=0.15; its values are 0.1, 0.2, 0.3"),
        ([6], "points must be an index below 6"),
        (3, "points must be a mapping from fields to values"),
        ("rate", "points must be a mapping from fields to values"),
        ([], "points must be a mapping from fields to values"),
        (np.array("x"), "points must be a mapping from fields to values"),
        ([None], "points must be an index below 6, got None"),
        ({"rate": []}, "the list of values of rate is empty"),
    ):
        with pytest.raises(InputError, match=message):
            trials.indices(wanted)
    with pytest.raises(
        InputError, match=r"2 points have rate=0\.1; choose one of them by the values of its fields: rate, scale"
    ):
        trials.index({"rate": 0.1})
    with pytest.raises(InputError, match="no point has all of a=1, b=2"):
        factories.trials({"x": np.zeros((2, 1, 1))}, [{"a": 1, "b": 1}, {"a": 2, "b": 2}]).indices({"a": 1, "b": 2})
    with pytest.raises(InputError, match="a point must map fields to values, got 3"):
        trials.index(3)


def test_large_whole_numbers_are_not_equal_up_to_rounding():
    """Such as ids or seeds of instances."""
    points = [{"id": 2**31 + i} for i in range(3)] + [{"id": 0.1 + 0.2}]
    trials = factories.trials({"loss": np.zeros((4, 1, 1))}, points)
    assert trials.indices({"id": 2**31 + 1}) == [1] and trials.indices({"id": 0.3}) == [3]


def test_numbers_are_equal_up_to_rounding_only_if_none_is_exactly_equal():
    """Such as discounts close to 1."""
    points = [{"discount": discount} for discount in (1.0 - 1e-10, 1.0, 0.1 + 0.2)]
    trials = factories.trials({"loss": np.zeros((3, 1, 1))}, points)
    assert [trials.index(point) for point in points] == [0, 1, 2]
    assert trials.indices({"discount": [1.0, 0.3]}) == [1, 2] and trials.indices({"discount": 1.0 + 1e-12}) == [0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": ()}, "at least one point"),
        ({"points": ({"a": 1.0}, {"b": 1.0})}, "have the same fields"),
        ({"seeds": np.arange(3)}, "healthy must be an array"),
        ({"seeds": np.array([1, 0])}, "seeds must be at least 0 and strictly increasing"),
        ({"seeds": np.array([1, 0], np.uint64)}, "seeds must be at least 0 and strictly increasing"),
        ({"seeds": np.array(["a", "b"])}, "seeds must be an array .n. of whole numbers"),
        ({"record_points": np.array([0, 1, 2])}, "record_points must be at least 1"),
        ({"record_points": np.array([1, 2])}, "values of 'loss' must be a float64"),
        ({"healthy": np.ones((1, 2))}, "healthy must be an array"),
        ({"inadmissible": np.zeros((1, 2))}, "inadmissible must be an array"),
        ({"values": {"loss": np.zeros((1, 2, 3), np.float32)}}, "values of 'loss' must be a float64"),
        (
            {"values": {"loss": np.zeros((1, 2, 3, 4))}, "axes": {"loss": ("a", "b")}},
            "needs 1 different names",
        ),
        (
            {"values": {"loss": np.zeros((1, 2, 3, 4))}, "axes": {"loss": ("seed",)}},
            "none of them may be label, point, seed",
        ),
        (
            {"values": {"a": np.zeros((1, 2, 3, 4)), "b": np.zeros((1, 2, 3, 5))}, "axes": {"a": ("g",), "b": ("g",)}},
            "axis 'g' of 'b' has 5 entries, but 4 in another",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    trials = factories.trials({"loss": np.zeros((1, 2, 3))})
    with pytest.raises(InputError, match=message) as error:
        dataclasses.replace(trials, **change)
    assert "\n" not in str(error.value)


def test_nothing_measured_is_an_error_and_no_crash():
    trials = dataclasses.replace(factories.trials({"loss": np.zeros((1, 2, 3))}), values={})
    with pytest.raises(InputError, match="the result has no metrics"):
        trials.get()
