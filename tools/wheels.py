"""Build sdist and wheel, install them into new environments, and use them from another folder.

python tools/wheels.py [NAME ...]     test these environments: 3.11, 3.12, 3.13, sdist, colab (default: all)

In the environments 3.11, 3.12 and 3.13, the wheel is installed with the versions of constraints.txt; in sdist, the
source archive replaces the wheel; colab has the versions of Google Colab (Python 3.12). The wheel is built from the
sdist, so that nothing comes from the checkout alone. Environments are in .cache/wheels, where only those that failed
are kept. The exit status is 1 if an environment fails, or if its interpreter is found neither on PATH nor in the
folder of pyenv.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOM = ROOT / ".cache" / "wheels"
COLAB = "jax==0.7.2\njaxlib==0.7.2\nnumpy==2.1.3\n"
ENVIRONMENTS = {  # name: interpreter, suffix of what is installed, constraints
    "3.11": ("3.11", ".whl", None),
    "3.12": ("3.12", ".whl", None),
    "3.13": ("3.13", ".whl", None),
    "sdist": ("3.13", ".tar.gz", None),
    "colab": ("3.12", ".whl", COLAB),
}

SWEEP = """
horizon = 100
seeds = 8
record_points = 10

[algorithms.oful]
type = "linear/oful"
dim = 2
beta_scale = { values = [0.1, 1.0] }

[environments.student]
type = "linear/heavy_tailed"
dim = 2
n_arms = 5
noise = { type = "noise/student_t", df = 2.5 }
"""

PROGRAM = """
from jaxbandits import OFUL, HeavyTailed, HvtUCB, compare
result = compare([OFUL(dim=2), HvtUCB(dim=2, horizon=100)], HeavyTailed(dim=2, n_arms=5), 100, 64, progress=False)
print(result.table())
result.save("run.npz")
import jax, jaxbandits, numpy; print(jaxbandits.__file__, jax.__version__, numpy.__version__)
"""


class TroubleError(Exception):
    """Failure in an environment."""


def main(names: list[str]) -> int:
    if unknown := set(names) - ENVIRONMENTS.keys():
        print(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(ENVIRONMENTS)}", file=sys.stderr)
        return 2
    ROOM.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(ROOM / "dist", ignore_errors=True)
    _call([_uv(), "build", "--quiet", "--out-dir", ROOM / "dist", ROOT])
    failed = False
    for name in names or ENVIRONMENTS:
        begin = time.perf_counter()
        try:
            said = _tried(name)
        except TroubleError as trouble:
            failed = True
            said = f"FAILED: {trouble}"
        print(f"{name:6}  {said}  ({time.perf_counter() - begin:.0f} s)", flush=True)
    return int(failed)


def _tried(name: str) -> str:
    """Install an archive into a new environment and use it there; return versions and the name of the archive."""
    version, suffix, constraints = ENVIRONMENTS[name]
    room = ROOM / name
    shutil.rmtree(room, ignore_errors=True)
    _call([_uv(), "venv", "--quiet", "--no-project", "--python", _interpreter(version), room])
    python, command = room / "bin" / "python", room / "bin" / "jaxbandits"
    given = ROOT / "constraints.txt"
    if constraints is not None:
        given = room / "constraints.txt"
        given.write_text(constraints)
    archive = next((ROOM / "dist").glob(f"jaxbandits-*{suffix}"))
    _call([_uv(), "pip", "install", "--quiet", "--python", python, "--constraint", given, archive])
    _call([_uv(), "pip", "check", "--quiet", "--python", python])
    with tempfile.TemporaryDirectory(prefix="jaxbandits-") as elsewhere:

        def here(*words: object) -> str:
            return _call(words, elsewhere)

        Path(elsewhere, "mine.toml").write_text(SWEEP)
        Path(elsewhere, "mine.py").write_text(PROGRAM)
        here(command, "--version")
        _has(here(command, "list"), "linear/hvt_ucb", "dro/smd", "oco/ca_oons")
        said = here(command, "reproduce", "linear/fig1", "--include", "OFUL", "--include", "Hvt-UCB", "--seeds", "8",
                    "--horizon", "100", "--no-timing", "--quiet", "--out", "figure")  # fmt: skip
        _has(said, "Hvt-UCB", "figure")
        if not list(Path(elsewhere, "figure").rglob("*.png")):
            raise TroubleError("`jaxbandits reproduce` drew no figure")
        _has(here(command, "sweep", "mine.toml", "--quiet"), "1 of 1 parts done")
        here(command, "export", "results/mine", "--final")
        said = here(python, "mine.py")
        _has(said, "OFUL", "HvtUCB", str(room))
        _has(here(command, "info", "run.npz"), "HvtUCB")
        jax, numpy = said.split()[-2:]
    python_ = _call([python, "-V"]).split()[1]
    shutil.rmtree(room)
    return f"Python {python_}, jax {jax}, numpy {numpy}, {archive.name}: all checks passed"


def _has(text: str, *words: str) -> None:
    for word in words:
        if word not in text:
            raise TroubleError(f"{word!r} is not in the output: {text[:500]!r}")


def _uv() -> Path:
    return Path(sys.executable).with_name("uv")


def _interpreter(version: str) -> str:
    """Return an interpreter that runs; a shim of pyenv on PATH may not, if its version is not selected."""
    folders = [Path(folder or ".") for folder in os.environ["PATH"].split(os.pathsep)]
    folders += Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin")
    for folder in folders:
        executable = folder / f"python{version}"
        asked = [executable, "-c", "import sys; print(sys.executable)"]
        if os.access(executable, os.X_OK) and (found := _run(asked)).returncode == 0:
            return found.stdout.strip()
    raise TroubleError(f"python{version} was not found")


def _call(words: "list[object] | tuple[object, ...]", where: "str | None" = None) -> str:
    """Run a command, and return its output; a failure raises `TroubleError`."""
    found = _run(words, where)
    if found.returncode:
        said = (found.stderr or found.stdout).strip()
        raise TroubleError(f"{' '.join(map(str, words))} exited with status {found.returncode}: {said[-2000:]}")
    return found.stdout


def _run(words: "list[object] | tuple[object, ...]", where: "str | None" = None) -> "subprocess.CompletedProcess[str]":
    gone = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")
    environment = {name: value for name, value in os.environ.items() if name not in gone}
    environment |= {"MPLBACKEND": "Agg", "PYTHONWARNINGS": "error::DeprecationWarning:jaxbandits"}
    return subprocess.run(list(map(str, words)), cwd=where or ROOM, env=environment, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
