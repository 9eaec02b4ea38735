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
# # Heavy tails
#
# Clicks, prices and delays are sometimes a hundred times their usual size. This notebook shows how such heavy tails
# affect linear bandits, and how Huber's loss helps. It follows Wang, Zhang, Zhao & Zhou, *Heavy-Tailed Linear Bandits:
# Huber Regression with One-Pass Update* (ICML 2025).

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
# ## Tails
#
# A noise $\eta$ has a moment of order $1 + \varepsilon$ when $\mathbb{E} |\eta|^{1 + \varepsilon}$ is finite. Gaussian
# noise has moments of all orders. Student's $t$ with $\nu_0$ degrees of freedom has only moments of orders below
# $\nu_0$, because
#
# $$\Pr(|\eta| > z) \sim z^{-\nu_0} .$$
#
# In a log-log plot this is a straight line. With 2.1 degrees of freedom, the largest of 3000 absolute values is
# typically about 70 times as large as their median.

# %%
import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
n = 10_000 if FAST else 1_000_000
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
for name, draws in {
    "Gaussian": rng.standard_normal(n),
    "Student t, 3 degrees": rng.standard_t(3.0, n),
    "Student t, 2.1 degrees": rng.standard_t(2.1, n),
}.items():
    z = np.sort(np.abs(draws))
    ax.loglog(z, 1.0 - np.arange(n) / n, label=name)
ax.set(xlabel="z", ylabel="share of draws with |noise| > z", xlim=(0.1, None), ylim=(1.0 / n, 1.2))
_ = ax.legend(frameon=False)

# %% [markdown]
# ## Least squares and Huber's loss
#
# OFUL estimates $\theta_*$ by least squares. A residual $z$ has the loss $z^2 / 2$ and the gradient $z$, so that one
# reward that deviates by 500 has the same effect as 500 rewards that deviate by 1. Huber's loss is quadratic up to a
# threshold $\tau$ and linear beyond,
#
# $$\ell_\tau(z) = \begin{cases} z^2 / 2 & |z| \le \tau, \\ \tau |z| - \tau^2 / 2 & |z| > \tau, \end{cases}$$
#
# so that no gradient exceeds $\tau$. In each round, Hvt-UCB takes one step of mirror descent on Huber's loss,
#
# $$\hat\theta_{t+1} = \arg\min_{\theta} \; \langle \nabla \ell_t(\hat\theta_t), \theta \rangle
#   + \tfrac12 \| \theta - \hat\theta_t \|_{V_t}^2 ,$$
#
# and uses each reward only once. The threshold $\tau$ grows with $t$.

# %%
z = np.linspace(-4.0, 4.0, 201)
figure, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
ax.plot(z, z**2 / 2, label="square")
ax.plot(z, np.where(np.abs(z) <= 1.0, z**2 / 2, np.abs(z) - 0.5), "--", label=r"Huber, $\tau = 1$")
ax.set(xlabel="residual z", ylabel="loss")
_ = ax.legend(frameon=False)

# %% [markdown]
# ## Five learners, two noise distributions
#
# All learners receive the same bound on the moment of the noise. CRTM truncates rewards, and CRMM uses a median of
# means over eleven pulls of the same arm. `Uniform` does not learn and serves as the reference. The constants are those
# of the preset `practical`. With the constants of the theorems (preset `theory`), the robust learners explore much
# longer: after 3000 rounds with Student's noise, their mean regret is 900 to 1500, whereas that of uniform play is
# 3000.

# %%
from jaxbandits import HeavyTailed, compare, noise
from jaxbandits.linear import CRMM, CRTM, OFUL, HvtUCB, Uniform

