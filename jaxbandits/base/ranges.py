"""Checks of numbers and flags against declared ranges, for fields and for the arguments of presets and functions.

The argument `name` is the name of the value in error messages, and `allowed` is an interval such as `"[0, inf)"`. A
failed check raises an `InputError` with a message of one line.
"""

import datetime
import decimal
import functools
import numbers as numbers_abc
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.base.errors import InputError, format_value

_EXACT = 2**53  # every whole number below it is exactly a float
BOOL = "True or False"  # the range of a flag


def integer(name: str, value: Any, allowed: str = "[1, inf)") -> int:
    """Check that a value is a whole number in an interval, and return it as an int.

    Raises:
      InputError: if the value is not a whole number in `allowed`. Floats, even 2.0, are not accepted, because they are
        usually mistakes.
    """
    check_concrete(name, value)
    if not is_whole(value) or not _inside(_as_float(int(value)), allowed):
        is_float = isinstance(value, (float, np.floating)) and float(value).is_integer() and abs(value) < _EXACT
        write = f"; write {int(value)}" if is_float and _inside(np.asarray(value, float), allowed) else ""
        raise InputError(f"{name} must be a whole number in {allowed}, got {format_value(value)}{write}")
    return int(value)


def _as_float(value: int) -> np.ndarray:
    """Return a whole number as a float, or infinity beyond the range of floats."""
    try:
        return np.asarray(float(value))
    except OverflowError:
        return np.asarray(np.inf if value > 0 else -np.inf)


