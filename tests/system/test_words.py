"""Words of README and of the pages: no history, no personification, and names that are nouns or verbs."""

import ast
import re
from pathlib import Path

import pytest

import jaxbandits
from tests.doc_blocks import FENCE, PAGES, ROOT

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
# Irregular participles and adverbs; regular ones end in -ed and -ly.
IRREGULAR = frozenset(
    """begun bought broken brought built caught chosen done drawn felt forgotten found given gone grown held hidden kept
    known lost made meant met paid said seen sent shown sold spent taken taught told thought thrown torn won worn
    written
    again ahead alike alone along aloud always anew apart aside away bare beside elsewhere ever here later never now
    once soon then there together twice what whether which who""".split()  # noqa: SIM905
)
NO_PARTICIPLES = {"bed", "embed", "feed", "need", "seed", "speed", "apply", "family", "multiply", "only", "reply"}
# An adverb or a participle may follow these verbs (`write_atomically`), a preposition or a predicate (`as_coded`).
VERBS = frozenset(
    """add assert broadcast check clear compile count decorate double init load map open play run set solve step stop
    trace vmap warn write
    as at by for from in of on to with without are can has is needs was were""".split()  # noqa: SIM905
)
# Words of the field, and names that saved files contain.
WORDS_OF_THE_FIELD = {
    "printed", "published", "tuned", "bounded",  # presets, beside `theory` and `practical`
    "fixed", "constrained",  # environments: fixed arms; the stochastically constrained adversary
    "shared",  # a field that all trials of a job have in common
    "signed",  # labels -1 and 1
    "moved", "stopped",  # methods of the protocol
    "UCBTuned",  # UCB1-Tuned, as its authors call it
    "HeavyTailed", "Squared", "Constrained", "Observed",  # noise, loss, problem, entries of a matrix
    "Batched", "Corrupted", "Delayed", "Given",  # operators and a drift
}  # fmt: skip
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


def is_participle_or_adverb(name: str) -> bool:
    """Return whether a name of a function or a class is neither a noun nor a verb, by its last word."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_").split("_")
    last = words[-1]
    if VERBS & {words[0], *words[1:-1]} or last in NO_PARTICIPLES:
        return False
    return last.endswith(("ed", "ly")) or last in IRREGULAR


def names_in(path: Path) -> set[str]:
    """Return the names of all functions and classes of a module, nested ones included, without tests and aliases."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, definitions)]
    kept = [n.name for n in found if not (ast.get_docstring(n) or "").startswith("Deprecated:")]
    return {name for name in kept if not name.startswith(("test_", "Test", "__"))}


def wrong_names(directory: Path) -> dict[str, set[str]]:
    """Return by module, relative to the directory, the names that are participles or adverbs."""
    found = {path.relative_to(directory).as_posix(): names_in(path) - WORDS_OF_THE_FIELD
             for path in directory.rglob("*.py")}  # fmt: skip
    wrong = {file: {name for name in names if is_participle_or_adverb(name)} for file, names in found.items()}
    return {file: names for file, names in wrong.items() if names}


def test_names_of_the_package_are_nouns_or_verbs():
    assert wrong_names(Path(jaxbandits.__file__).parent) == {}


def test_names_of_test_helpers_are_nouns_or_verbs():
    assert wrong_names(ROOT / "tests") == {}


def test_modules_of_helpers_are_nouns_or_verbs():
    stems = {path.stem for path in (ROOT / "tests").rglob("*.py") if not path.stem.startswith("test_")}
    named_by_rule = {"armed", "replay_armed", "compiled"}  # a family; methods compiled as a whole
    assert {stem for stem in stems if is_participle_or_adverb(stem)} == named_by_rule


@pytest.mark.parametrize(
    "name", ["told", "_kept", "told_once", "Played", "LeastPlayed", "checked", "evenly", "share_covered", "_beside"]
)
def test_participles_and_adverbs_are_found(name):
    assert is_participle_or_adverb(name)


@pytest.mark.parametrize(
    "name", ["seed", "write_atomically", "is_fixed", "as_coded", "masked_step", "warn_once", "state_shape_is_fixed"]
)
def test_nouns_verbs_and_predicates_are_not(name):
    assert not is_participle_or_adverb(name)


def test_docstrings_open_with_a_verb_or_a_noun():
    package = Path(jaxbandits.__file__).parent
    opening = re.compile(rf'^ *"""({"|".join(OPENINGS)})\b.*', re.MULTILINE)
    found = [
        f"{path.name}: {m[0].strip()}" for path in package.rglob("*.py") for m in opening.finditer(path.read_text())
    ]
    assert found == []
