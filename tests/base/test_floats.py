"""The one door for arrays of numbers: what every library holds, and what none of the doors of the package lets in."""

import decimal

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from jaxbandits import InputError
from jaxbandits.armed import BernoulliArms, SwitchingArms
from jaxbandits.base import ranges
from jaxbandits.data import Log, LoggedReplay, RecordedTrace, TableBandit, evaluate
from jaxbandits.dro import Groups
from jaxbandits.linear import HeavyTailed
from jaxbandits.oco import DataStream

GOOD = [0.5, 1.0, 0.0]


@pytest.mark.parametrize(
    "value",
    [
        GOOD, tuple(GOOD), np.array(GOOD), np.array(GOOD, object), jnp.array(GOOD, jnp.bfloat16),
        np.ma.masked_array(GOOD, mask=False), pd.Series(GOOD), pd.Series(GOOD, dtype="Float64"), pd.Categorical(GOOD),
        pl.Series(GOOD), pl.Series(GOOD).cast(pl.Decimal(10, 2)), pa.array(GOOD), pa.chunked_array([GOOD]),
        [decimal.Decimal("0.5"), 1, False],
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_numbers_of_every_library_are_taken(value):
    found = ranges.floats("x", value, "(n,)")
    assert found.dtype == np.float64 and found.tolist() == GOOD
    found[0] = 7.0
    assert np.asarray(value, dtype=object)[0] == 0.5  # a copy


@pytest.mark.parametrize(
    "value",
    [
        np.int32(50000), np.array([50000], np.uint16), jnp.array([50000], jnp.int32), [50000], np.float16(50000.0),
        pd.Series([50000], dtype="int32"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_squares_of_whole_numbers_and_halves_do_not_wrap_around(value):
    assert np.square(ranges.numbers("x", value, "[1, 1e9]")) == pytest.approx(2.5e9, rel=1e-3)


def test_numbers_keep_the_float_types_of_jax():
    assert ranges.numbers("x", 3, "[1, 1e9]") == 3
    for value in (np.float32(0.5), np.array([0.5]), jnp.array([0.5], jnp.float32)):
        assert ranges.numbers("x", value, "[0, 1]") is value


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_frames_are_matrices(frame):
    made = frame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    np.testing.assert_array_equal(ranges.floats("x", made, "(n, p)"), [[1.0, 3.0], [2.0, 4.0]])


BAD = {
    "masked": np.ma.masked_array([0.5, -9999.0], [False, True]),
    "none": [0.5, None],
    "nan": [0.5, np.nan],
    "nullable": pd.Series([0.5, None], dtype="Float64"),
    "null": pl.Series([0.5, None]),
    "text": ["0.5", "1.0"],
    "texts of pandas": pd.Series(["0.5", "1.0"]),
    "string dtype": np.array(["0.5", "1.0"], np.dtypes.StringDType()),
    "categories": pd.Categorical(["low", "high"]),
    "dates": pd.Series(pd.to_datetime(["2026-11-25", "2026-11-26"])),
    "durations": np.array([1, 2], "m8[s]"),
    "complex": [0.5, 1j],
    "inf": [0.5, np.inf],
}
PROPENSITY, POLICY, ACTION = [0.5, 0.5], [[0.5, 0.5]] * 2, [0, 1]

DOORS = {  # each takes two numbers
    "evaluate": lambda x: evaluate(ACTION, x, PROPENSITY, POLICY),
    "evaluate, propensity": lambda x: evaluate(ACTION, [1.0, 0.0], x, POLICY),
    "evaluate, policy": lambda x: evaluate(ACTION, [1.0, 0.0], PROPENSITY, x),
    "Log": lambda x: Log.from_arrays(ACTION, x),
    "Log.from_frame": lambda x: Log.from_frame({"a": ACTION, "r": x}, action="a", reward="r"),
    "Log.from_frame, context": lambda x: Log.from_frame({"a": ACTION, "x": x}, action="a", reward="a", context=["x"]),
    "LoggedReplay": lambda x: LoggedReplay.from_log(ACTION, x, 2),
    "TableBandit.from_frame": lambda x: TableBandit.from_frame({"x": x, "y": ACTION}, label="y", features=["x"]),
    "RecordedTrace": lambda x: RecordedTrace.from_arrays(np.eye(2), x),
    "BernoulliArms": BernoulliArms.from_means,
    "SwitchingArms": lambda x: SwitchingArms.from_phases([[0.5, 0.1], [0.1, 0.5]], x),
    "HeavyTailed": lambda x: HeavyTailed.from_arms(np.eye(2), x),
    "DataStream": lambda x: DataStream.from_arrays(np.eye(2), x),
    "DataStream.from_frame": lambda x: DataStream.from_frame({"x": ACTION, "y": x}, target="y", features=["x"]),
    "Groups": lambda x: Groups.from_arrays(np.eye(2), x, ["a", "b"]),
    "Groups.from_frame": lambda x: Groups.from_frame({"x": x, "g": ACTION}, label="g", group="g", features=["x"]),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("door", DOORS)
def test_no_door_takes_what_is_no_number(door, bad):
    """Refused in one line, alike everywhere; no filler of a masked array, no date as nanoseconds, no text as number."""
    with pytest.raises(InputError) as said:
        DOORS[door](BAD[bad])
    text = str(said.value)
    assert "\n" not in text and len(text) < 300


@pytest.mark.parametrize("bad", ["masked", "none", "nan", "nullable", "null", "inf"])
def test_a_missing_number_is_named_by_row_and_column(bad):
    with pytest.raises(InputError, match=r"paid must be finite, but row 1 \(from 0\) is"):
        ranges.floats("paid", BAD[bad], "(n,)")
    matrix = np.column_stack([[0.0, 0.0], np.ma.filled(np.ma.asarray(np.array([0.5, np.nan])), np.nan)])
    with pytest.raises(InputError, match=r"context must be finite, but row 1, column 1 \(from 0\) is not"):
        ranges.floats("context", matrix, "(n, p)")
