"""README and docs run as printed: every Python block, every command, the examples of docstrings."""

import doctest
import importlib
import re
import shlex
import sys
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import jaxbandits
from jaxbandits import cli
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.base.versions import ENTRY_POINTS
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.experiment import choose
from jaxbandits.sweeps import file
from tests.doc_blocks import FENCE, FEWER, FILE, PAGES, ROOT, blocks, execute, is_cut

SHORT = {"sweep": ("--quiet",), "reproduce": ("--quiet", "--horizon", "100")}  # of commands that run
WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]


@pytest.fixture
def empty_directory(tmp_path, monkeypatch):
    """Change to an empty directory; remove what the page registers afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    registered = [(table, dict(table)) for table in (ALGORITHMS, ENVIRONMENTS, EXPERIMENTS)]
    yield tmp_path
    plt.close("all")
    for table, before in registered:
        table.clear()
        table.update(before)
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_python_blocks_compile(page):
    for line, code in blocks(page, "python"):
        compile("\n" * line + code, page, "exec")


@pytest.mark.quick_cases("data.md", "index.md", "performance.md")  # guarded.md: in test_second_process
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_python_blocks_run(page, empty_directory):
    execute(page, slow=False)
    if page.name == "extend.md":  # about the command line too
        for _, block in blocks(page, ""):
            for line in block.splitlines():
                assert cli.main([*shlex.split(line)[1:], *SHORT.get(line.split()[1], ())]) == 0, line
        (message,), (points,) = [
            [text for _, text in blocks(page, language) if not FILE.match(text)] for language in ("text", "toml")
        ]
        assert tuple(tomllib.loads(points)["project"]["entry-points"]) == ENTRY_POINTS
        Path("broken.py").write_text(  # what the page says of an `if`
            Path("my_file.py")
            .read_text()
            .partition("\nregister_")[0]
            .replace("        root =", "        if state.moment[0] > 0:\n            pass\n        root =", 1)
        )
        broken = importlib.import_module("broken")
        with pytest.raises(AssertionError) as said:
            jaxbandits.check_algorithm(broken.LinTS(dim=2), broken.Pricing(n_prices=5), quick=True)
        assert str(said.value).split() == message.split()


def test_sweep_files_of_the_pages_are_sweeps(empty_directory):
    found = {}
    for page in PAGES:
        for _, text in blocks(page, "toml"):
            if (match := FILE.match(text)) and page.name != "extend.md":  # that one is run above
                Path(match[1]).write_text(text, encoding="utf-8")
                found[match[1]] = file.make_sweep(file.read(match[1]))
    assert "late.toml" in found
    assert all(sweep.algorithms for sweep in found.values())


@pytest.mark.quick_cases("choosing.md")
@pytest.mark.parametrize("page", [p for p in WITH_PYTHON if is_cut(p)], ids=lambda page: page.name)
def test_python_blocks_run_with_the_slow_ones(page, empty_directory):
    execute(page, slow=True)


def commands() -> list[tuple[str, list[str]]]:
    """Return page and arguments of every `jaxbandits ...` in a block of shell, in the text, or in the Makefile."""
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
    if arguments[0] == "reproduce" and not parsed.plugin:
        for experiment in choose(EXPERIMENTS, parsed.experiment):
            experiment.preset(parsed.preset)


def test_the_readme_plays_the_rounds_that_are_cut_here():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(long in text for long, _ in FEWER)


def test_experiments_that_the_readme_names_exist():
    families = {name.partition("/")[0] for name in EXPERIMENTS}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(rf"`((?:{'|'.join(families)})/[a-z0-9-]+)`", text)
    assert len(named) > 10
    for name in named:
        assert choose(EXPERIMENTS, name)


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
def test_examples_in_docstrings(module, empty_directory):
    failed, tried = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert tried and not failed


def test_the_conda_recipe_asks_for_the_same_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    asked = {line.strip(" -").replace(" ", "").replace("matplotlib-base", "matplotlib") for line in run.splitlines()}
    assert asked == {"python>=${{python_min}}", *project["dependencies"]}
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in recipe
    assert f'version: "{jaxbandits.__version__}"' in recipe
