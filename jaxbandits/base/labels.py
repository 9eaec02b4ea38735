"""Numbering of labels, such as the actions of a log, the classes of a table or the groups of a data set.

    number_labels("action", ["b", "a", "b"], names=["a", "b", "c"]).numbers      array([1, 0, 1])

The number of a label is its position in a list of names. The user gives this list, or it consists of the categories of
a categorical column. Otherwise the list is sorted: numbers, including whole numbers written as text, are sorted by
value, so that 2 comes before 10, and other text alphabetically. If names were sorted alphabetically, `is_sorted_text`
is True, because nobody has chosen their order. It is also True for unordered categories in alphabetical order, which
pandas' astype("category") creates.
"""

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.ranges import check_concrete, is_missing, place

# Missing values in text files.
MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"})
MANY_ROWS = 20  # number of rows from which as many names as half the rows are taken for a mistake
_SHOWN = 4  # largest number of names that a message lists
_LARGEST_FLOAT = 2.0**53  # larger whole numbers share a float with their neighbours


class Labels(NamedTuple):
    """A column of labels as numbers.

    Attributes:
      numbers: `[n]` int32, positions in `names`.
      names: `[K]` distinct names as text; a whole number is written in digits.
      is_sorted_text: True if the names are text in alphabetical order and nobody chose this order.
      is_text: True if the entries are text, even if this text consists of digits.
    """

    numbers: np.ndarray
    names: tuple[str, ...]
    is_sorted_text: bool = False
    is_text: bool = False


def number_labels(
    name: str, values: object, names: Sequence[Any] | None = None, names_argument: str = "names"
) -> Labels:
    """Number the entries of a column, and return them as `Labels`.

    Args:
      name: name of `values` in error messages.
      values: `[n]` text, numbers, bools or categories, in any container that `ranges.floats` accepts.
      names: all names, in the order of their numbers; if None, the categories of a categorical column, or for other
        columns the sorted entries.
      names_argument: name of `names` in error messages.

    Raises:
      InputError: if the values are of another kind, if an entry is missing (or is text such as "?" or "NA" that is not
        among `names`), or if an entry is not among `names`; the message names the row, counted from 0.
    """
    check_concrete(name, values)
    is_chosen = True
    if names is None:
        names = _categories(values)
        is_chosen = names is not None and (_is_ordered(values) or [*map(str, names)] != sorted(map(str, names)))
    given = None if names is None else label_names(names_argument, names)
    texts, is_text = _texts(name, values)
    rows: dict[str, int] = {}  # every entry, with the first row that has it
    numbers = np.fromiter((rows.setdefault(text, len(rows)) for text in texts), np.int32, len(texts))
    absent = [text for text in rows if text in MISSING and is_text and text not in (given or ())]
    if absent:
        row = texts.index(absent[0])
        raise InputError(f"{name} must have no missing entries, but row {row} (from 0) is {absent[0]!r}")
    ordered = given if is_chosen and given is not None else tuple(_in_order(rows if given is None else given, is_text))
    position = {text: k for k, text in enumerate(ordered)}
    unknown = next((text for text in rows if text not in position), None)
    if unknown is not None:
        row = texts.index(unknown)
        raise InputError(
            f"{name}: {unknown!r} in row {row} (from 0) is not one of the {names_argument} {shorten(ordered)}"
        )
    by_number = is_chosen or not is_text or all(map(_is_digits, ordered))
    return Labels(np.array([position[text] for text in rows], np.int32)[numbers], ordered, not by_number, is_text)


def label_names(name: str, names: object) -> tuple[str, ...]:
    """Return a list of names as a tuple of distinct texts; `name` is the name of the argument in error messages.

    Raises:
      InputError: if the argument is not a list, is empty, or contains a name twice.
    """
    if isinstance(names, str):
        raise InputError(f"{name} must be a list, got {format_value(names)}")
    texts = tuple(_texts(name, names)[0])
    twice = next((text for text in texts if texts.count(text) > 1), None)
    if twice is not None:
        raise InputError(f"{name} must not repeat, but {twice!r} occurs {texts.count(twice)} times")
    return texts


def shorten(names: Sequence[str]) -> str:
    """Return text with the first names and the number of names, such as "a, b, c, d, ... (12)"."""
    more = f", ... ({len(names):,})" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def warn_if_distinct(owner: str, rows: str, n_rows: int, what: str, n_names: int) -> None:
    """Warn if the number of different names exceeds half the number of rows, as in a column of ids or measurements.

    Args:
      owner: first words of the warning.
      rows: plural noun for the rows.
      n_rows: number of rows; fewer than `MANY_ROWS` give no warning.
      what: plural noun for the names.
      n_names: number of different names.
    """
    if n_rows >= MANY_ROWS and n_names > n_rows / 2:
        warnings.warn(
            f"{owner}: {n_rows:,} {rows} have {n_names:,} different {what}: check that they are not ids or "
            "measurements",
            stacklevel=5,
        )


