"""Deprecated names of renamed functions, which warn for one release."""

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def alias(function: Callable[_P, _R], earlier_name: str) -> Callable[_P, _R]:
    """Return a function that warns that `earlier_name` is deprecated, and then calls `function`.

    The returned function can also be used as a method of a class.
    """
    message = f"{earlier_name} has been renamed: use {function.__name__}"

    @functools.wraps(function)
    def warn_and_call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    warn_and_call.__name__ = earlier_name
    warn_and_call.__doc__ = f"Deprecated: use `{function.__name__}`."
    vars(warn_and_call)["__deprecated__"] = message  # as PEP 702 marks functions
    return warn_and_call
