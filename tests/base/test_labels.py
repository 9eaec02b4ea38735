"""Labels as numbers: the order of names, whatever holds them, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from jaxbandits import InputError
from jaxbandits.base.labels import number_labels

TEXTS = ["red", "blue", "red"]


@pytest.mark.parametrize(
    "values",
    [
        TEXTS,
        np.array(TEXTS),
        np.array(TEXTS, object),
        np.array(TEXTS, np.dtypes.StringDType()),
        np.array(TEXTS, "S"),
        *(pd.Series(TEXTS, dtype=kind) for kind in ("object", "str", "string")),
        pl.Series(TEXTS),
        pl.Series(TEXTS, dtype=pl.Categorical),
        pa.chunked_array([TEXTS]),
        pa.chunked_array([TEXTS]).dictionary_encode(),
        np.ma.masked_array(TEXTS, mask=False),
    ],
    ids=lambda values: type(values).__name__,
)
def test_text_of_every_kind_is_sorted_and_says_so(values):
    found = number_labels("action", values)
    assert found.names == ("blue", "red") and found.numbers.tolist() == [1, 0, 1] and found.is_sorted_text
    assert number_labels("action", values, ["red", "green", "blue"]).numbers.tolist() == [0, 2, 0]


CATEGORIES = ["red", "no", "blue"]


@pytest.mark.parametrize("values", [pd.Categorical(TEXTS, CATEGORIES), pl.Series(TEXTS, dtype=pl.Enum(CATEGORIES))])
def test_categories_are_an_order(values):
    """Categories that do not occur keep their place."""
    for column in (values, pd.Series(values) if isinstance(values, pd.Categorical) else values):
        found = number_labels("action", column)
        assert found.names == ("red", "no", "blue") and found.numbers.tolist() == [0, 2, 0] and not found.is_sorted_text


def test_sorted_categories_are_nobodys_choice():
    """As astype("category") makes them: sorted text, digits in the order of numbers; ordered ones are a choice."""
    found = number_labels("action", pd.Series(TEXTS).astype("category"))
    assert found.names == ("blue", "red") and found.numbers.tolist() == [1, 0, 1] and found.is_sorted_text
    found = number_labels("action", pd.Series(["10", "2", "10"]).astype("category"))
    assert found.names == ("2", "10") and found.numbers.tolist() == [1, 0, 1] and not found.is_sorted_text
    assert not number_labels("action", pd.Categorical(TEXTS, ["blue", "red"], ordered=True)).is_sorted_text
    absent = number_labels("action", pd.Categorical(["red"], ["blue", "red"]))
    assert absent.names == ("blue", "red") and absent.is_sorted_text


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([10, 2, 10], ("2", "10")),
        (["10", "2", "10"], ("2", "10")),
        (["-3", "10", "2"], ("-3", "2", "10")),
        ([10.0, 2.5, -1.0], ("-1", "2.5", "10")),
        (np.array([3, 1], np.uint8), ("1", "3")),
        ([True, False, True], ("False", "True")),
        ([2**60 + 1, 2**60], (str(2**60), str(2**60 + 1))),
        (pd.Series([3, 1], dtype="Int64"), ("1", "3")),
        (["9007199254740993", "9007199254740992"], ("9007199254740992", "9007199254740993")),
    ],
    ids=str,
)
def test_numbers_are_in_the_order_of_numbers(values, names):
    found = number_labels("action", values)
    assert found.names == names and not found.is_sorted_text
    if not isinstance(values[0], (str, bool)):
        assert [float(names[k]) for k in found.numbers] == list(map(float, values))


def test_texts_that_look_alike_differ():
    for texts in (["1_0", "10", "2"], ["01", "1"], ["a", "A", "a "], ["1.0", "1"]):
        assert len(number_labels("label", texts).names) == len(texts)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, "?", "NA", "NaN", "nan", "N/A", "null", ""])
def test_missing_entries_are_refused_by_row(missing):
    for values in (["b", "a", missing], pd.Series(["b", "a", missing], dtype=object)):
        with pytest.raises(InputError, match=r"action must have no missing entries, but row 2 \(from 0\) is"):
            number_labels("action", values)


@pytest.mark.parametrize(
    ("values", "names", "message"),
    [
        (np.ma.masked_array([1, 2, 3], [False, True, False]), None, r"but row 1 \(from 0\) is masked"),
        ([1.0, np.nan], None, r"but row 1 \(from 0\) is NaN"),
        (pd.Series([1, None], dtype="Int64"), None, r"but row 1 \(from 0\) is (<NA>|NaN)"),
        (pl.Series(["a", None]), None, r"but row 1 \(from 0\) is None"),
        ([2.0**60, 1.0], None, r"1152921504606846976 in row 0 \(from 0\) is a float, .* read ids as integers or text"),
        (
            np.array(["2026-11-26"], "M8[D]"),
            None,
            "a list of names or whole numbers, one for each row, got an array of datetime64",
        ),
        ([["a"], ["b"]], None, r"a list of names or whole numbers, one for each row, got shape \(2, 1\)"),
        (pd.Series(["a", 1], dtype=object), None, r"all of the same kind, but row 1 \(from 0\) holds 1"),
        ([object()], None, r"all of the same kind, but row 0 \(from 0\) holds <object"),
        ([1j], None, "a list of names or whole numbers, one for each row, got an array of complex128"),
        (["a", "c"], ["a", "b"], r"action: 'c' in row 1 \(from 0\) is not one of the names a, b"),
        (["a"], ["a", "a"], "names must not repeat, but 'a' occurs 2 times"),
        (["a"], "a", "names must be a list, got 'a'"),
        (["a"], [], "names must be"),
    ],
)
def test_refused(values, names, message):
    with pytest.raises(InputError, match=message) as said, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        number_labels("action", values, names)
    assert "\n" not in str(said.value)


def test_a_word_for_missing_may_be_a_name():
    assert number_labels("country", ["NA", "DE"], ["DE", "NA"]).numbers.tolist() == [1, 0]
