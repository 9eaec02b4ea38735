"""Result files: npz with a JSON header. Nothing is pickled, and everything is validated when it is read."""

import dataclasses
import json
import os
from pathlib import Path
from typing import TypeVar

import numpy as np

from jaxbandits.analysis.info import RunInfo, TimingInfo
from jaxbandits.analysis.labelled import LabelledTrials
from jaxbandits.analysis.trials import Trials
from jaxbandits.base import files
from jaxbandits.base.errors import InputError
from jaxbandits.base.forms import JsonObject

T = TypeVar("T")

_FORMAT = "jaxbandits result 5"
_METHODS = {
    ".csv": "to_csv",
    ".parquet": "to_parquet",
    ".nc": "to_netcdf",
    ".png": "plot(...).figure.savefig",
    ".pdf": "plot(...).figure.savefig",
    ".svg": "plot(...).figure.savefig",
}
_WITHOUT_METHOD = (".json", ".pkl", ".pickle", ".npy", ".txt", ".tsv", ".xlsx", ".h5", ".feather")
_INCREASING = ("seeds", "record_points")
_PER_TRIAL = ("healthy", "inadmissible")
_ARRAYS = (*_INCREASING, *_PER_TRIAL)
_DESCRIBED = ("points", "axes", "units", "timing", "spec", "may_be_missing", "indicators")


def save(result: LabelledTrials, path: str | os.PathLike[str]) -> Path:
    """Write one compressed file, atomically, and return its path, to which `.npz` is appended if it is missing.

    Raises:
      InputError: if the path cannot be written, or has the suffix of another format.
    """
    is_directory = str(path).endswith(("/", os.sep))  # a `Path` has no slash at its end
    path = files.path_of(path)
    if is_directory:
        raise InputError(f"{path}/ names a directory: add the name of a file")
    if (suffix := path.suffix.lower()) in (
        *_METHODS,
        *_WITHOUT_METHOD,
    ):  # others, such as that of gamma0.5, belong to the name
        method = f"; `{_METHODS[suffix]}` writes {suffix} files" if suffix in _METHODS else ""
        raise InputError(f"{path}: `save` writes npz files, which have the suffix .npz or none{method}")
    path = path if path.suffix == ".npz" else files.append_to_name(path, ".npz")
    files.make_directory(path.parent)
    header: JsonObject = {"format": _FORMAT, "info": result.info, "trials": []}
    arrays: dict[str, np.ndarray] = {}
    for i, (label, trials) in enumerate(result.trials.items()):
        described = {name: getattr(trials, name) for name in _DESCRIBED}
        header["trials"].append({"label": label, "metrics": list(trials.values), **described})
        arrays |= {f"{i}:{name}": getattr(trials, name) for name in _ARRAYS}
        arrays |= {f"{i}:values:{j}": values for j, values in enumerate(trials.values.values())}
    text = np.frombuffer(json.dumps(header, default=_jsonable).encode(), np.uint8)
    files.write_npz(path, {"header": text, **arrays}, compress=True)
    return path


def load(path: str | os.PathLike[str]) -> tuple[dict[str, Trials], RunInfo]:
    """Return the trials by label, and the `RunInfo`, from a file that `save` wrote (`.npz` may be omitted).

    Raises:
      InputError: if the file is missing, is damaged or is not a result; the message names the file.
    """
    path = files.path_of(path)
    if path.suffix != ".npz" and not os.path.isfile(path):  # there may be a directory with the name of the file
        named = files.append_to_name(path, ".npz")
        path = named if os.path.exists(named) or not os.path.exists(path) else path
    with files.open_npz(path) as file:
        try:
            header = json.loads(file.read_text("header"))
            found = header["format"]
            if found == _FORMAT:
                trials, info = _outline(header, file), RunInfo(**_of_type(dict, header["info"]))
                return {label: _fill(i, trials[label], file) for i, label in enumerate(trials)}, info
        except (KeyError, ValueError, TypeError, AttributeError, IndexError, RecursionError) as error:
            why = f": {error}" if isinstance(error, InputError) else ""
            raise InputError(f"{path} is damaged or not a jaxbandits result{why}") from None
    raise InputError(f"{path} has format {str(found)[:40]!r}, but this version reads {_FORMAT!r}")


def _outline(header: JsonObject, file: files.NpzFile) -> dict[str, Trials]:
    """Return trials by label with placeholder values that take no memory, to validate the rest before values are read.

    Raises:
      ValueError: if the arrays do not match the header.
    """
    outlines = dict(file.outlines)
    _check_shapes(header, {name: outline.shape for name, outline in outlines.items()})
    found: dict[str, Trials] = {}
    for i, item in enumerate(header["trials"]):
        label, *metrics = (_of_type(str, name) for name in (item["label"], *item["metrics"]))
        if label in found or len(set(metrics)) < len(metrics):
            raise ValueError("a label or a metric twice")
        found[label] = Trials(
            values={name: outlines[f"{i}:values:{j}"] for j, name in enumerate(metrics)},
            points=tuple(_of_type(dict, point) for point in _of_type(list, item["points"])),
            **{name: outlines[f"{i}:{name}"] for name in _PER_TRIAL},
            **{name: file.read_increasing(f"{i}:{name}") for name in _INCREASING},
            axes={name: tuple(axes) for name, axes in item["axes"].items()},
            units=_of_type(dict, item["units"]),
            spec=_of_type(dict, item["spec"]),
            timing=_timing(_of_type(dict, item["timing"])),
            may_be_missing=tuple(_of_type(list, item.get("may_be_missing", []))),
            indicators=tuple(_of_type(list, item.get("indicators", []))),
        )
    return found


def _check_shapes(header: JsonObject, shapes: dict[str, tuple[int, ...]]) -> None:
    """Raise `ValueError` if the arrays do not match the header, before anything is read."""
    expected = {"header": shapes["header"]}
    for i, item in enumerate(header["trials"]):
        (seeds,), (records,) = shapes[f"{i}:seeds"], shapes[f"{i}:record_points"]
        n_points = len(item["points"])
        expected |= {f"{i}:seeds": (seeds,), f"{i}:record_points": (records,)}
        expected |= {f"{i}:{name}": (n_points, seeds) for name in _PER_TRIAL}
        for j in range(len(item["metrics"])):
            values = shapes[f"{i}:values:{j}"]
            expected[f"{i}:values:{j}"] = (n_points, seeds, records, *values[3:])
    if expected != shapes:
        raise ValueError("arrays whose shapes differ from those in the header")


def _fill(i: int, outline: Trials, file: files.NpzFile) -> Trials:
    """Return the trials of the i-th label with the values of the file."""
    values = {name: file.read(f"{i}:values:{j}") for j, name in enumerate(outline.values)}
    return dataclasses.replace(outline, values=values, **{name: file.read(f"{i}:{name}") for name in _PER_TRIAL})


def _timing(costs: JsonObject) -> TimingInfo:
    numbers = [costs.get(name, 0) for name in ("compile_s", "run_s", "rounds")]
    for number in (*numbers, *_of_type(list, costs.get("ns_per_round", []))):
        _of_type((int, float), number)
    return TimingInfo(**costs)


def _of_type(kind: type[T] | tuple[type[T], ...], value: object) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"unexpected {type(value).__name__}")
    return value


def _jsonable(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return repr(value)
