"""Check that .venv is as `tools/setup.sh` made it, including the sizes of files. It is run by the Python of .venv.

python -I tools/environment.py check LEVEL [BASE]   exit status 0: sound; 3: sound, but for a lower level;
                                                    1: not sound, and stderr says why
python -I tools/environment.py stamp LEVEL          checks the installation, then writes the stamp

LEVEL is one of `LEVELS`; each includes the ones before it. BASE is the interpreter that .venv must be made from.
"""

import csv
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STAMP = Path(sys.prefix, "jaxbandits-setup.json")
LEVELS = ("run", "test", "notebooks", "dev", "docs")
IMPORTS = ("jax", "chex", "filelock", "matplotlib", "numpy", "optax", "scipy", "tqdm")


def main(command: str, level: str, base: str = "") -> None:
    if command == "stamp":
        for name in IMPORTS:
            importlib.import_module(name)
        check_files()
        check_package()
        write(level)
        return
    try:
        stamp = json.loads(STAMP.read_bytes())
    except (OSError, ValueError):
        sys.exit("its installation was not finished")
    if stamp["key"] != key():
        sys.exit("pyproject.toml, constraints.txt or the path of this folder has changed")
    if base and os.path.realpath(base) != os.path.realpath(stamp["python"]):
        sys.exit(f"it was made with {stamp['python']}")
    gone = set(stamp["packages"]) - packages()
    if gone:
        sys.exit(f"packages are missing: {', '.join(sorted(gone))}")
    check_files()
    check_package()
    try:
        importlib.import_module("jax")
    except Exception as error:
        sys.exit(f"jax cannot be imported ({error})")
    if LEVELS.index(level) > LEVELS.index(stamp["level"]):
        sys.exit(3)


def key() -> str:
    """Return a digest of pyproject.toml, constraints.txt and the path of this folder.

    The path is included because the scripts of .venv and its link to this folder contain it.
    """
    digest = hashlib.sha256(os.fsencode(ROOT))
    for name in ("pyproject.toml", "constraints.txt"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def packages() -> set[str]:
    return {distribution.name for distribution in importlib.metadata.distributions()}


def check_files() -> None:
    """Check every file against the size that its wheel recorded: a kill or a full disk can truncate files."""
    for distribution in importlib.metadata.distributions():
        home = os.fspath(distribution.locate_file(""))
        for name, _, size in csv.reader((distribution.read_text("RECORD") or "").splitlines()):
            if not size:
                continue
            try:
                found = os.stat(os.path.join(home, name)).st_size
            except OSError:
                found = None
            if found != int(size):
                sys.exit(f"{distribution.name} is incomplete ({name})")


def check_package() -> None:
    """Check that the package links to this folder.

    The package is looked up and not imported: an error in its code is no reason to reinstall.
    """
    spec = importlib.util.find_spec("jaxbandits")
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != ROOT / "jaxbandits" / "__init__.py":
        sys.exit("its jaxbandits is not the package in this folder")


def write(level: str) -> None:
    stamp = {"key": key(), "level": level, "python": sys._base_executable, "packages": sorted(packages())}
    part = STAMP.with_suffix(".part")
    part.write_text(json.dumps(stamp, indent=1))
    os.replace(part, STAMP)


if __name__ == "__main__":
    main(*sys.argv[1:])
