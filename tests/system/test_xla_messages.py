"""XLA's messages about slow compilation stay away from the terminal, unless the user asks for them."""

import os
import subprocess
import sys

import pytest

SETTING = "TF_CPP_MIN_LOG_LEVEL"


def _run(code, **environment):
    usual = {name: value for name, value in os.environ.items() if name not in (SETTING, "XLA_FLAGS")}
    return subprocess.run(
        [sys.executable, "-c", code], env=usual | environment, capture_output=True, text=True, check=True
    )


@pytest.mark.parametrize(("given", "level"), [({}, "3"), ({SETTING: "0"}, "0")])
def test_the_import_sets_the_level_that_the_user_has_not_set(given, level):
    assert _run(f"import jaxbandits, os; print(os.environ[{SETTING!r}])", **given).stdout == f"{level}\n"


# XLA folds the constant in some seconds, more than one of which it reports.
SLOW = """
import jaxbandits, jax, numpy
from jaxbandits import simulate
table = numpy.ones((800, 800), numpy.float32)
add = lambda: jax.lax.reduce_window(table, 0.0, jax.lax.add, (15, 15), (1, 1), "SAME")
jax.jit(add).lower().compile()
"""


@pytest.mark.slow
@pytest.mark.parametrize(("given", "is_said"), [({}, False), ({SETTING: "1"}, True)])
def test_a_slow_compilation_is_reported_to_who_asks(given, is_said):
    assert ("file a bug" in _run(SLOW, **given).stderr) == is_said
