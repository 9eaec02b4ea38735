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
# # Parameter-free learning, and an erratum
#
# This notebook shows learners that need no bound on the norm of the comparator. It also shows how a simulation reveals
# a gap in the proof of a theorem, and how this gap can be repaired. It follows Wang, Barik, Zhao & Tan, *Parameter-free
# Algorithms for the Stochastically Extended Adversarial Model* (NeurIPS 2025).

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
# ## Online convex optimisation
#
# In round $t$ the learner plays a point $x_t$ and receives the value and the gradient of a convex loss $f_t$ at this
# point. Its regret against a point $u$ is
#
# $$R_T(u) = \sum_{t=1}^T f_t(x_t) - f_t(u) .$$
#
# Gradient descent on a ball of radius $R$, with gradients of norm at most $G$, has
# $R_T(u) \le \sqrt{2} \cdot 2 R G \sqrt{T}$ for every $u$ *in the ball*. If the radius is large, the bound is weak for
# small $u$. If the radius is small, $u$ may lie outside the ball, and the regret then grows linearly in $T$. A
# **parameter-free** learner needs no radius:
#
# $$R_T(u) \le O\Big( \|u\| \, G \sqrt{T \log(1 + \|u\| \, G \, T)} + 1 \Big) \quad \text{for all } u \text{ at once.}$$
#
# One parameter-free method is coin betting: the learner starts with a wealth of one and bets a share of it on the
# direction of the next gradient. If the direction persists, the wealth grows exponentially, and so does the distance of
# the points from the origin.
#
# ## Regret against the distance
#
# The losses are smooth, with gradients of norm at most 1,
#
# $$f_t(x) = \sqrt{1 + \|x - \theta_t\|^2} - 1, \qquad \theta_t \approx u ,$$
#
# and the distance of their minimiser $u$ from the origin varies from 1/4 to 64. This distance is the field `center` of
# the environment, so we can sweep it.

# %%
import matplotlib.pyplot as plt
import numpy as np

from jaxbandits import Grid, compare
from jaxbandits.domains import L2Ball
from jaxbandits.oco import CLAOONS, OGD, DoG, KTBetting, PseudoHuberLosses

SEEDS, T = (64, 256) if FAST else (256, 8192)
distances = [2.0**k for k in range(-2, 7)]
learners = {
    f"gradient descent, R = {radius:g}": OGD(dim=2, domain=L2Ball(radius=radius)) for radius in (1.0, 8.0, 64.0)
}
learners |= {"coin betting": KTBetting(dim=2), "DoG": DoG(dim=2), "CLA-OONS": CLAOONS.practical(dim=2)}
env = PseudoHuberLosses(dim=2, noise_scale=0.2)
points = {"environment.center": distances}
result = compare({name: Grid(learner, points) for name, learner in learners.items()}, env, horizon=T, seeds=SEEDS)

# %%
figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
for name, style in zip(learners, ("--", "--", "--", "-", "-", "-"), strict=True):
    mean = result.final("regret", name).mean(axis=1)
    ax.loglog(distances, mean, style, marker="o", markersize=4, label=name)
ax.set(xlabel=r"distance $\|u\|$ of the minimiser", ylabel="regret at the end")
_ = ax.legend(frameon=False, fontsize="small")

# %% [markdown]
# The regret of gradient descent (dashed lines) is flat as long as $u$ lies in the ball. At larger distances the regret
# jumps, because it grows linearly in time. A large radius is safe but increases the regret at every distance.
# Parameter-free learners (solid lines) have no information on $u$, and their regret grows with $\|u\|$ without a jump.
#
# The growth exponent of the regret is the slope of its curve over time in a log-log plot. An exponent of 1 means linear
# regret.

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, distance in zip(axes, (0.25, 16.0), strict=True):
    at = distances.index(distance)
    for name, style in zip(learners, ("--", "--", "--", "-", "-", "-"), strict=True):
        trials = result[name]
        ax.loglog(trials.record_points, trials.get("regret")[at].mean(axis=0), style, label=name)
    ax.set(xlabel="round", ylabel="regret", title=rf"$\|u\| = {distance:g}$")
