"""Forms of JSON values: the first part that does not fit is named."""

import pytest

from jaxbandits.base.forms import misfit

FORM = {"name": str, "seeds?": int, "rows": [{"p": (float, None)}], "labels": {str: bool}}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({}, None),
        ({"seeds": 3, "more": object()}, None),
        ({"name": 3}, "name must be text"),
        ({"seeds": True}, "seeds must be a whole number"),
        ({"seeds": 2.0}, "seeds must be a whole number"),
        ({"rows": {}}, "rows must be a list"),
        ({"rows": [{"p": None}, {"p": "x"}]}, "rows[1].p must be a number"),
        ({"rows": [{}]}, "rows[0].p is missing"),
        ({"labels": {"a": 1}}, "labels.a must be true or false"),
    ],
)
def test_the_part_that_does_not_fit_is_named(change, wrong):
    assert misfit({"name": "x", "rows": [{"p": 1}], "labels": {"a": True}} | change, FORM) == wrong


def test_what_is_no_object_or_lacks_a_name_is_told():
    assert misfit([], FORM) == "it must be an object"
    assert misfit({}, FORM) == "name is missing"
