"""Result files: everything comes back; whatever is wrong with a file is one line that names it."""

import hashlib
import json
import zipfile

import numpy as np
import pytest

from jaxbandits.base import files
from jaxbandits.base.errors import InputError
from jaxbandits.results.result import Result
from tests.results import factories


def _same(a, b):
    if a.labels != b.labels or a.info != b.info:
        return False
    for label in a:
        one, other = a[label], b[label]
        if any(getattr(one, name) != getattr(other, name) for name in ("points", "axes", "units", "timing", "spec")):
            return False
        arrays = [
            {**t.values, **{k: getattr(t, k) for k in ("seeds", "record_points", "healthy", "inadmissible")}}
            for t in (one, other)
        ]
        if list(arrays[0]) != list(arrays[1]):
            return False
        for x, y in zip(arrays[0].values(), arrays[1].values(), strict=True):
            if x.dtype != y.dtype or x.shape != y.shape or x.tobytes() != y.tobytes():
                return False
    return True


def test_save_and_load_keep_everything(tmp_path):
    result = factories.result()
    result["swept"].values["loss"][0, 0, 0] = np.nan
    path = result.save(tmp_path / "deep" / "run")
    assert path.name == "run.npz" and not list(tmp_path.rglob("*.tmp"))
    for name in (path, str(path), path.with_suffix("")):
        assert _same(Result.load(name), result)
    path.with_suffix("").mkdir()  # a sweep may have a directory of this name
    assert _same(Result.load(path.with_suffix("")), result)


def test_a_file_of_another_format_is_refused_with_the_method_that_writes_it(tmp_path):
    result = factories.result()
    for name, message in (
        ("a.csv", r"a.csv: `save` writes npz files, .*; `to_csv` writes .csv files$"),
        ("a.CSV", "`to_csv` writes .csv files$"),
        ("a.nc", "`to_netcdf` writes .nc files$"),
        ("a.json", "have the suffix .npz or none$"),
    ):
        with pytest.raises(InputError, match=message):
            result.save(tmp_path / name)
    assert result.save(tmp_path / "gamma0.5").name == "gamma0.5.npz"  # .5 is no format
    assert [path.name for path in tmp_path.iterdir()] == ["gamma0.5.npz"]


def test_labels_metrics_and_fields_of_any_spelling_survive(tmp_path):
    trials = factories.trials({"a/b:c": np.ones((1, 2, 3)), "ü ": np.zeros((1, 2, 3))}, [{"environment.noise.df": 2.5}])
    result = Result({"../x": trials, "0:seeds": trials, "": trials})
    assert _same(Result.load(result.save(tmp_path / "r")), result)


def test_numbers_of_numpy_in_the_header(tmp_path):
    trials = factories.trials({"a": np.ones((1, 2, 3))}, [{"rate": np.float32(0.5)}], spec={"at": np.arange(3)})
    loaded = Result.load(Result({"x": trials}, {"devices": np.int64(2)}).save(tmp_path / "r"))
    assert loaded["x"].points == ({"rate": 0.5},) and loaded["x"].spec == {"at": [0, 1, 2]}
    assert loaded.info == {"devices": 2}


def test_a_flipped_bit_is_an_error_or_changes_nothing(tmp_path, rng):
    """Single bytes at 400 places of a small file: refused by one line, or the content is exactly what it was."""
    result = factories.result()
    path = result.save(tmp_path / "r.npz")
    intact = path.read_bytes()
    refused = 0
    for place in rng.choice(len(intact), 400, replace=len(intact) < 400):
        damaged = bytearray(intact)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            assert _same(Result.load(path), result), f"byte {place} changed the content unnoticed"
        except InputError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
    assert refused > 200


def test_a_truncated_file_is_refused(tmp_path, rng):
    path = factories.result().save(tmp_path / "r.npz")
    intact = path.read_bytes()
    for length in (0, 1, 100, *rng.integers(2, len(intact), 40), len(intact) - 1):
        path.write_bytes(intact[:length])
        with pytest.raises(InputError, match=r"r\.npz") as error:
            Result.load(path)
        assert "\n" not in str(error.value)


def _rewritten(path, change):
    """Writes a result's arrays again, changed, with checksums that fit."""
    arrays = files.read_npz(path)
    header = json.loads(arrays["header"].tobytes())
    arrays = change(header, arrays)
    files.write_npz(path, arrays | {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)})


def _with(name, array):
    return lambda header, arrays: arrays | {name: array}


def _header(act):
    def change(header, arrays):
        act(header)
        return arrays

    return change


