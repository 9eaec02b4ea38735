"""Address of the project's repository, for badges and links to Colab, which an empty address leaves out.

python tools/address.py     write the badges of README.md
"""

from pathlib import Path

REPOSITORY = ""  # such as https://HOST/OWNER/jaxbandits

ROOT = Path(__file__).resolve().parent.parent


def colab(notebook: str) -> str:
    """Return the badge that opens a notebook of the repository in Colab, in Markdown; empty without an address."""
    if not REPOSITORY:
        return ""
    place = REPOSITORY.removeprefix("https://").partition("/")[2]
    host = "https://colab.research.google.com"
    link = f"{host}/github/{place}/blob/main/notebooks/{notebook}.ipynb"
    return f"[![Open in Colab]({host}/assets/colab-badge.svg)]({link})"


def badges() -> str:
    """Return the badges of README.md, in Markdown; empty without an address."""
    if not REPOSITORY:
        return ""
    tests = f"{REPOSITORY}/actions/workflows/tests.yml"
    return f"[![tests]({tests}/badge.svg)]({tests}) {colab('01_first_bandit')}"


def with_badges(text: str) -> str:
    """Return the text of README.md with the badges in a paragraph below the title, if there is an address."""
    title, _, rest = text.partition("\n\n")
    if rest.startswith("[![tests]"):
        rest = rest.partition("\n\n")[2]
    return "\n\n".join(filter(None, (title, badges(), rest)))


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(with_badges(readme.read_text(encoding="utf-8")), encoding="utf-8")
