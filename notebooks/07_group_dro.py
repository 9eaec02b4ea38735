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
# # Group DRO: the worst group, not the average
#
# A model with a small average risk can have a large risk on a small group. Group distributionally robust optimisation
# minimises the largest of the groups' risks. This notebook follows Zhang, Bai, Zhao, Yang & Zhou, *Stochastic
# Approximation Approaches to Group Distributionally Robust Optimization and Beyond* (JMLR).

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
# ## The problem
#
# There are $m$ groups, each with a distribution $P_i$ and a risk $R_i(w) = \mathbb{E}_{z \sim P_i} \ell(w; z)$.
# Ordinary learning minimises a mean of the $R_i$; group DRO minimises
#
# $$\min_{w \in W} \max_i R_i(w) = \min_{w \in W} \max_{q \in \Delta_m} \sum_{i=1}^m q_i R_i(w) .$$
#
# The right-hand side is a game: one player minimises over the model $w$, and the other maximises over the weights $q$
# of the groups. Both players run mirror descent on fresh samples:
#
# * **SMD(m)** draws one sample from every group in every round.
# * **Online(1)** draws from *one* group, which is sampled from $q$, so that the second player solves a bandit problem.
#   A round is $m$ times cheaper.
#
# ## The data
#
# The data set Adult describes 45,222 people in six groups by race and sex. The label says whether a person earns more
# than 50,000 dollars a year. Set `JAXBANDITS_DATA` to a folder that contains `adult/` with `adult.data` and
# `adult.test` from the UCI repository; without these files the notebook uses a synthetic stand-in of the same shape,
# and the titles of the figures say so.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from jaxbandits.dro import GroupData
from jaxbandits.environments.datasets.adult import adult_like, load_adult

directory = Path(os.environ.get("JAXBANDITS_DATA", "data")) / "adult"
table = load_adult(directory) if directory.is_dir() and not FAST else adult_like(scale=0.05 if FAST else 1.0)
title = "Adult" if table.source == "adult" else "stand-in for Adult (synthetic)"
env = GroupData.from_table(table)
print(f"{title}: {len(table.labels):,} rows, d = {table.dim}")
for name, rows in zip(table.names, table.rows(), strict=True):
    share = float(np.mean(table.labels[rows] > 0))
    print(f"  {name:13s} {len(rows):6,} people, {100 * share:.0f} % above 50,000")

# %% [markdown]
# ## The learners
#
# A third learner, *uniform weights*, is SMD(m) with constant weights, so it minimises the mean of the groups' risks.
# All learners draw the same total number of rows, so Online(1) plays more rounds; `horizon` may be a mapping.

# %%
from jaxbandits import compare
from jaxbandits.domains import L2Ball
from jaxbandits.dro import SMD, Online

SEEDS, ROWS = (50, 600) if FAST else (64, 24_000)
m = len(table.names)
space = {"dim": table.dim, "n_groups": m, "domain": L2Ball(radius=10.0), "lipschitz": 4.0}
learners = {
    "uniform weights": SMD(**space, horizon=ROWS // m, w_scale=3.0, q_scale=0.0),
    "SMD(m)": SMD(**space, horizon=ROWS // m, w_scale=3.0, q_scale=10.0),
    "Online(1)": Online(**space, horizon=ROWS, w_scale=3.0),
}
rounds = {"uniform weights": ROWS // m, "SMD(m)": ROWS // m, "Online(1)": ROWS}
result = compare(learners, env, horizon=rounds, seeds=SEEDS, record_points=30)

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, metric in zip(axes, ("max_risk", "mean_risk"), strict=True):
    result.plot(metric, x="samples", ax=ax)
    ax.set_title(title)
    ax.legend(frameon=False)

# %%
print(result.table("max_risk"))
print("SMD(m) minus uniform weights, seed by seed:", result.paired_difference("SMD(m)", "uniform weights", "max_risk"))
print("Online(1) minus SMD(m), seed by seed:", result.paired_difference("Online(1)", "SMD(m)", "max_risk"))

# %% [markdown]
# The left panel shows the largest risk of a group, the right one the mean over all groups. `w_scale` and `q_scale`
# multiply the step sizes of the theorem, which are chosen for the worst case; the factors are our choice.
#
# ## The step of the second player
#
# The hyperparameter `q_scale` is a real number, so it can be swept. At 0 the weights stay uniform, and with larger
# values they change faster.

# %%
from jaxbandits import sweep

pushes = [0.0, 10.0] if FAST else [0.0, 3.0, 10.0, 30.0, 100.0]
swept = sweep(learners["SMD(m)"], env, ROWS // m, SEEDS // 2, grid={"q_scale": pushes}, record_points=1)
worst, mean = (swept.final(metric).mean(axis=1) for metric in ("max_risk", "mean_risk"))
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
ax.plot(mean, worst, marker="o")
for x, y, push in zip(mean, worst, pushes, strict=True):
    ax.annotate(f"{push:g}", (x, y), textcoords="offset points", xytext=(6, 4))
_ = ax.set(xlabel="mean risk of the groups", ylabel="largest risk of a group", title=f"{title}: q_scale")

# %% [markdown]
# As the steps become larger, the largest risk first decreases while the mean risk hardly changes. Beyond a certain step
# size, the mean risk grows and the largest risk no longer decreases: in a run of this length, larger steps only add
# variance.
#
# ## Group by group

# %%
figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
for k, name in enumerate(learners):
    risk = result.final("risk", name)[0]  # [seed, group]
    at = np.arange(m) + 0.25 * (k - 1)
    ax.bar(at, risk.mean(axis=0), 0.22, yerr=risk.std(axis=0), label=name)
ax.set_xticks(np.arange(m), table.names)
ax.set(ylabel="risk (logistic loss)", title=f"{title}, bars: one standard deviation over seeds")
_ = ax.legend(frameon=False)

# %% [markdown]
# ## Where the rows come from
#
# Online(1) chooses the group of each row. The table shows the share of each group in the rows that were drawn; with
# uniform draws each share would be one sixth.

# %%
drawn = result.final("group_samples", "Online(1)")[0]
shares = drawn / drawn.sum(axis=1, keepdims=True)
for name, mean, spread in zip(table.names, shares.mean(axis=0), shares.std(axis=0), strict=True):
    print(f"  {name:13s} {100 * mean:5.1f} % (+- {100 * spread:.1f})")

# %% [markdown]
# `jaxbandits list dro` lists further algorithms and experiments: groups with little data, a single pass over the data,
# outliers, and objectives other than the maximum. `jaxbandits reproduce dro/fig5` reruns a figure of the paper.
