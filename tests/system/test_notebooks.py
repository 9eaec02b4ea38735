"""The notebooks: the `.ipynb` matches its text and has no outputs; the text runs; it installs no other JAX."""

import importlib.metadata
import importlib.util
import json
import re
import shlex
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from jaxbandits import cli
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.reproduction import EXPERIMENTS
from jaxbandits.reproduction.engine.experiment import choose

pytest.importorskip("jupytext")

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))


def _tool(name="notebooks"):
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "tools")
        return importlib.import_module(name)


def _cells(source, kind):
    return [
        c["source"] for c in json.loads(source.with_suffix(".ipynb").read_text())["cells"] if c["cell_type"] == kind
    ]


def _join(lines):
    return "".join(lines)


def test_ipynb_and_text_are_the_same_notebook():
    tool = _tool()
    assert len(SOURCES) == 12 == len(list((ROOT / "notebooks").glob("*.ipynb")))
    for source in SOURCES:
        text = source.with_suffix(".ipynb").read_text(encoding="utf-8")
        assert text == tool.made(source), f"python tools/notebooks.py write {source.stem[:2]}"
        for cell in json.loads(text)["cells"]:
            assert not cell.get("outputs") and cell.get("execution_count") is None, source.name


def test_links_into_colab_need_an_address(monkeypatch):
    """Badges of the README and of the notebooks come from one variable, and are there only where it is set."""
    tool, address = _tool(), _tool("address")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert address.with_badges(readme) == readme, "python tools/address.py"
    monkeypatch.setattr(address, "REPOSITORY", "")
    assert "colab.research" not in tool.made(SOURCES[0]) + address.with_badges(readme)
    monkeypatch.setattr(address, "REPOSITORY", "https://example.org/someone/jaxbandits")
    link = f"github/someone/jaxbandits/blob/main/notebooks/{SOURCES[0].stem}.ipynb"
    assert link in tool.made(SOURCES[0]) and link in address.with_badges(readme)


def test_texts_hold_together():
    """Formulas are closed; commands parse; pages and other notebooks that are named exist."""
    for source in SOURCES:
        prose = [_join(lines) for lines in _cells(source, "markdown")]
        assert prose[0].startswith("# ") and prose[1].startswith("In Colab"), source.name
        for text in prose:
            assert text.count("$$") % 2 == 0, text
            for line in text.replace("$$", "").splitlines():  # a formula in a sentence does not go over a line
                assert len(re.findall(r"(?<!\\)\$", line)) % 2 == 0, line
            for command in re.findall(r"`(jaxbandits [a-z][^`]*)`", text):
                words = shlex.split(command)[1:]
                if len(words) > 1:
                    parsed = cli._parser().parse_args(words)
                    assert words[0] != "reproduce" or choose(EXPERIMENTS, parsed.experiment), command
            for page in re.findall(r"`(docs/[a-z_]+\.md)`", text):
                assert (ROOT / page).exists(), page
            for name in re.findall(r"`(\d\d_[a-z_]+)`", text):
                assert (ROOT / "notebooks" / f"{name}.py").exists(), name


def test_installing_leaves_jax_alone(tmp_path, monkeypatch):
    """Without the package, the cell installs the uploaded file and keeps the installed JAX and NumPy."""
    monkeypatch.chdir(tmp_path)
    install = {_join(_cells(source, "code")[0]) for source in SOURCES}
    assert len(install) == 1  # the same in all of them
    there, ran = importlib.util.find_spec, []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "jaxbandits" else there(name))
    monkeypatch.setattr(subprocess, "run", lambda command, check: ran.append(command))
    with pytest.raises(AssertionError, match="upload"):
        exec(next(iter(install)), {})
    Path("jaxbandits-main.zip").touch()
    exec(next(iter(install)), {})
    as_it_is = [f"{name}=={importlib.metadata.version(name)}" for name in ("jax", "jaxlib", "numpy")]
    assert [command[1:] for command in ran] == [["-m", "pip", "install", "-q", "jaxbandits-main.zip", *as_it_is]]


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_texts_run(source, tmp_path, monkeypatch):
    """In this process, with fewer seeds and rounds; a traceback shows the line of the text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JAXBANDITS_FAST", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # of the commands that a notebook runs
    monkeypatch.setattr(ALGORITHMS, "_rows", dict(ALGORITHMS.data))  # names that it registers are gone afterwards
    try:
        exec(compile(source.read_text(encoding="utf-8"), str(source), "exec"), {"__name__": "__main__"})
        assert plt.get_fignums()
    finally:
        plt.close("all")
    assert not list(tmp_path.iterdir())  # what it writes, it writes elsewhere
