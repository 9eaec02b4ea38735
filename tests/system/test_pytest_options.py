"""Options of pytest: they need no plug-ins, and the marks of slow cases do what they say."""

import os
import subprocess
import sys

from tests.doc_blocks import ROOT


def test_options_of_the_project_need_no_plugin():
    command = [sys.executable, "-m", "pytest", "--noconftest", "--markers"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": "."}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


CASES = """
import pytest

def test_plain():
    pass

@pytest.mark.slow
def test_slow():
    pass

@pytest.mark.slow_after_first
@pytest.mark.parametrize("x", [1, 2])
@pytest.mark.parametrize("y", [1, 2])
def test_first(x, y):
    pass

@pytest.mark.quick_cases("b", "*-2")
@pytest.mark.parametrize("name", ["a", "b", "c-1", "c-2"])
def test_some(name):
    pass

@pytest.mark.slow_cases("c-*")
@pytest.mark.parametrize("name", ["a", "b", "c-1", "c-2"])
def test_most(name):
    pass
"""


def collect(directory, *arguments):
    """Return exit code and output of a collection with the hooks of these tests, in a directory of its own."""
    options = ("-c", ROOT / "pyproject.toml", "--rootdir", directory, "-p", "tests.conftest", "--collect-only", "-q")
    command = [sys.executable, "-m", "pytest", *map(str, options), *arguments, str(directory)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_marks_say_which_cases_are_quick(tmp_path):
    (tmp_path / "test_cases.py").write_text(CASES)
    status, output = collect(tmp_path, "-m", "not slow")
    quick = ["plain", "first[1-1]", "some[b]", "some[c-2]", "most[a]", "most[b]"]
    assert status == 0, output
    assert [line.partition("::test_")[2] for line in output.splitlines() if "::" in line] == quick


def test_a_pattern_without_a_case_is_an_error(tmp_path):
    (tmp_path / "test_cases.py").write_text(CASES.replace('"c-*"', '"d-*"'))
    status, output = collect(tmp_path)
    assert status == 4 and "test_cases.py::test_most: no case matches 'd-*' of slow_cases" in output