_ = axes[1].legend(frameon=False, fontsize="small", loc="upper left")

# %% [markdown]
# ## An erratum
#
# CA-OONS does not use betting. It runs $N$ learners on balls of radius $2, 4, 8, \dots, 2^N$ and plays a weighted mean
# of their points $x_t^1, \dots, x_t^N$, with weights that depend on the losses of the learners. As printed (equation
# (5)), the loss of learner $j$ is linearised *at its own point*,
#
# $$\ell_t^j = \langle \nabla f_t(x_t^j), \, x_t^j \rangle .$$
#
# For linear losses this is correct. For other losses, each learner is evaluated by a different linear function, and the
# comparison can rank the learners wrongly. An example is one fixed loss with its minimum at 8, without noise:

# %%
x = np.linspace(0.0, 10.0, 201)
loss, slope = np.sqrt(1.0 + (x - 8.0) ** 2) - 1.0, (x - 8.0) / np.sqrt(1.0 + (x - 8.0) ** 2)
figure, ax = plt.subplots(figsize=(5.8, 3.6), layout="constrained")
ax.plot(x, loss, label="loss $f(x)$")
ax.plot(x, slope * x, "--", label=r"as printed: $f'(x) \, x$")
for radius in (2.0, 4.0, 8.0):
    at = np.argmin(np.abs(x - radius))
    ax.plot(radius, (slope * x)[at], "o", color="black", markersize=5)
ax.set(xlabel="x", ylim=(-5.5, 8.0))
_ = ax.legend(frameon=False)

# %% [markdown]
# The learners on the balls of radius 2, 4 and 8 converge to 2, 4 and 8 (dots), the best points of their balls. The
# third learner has zero loss. According to the printed loss, however, it is the worst of the three: the slope at 8 is
# 0, and so is $f'(8) \cdot 8$, whereas the learner at 4 has $f'(4) \cdot 4 \approx -3.9$. The weighted mean converges
# to 4 and has the loss $f(4) = \sqrt{17} - 1 \approx 3.12$ in every round, although all assumptions of the theorem hold
# and its bound says that the regret hardly grows.
#
# There are two repairs: linearise the loss of every learner at the point that was *played*,
# $\langle \nabla f_t(x_t), x_t^j \rangle$, which is valid by convexity, or use the values $f_t(x_t^j)$ themselves.

# %%
from jaxbandits.oco import CAOONS

ROUNDS = 512 if FAST else 8192
still = PseudoHuberLosses(dim=1, center=8.0, noise_scale=0.0)
versions = {
    "as printed": CAOONS.theory(dim=1, horizon=ROUNDS, meta_loss="paper"),
    "played gradients": CAOONS.theory(dim=1, horizon=ROUNDS),
    "values": CAOONS.theory(dim=1, horizon=ROUNDS, meta_loss="value"),
}
erratum = compare(versions, still, horizon=ROUNDS, seeds=1, width=1)  # no noise: all trials would be the same
figure, ax = plt.subplots(figsize=(5.8, 3.6), layout="constrained")
for name, style in zip(versions, ("-", "--", ":"), strict=True):
    trials = erratum[name]
    ax.plot(trials.record_points, trials.get("regret")[0, 0], style, label=name)
ax.set(xlabel="round", ylabel="regret")
_ = ax.legend(frameon=False)

# %%
for name in versions:
    rounds, regret = erratum[name].record_points, erratum.get("regret", name)[0, 0]
    late = rounds >= ROUNDS // 2
    rate = (regret[late][-1] - regret[late][0]) / (rounds[late][-1] - rounds[late][0])
    print(f"{name:17s} regret per round in the last half: {rate:.3f}")

# %% [markdown]
# The regret of the repaired versions is large at the beginning because of the constants of the theorem, but it stops
# growing afterwards. `jaxbandits reproduce oco/e3` runs this experiment with noise and with verdicts, and
# `jaxbandits reproduce oco/e2` compares parameter-free learners.
