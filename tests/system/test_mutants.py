"""The list of mutants follows the code: each text occurs once, and the tests that should notice it exist."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mutants():
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "tools")
        return importlib.import_module("mutants").MUTANTS


def test_names_are_unique(mutants):
    names = [mutant.name for mutant in mutants]
    assert len(names) == len(set(names))


def test_texts_occur_once(mutants):
    sources = {mutant.file: (ROOT / mutant.file).read_text(encoding="utf-8") for mutant in mutants}
    assert [mutant.name for mutant in mutants if sources[mutant.file].count(mutant.old) != 1] == []
    assert [mutant.name for mutant in mutants if mutant.new == mutant.old] == []


def test_tests_exist(mutants):
    for place in {test for mutant in mutants for test in mutant.tests}:
        path, _, name = place.partition("[")[0].partition("::")
        assert (ROOT / path).exists(), place
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), place
