"""Write the notebooks from their `.py` files, and execute them in a Jupyter kernel. Requires the extra `notebooks`.

    python tools/notebooks.py write [NAME...]  write notebooks/*.ipynb from notebooks/*.py, without outputs
    python tools/notebooks.py run [NAME...]    execute them; outputs and figures go to results/notebooks

The `.py` files (in jupytext's percent format) are edited and reviewed; Colab and Jupyter open the `.ipynb` files.
"""

import argparse
import base64
import sys
import time
from pathlib import Path

import address
import jupytext
import nbformat

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "notebooks"


def made(source: Path) -> str:
    """Return the notebook of a `.py` file as text, with fixed cell ids (jupytext draws random ones)."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = {
        "jupytext": {"formats": "ipynb,py:percent"},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number:02d}"
    if badge := address.colab(source.stem):
        notebook.cells[1].source = f"{badge}\n{notebook.cells[1].source}"
    nbformat.validate(notebook)
    return nbformat.writes(notebook, indent=1) + "\n"


def sources(names: list[str] | None = None) -> list[Path]:
    """Return the `.py` files; with names, those that begin with one of them."""
    found = sorted(HERE.glob("[0-9][0-9]_*.py"))
    chosen = [path for path in found if not names or any(path.stem.startswith(name) for name in names)]
    if not chosen:
        sys.exit(f"no such notebook; there are {', '.join(path.stem for path in found)}")
    return chosen


def run(source: Path, out: Path) -> float:
    """Execute a notebook, write it with its outputs and figures, and return the seconds, with the kernel's start."""
    from nbclient import NotebookClient

    settings = {"timeout": 900, "startup_timeout": 300, "resources": {"metadata": {"path": HERE}}}
    notebook = nbformat.reads(made(source), as_version=4)
    begin = time.perf_counter()
    try:
        NotebookClient(notebook, kernel_name="python3", **settings).execute()
    finally:
        out.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, out / f"{source.stem}.ipynb")
    pictures = [
        output.data["image/png"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
    ]
    for number, picture in enumerate(pictures, start=1):
        (out / f"{source.stem}-{number}.png").write_bytes(base64.b64decode(picture))
    return time.perf_counter() - begin


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python tools/notebooks.py")
    parser.add_argument("command", choices=("write", "run"))
    parser.add_argument("names", nargs="*", help="beginnings of names, such as 01 (default: all)")
    arguments = parser.parse_args()
    for source in sources(arguments.names):
        if arguments.command == "write":
            source.with_suffix(".ipynb").write_text(made(source), encoding="utf-8")
        else:
            print(f"{source.stem}: {run(source, ROOT / 'results' / 'notebooks'):.0f} s", flush=True)


if __name__ == "__main__":
    main()
