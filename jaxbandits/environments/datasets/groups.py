"""Labelled tables whose rows belong to groups, read from data frames, arrays or files (CSV, LIBSVM, npz).

    table = Groups.from_frame(frame, label="defaulted", group="region", features=["income", "age"])
    everything = table.rows()                        row numbers of each group
    split = hold_out(table, per_group=364, seed=0)   rows for training (shuffled), and held-out rows to estimate risks

An invalid file raises an `InputError` that names the file and, for CSV files, the line.
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
    """Table whose rows have features, a label and a group; the arrays are read-only copies of those given.

    Raises:
      InputError: if shapes do not match, an entry is not a finite number, a group number is out of range, a group has
        no rows, or there is only one group.
    """

    features: np.ndarray  # [n, d] float64
    labels: np.ndarray  # [n] float64, as in the source
    group: np.ndarray  # [n] int32, group of each row, from 0
    names: tuple[str, ...]  # [m] names of the groups
    source: str = "user"  # name of the data in figures and reports

    def __post_init__(self) -> None:
        """Check the arrays, and replace them by read-only copies."""
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
            raise InputError(
                f"a table needs at least two groups, got {', '.join(f'only {name!r}' for name in names) or 'none'}"
            )
        sizes = np.bincount(group, minlength=len(names))
        if not sizes.all():
            raise InputError(f"group {names[int(np.argmin(sizes))]!r} has no rows")
        warn_if_distinct("Groups", "rows", len(labels), "groups", len(names))
        if len(labels) >= MANY_ROWS and np.array_equal(np.sort(labels), labels.min() + np.arange(len(labels))):
            what = (
                f"Groups: the {len(labels):,} labels are consecutive whole numbers, each of which occurs once, like "
                "row numbers: check that the label column is right"
            )
            warnings.warn(what, stacklevel=4)
        for name, array in (("features", features), ("labels", labels), ("group", group.astype(np.int32))):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "names", names)

    @classmethod
    def from_arrays(
        cls, features: Any, labels: Any, group: ArrayLike, source: str = "user", groups: Sequence[Any] | None = None
    ) -> "Groups":
        """Return a table that is made from arrays.

        Args:
          features: `[n, d]` numbers.
          labels: `[n]` numbers.
          group: `[n]` group of each row, as a name or a number.
          source: name of the data in figures.
          groups: all groups, in the order of their numbers; by default the categories of a categorical array, otherwise
            the sorted distinct values of `group`.

        Raises:
          InputError: if shapes do not match, an entry is missing, a group has no rows, or there is only one group.
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
        """Return the table of a data frame with one example per row.

        Args:
          frame: a pandas, polars or pyarrow data frame, or a mapping of arrays.
          label: name of the column with the labels, which must be numbers.
          group: name of the column with the groups, as names or whole numbers.
          features: names of the columns with the features, which must be numbers; other columns are not used.
          groups: all groups, in the order of their numbers; None as in `from_arrays`.
          source: name of the data in figures.

        Raises:
          InputError: if a column is unknown, an entry is missing (the message names row and column), or a feature is
            text.
        """
        columns = Columns(frame)
        numbered = columns.labels("group", group, groups, "groups")
        numbers = columns.matrix("features", features), columns.numbers("label", label)
        return cls(*numbers, numbered.numbers, numbered.names, source)

    def __repr__(self) -> str:
        """Return text with the sizes, the names of the groups, and the source."""
        groups = describe_names("groups", self.names)
        sizes = f"{count_of(len(self), 'row')}; {count_of(self.dim, 'feature')}"
        return f"Groups({sizes}; {groups}; source {format_value(self.source)})"

    def __len__(self) -> int:
        """Return n, the number of rows."""
        return len(self.labels)

    @property
    def dim(self) -> int:
        """Number d of features."""
        return self.features.shape[1]

    @property
    def n_groups(self) -> int:
        """Number m of groups."""
        return len(self.names)

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each group, `[m]`."""
        return np.bincount(self.group, minlength=self.n_groups)

    def rows(self) -> tuple[np.ndarray, ...]:
        """Return for each group an array of its row numbers, in ascending order."""
        return tuple(np.split(np.argsort(self.group, kind="stable"), np.cumsum(self.sizes)[:-1]))


class Split(NamedTuple):
    """Row numbers for training and for estimating risks, one array per group."""

    train: tuple[np.ndarray, ...]  # rows for training, in random order
    held_out: tuple[np.ndarray, ...]  # held-out rows, equally many in every group


def hold_out(table: Groups, per_group: int, seed: int = 0) -> Split:
    """Return a random split in which `per_group` rows of every group are held out.

    Raises:
      InputError: if a group has no more than `per_group` rows, or if a number is outside its range.
    """
    if isinstance(per_group, bool) or not isinstance(per_group, (int, np.integer)) or per_group < 1:
        raise InputError(f"per_group must be a whole number of at least 1, got {per_group!r}")
    least = int(np.argmin(table.sizes))
    if table.sizes[least] <= per_group:
        raise InputError(
            f"group {table.names[least]!r} has {table.sizes[least]} rows, so {per_group} cannot be held out"
        )
    rng = np.random.default_rng(ranges.integer("seed", seed, "[0, inf)"))
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
    """Read a CSV file with one example per row: a label, a group, and the features in all other columns.

    For a data frame, use `Groups.from_frame`.

    Args:
      path: path of the file, plain or gzip-compressed (`.gz`); blank lines are skipped.
      label: name or index of the column to predict; negative indices count from the end.
      group: name or index of the column of groups, which may contain text; its distinct cells are the groups.
      delimiter: character that separates cells.
      header: True if the first row contains column names.
      standardise: True to give every feature mean 0 and standard deviation 1 over the file; constant features become 0.
      intercept: True to append a feature that is always 1.

    Raises:
      InputError: if the file cannot be read, rows differ in length, or a cell is not a finite number (the message names
        the file and the line), or if there is only one group.
    """
    roles = {"label": (label, "number"), "group": (group, "text")}
    features, labels, groups = read_examples(path, roles, delimiter, header)
    return Groups.from_arrays(*finish(features, labels, standardise, intercept), groups, str(path))


def load_groups_libsvm(
    path: Path, group: int, n_features: int | None = None, *, standardise: bool = False, intercept: bool = False
) -> Groups:
    """Read a LIBSVM file with lines `label index:value ...`, in which the values at a given index are the groups.

    Args:
      path: path of the file, plain or gzip-compressed (`.gz`).
      group: index, from 1, whose values are the groups (0 in lines without this index); it is not used as a feature.
      n_features: largest possible index; by default the largest index in the file.
      standardise: True to give every feature mean 0 and standard deviation 1 over the file; constant features become 0.
      intercept: True to append a feature that is always 1.

    Raises:
      InputError: if the file cannot be read or a line is malformed (the message names the file), or if there is only
        one group.
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
    """Read a table from three arrays of an npz file, which must not contain Python objects.

    Args:
      path: path of the file.
      features: name of the array of features `[n, d]`.
      labels: name of the array of labels `[n]`.
      group: name of the array of groups `[n]`, as numbers or text.
      standardise: True to give every feature mean 0 and standard deviation 1 over the file; constant features become 0.
      intercept: True to append a feature that is always 1.

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
    """Return `Groups` under its deprecated name `GroupTable`."""
    if name == "GroupTable":
        warnings.warn("GroupTable has been renamed: use jaxbandits.dro.Groups", DeprecationWarning, stacklevel=2)
        return Groups
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
