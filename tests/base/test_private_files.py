"""A directory is private if nobody but its owner can change what is read from it."""

import os
from pathlib import Path

import pytest

from jaxbandits.base import private_files
from jaxbandits.base.private_files import read_private, why_not_private
from jaxbandits.programs import compilation_cache

pytestmark = pytest.mark.skipif(not private_files.HAS_OWNERS, reason="files have no numbered owner here")


def test_an_own_directory_is_private(tmp_path):
    (tmp_path / "file").write_bytes(b"content")
    os.chmod(tmp_path / "file", 0o644)
    assert why_not_private(tmp_path) is None
    assert read_private(tmp_path, "file") == b"content"
    with pytest.raises(FileNotFoundError):
        read_private(tmp_path, "missing")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_directory_that_others_may_write_is_not(tmp_path, mode):
    (tmp_path / "file").write_bytes(b"content")
    tmp_path.chmod(mode)
    assert why_not_private(tmp_path) == f"other users can write to {tmp_path}"
    assert read_private(tmp_path, "file") is None


def test_neither_is_one_below_a_directory_that_everyone_may_rename_it_in(tmp_path):
    below = tmp_path / "open" / "mine"
    below.mkdir(parents=True)
    below.parent.chmod(0o777)
    assert why_not_private(below) == f"every user can write to {below.parent}"
    below.parent.chmod(0o1777)  # sticky, as /tmp
    assert why_not_private(below) is None


def test_links_of_this_user_are_followed_those_of_others_not(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    assert why_not_private(link) is None
    lstat = Path.lstat

    def of_another(path):
        status = lstat(path)
        return os.stat_result([*status[:4], 12345, *status[5:10]]) if path == link else status

    monkeypatch.setattr(Path, "lstat", of_another)
    assert why_not_private(link) == f"{link} is a symbolic link that belongs to another user"


def test_the_cache_is_off_with_one_line_where_others_may_write(tmp_path):
    directory = tmp_path / "programs"
    directory.mkdir()
    assert compilation_cache._usable(directory)
    directory.chmod(0o777)
    with pytest.warns(
        UserWarning, match=r"not stored on disk: other users can write to .*programs; set JAXBANDITS_CACHE to"
    ):
        assert not compilation_cache._usable(directory)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "fifo"])
def test_only_regular_files_are_read(make, tmp_path):
    make(tmp_path / "no_file")
    assert read_private(tmp_path, "no_file") is None
