"""Sizes that tests run at: one or two always, the others with the slow tests.

Every size compiles the whole function again, and no function here has a form of its own for small ones.
"""

from collections.abc import Iterable
from typing import Any

import pytest


def sizes(*always: Any, slow: Iterable[Any]) -> list[Any]:
    """The values of a parametrisation, those of `slow` marked so."""
    return [*always, *(_slow(value) for value in slow)]


def _slow(value: Any) -> Any:
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
