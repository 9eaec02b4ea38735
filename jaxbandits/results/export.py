"""Results for other tools: labelled arrays (xarray), tidy tables (polars, pandas, CSV)."""

import csv
import importlib
import io
import itertools
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandits.core import files
from jaxbandits.core.errors import InputError, shown
from jaxbandits.results.trials import RESERVED, Trials

_INSTALL = {"xarray": "pip install 'jaxbandits[xarray]'", "polars": "pip install 'jaxbandits[frames]'"}
_BESIDE = ("healthy", "outside")  # of every trial, beside its metrics


def dataset(trials: Trials, info: Mapping[str, Any]) -> Any:
    """An `xarray.Dataset` of one label.

    Dimensions are the swept fields where the points are a full grid (so `sel(ridge=0.1)` works), else `point` with the
    fields as coordinates that can be selected by; then `seed`, `round`, and the named axes of a metric.
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

    def unfolded(array: np.ndarray) -> np.ndarray:
        return array[order].reshape(*shape, *array.shape[1:])

    data = {name: ((*dims, "seed"), unfolded(getattr(trials, name))) for name in _BESIDE}
    data |= {
        metric: ((*dims, "seed", "round", *trials.axis_names(metric)), unfolded(values),
                 {"units": trials.units.get(metric, "")})
        for metric, values in trials.values.items()
    }  # fmt: skip
    described = {"spec": json.dumps(trials.spec, default=repr), "info": json.dumps(info, default=repr)}
    made = xarray.Dataset(data, {**coords, "seed": trials.seeds, "round": trials.records}, described)
    for name in () if grid else columns:
        made = made.set_xindex(name)
    return made


def polars(of: Mapping[str, Trials]) -> Any:
    """A tidy `polars.DataFrame`; null where a label has no such field or metric."""
    library = optional("polars")
    return library.concat([library.DataFrame(columns(*item)) for item in of.items()], how="diagonal_relaxed")


def pandas(of: Mapping[str, Trials]) -> Any:
    """The same as a `pandas.DataFrame`."""
    library = optional("pandas")
    return library.concat([library.DataFrame(columns(*item)) for item in of.items()], ignore_index=True)


def write_csv(of: Mapping[str, Trials], path: str | os.PathLike[str]) -> Path:
    """The same as comma-separated text, empty where a label has no such field or metric."""
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        raise InputError(f"a file is named by text or a path, got {shown(path)}")
    tables = [columns(*item) for item in of.items()]
    header = list(dict.fromkeys(name for table in tables for name in table))
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for table in tables:
        n = len(table["label"])
        lists = [table[name].tolist() if name in table else itertools.repeat("", n) for name in header]
        writer.writerows(zip(*lists, strict=True))
    path = Path(path)
    files.make_directory(path.parent)
    files.write_atomically(path, buffer.getvalue().encode())
    return path


def columns(label: str, trials: Trials) -> dict[str, np.ndarray]:
    """Tidy columns of one label: a row per (point, seed, round), a column per entry of a vector metric (`risk[2]`)."""
    shape = (len(trials.points), len(trials.seeds), len(trials.records))
    h, s, m = (axis.ravel() for axis in np.indices(shape))
    found = {"label": np.full(len(h), label)}
    found |= {name: np.asarray([p[field] for p in trials.points])[h] for field, name in _fields(trials).items()}
    found |= {"seed": trials.seeds[s], "round": trials.records[m]}
    found |= {name: getattr(trials, name)[h, s] for name in _BESIDE}
    for metric in trials.metrics:
        for entry, values in trials.entries(metric, {}):
            found[metric + (f"[{','.join(map(str, entry.values()))}]" if entry else "")] = values.ravel()
    return found


def optional(package: str) -> Any:
    """A package that is not a dependency.

    Raises:
      InputError: saying how to install it.
    """
    try:
        return importlib.import_module(package)
    except ImportError:
        how = _INSTALL.get(package, f"pip install {package}")
        raise InputError(f"this needs {package}: {how}") from None


def _fields(trials: Trials) -> dict[str, str]:
    """Swept fields and the names of their columns: told apart from metrics and axes of the same name."""
    taken = {
        *RESERVED,
        *_BESIDE,
        *trials.values,
        *(axis for metric in trials.values for axis in trials.axis_names(metric)),
    }
    return {field: f"{field} (field)" if field in taken else field for field in trials.points[0]}