def is_whole(value: object) -> bool:
    """Return True if a value is a single number of an integer type; return False for bools and floats such as 2.0."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    dtype = getattr(value, "dtype", None)
    return dtype is not None and np.ndim(value) == 0 and _is_kind(dtype, jnp.integer) and not np.ma.is_masked(value)


def real(name: str, value: Any, allowed: str) -> float:
    """Check that a value is a number in an interval, and return it as a float.

    Raises:
      InputError: if the value is not a single number in `allowed`.
    """
    check_numbers(name, value, allowed)
    if np.ndim(value):
        raise InputError(f"{name} must be one number in {allowed}, got an array of shape {np.shape(value)}")
    return float(value)


def numbers(name: str, value: object, allowed: str) -> Any:
    """Check that a value is a number in an interval, or an array of such numbers, and return it.

    Lists become arrays. Other types of NumPy and JAX than float32 and float64 become float64, since whole numbers would
    wrap around in formulas, and halves overflow: the square of 100,000 is 1,410,065,408 in int32.

    Raises:
      InputError: if an entry is not a number in `allowed`.
    """
    check_numbers(name, value, allowed)
    if isinstance(value, (list, tuple)):
        value = np.asarray(value)
    is_float = getattr(value, "dtype", np.float64) in (np.float32, np.float64)
    return value if is_float else np.asarray(value, float)[()]


def floats(name: str, value: Any, *shapes: str) -> np.ndarray:
    """Return finite numbers or bools from NumPy, JAX, pandas, polars, pyarrow or lists as a new float64 array.

    Text, dates and complex numbers are not accepted, even if NumPy would convert them silently. Neither are missing
    entries: None, NaN, missing values of a nullable type, and masked entries of a masked array.

    Args:
      name: name of the value in error messages.
      value: the numbers.
      *shapes: allowed shapes, such as "(n,)" and "(n, K)", which fix the number of axes; by default any shape.

    Raises:
      InputError: if the value is not accepted; for a bad entry, the message names its row and column (from 0).
    """
    check_concrete(name, value)
    needs = f"{name} must be numbers" + (f" of shape {' or '.join(shapes)}" if shapes else "")
    try:
        array = np.array(value)
    except Exception:  # ragged lists; a container of another library may raise anything
        raise InputError(f"{needs}, got {format_value(value)}") from None
    if array.dtype == object and array.ndim:
        array = _numbers_of_objects(name, needs, array)
    if not (array.dtype.kind == "b" or is_real(array)):
        raise InputError(f"{needs}, got {format_value(value)}{_advice(array.ravel()[:1])}")
    if shapes and (array.ndim not in {len(axes_of(shape)) for shape in shapes} or not array.size):
        raise InputError(f"{name} must have shape {' or '.join(shapes)}, got {array.shape}")
    if np.ma.is_masked(value):
        raise InputError(f"{name} must be finite, but {place(np.ma.getmaskarray(value))} is masked{_FILL}")
    try:
        array = array.astype(np.float64)
    except OverflowError:
        raise InputError(f"{name} must be finite, got a whole number that is too large for a float") from None
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite, but {place(~np.isfinite(array))} is not{_FILL}")
    return array


def round_numbers(name: str, values: np.ndarray) -> np.ndarray:
    """Return numbers of rounds, given as floats, as int32.

    Raises:
      InputError: if a value is not a whole number from 0 to 2^31 - 1.
    """
    is_round = (values >= 0.0) & (values < 2.0**31) & (values == np.floor(values))
    if not is_round.all():
        bad = values[~is_round].flat[0]
        raise InputError(f"{name} must be whole numbers in [0, 2147483647], got {bad:.12g}")
    return values.astype(np.int32)


_ENCODE = ": encode text as numbers, for example one-hot by pandas.get_dummies or polars' to_dummies"
_DATES = (
    ": these are dates; pass the `time` of a log as parsed dates (pandas.to_datetime, polars' str.to_datetime), "
    "and other dates as numbers, such as (d - d.min()).dt.total_seconds()"
)
_DATE = re.compile(r"\s*(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4})(\D|$)")
_FILL = ": fill in missing values or leave out their rows"


def holds_dates(array: np.ndarray) -> bool:
    """Return whether all entries of an array are parsed dates (not dates written as text)."""
    return array.dtype.kind == "M" or all(isinstance(entry, datetime.date) for entry in array.flat)


def _advice(entry: np.ndarray) -> str:
    """Return advice for an array with one entry that is not a number, or no entry; "" if there is no advice."""
    if entry.size and (holds_dates(entry) or (isinstance(entry[0], str) and _DATE.match(entry[0]))):
        return _DATES
    return _ENCODE if entry.size and isinstance(entry[0], (str, bytes)) else ""


def axes_of(shape: str) -> list[str]:
    """Return the names of the axes in a shape such as "(n, K)": here n and K."""
    return [axis for axis in shape.strip("()").split(",") if axis]


def place(bad: np.ndarray) -> str:
    """Return the place of the first True entry of an array as text, such as "row 3, column 1 (from 0)"."""
    row, *more = np.argwhere(np.atleast_1d(bad))[0]
    return f"row {row}" + (f", column {', '.join(map(str, more))}" if more else "") + " (from 0)"


def _numbers_of_objects(name: str, needs: str, array: np.ndarray) -> np.ndarray:
    """Convert an array of Python objects, such as a nullable column of pandas, if all entries are real numbers."""
    bad = np.array([not isinstance(entry, numbers_abc.Real | decimal.Decimal) for entry in array.flat], bool)
    if bad.any():
        first = array.ravel()[np.argmax(bad)]
        where = place(bad.reshape(array.shape))
        if is_missing(first):
            raise InputError(f"{name} must be finite, but {where} is missing{_FILL}")
        raise InputError(f"{needs}, but {where} holds {format_value(first)}{_advice(array.ravel()[[np.argmax(bad)]])}")
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise InputError(f"{name} must be finite, got a whole number that is too large for a float") from None


def is_missing(entry: object) -> bool:
    """Return whether an entry of a column is a missing value: None, NaN, pandas' NA and NaT, a masked constant."""
    if entry is None or entry is np.ma.masked or type(entry).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(entry, numbers_abc.Real) and bool(entry != entry)


