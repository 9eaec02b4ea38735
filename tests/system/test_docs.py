"""What README and docs show runs as it stands there: every Python block, every command, the examples of docstrings."""

import doctest
import importlib
import re
import shlex
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import jaxbandits
from jaxbandits import cli
from jaxbandits.experiments import EXPERIMENTS
from jaxbandits.experiments.declare import chosen

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SLOW = "check_algorithm("  # compiles a dozen programs


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Line number and text of the fenced blocks of a language."""
    text = page.read_text(encoding="utf-8")
    return [(text[: m.start(2)].count("\n"), m[2]) for m in FENCE.finditer(text) if m[1] == language]


def execute(page: Path, slow: bool) -> None:
    """The blocks of a page from top to bottom, in one namespace; a traceback shows the line of the page."""
    namespace = {"__name__": "__main__"}
    for line, code in blocks(page, "python"):
        if slow or SLOW not in code:
            exec(compile("\n" * line + code, str(page), "exec"), namespace)


WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    plt.close("all")


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_python_blocks_run(page, elsewhere):
    execute(page, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in WITH_PYTHON if SLOW in p.read_text()], ids=lambda page: page.name)
def test_python_blocks_run_with_the_slow_ones(page, elsewhere):
    execute(page, slow=True)


def commands() -> list[tuple[str, list[str]]]:
    """Page and arguments of every `jaxbandits ...` in a block of shell, in the text, or in the Makefile."""
    found = []
    for page in [*PAGES, ROOT / "Makefile"]:
        text = page.read_text(encoding="utf-8")
        lines = [line for _, block in blocks(page, "") for line in block.splitlines()]
        lines += re.findall(r"`(jaxbandits [a-z][^`]*)`", FENCE.sub("", text))
        if page.name == "Makefile":
            lines = re.findall(r"(jaxbandits [a-z].*?)(?: \$\(.*)?$", text, re.MULTILINE)
        words = [shlex.split(line, comments=True) for line in lines if line.startswith("jaxbandits ")]
        found += [(page.name, words[1:]) for words in words]
    return found


@pytest.mark.parametrize(
    ("page", "arguments"), commands(), ids=lambda value: " ".join(value) if isinstance(value, list) else value
)
def test_commands_parse(page, arguments):
    parsed = cli._parser().parse_args(arguments)
    if arguments[0] == "reproduce":
        for experiment in chosen(EXPERIMENTS, parsed.experiment):
            experiment.preset(parsed.preset)


def test_experiments_that_the_readme_names_exist():
    families = {name.partition("/")[0] for name in EXPERIMENTS}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(rf"`((?:{'|'.join(families)})/[a-z0-9-]+)`", text)
    assert len(named) > 10
    for name in named:
        assert chosen(EXPERIMENTS, name)


def test_links_lead_somewhere():
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_names_in_the_pages_exist():
    """`jaxbandits.oco.OGD` and the like."""
    for page in PAGES:
        for name in re.findall(r"`jaxbandits((?:\.\w+)+)", page.read_text(encoding="utf-8")):
            obj = jaxbandits
            for part in name.split(".")[1:]:
                try:
                    obj = getattr(obj, part)
                except AttributeError:
                    obj = importlib.import_module(f"{obj.__name__}.{part}")


def with_examples() -> list[str]:
    package = Path(jaxbandits.__file__).parent
    paths = [path for path in package.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    return sorted(".".join(path.relative_to(package.parent).with_suffix("").parts) for path in paths)


@pytest.mark.parametrize("module", with_examples())
def test_examples_in_docstrings(module, elsewhere):
    failed, tried = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried and not failed
