"""Words of README and of the pages: no history, no personification, and names that are nouns or verbs."""

import re
from pathlib import Path

import pytest

import jaxbandits
from tests.doc_blocks import FENCE, PAGES

CODE = re.compile(r"`[^`\n]*`")
HISTORY = re.compile(
    r"\b(formerly|so far|until now|since then|previously|nowadays|recently|anymore|used to|in the past|"
    r"(?:was|were|has been|have been) (?:added|changed|removed|replaced|fixed|renamed|rewritten)|"
    r"(?:earlier|old|former) (?:version|code|form|text)s?|in another hour)\b",
    re.IGNORECASE,
)
# A learner receives feedback, a program does not remember, a machine does not wait.
THINGS = r"(?:learners?|algorithms?|environments?|programs?|machines?|runs?|sweeps?|processes|methods?|XLA|JAX)"
PERSONS = re.compile(
    r"\b(?:is|are|was|were|be|being) told\b|"
    rf"\b{THINGS} (?:knows?|sees?|wants?|remembers?|forgets?|believes?|thinks?)\b",
    re.IGNORECASE,
)
NOT_NAMES = {"told", "met", "made", "kept", "known", "shown", "once", "bare", "beside", "along", "given", "taken"}
OPENINGS = ("What", "Whether", "How", "Where", "Who")


def prose(page: Path) -> str:
    """Return the text of a page without its code, on the same lines."""
    text = FENCE.sub(lambda found: "\n" * found[0].count("\n"), page.read_text(encoding="utf-8"))
    return CODE.sub("`", text)


def found_in(page: Path, pattern: re.Pattern) -> list[str]:
    text = prose(page)
    return [f"line {text[: m.start()].count(chr(10)) + 1}: {m[0]}" for m in pattern.finditer(text)]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "ledger.md"], ids=lambda page: page.name)
def test_a_page_tells_no_history_and_makes_nothing_a_person(page):
    assert found_in(page, HISTORY) == []
    assert found_in(page, PERSONS) == []


def test_the_patterns_find_what_the_rules_name():
    for text in ("it was added in June", "the cost so far", "An earlier version did"):
        assert HISTORY.search(text)
    for text in ("Both learners are told the same bound", "a program remembers", "the learner sees the mean"):
        assert PERSONS.search(text)
    assert not PERSONS.search("for people who want to know") and not HISTORY.search("before XLA has compiled")


def test_public_names_are_no_participles_or_adverbs():
    rooms = [jaxbandits, *(getattr(jaxbandits, name) for name in ("armed", "linear", "glm", "oco", "coco", "dro"))]
    names = {name for room in rooms for name in dir(room) if not name.startswith("_")}
    assert names & NOT_NAMES == set()


def test_docstrings_open_with_a_verb_or_a_noun():
    package = Path(jaxbandits.__file__).parent
    opening = re.compile(rf'^ *"""({"|".join(OPENINGS)})\b.*', re.MULTILINE)
    found = [
        f"{path.name}: {m[0].strip()}" for path in package.rglob("*.py") for m in opening.finditer(path.read_text())
    ]
    assert found == []
