"""Conversion of results for other tools: labelled arrays (xarray) and tidy tables (polars, pandas, CSV)."""

import csv
import importlib
import io
import itertools
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxbandits.analysis.summary import Row
from jaxbandits.analysis.trials import RESERVED, Trials
from jaxbandits.base import files
from jaxbandits.base.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame as PandasFrame
    from polars import DataFrame as PolarsFrame
    from xarray import Dataset

_INSTALL = {
    "xarray": "pip install 'jaxbandits[xarray]'",
    "h5netcdf": "pip install 'jaxbandits[xarray]'",
    "polars": "pip install 'jaxbandits[frames]'",
}
_BEGINS_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_BESIDE = ("healthy", "inadmissible")  # columns of every trial in addition to its metrics


def dataset(trials: Trials, info: Mapping[str, Any]) -> "Dataset":
    """Return an `xarray.Dataset` of one label.

    The first dimensions are the swept fields if the points form a full grid (so that `sel(ridge=0.1)` works); otherwise
    the first dimension is `point`, with the fields as coordinates. The dimensions `seed`, `round` and the named axes of
    a metric follow.
    """
    xarray = optional("xarray")
    names = _fields(trials)
    columns = {name: [point[field] for point in trials.points] for field, name in names.items()}
    unique = {name: list(dict.fromkeys(values)) for name, values in columns.items()}
    cells = list(zip(*columns.values(), strict=True)) or [()]
    grid = math.prod(map(len, unique.values())) == len(cells) == len(set(cells))
    if grid:
        position = {cell: h for h, cell in enumerate(cells)}
        order = [position[cell] for cell in itertools.product(*unique.values())]
        shape, dims, coords = tuple(map(len, unique.values())), tuple(unique), dict(unique)
    else:
        order, shape, dims = list(range(len(cells))), (len(cells),), ("point",)
        coords = {name: ("point", values) for name, values in columns.items()}

    def unfold(array: np.ndarray) -> np.ndarray:
        return array[order].reshape(*shape, *array.shape[1:])

    data = {name: ((*dims, "seed"), unfold(getattr(trials, name))) for name in _BESIDE}
    data |= {
        metric: (
            (*dims, "seed", "round", *trials.axis_names(metric)),
            unfold(values),
            {"units": trials.units.get(metric, "")},
        )
        for metric, values in trials.values.items()
    }
    described = {"spec": json.dumps(trials.spec, default=repr), "info": json.dumps(info, default=repr)}
    made = xarray.Dataset(data, {**coords, "seed": trials.seeds, "round": trials.record_points}, described)
    for name in () if grid else columns:
        made = made.set_xindex(name)
    return made


def polars(of: Mapping[str, Trials]) -> "PolarsFrame":
    """Return labels and their trials as a tidy `polars.DataFrame`; fields and metrics that a label lacks are null."""
    library = optional("polars")
    return library.concat([library.DataFrame(columns(*item)) for item in of.items()], how="diagonal_relaxed")


def pandas(of: Mapping[str, Trials]) -> "PandasFrame":
    """Return labels and their trials as a tidy `pandas.DataFrame`; fields and metrics that a label lacks are NaN."""
    library = optional("pandas")
    return library.concat([library.DataFrame(columns(*item)) for item in of.items()], ignore_index=True)


def write_csv(of: Mapping[str, Trials], path: str | os.PathLike[str]) -> Path:
    """Write the tidy table of labels and their trials as comma-separated text, and return the path.

    Fields and metrics that a label lacks are empty.
    """
    path = files.path_of(path)
    tables = [columns(*item) for item in of.items()]
    header = list(dict.fromkeys(name for table in tables for name in table))
    text = [csv_text([header])]
    for table in tables:
        n = len(table["label"])
        lists = [table[name].tolist() if name in table else itertools.repeat("", n) for name in header]
        text.append(csv_text(zip(*lists, strict=True)))
    files.make_directory(path.parent)
    files.write_atomically(path, "".join(text).encode())
    return path


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as comma-separated text, with an apostrophe before text that a spreadsheet would run as a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows(
        [f"'{x}" if isinstance(x, str) and x.startswith(_BEGINS_FORMULAS) else x for x in row] for row in rows
    )
    return buffer.getvalue()


