"""Check a release: build sdist and wheel, check their metadata, install each, and run the code blocks of README.md.

python tools/release_check.py     uses environments in .cache/wheels; the exit status is 1 if a check fails
"""

import shutil
import sys
import tempfile
from pathlib import Path

import wheels

PAGES = ("README.md", "tests/doc_blocks.py")


def main() -> int:
    """Run the command line."""
    wheels.ROOM.mkdir(parents=True, exist_ok=True)
    dist = wheels.ROOM / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    try:
        wheels._call([wheels._uv(), "build", "--quiet", "--out-dir", dist, wheels.ROOT])
        archives = sorted(dist.glob("jaxbandits-*"))
        print(wheels._call([sys.executable, "-m", "twine", "check", "--strict", *archives]).strip())
        for archive in archives:
            print(f"{archive.name}: README's code blocks run ({_run_readme(archive)})", flush=True)
    except wheels.TroubleError as trouble:
        print(f"release-check: {trouble}", file=sys.stderr)
        return 1
    return 0


def _run_readme(archive: Path) -> str:
    """Install an archive into a new environment and run README's code blocks there; return "sdist" or "wheel"."""
    room = wheels.ROOM / "release"
    shutil.rmtree(room, ignore_errors=True)
    wheels._call([wheels._uv(), "venv", "--quiet", "--no-project", "--python", sys.executable, room])
    python = room / "bin" / "python"
    given = wheels.ROOT / "constraints.txt"
    wheels._call([wheels._uv(), "pip", "install", "--quiet", "--python", python, "--constraint", given, archive])
    with tempfile.TemporaryDirectory(prefix="jaxbandits-") as elsewhere:
        for page in PAGES:
            target = Path(elsewhere, page)
            target.parent.mkdir(exist_ok=True)
            target.write_text((wheels.ROOT / page).read_text(encoding="utf-8"), encoding="utf-8")
        wheels._call([python, "-m", "tests.doc_blocks", "README.md"], elsewhere)
        found = wheels._call([python, "-c", "import jaxbandits; print(jaxbandits.__file__)"], elsewhere).strip()
    if str(room) not in found:
        raise wheels.TroubleError(f"jaxbandits was imported from {found}")
    shutil.rmtree(room)
    return "sdist" if archive.suffix == ".gz" else "wheel"


if __name__ == "__main__":
    sys.exit(main())
