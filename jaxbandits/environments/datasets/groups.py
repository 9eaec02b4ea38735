"""Labelled tables whose rows belong to groups, from data frames, arrays or files (CSV, LIBSVM, npz).

    table = Groups.from_frame(frame, label="defaulted", group="region", features=["income", "age"])
    everything = table.rows()                        one array of row numbers per group: draw from them with replacement
    split = hold_out(table, per_group=364, seed=0)   rows to visit once, shuffled, and held-out rows for the risks

An invalid file raises an `InputError` that names the file and, for text files, the line.
"""

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandits.base import ranges
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.frames import Columns
from jaxbandits.base.labels import MANY_ROWS, describe_names, number_labels, warn_if_distinct
from jaxbandits.base.pytree import ArrayLike
from jaxbandits.base.text import count_of
from jaxbandits.environments.datasets.files import Path, read_examples
from jaxbandits.environments.datasets.streams import finish, load_libsvm, read_npz


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Groups:
    """Rows with a label and a group; its arrays are read-only copies.

    Raises:
      InputError: if shapes do not match, an entry is not a finite number, a group number is out of range, or a group
        has no rows.
    """

    features: np.ndarray  # [n, d] float64
    labels: np.ndarray  # [n] float64, as in the source
    group: np.ndarray  # [n] int32, from 0
    names: tuple[str, ...]  # [m] names of the groups
    source: str = "user"  # name of the data; figures and reports show it

    def __post_init__(self) -> None:
        """Copy, check, and make read-only."""
        features = ranges.floats("features", self.features, "(n, d)")
        labels = ranges.floats("labels", self.labels, "(n,)")
        group, names = np.array(self.group), tuple(self.names)
        shapes = features.shape, labels.shape, group.shape
        if labels.shape != features.shape[:1] or group.shape != labels.shape:
            raise InputError(
                f"features, labels and group must have shapes (n, d), (n,), (n,) with n, d >= 1, got {shapes}"
            )
        if group.dtype.kind not in "iu" or group.min() < 0 or group.max() >= len(names):
            raise InputError(f"group must hold whole numbers from 0 to {len(names) - 1}, one per row")
        if len(names) < 2:
            raise InputError(f"a table needs two groups or more, got {', '.join(names) or 'none'}")
        sizes = np.bincount(group, minlength=len(names))
        if not sizes.all():
            raise InputError(f"group {names[int(np.argmin(sizes))]!r} has no rows")
        warn_if_distinct("Groups", "rows", len(labels), "groups", len(names))
        if len(labels) >= MANY_ROWS and np.array_equal(np.sort(labels), labels.min() + np.arange(len(labels))):
            what = f"Groups: the {len(labels):,} labels are consecutive whole numbers, each once, as row numbers are"
            warnings.warn(what, stacklevel=4)
        for name, array in (("features", features), ("labels", labels), ("group", group.astype(np.int32))):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "names", names)

    @classmethod
    def from_arrays(
        cls, features: Any, labels: Any, group: ArrayLike, source: str = "user", groups: Sequence[Any] | None = None
    ) -> "Groups":
        """Build a table from arrays.

        Args:
          features: `[n, d]` numbers.
          labels: `[n]` numbers.
          group: `[n]` names or numbers of the groups.
          source: name of the data, which figures show.
          groups: all names, in order; None: the categories of a categorical array, otherwise the sorted distinct
            values.

        Raises:
          InputError: if shapes do not match, an entry is missing, or a group has no rows.
        """
        numbered = number_labels("group", group, groups, "groups")
        return cls(features, labels, numbered.numbers, numbered.names, source)

    @classmethod
    def from_frame(
        cls,
        frame: object,
        *,
        label: str,
        group: str,
        features: Sequence[str],
        groups: Sequence[Any] | None = None,
        source: str = "user",
    ) -> "Groups":
        """Build a table from a data frame with one example per row.

        Args:
          frame: a frame of pandas, polars or pyarrow, or a mapping of arrays.
          label: column of the labels, which must be numbers.
          group: column of the groups, names or whole numbers.
          features: columns of numbers; no other column is used.
          groups: all groups, in order; None: as in `from_arrays`.
          source: name of the data, which figures show.

        Raises:
          InputError: if a column is unknown, an entry is missing (the message names row and column), or a feature is
            text.
        """
        columns = Columns(frame)
        numbered = columns.labels("group", group, groups, "groups")
        numbers = columns.matrix("features", features), columns.numbers("label", label)
        return cls(*numbers, numbered.numbers, numbered.names, source)

    def __repr__(self) -> str:
        """Return sizes, the groups in their order, and the source."""
        groups = describe_names("groups", self.names)
        sizes = f"{count_of(len(self), 'row')}; {count_of(self.dim, 'feature')}"
        return f"Groups({sizes}; {groups}; source {format_value(self.source)})"

    def __len__(self) -> int:
        """Return n, the number of rows."""
        return len(self.labels)

    @property
    def dim(self) -> int:
        """d, the number of features."""
        return self.features.shape[1]

    @property
    def n_groups(self) -> int:
        """m, the number of groups."""
        return len(self.names)

    @property
    def sizes(self) -> np.ndarray:
        """`[m]` rows of each group."""
        return np.bincount(self.group, minlength=self.n_groups)

    def rows(self) -> tuple[np.ndarray, ...]:
        """Return the row numbers of each group, ascending."""
        return tuple(np.split(np.argsort(self.group, kind="stable"), np.cumsum(self.sizes)[:-1]))


