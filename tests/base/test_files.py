"""Files: what is read back is what was written, or one line says that it is not."""

import json
import os
import zipfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxbandits import plugins
from jaxbandits.base import files
from jaxbandits.base.errors import InputError, format_value
from jaxbandits.base.files import first_difference, read_json, read_npz, write_json, write_npz
from jaxbandits.reproduction.figures import render
from jaxbandits.results.result import Result
from jaxbandits.simulation import Options
from jaxbandits.sweeps import file as sweep_file
from jaxbandits.sweeps.load import load_sweep
from jaxbandits.sweeps.merge import merge_sweeps
from tests.results import factories

ARRAYS = {
    "header": np.array('{"a": 1}'),
    "row:sum:regret": np.arange(12.0).reshape(3, 4),
    "carry:0": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
    "records": np.array(7),
    "empty": np.zeros((0, 3), np.float32),
    "flags": np.array([True, False]),
}
VALUE = {"spec": {"horizon": 100, "seeds": [1, 2.5, None, "text"]}, "width": 64}


def assert_same(read, written):
    assert list(read) == list(written)
    for name, array in written.items():
        assert (read[name].dtype, read[name].shape) == (array.dtype, array.shape)
        assert read[name].tobytes() == array.tobytes()


def assert_one_line(error, path):
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("compress", [False, True])
def test_arrays_come_back(tmp_path, compress):
    path = tmp_path / "a.npz"
    write_npz(path, ARRAYS, compress)
    assert_same(read_npz(path), ARRAYS)
    with np.load(path) as file:  # an npz file for everybody
        np.testing.assert_array_equal(file["row:sum:regret"], ARRAYS["row:sum:regret"])
    first = path.read_bytes()
    write_npz(path, ARRAYS, compress)
    assert path.read_bytes() == first
    assert os.listdir(tmp_path) == ["a.npz"]


def test_json_comes_back(tmp_path):
    path = tmp_path / "spec.json"
    write_json(path, VALUE)
    assert read_json(path) == VALUE


@pytest.mark.parametrize("compress", [False, True])
def test_a_flipped_byte_is_noticed_or_harmless(tmp_path, rng, compress):
    path = tmp_path / "a.npz"
    write_npz(path, ARRAYS, compress)
    whole = path.read_bytes()
    refused = 0
    for place in rng.integers(len(whole), size=400):
        damaged = bytearray(whole)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            assert_same(read_npz(path), ARRAYS)
        except InputError as error:
            refused += 1
            assert str(path) in str(error) and "\n" not in str(error)
    assert refused > 200


def test_a_flipped_byte_of_a_json_file_is_noticed_or_harmless(tmp_path, rng):
    path = tmp_path / "spec.json"
    write_json(path, VALUE)
    whole = path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            assert read_json(path) == VALUE
        except InputError as error:
            assert str(path) in str(error) and "\n" not in str(error)


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    write_npz(path, ARRAYS)
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="damaged") as error:
            read_npz(path)
        assert_one_line(error, path)


def test_an_array_of_another_name_or_number_is_refused(tmp_path):
    """Each member is intact: only the checksums know."""
    path = tmp_path / "a.npz"

    def rewritten(change):
        write_npz(path, ARRAYS)
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        change(members)
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)

    def swap(members):
        members["records.npy"], members["flags.npy"] = members["flags.npy"], members["records.npy"]

    for change in (
        swap,
        lambda members: members.pop("records.npy"),
        lambda members: members.pop("sha256.json"),
        lambda members: members.update({"more.npy": members["records.npy"]}),
        lambda members: members.update({"sha256.json": b"[" * 100_000}),
        lambda members: members.update({"sha256.json": b"[]"}),
        lambda members: members.update({"sha256.json": json.dumps({"records": 1}).encode()}),
    ):
        rewritten(change)
        with pytest.raises(InputError, match="damaged") as error:
            read_npz(path)
        assert_one_line(error, path)


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xfe\x00", b"[" * 200_000, b"{}", b"[]", b"1", b"null", b'{"sha256": 1, "content": 2}', b"1" * 10_000,
     b'"' * 100, b'{"content": 1}'],
)  # fmt: skip
def test_what_is_no_such_file_is_refused(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    for read in (read_json, read_npz):
        with pytest.raises(InputError, match="damaged") as error:
            read(path)
        assert_one_line(error, path)


def test_a_missing_file_and_a_directory_are_named(tmp_path):
    for read in (read_json, read_npz):
        with pytest.raises(InputError, match=r"no such file: .*missing"):
            read(tmp_path / "missing")
        with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
            read(tmp_path)


def test_what_would_need_a_pickle_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="allow_pickle"):
        write_npz(tmp_path / "a.npz", {"objects": np.array([object()])})
    assert not list(tmp_path.iterdir())


