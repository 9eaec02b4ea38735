"""Search of the call stack for the user's code, so that warnings point to it."""

import contextlib
import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def user_stacklevel() -> int:
    """Return the `stacklevel` with which a warning of the caller points to the innermost frame outside this package.

    Frames of `contextlib` are skipped too, because its decorators put them between functions of this package.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, contextlib.__file__)):
        level, frame = level + 1, frame.f_back
    return level
