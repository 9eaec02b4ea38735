"""A disk that is full and one that is read-only, for real: a small tmpfs in a mount namespace of its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_ALONE = ("unshare", "--user", "--map-root-user", "--mount")

FILE = """
horizon = 200
seeds = 256
record_points = 100
width = 32
part_trials = 128
precision = "float64"

[algorithms.oful]
type = "linear/oful"
dim = 2
ridge = { values = [0.1, 0.3, 1.0] }

[environments.student]
type = "linear/heavy_tailed"
dim = 2
n_arms = 5
"""

# Runs as root of its own namespace; says what every command said, and checks what it left behind.
_SCRIPT = """
import contextlib, hashlib, io, json, os, pathlib, subprocess, sys
from jaxbandits.cli import main

disk, out = pathlib.Path("disk"), "disk/mine"

def mount(*words):
    subprocess.run(["mount", *words], check=True)

def run(*words):
    said, complaint = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complaint):
        code = main(list(words))
    return code, complaint.getvalue()

def kept():
    parts = pathlib.Path(out).glob("parts/*.npz")
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in parts if p.with_suffix(".json").exists()}

def step(name, code, complaint):
    left = [str(path) for path in disk.rglob("*.tmp")]
    print(json.dumps({"step": name, "code": code, "said": complaint, "kept": kept(), "left": left}), flush=True)

sweep = ("sweep", "mine.toml", "--quiet", "--workers", "1", "--save-every", "0", "--out")
run(*sweep, "whole")
size = sum(path.stat().st_size for path in pathlib.Path("whole/parts").iterdir())
disk.mkdir()
mount("-t", "tmpfs", "-o", f"size={int(size * 0.9)}", "tmpfs", str(disk))
step("full", *run(*sweep, out))
step("still full", *run(*sweep, out))
mount("-o", "remount,ro", str(disk))
step("read-only", *run(*sweep, out))
step("read-only, elsewhere on it", *run(*sweep, "disk/other"))
step("status", *run("status", out))
mount("-o", f"remount,rw,size={int(size * 4)}", str(disk))
step("room", *run(*sweep, out))
mount("-o", "remount,ro", str(disk))
step("read, export", *run("export", out, "--final", "--out", "final.csv"))
step("export there", *run("export", out, "--final", "--out", "disk/final.csv"))
out = "whole"
step("undisturbed", 0, "")
"""


def _can_mount():
    if shutil.which("unshare") is None:
        return False
    tried = [*_ALONE, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(tried, capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.system
def test_full_and_read_only_disks(tmp_path):
    """One line, exit code 2, finished parts untouched; with room again the same command ends with the same bytes."""
    if not _can_mount():
        pytest.skip("needs to mount a tmpfs: unshare (util-linux) and user namespaces")
    (tmp_path / "mine.toml").write_text(FILE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([*_ALONE, sys.executable, "-c", _SCRIPT], cwd=tmp_path, env=environment, text=True,
                         capture_output=True, timeout=500)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    steps = {found["step"]: found for found in map(json.loads, ran.stdout.splitlines())}
    whole = steps["undisturbed"]["kept"]
    assert len(whole) == 6
    some = steps["full"]["kept"]
    assert 2 <= len(some) < 6 and some.items() < whole.items()
    for name, reason in {
        "full": "No space left on device",
        "still full": "No space left on device",
        "read-only": "cannot write to disk/mine: read-only file system",
        "read-only, elsewhere on it": "cannot create disk/other: Read-only file system",
        "export there": "cannot write to disk: read-only file system",
    }.items():
        said = steps[name]["said"]
        assert steps[name]["code"] == 2 and said.count("\n") == 1 and said.startswith("jaxbandits: cannot "), said
        assert reason in said and not steps[name]["left"]
    for name in ("still full", "read-only", "read-only, elsewhere on it", "status"):
        assert steps[name]["kept"] == some
    assert steps["status"]["code"] == 0 == steps["read, export"]["code"]  # reading needs no writing
    assert steps["room"]["code"] == 0 and steps["room"]["kept"] == whole