class Split(NamedTuple):
    """Row numbers, one array per group."""

    train: tuple[np.ndarray, ...]  # in random order; each row is visited once
    held_out: tuple[np.ndarray, ...]  # the same number from every group


def hold_out(table: Groups, per_group: int, seed: int = 0) -> Split:
    """Set `per_group` random rows of every group aside.

    Raises:
      InputError: if a group has no more than `per_group` rows.
    """
    if isinstance(per_group, bool) or not isinstance(per_group, (int, np.integer)) or per_group < 1:
        raise InputError(f"per_group must be a whole number of at least 1, got {per_group!r}")
    least = int(np.argmin(table.sizes))
    if table.sizes[least] <= per_group:
        raise InputError(f"group {table.names[least]!r} has {table.sizes[least]} rows: cannot hold out {per_group}")
    rng = np.random.default_rng(seed)
    shuffled = [rng.permutation(rows) for rows in table.rows()]
    return Split(tuple(rows[per_group:] for rows in shuffled), tuple(np.sort(rows[:per_group]) for rows in shuffled))


def load_groups_csv(
    path: Path,
    label: str | int,
    group: str | int,
    *,
    delimiter: str = ",",
    header: bool = True,
    standardise: bool = False,
    intercept: bool = False,
) -> Groups:
    """Read a table with one example per row; every column other than label and group is a feature.

    `Groups.from_frame` takes a data frame instead.

    Args:
      path: the file, plain or gzip-compressed (`.gz`); blank lines are skipped.
      label: name or index of the column to predict; negative indices count from the end.
      group: name or index of the column of groups, which may hold text; its distinct cells are the groups.
      delimiter: the character that separates cells.
      header: whether the first row holds column names.
      standardise: give every feature mean 0 and standard deviation 1 over the file (constant ones become 0).
      intercept: append a feature that is always 1.

    Raises:
      InputError: if the file cannot be read, rows differ in length, a cell is not a finite number, or a group is empty;
        the message names the file and the line.
    """
    roles = {"label": (label, "number"), "group": (group, "text")}
    features, labels, groups = read_examples(path, roles, delimiter, header)
    return Groups.from_arrays(*finish(features, labels, standardise, intercept), groups, str(path))


def load_groups_libsvm(
    path: Path, group: int, n_features: int | None = None, *, standardise: bool = False, intercept: bool = False
) -> Groups:
    """Read lines `label index:value ...` (LIBSVM, indices from 1); the values at one index are the groups.

    Args:
      path: the file, plain or gzip-compressed (`.gz`).
      group: the index, from 1, whose values are the groups (0 if absent from a line); it is not used as a feature.
      n_features: the largest index; None: the largest in the file.
      standardise: give every feature mean 0 and standard deviation 1 over the file (constant ones become 0).
      intercept: append a feature that is always 1.

    Raises:
      InputError: if the file cannot be read or a line is malformed; the message names the file and the line.
    """
    features, labels = load_libsvm(path, n_features)
    width = features.shape[1]
    if isinstance(group, bool) or not isinstance(group, (int, np.integer)) or not 1 <= group <= width:
        raise InputError(f"group must be an index from 1 to {width} of {path}, got {group!r}")
    if width == 1:
        raise InputError(f"{path} has no feature besides the group")
    finished = finish(np.delete(features, group - 1, axis=1), labels, standardise, intercept)
    return Groups.from_arrays(*finished, features[:, group - 1], str(path))


def load_groups_npz(
    path: Path,
    *,
    features: str = "features",
    labels: str = "labels",
    group: str = "group",
    standardise: bool = False,
    intercept: bool = False,
) -> Groups:
    """Read three arrays of an npz file: features `[n, d]`, labels `[n]`, group `[n]` (numbers or text; no objects).

    Args:
      path: the file.
      features: name of the array of features.
      labels: name of the array of labels.
      group: name of the array of groups.
      standardise: give every feature mean 0 and standard deviation 1 over the file (constant ones become 0).
      intercept: append a feature that is always 1.

    Raises:
      InputError: if the file is damaged, or an array is missing or malformed; the message names the file.
    """
    arrays = read_npz(path, (features, labels, group))
    try:
        table = Groups.from_arrays(*arrays, source=str(path))
        made, kept = finish(table.features, table.labels, standardise, intercept)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return dataclasses.replace(table, features=made, labels=kept)


def __getattr__(name: str) -> Any:
    """Return `Groups` for its deprecated name `GroupTable`."""
    if name == "GroupTable":
        warnings.warn("GroupTable is renamed: use jaxbandits.dro.Groups", DeprecationWarning, stacklevel=2)
        return Groups
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
