"""Waiting for another process by looking again and again: what it did is counted, not how fast it was."""

import time
from collections.abc import Callable

import pytest

SECONDS_BETWEEN_LOOKS = 0.005


def wait_until(condition: Callable[[], bool], looks: int = 50_000) -> None:
    """Return once a condition holds; fail the test if it does not in so many looks."""
    for _ in range(looks):
        if condition():
            return
        time.sleep(SECONDS_BETWEEN_LOOKS)
    pytest.fail(f"the condition does not hold after {looks} looks")