SEEDS, T = (64, 200) if FAST else (512, 3000)
common = {"dim": 2, "horizon": T}
learners = {
    "Hvt-UCB": HvtUCB.practical(**common, eps=0.99, moment_bound=1.31),
    "OFUL": OFUL.practical(**common, noise_scale=1.31),
    "CRTM": CRTM.practical(**common, eps=0.99, noise_scale=1.31),
    "CRMM": CRMM.practical(**common, eps=0.99, noise_scale=1.31),
    "uniform": Uniform(dim=2),
}
laws = {"Student t, 2.1 degrees": noise.StudentT(df=2.1), "Gaussian": noise.Gaussian(spread=1.0)}
results = {}
for name, law in laws.items():
    env = HeavyTailed(dim=2, n_arms=50, noise=law, unit_arms=True)
    results[name] = compare(learners, env, horizon=T, seeds=SEEDS)

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for ax, (name, result) in zip(axes, results.items(), strict=True):
    result.plot("regret", algorithms=["Hvt-UCB", "OFUL", "CRTM", "CRMM"], ax=ax)
    ax.set_title(name)

# %%
for name, result in results.items():
    print(name, result.table("regret"), sep="\n")
    print("Hvt-UCB minus OFUL, seed by seed:", result.paired_difference("Hvt-UCB", "OFUL"), end="\n\n")

# %% [markdown]
# With heavy tails, robustness reduces the regret. With Gaussian noise robustness can increase the regret, as the sign
# of the difference in the last line shows.
#
# ## The tail of the regret
#
# A mean over hundreds of seeds can hide rare large regrets. The figure shows the share of seeds with a final regret
# above $z$.

# %%
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
heavy = results["Student t, 2.1 degrees"]
for name in ("Hvt-UCB", "OFUL", "CRTM", "CRMM"):
    final = np.sort(heavy.final("regret", name)[0])
    ax.loglog(final, 1.0 - np.arange(SEEDS) / SEEDS, label=name)
ax.set(xlabel="regret z", ylabel="share of seeds above z")
_ = ax.legend(frameon=False)

# %% [markdown]
# ## From heavy to light
#
# The degrees of freedom are a field of the environment, and fields can be swept. All five noise distributions share one
# compiled program for each learner.

# %%
from jaxbandits import Grid

degrees = [2.1, 2.5, 3.0, 5.0, 10.0]
env = HeavyTailed(dim=2, n_arms=50, noise=noise.StudentT(df=2.1), unit_arms=True)
pair = {name: Grid(learners[name], {"environment.noise.df": degrees}) for name in ("Hvt-UCB", "OFUL")}
swept = compare(pair, env, horizon=T, seeds=SEEDS)
difference = swept.paired_difference("Hvt-UCB", "OFUL", "regret")
figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
ax.errorbar(degrees, difference.mean, difference.half_width, marker="o", capsize=3)
ax.axhline(0.0, color="black", linewidth=0.8)
_ = ax.set(xlabel="degrees of freedom", ylabel="regret of Hvt-UCB minus OFUL's")

# %% [markdown]
# Where the curve is below zero, Hvt-UCB is better. The constants of both learners were tuned at 2.1 degrees of freedom,
# so the figure shows how robust the learners are, not the best regret of either learner.
#
# ## The effect of the constants
#
# `beta_scale` multiplies the width of the confidence interval; in the theorem it is 1.

# %%
from jaxbandits import sweep

widths = np.logspace(-5, 0, 6).tolist()
swept = sweep(learners["Hvt-UCB"], env, horizon=T, seeds=SEEDS // 4, grid={"beta_scale": widths})
regret = swept.final("regret")
figure, ax = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
ax.loglog(widths, np.median(regret, axis=1), marker="o", label="median")
ax.loglog(widths, regret.mean(axis=1), "--", marker="s", label="mean")
ax.set(xlabel="beta_scale: width of the interval, 1 is the theorem's", ylabel="regret")
_ = ax.legend(frameon=False)

# %% [markdown]
# The curve has a minimum: with narrower intervals the learner may never correct a bad start, and with wider ones it
# explores throughout. A comparison in which only one learner is tuned measures the tuning, not the learners. The
# command `jaxbandits reproduce linear/fig1` runs the whole experiment with the paper's horizon of 18,000 rounds.