@pytest.mark.parametrize(
    "change",
    [
        _with("0:seeds", np.arange(5)),
        _with("0:seeds", np.array(["a"] * 6)),
        _with("0:record_points", np.zeros((2, 2), np.int64)),
        _with("0:healthy", np.array([["yes"] * 6] * 3)),
        _with("0:values:0", np.array([["x"]])),
        _with("0:values:0", np.zeros((3, 6, 4), complex)),
        _with("0:values:0", np.zeros(())),
        lambda header, arrays: {name: array for name, array in arrays.items() if name != "1:values:1"},
        _header(lambda h: h.pop("info")),
        _header(lambda h: h.update(trials=3)),
        _header(lambda h: h.update(trials=[[]])),
        _header(lambda h: h.update(info=[])),
        _header(lambda h: h["trials"][0].update(points={})),
        _header(lambda h: h["trials"][0].update(points=[])),
        _header(lambda h: h["trials"][0].update(points=["rate"] * 3)),
        _header(lambda h: h["trials"][0].update(metrics=["loss"] * 9)),
        _header(lambda h: h["trials"][0].update(metrics=[1, 2])),
        _header(lambda h: h["trials"][0].update(label=None)),
        _header(lambda h: h["trials"][0].update(axes=[1])),
        _header(lambda h: h["trials"][1].update(axes={"risk": ["seed"]})),
        _header(lambda h: h["trials"][0].update(timing=None)),
    ],
)
def test_content_that_does_not_fit_is_one_line(tmp_path, change):
    path = factories.result().save(tmp_path / "r.npz")
    _rewritten(path, change)
    with pytest.raises(InputError, match="damaged or not a jaxbandits result") as error:
        Result.load(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_other_files_are_one_line(tmp_path):
    path = factories.result().save(tmp_path / "r.npz")
    _rewritten(path, _header(lambda h: h.update(format="jaxbandits result 4")))
    with pytest.raises(
        InputError, match="has format 'jaxbandits result 4', but this version reads 'jaxbandits result 5'"
    ):
        Result.load(path)
    for header in (b"", b"\xff\xfe", b"[" * 100_000, b"3", b"{}"):
        files.write_npz(path, {"header": np.frombuffer(header, np.uint8)})
        with pytest.raises(InputError, match="damaged or not a jaxbandits result"):
            Result.load(path)
    np.savez(path, header=np.array([{"format": 1}], dtype=object))
    with pytest.raises(InputError, match="damaged or not"):
        Result.load(path)
    with pytest.raises(InputError, match="no such file"):
        Result.load(tmp_path / "missing.npz")
    (tmp_path / "directory").mkdir()
    with pytest.raises(InputError, match="directory"):
        Result.load(tmp_path / "directory")
    for name in (3, None, "", b"x"):
        with pytest.raises(InputError, match="the name of a file must be a string or a path object"):
            Result.load(name)


def test_an_unwritable_path_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot create"):
        factories.result().save(tmp_path / "file" / "r.npz")


def test_what_a_file_declares_is_checked_before_it_is_read(tmp_path, monkeypatch):
    """A small file that would fill much memory: arrays that the header does not have, or not in this shape."""
    path = factories.result().save(tmp_path / "r")
    whole = files.read_npz(path)
    large = np.zeros((3, 6, 100_000))
    read = []
    usual = files.NpzFile.read
    monkeypatch.setattr(files.NpzFile, "read", lambda self, name: read.append(name) or usual(self, name))
    for change in ({"0:values:0": large}, {"more": large}, {"0:healthy": large[0] > 0}):
        files.write_npz(path, whole | change, compress=True)
        assert path.stat().st_size < 100_000
        with pytest.raises(InputError, match="is damaged or not a jaxbandits result"):
            Result.load(path)
    assert set(read) == {"header"}
    monkeypatch.setattr(files, "LONGEST_TEXT", 100)
    files.write_npz(path, whole, compress=True)
    with pytest.raises(InputError, match="is damaged or not"):
        Result.load(path)


def test_an_array_of_another_size_than_its_header_says_is_not_read(tmp_path):
    """The member of a zip file is longer than the array that NumPy would make of it."""
    path = tmp_path / "r.npz"
    files.write_npz(path, {"x": np.ones(3)}, compress=True)
    with zipfile.ZipFile(path) as archive:
        content, checksums = archive.read("x.npy") + bytes(1000), json.loads(archive.read("sha256.json"))
    checksums["x"] = hashlib.sha256(content).hexdigest()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", content)
        archive.writestr("sha256.json", json.dumps(checksums))
    with pytest.raises(InputError, match="is damaged or not"):
        files.read_npz(path)


@pytest.mark.parametrize(
    "change",
    [
        {
            "0:seeds": np.zeros(2_000_000, np.int64),
            "0:healthy": np.ones((3, 2_000_000), bool),
            "0:inadmissible": np.zeros((3, 2_000_000), np.int64),
            "0:values:0": np.zeros((3, 2_000_000, 1)),
            "0:record_points": np.array([1]),
        },
        {"0:values:0": np.zeros((3, 6, 4, 100_000), np.float32)},
        {"0:healthy": np.ones((3, 6), np.int64), "0:values:0": np.zeros((3, 6, 4, 100_000))},
    ],
)
def test_a_small_file_that_is_refused_is_not_unpacked(tmp_path, change, monkeypatch):
    """Shapes agree with each other, and the file is refused all the same: no large array may be read for that."""
    path = tmp_path / "r.npz"
    arrays = files.read_npz(factories.result().save(path))
    files.write_npz(path, arrays | change, compress=True)
    assert path.stat().st_size < 200_000
    sizes = []
    usual = files._read_array
    monkeypatch.setattr(files, "_read_array", lambda data, checksum: sizes.append(len(data)) or usual(data, checksum))
    with pytest.raises(InputError, match="is damaged or not a jaxbandits result"):
        Result.load(path)
    assert max(sizes) < 100_000


def test_a_small_file_that_was_changed_is_not_unpacked_into_memory(tmp_path, monkeypatch):
    """The checksum of an array that is compressed a thousandfold is computed piece by piece."""
    path = tmp_path / "r.npz"
    files.write_npz(path, {"zeros": np.zeros(10**6)}, compress=True)
    with zipfile.ZipFile(path) as archive:
        content = archive.read("zeros.npy")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", content)
        archive.writestr("sha256.json", json.dumps({"zeros": "0" * 64}))
    monkeypatch.setattr(files, "_read_array", None)
    with pytest.raises(InputError, match="is damaged or not"):
        files.read_npz(path)
