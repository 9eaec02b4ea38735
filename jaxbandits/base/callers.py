"""Find the code that calls this package: the line that a warning is about."""

import contextlib
import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def user_stacklevel() -> int:
    """Return the `stacklevel` by which a warning of the calling function names the innermost line of other code.

    Frames of `contextlib`, whose decorators stand between functions of this package, do not count as other code.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, contextlib.__file__)):
        level, frame = level + 1, frame.f_back
    return level