def test_a_difference_names_the_field_or_the_program():
    saved = {"a": {"algorithm": {"code": "mine:f", "dim": 2}}, "programs": {"OFUL": "1"}}
    assert (
        first_difference(saved, {"a": {"algorithm": {"code": "mine:f", "dim": 3}}})
        == "a.algorithm.dim was 2 and is now 3"
    )
    assert first_difference(saved, saved | {"programs": {"OFUL": "2"}}) == (
        "the code of OFUL, or a value that it reads while it is traced, has changed"
    )


def test_a_temporary_file_is_new_and_has_a_name_that_nobody_knows(tmp_path, monkeypatch):
    """A link of another user at the usual name, or at one that was guessed, is not written through."""
    path, elsewhere = tmp_path / "r.npz", tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / f"r.npz.{os.getpid()}.tmp").symlink_to(elsewhere)
    write_npz(path, ARRAYS)
    assert elsewhere.read_text() == "mine" and not path.is_symlink()
    monkeypatch.setattr(files.secrets, "token_hex", lambda n: "guessed")
    guessed = tmp_path / "r.npz.guessed.tmp"
    guessed.symlink_to(elsewhere)
    with pytest.raises(InputError, match=r"cannot write .*r\.npz"):
        write_json(path, VALUE)
    assert elsewhere.read_text() == "mine" and guessed.is_symlink()  # which is not ours to remove
    assert_same(read_npz(path), ARRAYS)


def test_a_write_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), files.open_atomically(tmp_path / "a") as file:
        file.write(b"half")
        raise ZeroDivisionError
    with pytest.raises(InputError, match="cannot write"), files.open_atomically(tmp_path / "a") as file:
        raise OSError(28, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_a_link_at_the_name_itself_is_replaced(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / "a").symlink_to(elsewhere)
    files.write_atomically(tmp_path / "a", b"new", mode=0o600)
    assert elsewhere.read_text() == "mine" and not (tmp_path / "a").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"new" and (tmp_path / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "", 5, None, b"bytes", object()])
def test_what_is_no_path_is_told_at_every_door(path):
    result = factories.result()
    doors = {
        "save": result.save, "load": Result.load, "csv": result.to_csv, "sweep": load_sweep,
        "sweep file": sweep_file.read, "checkpoint": lambda path: Options(checkpoint=path),
        "plugin": plugins.load, "merge": lambda path: merge_sweeps([path], "x"),
    }  # fmt: skip
    if path is None:
        del doors["checkpoint"]  # None: there is none
    for name, door in doors.items():
        with pytest.raises(InputError) as error:
            door(path)
        assert "\n" not in str(error.value) and format_value(path) in str(error.value), name


@pytest.mark.parametrize("path", [".", "..", "/", "../.."])
def test_a_file_without_a_name_is_told_at_every_door(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = factories.result()
    doors = {
        "save": result.save, "load": Result.load, "csv": result.to_csv,
        "atomic": lambda path: write_json(Path(path), 1),
        "figure": lambda path: render.save(plt.figure(), Path(path), ("svg",)),
    }  # fmt: skip
    for door in doors.values():
        with pytest.raises(InputError, match="a directory: add the name of a file"):
            door(path)
    with pytest.raises(InputError, match="new/ names a directory: add the name of a file"):
        result.save("new/")  # not new.npz
    assert os.listdir(tmp_path) == []
    plt.close("all")
