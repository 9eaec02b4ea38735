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
# # A sweep that survives being killed
#
# Experiments that matter take hours, and machines do not last for hours. A sweep is one file that says what to run, and
# one directory with what is done. Whatever happens in between, the same command goes on, and the results are the same
# bit for bit. Here we pull the plug ourselves.

# %% [markdown]
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/)
# In Colab: upload this notebook, then, in the panel of files, `jaxbandits` as a wheel or as a zip of the checkout.
# JAX stays the one that is there: another one would not fit Colab's CUDA.

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
    there = [name for name in ("jax", "jaxlib", "numpy") if importlib.util.find_spec(name)]
    as_they_are = [f"{name}=={importlib.metadata.version(name)}" for name in there]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", found[0], *as_they_are], check=True)

FAST = "JAXBANDITS_FAST" in os.environ  # the tests run this text with fewer seeds and rounds

# %% [markdown]
# ## The file
#
# Two learners, swept over their constants, on two noises: one with heavy tails, one with light ones. What is in braces
# is swept; real numbers share one compiled program.

# %%
import tempfile
from pathlib import Path

room = Path(tempfile.mkdtemp())
horizon, seeds = (100, 50) if FAST else (4_000, 256)
_ = (room / "tails.toml").write_text(f"""
horizon = {horizon}
seeds = {seeds}
record = 20
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
# ## What will it cost?
#
# A dry run checks the file, compiles the programs, plays a few rounds and says so. (A notebook may run commands with
# `!jaxbandits ...`; we go through Python so that the cells below can kill them.)

# %%
import subprocess


def command(*words):
    return [sys.executable, "-m", "jaxbandits", *map(str, words)]


def said(*words):
    done = subprocess.run(command(*words), capture_output=True, text=True, cwd=room)
    assert done.returncode == 0, done.stderr
    print(done.stdout)


said("sweep", "tails.toml", "--dry-run")

# %% [markdown]
# ## Pull the plug
#
# We start it, wait until some parts are done, and kill it the hard way: `SIGKILL` cannot be caught, nothing can be
# tidied up. Then once more.

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
# From another terminal, at any time, also while it runs:

# %%
said("status", out)

# %% [markdown]
# ## The same command goes on

# %%
said("sweep", "tails.toml", "--quiet")

# %% [markdown]
# Is it really the same? An undisturbed run in another directory, and the checksum of every file of results:

# %%
import hashlib


def checksums(directory):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (directory / "parts").glob("*.npz")}


said("sweep", "tails.toml", "--quiet", "--out", "undisturbed")
print("bit for bit the same:", checksums(out) == checksums(room / "undisturbed"))

# %% [markdown]
# Files are written under another name, synced and renamed; a part counts when its record with the checksum is there.
# Random numbers depend on the seed and the round alone, not on when, where or in which order a trial runs. So several
# machines can share the work, too: `--shard 1/4` on the first of four, and so on; `jaxbandits submit` hands the shards
# to SLURM.
#
# ## Reading it
#
# Results are read when they are asked for, part by part: a sweep may be larger than the memory.

# %%
from jaxbandits import load_sweep

found = load_sweep(out)
final = found.final("regret")  # one number per trial
print(found)
for label, best in final.best("regret").items():
    print(f"{label:11s} {best.estimate} at", {name: f"{value:.3g}" for name, value in best.point.items()})

# %% [markdown]
# `best` chooses on one half of the seeds and judges on the other.

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
# A changed file is refused in the same directory, and the message names the field that differs:

# %%
changed = command("sweep", "tails.toml", "--quiet", "--set", "algorithms.hvt.eps=0.5")
refused = subprocess.run(changed, capture_output=True, text=True, cwd=room)
print(refused.stderr)

# %% [markdown]
# The same from Python in ten lines, and everything that a file may hold: `docs/sweeps.md`. A million trials on a
# cluster: `docs/scaling.md`.
