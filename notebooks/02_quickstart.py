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
# # Quickstart: a thousand trials in a cell
#
# A single run of a bandit algorithm shows little, because the next seed may show the opposite. `jaxbandits` runs
# thousands of independent trials side by side, in one compiled program, and reports their results with confidence
# intervals.

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
# A linear bandit has $K$ arms, vectors $x_1, \dots, x_K \in \mathbb{R}^d$, and an unknown vector $\theta_*$. In round
# $t$ the learner chooses an arm $X_t$ and observes a noisy reward
#
# $$r_t = \langle X_t, \theta_* \rangle + \eta_t .$$
#
# Its **regret** after $T$ rounds is
#
# $$R_T = \sum_{t=1}^{T} \Big( \max_k \langle x_k, \theta_* \rangle - \langle X_t, \theta_* \rangle \Big).$$
#
# Here the noise has Student's $t$ distribution with 2.1 degrees of freedom. Its variance is finite but its third moment
# is not, and a single reward may deviate from its mean by a hundred.

# %%
from jaxbandits import OFUL, HeavyTailed, HvtUCB, compare, noise

SEEDS, T = (64, 200) if FAST else (1000, 2000)
env = HeavyTailed(dim=2, n_arms=50, noise=noise.StudentT(df=2.1), unit_arms=True)
learners = {
    "Hvt-UCB": HvtUCB.practical(dim=2, horizon=T, eps=0.99, moment_bound=1.31),
    "OFUL": OFUL.practical(dim=2, horizon=T, noise_scale=1.31),
}

# %% [markdown]
# An environment and a learner are small frozen objects with named fields. OFUL is the classical learner and estimates
# by least squares. Hvt-UCB uses Huber's loss instead, so that a single outlier cannot move the estimate far.
#
# ## A thousand trials
#
# Every trial draws new arms, a new $\theta_*$ and new noise. For the same seed both learners have the same instance and
# the same noise, so the comparison is *paired*.

# %%
result = compare(learners, env, horizon=T, seeds=SEEDS)
result

# %% [markdown]
# The table shows the mean regret with a 95 % interval, and quantiles over the seeds, since the mean alone is a poor
# description of heavy tails. All numbers are also available as arrays.

# %%
regret = result.get("regret", "OFUL")  # [hyperparameter point, seed, record point]
print(regret.shape, "the worst of all seeds ends at", round(float(regret[0, :, -1].max())))

# %% [markdown]
# ## A figure
#
# The left panel shows means with intervals, the right one medians with the middle 80 % of all seeds.

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, band in zip(axes, ("mean", "quantile"), strict=True):
    result.plot("regret", band=band, ax=ax)

# %% [markdown]
# ## A verdict
#
# Is the difference significant? Both learners ran on the same instances, so we compute the difference for each seed.
# The difficulty of the instance cancels in this difference. The confidence interval of the mean difference shows
# whether the sign of the difference is certain.

# %%
difference = result.paired_difference("Hvt-UCB", "OFUL", "regret")
print(difference)

# %% [markdown]
# A *claim* is a sentence with a statistic and a threshold. Its verdict is computed: the claim holds if the whole
# confidence interval of the statistic is on the right side of the threshold, does not hold if the whole interval is on
# the wrong side, and is open otherwise. The claims about the figures of papers are tested in this way
# (`jaxbandits reproduce linear/fig1`).

# %%
from jaxbandits.reproduction.engine import Measurements, judge
from jaxbandits.reproduction.sentences import mean, observations

(claim,) = observations("ahead", mean("Hvt-UCB") < mean("OFUL"), on="here", says="under heavy tails Hvt-UCB is ahead")
verdict = judge(claim, Measurements(results={"here": result}, times={}))
print(f"{claim.text}: {verdict.decision.upper()}, {verdict.reason}")

# %% [markdown]
# ## A sweep
#
# Hyperparameters are inputs of the compiled program, so one program runs all nine points with 250 seeds each. The best
# point is chosen on one half of the seeds and evaluated on the other, so that the choice does not bias the estimate.

# %%
from jaxbandits import sweep

grid = {"beta_scale": [2e-5, 2e-4, 2e-3], "tau_scale": [0.03, 0.1, 0.3]}
swept = sweep(learners["Hvt-UCB"], env, horizon=T, seeds=SEEDS // 4, grid=grid)
ax = swept.heatmap("regret", "beta_scale", "tau_scale")
best = swept.best("regret")["HvtUCB"]
print("best:", best.point, best.estimate)

# %% [markdown]
# ## Files
#
# A result is one file; loading it executes no code from it.

# %%
import tempfile
from pathlib import Path

from jaxbandits import Result

path = result.save(Path(tempfile.mkdtemp()) / "quickstart.npz")
again = Result.load(path)
print(again)
print(again.table("regret"))

# %% [markdown]
# ## Where to go from here
#
# * `03_heavy_tails` to `07_group_dro` introduce five families of problems, one notebook each.
# * `08_sweeps` is about experiments that take hours and resume after an interruption.
# * `09_your_own_algorithm` adds a new algorithm and compares it with the others.
# * `10_speed` explains why the simulator is fast.
# * `11_models_and_rules` and `12_lists_duels_teams` introduce contextual learners and further kinds of feedback.
#
# On the command line, `jaxbandits list` lists algorithms, environments and experiments, and `jaxbandits show HvtUCB`
# prints the documentation and the fields of Hvt-UCB.
