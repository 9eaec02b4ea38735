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
# # Logistic and Poisson bandits
#
# A click is 0 or 1, and a number of sales is 0, 1, 2, ... Generalised linear bandits model such rewards. This notebook
# follows Zhang, Xu, Zhao & Sugiyama, *Generalized Linear Bandits: Almost Optimal Regret with One-Pass Update* (NeurIPS
# 2025).

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

# %%
import jax

jax.config.update("jax_enable_x64", True)  # likelihoods need double precision

# %% [markdown]
# ## The model
#
# The mean of the reward is a function $\mu$ of $\langle x, \theta_* \rangle$, which is called the *link*:
#
# $$\mathbb{E}[r \mid x] = \mu(\langle x, \theta_* \rangle), \qquad
#   \mu(z) = \frac{1}{1 + e^{-z}} \;\text{(logistic)}, \qquad \mu(z) = e^{z} \;\text{(Poisson)}.$$
#
# A logistic link is flat at both ends, where rewards hardly depend on the arm and carry little information. The
# flatness of a link on the ball of radius $S$ is
#
# $$\kappa = \frac{1}{\min_{|z| \le S} \mu'(z)} ,$$
#
# which grows like $e^{S}$ for the logistic link.

# %%
import matplotlib.pyplot as plt
import numpy as np

from jaxbandits import links

z = np.linspace(-9, 9, 301)
figure, ax = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
ax.plot(z, 1.0 / (1.0 + np.exp(-z)))
ax.set(xlabel=r"$\langle x, \theta_* \rangle$", ylabel="probability of a click")
for size in (3.0, 5.0, 7.0, 9.0):
    kappa = 1.0 / float(links.Bernoulli().slope_bounds(-size, size)[0])
    print(f"S = {size:g}: kappa = {kappa:,.0f}")

# %% [markdown]
# The regret bounds of early algorithms (GLM-UCB) are of order $\kappa \sqrt{T}$, where $\kappa$ is about 8,000 at
# $S = 9$. The bounds of newer algorithms are of order $\sqrt{T / \kappa_*}$, where $\kappa_*$ is the flatness at the
# *best* arm: the flatter the link is there, the smaller the bound.
#
# Two kinds of methods attain this rate. Methods of the first kind maximise the likelihood of all rewards in every
# round. They are exact, but their cost per round grows with $t$. Methods of the second kind, such as GLB-OMD, take one
# step per round from the last iterate,
#
# $$\theta_{t+1} = \arg\min_{\|\theta\| \le S} \;
#   \langle \nabla \ell_t(\theta_t), \theta \rangle + \tfrac{1}{2 \eta} \|\theta - \theta_t\|^2_{\tilde H_t} ,$$
#
# with a Hessian $\tilde H_t$ that looks one step ahead. They do not store past rewards.
#
# ## Logistic bandits
#
# OFUGLB maximises the likelihood. With fixed arms it needs only the number of plays and the sum of the rewards of each
# arm. Because it is slow, we run it on fewer seeds: the argument `seeds` may be a mapping. Comparisons use the seeds
# that the learners have in common.

# %%
from jaxbandits import compare
from jaxbandits.glm import GLBOMD, GLOC, OFUGLB, ECOLog, GeneralizedLinear
from jaxbandits.linear import Uniform

SEEDS, FEW, T = (64, 50, 100) if FAST else (256, 64, 1000)


def logistic(size):
    common = {"dim": 2, "norm_bound": size, "delta": 0.05}
    env = GeneralizedLinear.fixed(norm_bound=size)
    return env, {
        "GLB-OMD": GLBOMD.experiments(**common),
        "OFUGLB": OFUGLB.theory(**common, n_arms=env.n_arms),
        "ECOLog": ECOLog.experiments(**common),
        "GLOC": GLOC.experiments(**common),
        "uniform": Uniform(dim=2),
    }


results = {}
for size in (3.0, 7.0):
    env, learners = logistic(size)
    seeds = dict.fromkeys(learners, SEEDS) | {"OFUGLB": FEW}
    results[size] = compare(learners, env, horizon=T, seeds=seeds)

# %%
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, (size, result) in zip(axes, results.items(), strict=True):
    result.plot("regret", algorithms=["GLB-OMD", "OFUGLB", "ECOLog", "GLOC"], ax=ax)
    ax.set_title(f"logistic, S = {size:g}")

# %%
for size, result in results.items():
    print(f"S = {size:g}", result.table("regret"), sep="\n")
    print("GLB-OMD minus OFUGLB, seed by seed:", result.paired_difference("GLB-OMD", "OFUGLB"), end="\n\n")

# %% [markdown]
# Two columns of the table matter. The *regret* of GLOC depends on $\kappa$, which is visible at $S = 7$; GLB-OMD lies
# between GLOC and OFUGLB, which fits the likelihood of all rewards. The column *ns/round* shows that OFUGLB takes
# hundreds of times as long. ECOLog also makes one pass over the rewards, but exists only for the logistic link.
#
# ## The confidence set
#
# Except for uniform play, all these learners are based on a confidence set that contains $\theta_*$ in all rounds with
# probability at least $1 - \delta$. The metric `estimation_error` is $\|\theta_t - \theta_*\|$.
# `jaxbandits reproduce glm/regions` draws the sets, and `jaxbandits reproduce glm/coverage` measures how often they
# contain $\theta_*$.

# %%
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
_ = results[3.0].plot("estimation_error", algorithms=["GLB-OMD", "OFUGLB", "ECOLog"], ax=ax)

# %% [markdown]
# A good learner stops playing bad arms and therefore obtains no more information about them. An estimate that stops
# improving is therefore not a failure.
#
# ## Poisson bandits
#
# Counts have no upper bound, and their variance grows with the mean. In the code, only the link changes.

# %%
env = GeneralizedLinear.fixed(link=links.Poisson(), norm_bound=3.0)
common = {"dim": 2, "norm_bound": 3.0, "delta": 0.05, "link": links.Poisson()}
learners = {
    "GLB-OMD": GLBOMD.experiments(**common),
    "GLB-OMD, data radius": GLBOMD.practical(**common),
    "GLOC": GLOC.experiments(**common),
    "uniform": Uniform(dim=2),
}
poisson = compare(learners, env, horizon=T, seeds=SEEDS)
figure, ax = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
poisson.plot("regret", algorithms=["GLB-OMD", "GLB-OMD, data radius", "GLOC"], ax=ax)
_ = ax.set_title("Poisson, S = 3")

# %%
print(poisson.table("regret"))
print("data radius minus theorem's, seed by seed:", poisson.paired_difference("GLB-OMD, data radius", "GLB-OMD"))

# %% [markdown]
# The *data radius* is computed from the observed losses, while the radius of the theorem assumes the worst case. The
# command `jaxbandits reproduce glm/fig1` reruns Figure 1 of the paper, and `jaxbandits reproduce glm/fig2` reruns
# Figure 2.