def describe_names(plural: str, names: Sequence[str]) -> str:
    """Return text with the number of names, their order and the first names.

    An example is "3 actions in alphabetical order: a, b, c".
    """
    is_sorted = len(names) > 1 and not all(map(_is_digits, names)) and list(names) == sorted(names)
    return f"{len(names):,} {plural}{' in alphabetical order' if is_sorted else ''}: {shorten(names)}"


def names_of_arms(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of arms; () if the names are "0", "1", "2", ..., the default names."""
    return () if list(names) == [str(k) for k in range(len(names))] else tuple(names)


def _categories(values: object) -> Any:
    """Return the categories of a pandas categorical or a polars Enum, in their order; None for other values."""
    dtype: Any = getattr(values, "dtype", None)
    return dtype.categories if type(dtype).__name__ in ("CategoricalDtype", "Enum") else None


def _is_ordered(values: Any) -> bool:
    """Return whether a person chose the order of categories, as in an Enum or an ordered categorical."""
    return bool(getattr(values.dtype, "ordered", True))


def _texts(name: str, values: object) -> tuple[list[str], bool]:
    """Return every entry as text, and whether the entries were text originally."""
    needs = f"{name} must be a list of names or whole numbers, one for each row"
    try:
        array = np.asarray(values)
    except Exception:  # ragged lists; a container of another library may raise anything
        raise InputError(f"{needs}, got {format_value(values)}") from None
    if array.ndim != 1 or not array.size:
        raise InputError(f"{needs}, got " + (f"shape {array.shape}" if array.ndim else format_value(values)))
    if np.ma.is_masked(values):
        raise InputError(f"{name} must have no missing entries, but {place(np.ma.getmaskarray(values))} is masked")
    if array.dtype.kind in "UT":
        return array.tolist(), True
    if array.dtype.kind == "S":
        return [entry.decode("utf-8", "replace") for entry in array.tolist()], True
    if array.dtype.kind in "iub":
        return [str(entry) for entry in array.tolist()], False
    if array.dtype.kind == "f":
        return [_digits_of(name, entry, row) for row, entry in enumerate(array.tolist())], False
    if array.dtype != object:
        raise InputError(f"{needs}, got an array of {array.dtype}")
    return _texts_of_objects(name, needs, array.tolist())


def _texts_of_objects(name: str, needs: str, entries: list[Any]) -> tuple[list[str], bool]:
    """Return the same as `_texts` for an array of Python objects, which must all be of one kind."""
    if all(isinstance(entry, str) for entry in entries):
        return list(map(str, entries)), True
    if all(isinstance(entry, int) for entry in entries):
        return list(map(str, entries)), False
    if all(isinstance(entry, float) for entry in entries):
        return [_digits_of(name, entry, row) for row, entry in enumerate(entries)], False
    row = next((row for row, entry in enumerate(entries) if is_missing(entry)), None)
    if row is not None:
        raise InputError(f"{name} must have no missing entries, but row {row} (from 0) is {format_value(entries[row])}")
    kinds = [next((kind for kind in (str, int, float) if isinstance(entry, kind)), None) for entry in entries]
    odd = next(row for row, kind in enumerate(kinds) if kind is None or kind is not kinds[0])
    raise InputError(f"{needs}, all of the same kind, but row {odd} (from 0) holds {format_value(entries[odd])}")


def _digits_of(name: str, entry: float, row: int) -> str:
    """Write a float as text, without ".0"; floats beyond 2^53 are rejected, since ids may have lost digits."""
    if entry != entry:
        raise InputError(f"{name} must have no missing entries, but row {row} (from 0) is NaN")
    if abs(entry) > _LARGEST_FLOAT:
        raise InputError(
            f"{name}: {entry:.0f} in row {row} (from 0) is a float, and floats are exact only for whole numbers up "
            "to 2^53: read ids as integers or text"
        )
    return str(int(entry)) if entry == int(entry) else repr(entry)


def _in_order(texts: Iterable[str], is_text: bool) -> list[str]:
    """Sort numbers, including numbers that are written as text, by value, and other text alphabetically."""
    if not is_text:
        return sorted(texts, key=lambda text: (text == "True") if text in ("True", "False") else _value(text))
    return sorted(texts, key=lambda text: (int(text), text)) if all(map(_is_digits, texts)) else sorted(texts)


def _value(text: str) -> float | int:
    return int(text) if _is_digits(text) else float(text)


def _is_digits(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 4000  # Python's limit for int()
