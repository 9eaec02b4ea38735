# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A sweep that resumes after a kill
#
# A long sweep must survive interruptions. In `jaxbandits`, a sweep is defined by one file, and its results are in one
# directory. After an interruption the same command continues, and the results agree bit for bit with those of an
# uninterrupted run. In this notebook we kill the process ourselves.

# %% [markdown]
# In Colab, open this notebook and upload `jaxbandits` in the file panel, as a wheel or as a zip of the checkout. The
# next cell installs it and keeps Colab's JAX, which matches Colab's CUDA. Use the CPU runtime: most cells run hundreds
# of trials side by side, and we estimate that a GPU is faster only for more than about a thousand trials
# (`docs/precision.md`).

# %% cellView="form"
# @title Installation
import glob
import importlib.metadata
import importlib.util
import os
import subprocess
import sys

if importlib.util.find_spec("jaxbandits") is None:
    found = [name for pattern in ("*.whl", "*.tar.gz", "*.zip") for name in glob.glob(f"jaxbandits*{pattern}")]
    assert found, "upload jaxbandits-*.whl (made by `pip wheel --no-deps .`) or a zip of the checkout"
    installed = [name for name in ("jax", "jaxlib", "numpy") if importlib.util.find_spec(name)]
    versions = [f"{name}=={importlib.metadata.version(name)}" for name in installed]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", found[0], *versions], check=True)

FAST = "JAXBANDITS_FAST" in os.environ  # the tests run this notebook with fewer seeds and rounds

# %% [markdown]
# ## The file
#
# The file declares two learners, which are swept over their constants, and two environments, one with heavy-tailed and
# one with light-tailed noise. Fields with `values` or `logspace` are swept; all values of a field that holds a real
# number share one compiled program.

# %%
import tempfile
from pathlib import Path

room = Path(tempfile.mkdtemp())
horizon, seeds = (100, 50) if FAST else (4_000, 256)
_ = (room / "tails.toml").write_text(f"""
horizon = {horizon}
seeds = {seeds}
record_points = 20
part_trials = 256

[algorithms.hvt]
type = "linear/hvt_ucb"
dim = 2
horizon = {horizon}
eps = 0.99
moment_bound = 1.31
beta_scale = {{ logspace = [1e-5, 1e-2], n = 7 }}
tau_scale = {{ values = [0.03, 0.1, 0.3, 1.0] }}

[algorithms.oful]
type = "linear/oful"
dim = 2
noise_scale = 1.31
beta_scale = {{ logspace = [0.01, 1.0], n = 7 }}

[environments.heavy]
type = "linear/heavy_tailed"
dim = 2
n_arms = 50
unit_arms = true
noise = {{ type = "noise/student_t", df = 2.1 }}

[environments.light]
type = "linear/heavy_tailed"
dim = 2
n_arms = 50
unit_arms = true
noise = {{ type = "noise/student_t", df = 10.0 }}
""")

# %% [markdown]
# ## A dry run
#
# A dry run checks the file, compiles the programs, plays a few rounds and prints the expected cost. (A notebook can run
# commands with `!jaxbandits ...`. We start them from Python so that the cells below can kill them.)

# %%
import subprocess


def command(*words):
    return [sys.executable, "-m", "jaxbandits", *map(str, words)]


def run_command(*words):
    done = subprocess.run(command(*words), capture_output=True, text=True, cwd=room)
    assert done.returncode == 0, done.stderr
    print(done.stdout)


run_command("sweep", "tails.toml", "--dry-run")

# %% [markdown]
# ## Two kills
#
# A sweep is computed in parts. We start it, wait until some parts are done, and kill the process with `SIGKILL`, which
# a process cannot catch. Then we do the same again.

# %%
import time

out = room / "results" / "tails"


def done():
    return len(list((out / "parts").glob("*.json")))


for wanted in (3, 8):
    process = subprocess.Popen(command("sweep", "tails.toml", "--quiet", "--save-every", "1"), cwd=room)
    while done() < wanted and process.poll() is None:
        time.sleep(0.01)
    process.kill()
    process.wait()
    print(f"killed with {done()} parts done")

# %% [markdown]
# The status is available at any time, also from another terminal:

# %%
run_command("status", out)

# %% [markdown]
# ## The same command continues

# %%
run_command("sweep", "tails.toml", "--quiet")

# %% [markdown]
# For comparison, we run the sweep without interruptions in another directory, and compare the checksums of all result
# files:

# %%
import hashlib


def checksums(directory):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (directory / "parts").glob("*.npz")}


run_command("sweep", "tails.toml", "--quiet", "--out", "undisturbed")
print("bit for bit the same:", checksums(out) == checksums(room / "undisturbed"))

# %% [markdown]
# Files are written under a temporary name, synced and renamed. A part is done when its JSON file, which contains the
# checksum of its results, exists. Random numbers depend only on the seed and the round, not on when, where or in which
# order a trial runs. Several machines can therefore share the work: use `--shard 1/4` on the first of four machines,
# and so on. The command `jaxbandits submit` submits the shards to SLURM.
#
# ## Results
#
# Results are loaded on request, part by part, because a sweep may not fit in memory.

# %%
from jaxbandits import load_sweep

found = load_sweep(out)
final = found.final("regret")  # one number per trial
print(found)
for label, best in final.best("regret").items():
    print(f"{label:11s} {best.estimate} at", {name: f"{value:.3g}" for name, value in best.point.items()})

# %% [markdown]
# `best` chooses a point on one half of the seeds and evaluates this point on the other half.

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, tails in zip(axes, ("heavy", "light"), strict=True):
    final.heatmap("regret", "beta_scale", "tau_scale", label=f"hvt@{tails}", ax=ax)
    ax.set_title(f"Hvt-UCB, {tails} tails")

# %%
figure, ax = plt.subplots(figsize=(5.8, 3.6), layout="constrained")
for tails in ("heavy", "light"):
    trials = final[f"oful@{tails}"]
    scales = [point["beta_scale"] for point in trials.points]
    ax.loglog(scales, trials.final("regret").mean(axis=1), marker="o", label=f"{tails} tails")
ax.set(xlabel="beta_scale of OFUL", ylabel="regret")
_ = ax.legend(frameon=False)

# %% [markdown]
# If the file has changed, the command refuses to continue in the same directory, and the message names the field that
# differs:

# %%
changed = command("sweep", "tails.toml", "--quiet", "--set", "algorithms.hvt.eps=0.5")
refused = subprocess.run(changed, capture_output=True, text=True, cwd=room)
print(refused.stderr)

# %% [markdown]
# `docs/sweeps.md` documents the file and shows how to run a sweep from Python in ten lines. `docs/scaling.md` is about
# a million trials on a cluster.
