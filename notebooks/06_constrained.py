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
# # Learning under constraints, without projections
#
# A recommender system completes a matrix of ratings, one batch at a time, under a constraint that changes from round to
# round. This notebook follows Wang, Wan & Zhang, *Revisiting Projection-Free Online Learning with Time-Varying
# Constraints* (AAAI 2025).

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
# In round $t$ the learner plays a matrix $X_t \in \mathcal{K}$ and receives a loss $f_t$ and a constraint $g_t$. The
# aim is to keep two sums small:
#
# $$\text{loss } \sum_t f_t(X_t), \qquad \text{violation } \sum_t \max(g_t(X_t), 0) .$$
#
# Here $f_t(X) = \tfrac12 \sum_{(i, j) \in O_t} (X_{ij} - M_{ij})^2$ over a batch $O_t$ of known ratings,
# $\mathcal{K} = \{ \|X\|_* \le \tau \}$ is a ball of the trace norm (the sum of the singular values), whose points have
# approximately low rank, and $g_t(X) = \langle P_t, X \rangle - b$ is a budget: the sum of predicted ratings must not
# exceed a given share of the sum of mean ratings.
#
# ## Why no projections
#
# A projection onto $\mathcal{K}$ needs a full singular value decomposition. Minimising a linear function over
# $\mathcal{K}$ needs only the first pair of singular vectors $u_1, v_1$ of $C$:
#
# $$\arg\min_{V \in \mathcal{K}} \langle C, V \rangle = -\tau \, u_1 v_1^\top .$$

# %%
import time

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandits.domains import NuclearBall

shape = (60, 100) if FAST else (300, 500)
ball = NuclearBall(radius=10.0)
direction = jnp.asarray(np.random.default_rng(0).standard_normal(shape))
oracles = {"projection": jax.jit(ball.project), "linear oracle": jax.jit(lambda c: ball.lmo(c)[0])}
for name, oracle in oracles.items():
    jax.block_until_ready(oracle(direction))  # compiles
    begin = time.perf_counter()
    jax.block_until_ready(oracle(direction))
    print(f"{name} of a {shape[0]} x {shape[1]} matrix: {1e3 * (time.perf_counter() - begin):.1f} ms")

# %% [markdown]
# ## The data
#
# MovieLens-100k has 100,000 ratings of 1,682 films by 943 people. Its licence forbids redistribution: download `u.data`
# from GroupLens, and set `JAXBANDITS_DATA` to the folder that contains `movielens-100k/`. Without this file the
# notebook uses a small synthetic stand-in of rank 3, and the titles of the figures say so.

# %%
from pathlib import Path

from jaxbandits.coco import MatrixCompletion
from jaxbandits.environments.datasets.movielens import load_movielens

data = Path(os.environ.get("JAXBANDITS_DATA", "data")) / "movielens-100k" / "u.data"
if data.exists() and not FAST:
    env = MatrixCompletion.from_ratings(load_movielens(data), constraint="budget")
    title, SEEDS, T = "MovieLens-100k", 3, 1000  # one pass over the ratings
else:
    env = MatrixCompletion.stand_in(constraint="budget")
    title, SEEDS, T = "stand-in for MovieLens", 50, (100 if FAST else 800)
print(f"{title}: {env.dim[0]} x {env.dim[1]}, {len(env.observed):,} ratings, {env.batch} per round")

# %% [markdown]
# ## The learners
#
# OFW-TVC minimises a surrogate that combines loss and constraint. If $Q_t$ is the accumulated violation, the surrogate
# is
#
# $$\tilde f_t(X) = \gamma f_t(X) + \Phi'(Q_t) \, \max(g_t(X), 0), \qquad \Phi(Q) = e^{\lambda Q} - 1 .$$
#
# In each round, the learner takes one Frank-Wolfe step towards the point that the linear oracle returns. The weight of
# the constraint grows with the violation. SCOFW-TVC also uses the curvature of the loss.

# %%
from jaxbandits import compare
from jaxbandits.coco import OFWTVC, SCOFWTVC


def settings(env, horizon):
    """Return the settings of all learners; the scale gives loss and constraint the same Lipschitz constant."""
    bound, ball = float(env.lipschitz), NuclearBall(radius=float(env.radius))
    same = {"constraint_scale": bound / env.constraint_lipschitz}
    return {"dim": env.dim, "horizon": horizon, "domain": ball, "lipschitz": bound, **same}


small = 0.5 * T**-0.75
learners = {
    "OFW-TVC, careful": OFWTVC.practical(**settings(env, T), eta_scale=1e3, gamma=small),
    "OFW-TVC, bold": OFWTVC.practical(**settings(env, T), eta_scale=1e3, gamma=100.0 * small),
    "SCOFW-TVC": SCOFWTVC.theory(**settings(env, T), curvature=env.batch / len(env.observed)),
}
result = compare(learners, env, horizon=T, seeds=SEEDS)

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, metric in zip(axes, ("loss", "violation"), strict=True):
    result.plot(metric, band="quantile", ax=ax)
    ax.set_title(title)
trials = result["SCOFW-TVC"]
_ = axes[0].plot(trials.record_points, trials.get("zero_loss")[0].mean(axis=0), ":", color="grey")

# %% [markdown]
# The dotted line is the loss of a learner that always plays the matrix 0, which never violates the budget. On MovieLens
# all learners stay near 0 for a long time, and the budget is not active in one pass. On the stand-in it is active:
# there is a trade-off between loss and violation, which the weight $\gamma$ of the loss controls.
#
# ## The trade-off
#
# We sweep $\gamma$ on the stand-in. All points share one compiled program.

# %%
from jaxbandits import sweep

stand_in = MatrixCompletion.stand_in(constraint="budget")
SEEDS, T = 50, (100 if FAST else 800)
small = 0.5 * T**-0.75
weights = [w * small for w in ([1.0, 100.0] if FAST else [0.1, 1.0, 10.0, 100.0, 1000.0])]
learner = OFWTVC.practical(**settings(stand_in, T), eta_scale=1e3)
swept = sweep(learner, stand_in, horizon=T, seeds=SEEDS, grid={"gamma": weights}, record_points=1)
loss, violation = (swept.final(metric).mean(axis=1) for metric in ("loss", "violation"))
figure, ax = plt.subplots(figsize=(5.5, 3.8), layout="constrained")
ax.plot(violation, loss, marker="o")
for x, y, weight in zip(violation, loss, weights, strict=True):
    ax.annotate(f"{weight / small:g}", (x, y), textcoords="offset points", xytext=(6, 4))
_ = ax.set(xlabel="violation", ylabel="loss", title="OFW-TVC over the weight of the loss, stand-in")

# %% [markdown]
# A small weight reduces the influence of the losses, and a large weight reduces that of the constraints. Among the
# weights in between, some are better than others in both loss and violation.
#
# In the paper's experiment (`constraint="figure"`) the constraints are drawn with mean 0. They cannot be learned, and
# only a smaller $X$ reduces the violation. `jaxbandits reproduce coco/fig1` runs this experiment with the two other
# learners of Figure 1 and tunes all of them over the paper's grid; `--data u.data` uses the real data.