def flag(name: str, value: object) -> bool:
    """Check that a value is a bool or a NumPy bool, and return it as a bool.

    Raises:
      InputError: if the value is of another type.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} must be True or False, got {format_value(value)}")
    return bool(value)


def check_flag(name: str, value: object) -> None:
    """Check that a value is a bool or an array of bools; otherwise raise `InputError`."""
    check_concrete(name, value)
    dtype = getattr(value, "dtype", None)  # swept flags are an array
    if not isinstance(value, bool) and (dtype is None or not jnp.issubdtype(dtype, jnp.bool_)):
        raise InputError(f"{name} must be True or False, got {format_value(value)}")


def is_traced(x: object) -> bool:
    """Return True if x is traced by `jit`, `vmap` or `grad`, so that its entries cannot be read."""
    if not isinstance(x, jax.Array):
        return False
    try:
        x.devices()
    except jax.errors.ConcretizationTypeError:
        return True
    return False


def check_concrete(name: str, value: object) -> None:
    """Raise `InputError` if a value is traced by `jit`, `vmap` or `grad`."""
    if any(is_traced(leaf) for leaf in jax.tree.leaves(value)):
        raise InputError(f"{name} is traced by a JAX transformation, but runs need concrete numbers")


def check_numbers(name: str, value: object, allowed: str) -> None:
    """Check that numbers lie in an interval, in their own precision and in the default float precision.

    For example, 1e308 is infinite in float32 and so does not lie in `"(0, inf)"`.

    Raises:
      InputError: if a number does not lie in the interval.
    """
    check_concrete(name, value)
    if not is_real(value):
        raise InputError(f"{name} must be a number in {allowed}, got {format_value(value)}")
    array = np.asarray(value)
    if not array.size:
        raise InputError(f"{name} must be a number in {allowed}, got an empty array")
    check_range(name, array, allowed)
    precision, exact = jnp.result_type(float), array.astype(float)
    with np.errstate(over="ignore"):
        rounded = exact.astype(precision).astype(float)
    bad = ~_inside(rounded, allowed) | (np.isinf(rounded) & np.isfinite(exact))
    if bad.any():
        raise InputError(
            f"{name} must lie in {allowed}, got {array[bad][0]}, which is {rounded[bad][0]} in {precision}"
        )


def check_range(name: str, array: np.ndarray, allowed: str) -> None:
    """Check that all entries of an array lie in an interval; otherwise raise `InputError`."""
    bad = ~_inside(array.astype(float), allowed)
    if bad.any():
        raise InputError(f"{name} must lie in {allowed}, got {array[bad][0]}")


def is_real(value: object) -> bool:
    """Return True for real numbers and arrays of them; False for bools, strings, durations and masked entries."""
    if isinstance(value, (str, bytes)) or np.ma.is_masked(value):
        return False
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        try:
            dtype = np.asarray(value).dtype
        except (ValueError, TypeError):
            return False
    return _is_kind(dtype, jnp.integer) or _is_kind(dtype, jnp.floating)


def _is_kind(dtype: Any, kind: Any) -> bool:
    return bool(jnp.issubdtype(dtype, kind)) and getattr(dtype, "kind", "") != "m"  # NumPy counts durations as integers


def check_interval(name: str, allowed: Any) -> None:
    """Check that the declared range of a field is an interval such as `"[0, inf)"`, `BOOL` or None.

    Raises:
      InputError: if the range is anything else.
    """
    if allowed is None or allowed == BOOL:
        return
    try:
        closed_low, low, high, closed_high = _interval(allowed)
        is_empty = low > high or (low == high and not (closed_low and closed_high))
        is_interval = allowed[0] in "([" and allowed[-1] in ")]" and not is_empty
    except (ValueError, TypeError, IndexError):
        is_interval = False
    if not is_interval:
        raise InputError(f'the range of {name} must be an interval such as "[0, inf)", got {format_value(allowed)}')


@functools.cache
def _interval(text: str) -> tuple[bool, float, float, bool]:
    low, high = text[1:-1].split(",")
    return text[0] == "[", float(low), float(high), text[-1] == "]"


def _inside(values: np.ndarray, text: str) -> np.ndarray:
    closed_low, low, high, closed_high = _interval(text)
    above = values >= low if closed_low else values > low
    below = values <= high if closed_high else values < high
    return above & below  # a NaN is in no interval
