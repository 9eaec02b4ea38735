"""A second process with the default settings loads the programs of the first and gives the same numbers.

Machine code that JAX saved may call functions of its process by name; `tests.external_routines` lists those of LAPACK.
"""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from jaxlib import lapack

from jaxbandits import Result, cli
from tests.doc_blocks import PAGES, ROOT, blocks
from tests.external_routines import LAPACK, LEARNERS, TYPES

pytestmark = pytest.mark.system
BLOCKS = "potrf/blocks"  # in the form for accelerators; no other learner of its process calls that routine
QUICK = ("solve", "fft", "callback", BLOCKS)
PLUGIN = """
import jax.numpy as jnp
from typing import Any, ClassVar
from jaxbandits import ArmDecision, Entry, Reward, param, pytree, register_algorithm, static

@pytree
class Ridge:
    feedback: ClassVar[type] = Reward
    dim: int = static(doc="dimension of the arms")
    ridge: Any = param(1.0, "(0, inf)", "regularisation")

    def init(self, key):
        return self.ridge * jnp.eye(self.dim), jnp.zeros(self.dim)

    def select(self, key, t, state, obs):
        index = jnp.argmax(obs.arms @ jnp.linalg.solve(*state))
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        return state[0] + jnp.outer(decision.x, decision.x), state[1] + feedback.reward * decision.x

register_algorithm("linear/ridge", Entry(Ridge, Ridge(dim=2), "nobody", ("linear/heavy_tailed",)))
"""
SWEEP = """
horizon = 20
seeds = 4
[algorithms.ridge]
type = "linear/ridge"
dim = 2
ridge = { values = [0.5, 1.0] }
[environments.heavy]
type = "linear/heavy_tailed"
dim = 2
n_arms = 5
noise = { type = "noise/student_t", df = 3.0 }
"""


def run(directory, *arguments, home=None):
    """Return the standard output of a Python process without settings of JAX, with the cache below its home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX", "XLA"))}
    home = str(home or directory / "home")
    environment = kept | {"HOME": home, "XDG_CACHE_HOME": home, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=directory, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.slow
def test_every_lapack_target_of_jaxlib_can_be_read_back(tmp_path):
    first, second = (
        json.loads(run(tmp_path, "-m", "tests.external_routines", "targets", tmp_path / "kept")) for _ in "12"
    )
    called = {target for calls, _ in first.values() for target in calls}
    (registered,) = (names for platform, names in lapack.registrations().items() if platform == "cpu")
    assert len(first) == len(LAPACK) * len(TYPES)
    assert {name for name, *_ in registered if name.startswith("lapack_")} <= called
    for name, (calls, value) in second.items():
        assert calls is None and value == first[name][1], name


@pytest.mark.slow
@pytest.mark.parametrize("names", [QUICK, tuple(set(LEARNERS) - set(QUICK))], ids=["quick", "others"])
def test_learners_that_leave_the_program_play_again(tmp_path, names):
    first, second = (json.loads(run(tmp_path, "-m", "tests.external_routines", "learners", *names)) for _ in "12")
    for name in names:
        (_, numbers), (compiled, again) = first[name], second[name]
        assert again == numbers
        assert name == BLOCKS or compiled == (name == "callback"), f"{name}: compiled {compiled} times"


def without_times(text):
    """Return a printed text without its times."""
    lines, column = [], None
    for line in text.splitlines():
        if "ns/round" in line:
            column = line.index("ns/round") - 2
        elif not line.strip():  # the table has ended; a line within it may be short if its label is broken
            column = None
        lines.append(re.sub(r"\b[\d.,]+ (ns|us|ms|s|h|min|M rounds/s|rounds/s)\b", "TIME", line[:column]))
    return lines


@pytest.mark.quick_cases("guarded.md")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_twice(tmp_path, page):
    outputs = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        outputs.append(run(tmp_path / name, "-m", "tests.doc_blocks", page, home=tmp_path / "home"))
    assert without_times(outputs[0]) == without_times(outputs[1])


@pytest.mark.slow
def test_a_sweep_of_a_plugin_runs_twice(tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "ridge.toml").write_text(SWEEP)
    sweep = ("-m", "jaxbandits.cli", "sweep", "ridge.toml", "--plugin", "mine.py", "--workers", "2", "--out")
    run(tmp_path, *sweep, "one")
    run(tmp_path, *sweep, "two", "--dry-run")
    run(tmp_path, *sweep, "two")
    tables = []
    for name in ("one", "two"):
        assert cli.main(["export", str(tmp_path / name), "--out", str(tmp_path / f"{name}.csv")]) == 0
        tables.append((tmp_path / f"{name}.csv").read_text())
    assert tables[0] == tables[1] and "regret" in tables[0]


@pytest.mark.slow
def test_an_experiment_with_balls_of_matrices_runs_twice(tmp_path):
    arguments = ("reproduce", "coco/fig1", "--seeds", 2, "--horizon", 20, "--no-timing", "--quiet", "--out")
    for name in "ab":
        run(tmp_path, "-m", "jaxbandits.cli", *arguments, f"results/{name}")
    first = Result.load(tmp_path / "results/a/fig1-figure.npz")
    assert set(first) >= {"OFW-TVC", "LPM"}
    for path in (tmp_path / "results/a").glob("*.npz"):
        one, two = Result.load(path), Result.load(tmp_path / "results/b" / path.name)
        for label in one:
            for metric in one[label].metrics:
                np.testing.assert_array_equal(one[label][metric], two[label][metric])