def summary(rows: Sequence[Row]) -> "PolarsFrame":
    """Return a `polars.DataFrame` of summary rows, in which swept fields and indices of vector metrics are columns."""
    library = optional("polars")
    flat = []
    for row in rows:
        numbers = row._asdict()
        label, point, entry = (numbers.pop(name) for name in ("label", "point", "entry"))
        taken = {"label", *numbers}
        fields = {name + " (field)" * (name in taken or name in entry): value for name, value in point.items()}
        fields |= {name + " (field)" * (name in taken): index for name, index in entry.items()}
        flat.append({"label": label} | fields | numbers)
    return library.concat([library.DataFrame([row]) for row in flat], how="diagonal_relaxed")


def write_parquet(of: Iterable[tuple[str, Trials]], path: str | os.PathLike[str]) -> Path:
    """Write the tidy table of labels and their trials as a parquet file, and return the path."""
    path, buffer, library = files.path_of(path), io.BytesIO(), optional("polars")
    frames = [library.DataFrame(columns(*item)) for item in of]
    library.concat(frames, how="diagonal_relaxed").write_parquet(buffer)
    files.make_directory(path.parent)
    files.write_atomically(path, buffer.getvalue())
    return path


def write_netcdf(datasets: "Mapping[str, Dataset]", path: str | os.PathLike[str]) -> Path:
    """Write datasets as one NetCDF file with a group for each label, whose attribute `label` is the full label.

    In names of groups and variables, "/" becomes "-", because NetCDF uses "/" for nesting; duplicate names are
    numbered. The file is built in memory, because the HDF5 library crashes the process if a disk is full.
    """
    path = files.path_of(path)
    library, buffer = optional("h5netcdf"), io.BytesIO()
    files.make_directory(path.parent)
    groups = _plain_names(datasets)
    with library.File(buffer, "w") as file:
        for label, data in datasets.items():
            store = importlib.import_module("xarray").backends.H5NetCDFStore(file, group=groups[label], mode="a")
            plain = _changes(_plain_names(map(str, {**data.variables, **data.sizes})))
            data.assign_attrs(label=label).rename(plain).dump_to_store(store)
    files.write_atomically(path, buffer.getvalue())
    return path


def _changes(names: Mapping[str, str]) -> dict[str, str]:
    return {name: plain for name, plain in names.items() if name != plain}


def _plain_names(names: Iterable[str]) -> dict[str, str]:
    """Map names to distinct names that HDF5 allows; allowed names do not change."""
    names = list(names)
    plain = {name: name for name in names if "/" not in name and name.strip(".")}
    for name in names:
        usual = name.replace("/", "-") if name.strip(".") else name.replace(".", "_")
        tries = itertools.chain([usual], (f"{usual} {i}" for i in itertools.count(2)))
        if name not in plain:
            plain[name] = next(attempt for attempt in tries if attempt not in plain.values())
    return plain


def columns(label: str, trials: Trials) -> dict[str, np.ndarray]:
    """Return the columns of a label's tidy table by name; the table has a row for each point, seed and round.

    A vector metric has a column for each entry, such as `risk[2]`; a scalar metric of this name has the column `risk[2]
    (metric)`.
    """
    shape = (len(trials.points), len(trials.seeds), len(trials.record_points))
    h, s, m = (axis.ravel() for axis in np.indices(shape))
    found = {"label": np.full(len(h), label)}
    found |= {name: np.asarray([p[field] for p in trials.points])[h] for field, name in _fields(trials).items()}
    found |= {"seed": trials.seeds[s], "round": trials.record_points[m]}
    found |= {name: getattr(trials, name)[h, s] for name in _BESIDE}
    taken = {_column(metric, entry) for metric in trials.metrics for entry, _ in trials.entries(metric, {}) if entry}
    for metric in trials.metrics:
        for entry, values in trials.entries(metric, {}):
            name = _column(metric, entry)
            found[name if entry or name not in taken else f"{name} (metric)"] = values.ravel()
    return found


def _column(metric: str, entry: Mapping[str, int]) -> str:
    return metric + (f"[{','.join(map(str, entry.values()))}]" if entry else "")


def optional(package: str) -> ModuleType:
    """Import and return a package that is not a required dependency.

    Raises:
      InputError: if the package is missing; the message says how to install it.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        how = _INSTALL.get(package, f"pip install {package}")
        raise InputError(f"this needs {package}: {how}") from None


def _fields(trials: Trials) -> dict[str, str]:
    """Map swept fields to the names of their columns, which differ from the names of metrics and axes."""
    taken = {
        *RESERVED,
        *_BESIDE,
        *trials.values,
        *(axis for metric in trials.values for axis in trials.axis_names(metric)),
    }
    return {field: f"{field} (field)" if field in taken else field for field in trials.points[0]}
