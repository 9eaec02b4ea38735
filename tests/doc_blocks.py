"""The Python blocks of README and docs, as a reader would run them.

python -m tests.doc_blocks PAGE [--slow]    run the blocks of a page in the working directory
"""

import importlib.util
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# these compile a dozen programs, or one for each operator and kind of data, which have tests of their own
SLOW = re.compile(r"check_algorithm\((?!.*quick=True)|operators\.|TableBandit|RecordedTrace")
# Packages of the extras `bridges`, `cluster` and `track`, and flax: where one is missing, its blocks are skipped.
_PACKAGES = "bayesianbandits|coba|contextualbandits|flax|gymnasium|mabwiser|mlflow|optuna|river|torch|wandb"
OPTIONAL = re.compile(rf"^(?:import|from) ({_PACKAGES})\b", re.MULTILINE)
FILE = re.compile(r"# (\w+\.(?:py|toml))\n")  # how a block begins that the reader saves under that name


def blocks(page: Path, language: str) -> list[tuple[int, str]]:
    """Return line number and text of the fenced blocks of a language."""
    text = page.read_text(encoding="utf-8")
    return [(text[: m.start(2)].count("\n"), m[2]) for m in FENCE.finditer(text) if m[1] == language]


# Programs are compiled fast here, not well; the slow tests play all rounds of all seeds.
FEWER = (
    ("T = 18_000", "T = 200"),
    ("seeds=512", "seeds=64"),
    ("n_arms=50", "n_arms=5"),
    ("coins, 5000, seeds=1000", "coins, 50, seeds=64"),
)


def is_cut(page: Path) -> bool:
    """Return whether `execute` plays more of a page if it is slow."""
    text = page.read_text(encoding="utf-8")
    return SLOW.search(text) is not None or any(long in text for long, _ in FEWER)


def is_missing(code: str) -> bool:
    """Return whether a block imports an optional package that is not installed."""
    return any(importlib.util.find_spec(name) is None for name in OPTIONAL.findall(code))


def execute(page: Path, slow: bool) -> None:
    """Run the blocks of a page from top to bottom; a traceback shows the line of the page.

    They share one namespace. Those of the README have one each, since its readers copy single blocks.
    """
    for language in ("python", "toml"):
        for _, text in blocks(page, language):
            if match := FILE.match(text):
                Path(match[1]).write_text(text, encoding="utf-8")
    namespace = {"__name__": "__main__"}
    for line, code in blocks(page, "python"):
        if page.name == "README.md":
            namespace = {"__name__": "__main__"}
        if (slow or not SLOW.search(code)) and not FILE.match(code) and not is_missing(code):
            for long, short in () if slow else FEWER:
                code = code.replace(long, short)
            exec(compile("\n" * line + code, str(page), "exec"), namespace)


if __name__ == "__main__":
    execute(Path(sys.argv[1]), "--slow" in sys.argv)
