"""Files that nobody but this user could have written, which are read without following links.

Some files are code: loading a compiled program runs it. Such a file is read only if nobody else could have put it
there, by the rules of POSIX permissions. On Windows, whose permissions Python does not read, nothing is checked.
"""

import os
import stat
from pathlib import Path

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
HAS_OWNERS = hasattr(os, "getuid")


def why_not_private(directory: Path) -> str | None:
    """Return the reason why other users could change the files of a directory; None if they cannot.

    The directory must belong to this user, and nobody else may write to it. Links on its path must belong to this user
    or to the administrator, and directories above it to which everyone may write must be sticky, as /tmp is.

    Args:
      directory: an existing directory.

    Raises:
      OSError: if the directory cannot be read.
    """
    if not HAS_OWNERS:
        return None
    trusted = (0, os.getuid())
    given, resolved = Path(os.path.abspath(directory)), directory.resolve(strict=True)
    for path in (given, *given.parents):
        if path.is_symlink() and path.lstat().st_uid not in trusted:
            return f"{path} is a symbolic link that belongs to another user"
    for path in resolved.parents:
        status = path.stat()
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            return f"every user can write to {path}"
    return _problem(resolved.stat(), str(resolved))


def read_private(directory: Path, name: str) -> bytes | None:
    """Read a file of a directory and return its content, or None if another user could have written the file.

    None is also returned for anything but a regular file with a single hard link. The directory and the file are each
    opened once, the file without following a link. The checks use the open descriptors, so renaming the directory or
    the file in the meantime has no effect. On Windows the file is read without checks.

    Args:
      directory: path of the directory.
      name: name of a file in it.

    Raises:
      OSError: if the file does not exist, cannot be read, or is a symbolic link.
    """
    if not HAS_OWNERS:
        return (directory / name).read_bytes()
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if _problem(os.fstat(opened), "directory"):
            return None
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=opened)
    finally:
        os.close(opened)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or _problem(status, "file"):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        return file.read()


def _problem(status: os.stat_result, what: str) -> str | None:
    if status.st_uid != os.getuid():
        return f"{what} belongs to another user"
    return f"other users can write to {what}" if status.st_mode & _OTHERS_MAY_WRITE else None
