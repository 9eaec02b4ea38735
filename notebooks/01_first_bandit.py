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
# # Your first bandit
#
# A bandit algorithm repeatedly chooses one of several options, observes its reward, and has to balance exploration and
# exploitation. This notebook compares three classical algorithms on five Bernoulli arms, with a thousand trials for
# each algorithm.

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
# ## Five Bernoulli arms
#
# Arm $k$ pays 1 with probability $\mu_k$, and otherwise 0. In every round the learner chooses one arm and observes the
# reward of this arm, but not the rewards of the other arms. The $\mu_k$ are unknown to the learner. Here the first arm
# is the best one.

# %%
from jaxbandits import armed, compare

SEEDS, T = (64, 300) if FAST else (1000, 5000)
coins = armed.BernoulliArms.from_means([0.6, 0.5, 0.5, 0.4, 0.3])
learners = {
    "UCB1": armed.UCB1(n_arms=5),
    "Thompson": armed.ThompsonBeta(n_arms=5),
    "eps-greedy": armed.EpsGreedy(n_arms=5, rate=0.1, gap=0.1),
}
result = compare(learners, coins, horizon=T, seeds=SEEDS)
result

# %% [markdown]
# * **UCB1** plays the arm with the largest upper confidence bound: the empirical mean plus the width of a confidence
#   interval.
# * **Thompson sampling** draws a sample of every $\mu_k$ from its posterior (a beta distribution), and plays the arm
#   with the largest sample.
# * **eps-greedy** plays a random arm with a probability that decreases as $1/t$, and otherwise the arm with the largest
#   empirical mean.
#
# ## Regret
#
# The table shows the **regret**, the difference between the expected rewards of the best arm and of the played arms,
#
# $$R_T = \sum_{t=1}^{T} \big( \max_k \mu_k - \mu_{A_t} \big),$$
#
# where $A_t$ is the arm of round $t$. The definition uses the means instead of the rewards, so that luck does not
# matter. The regret of random play grows in every round by the mean gap, on average, so that its curve is a straight
# line. If a learner finds the best arm, its curve flattens.

# %%
mean_gap = 0.6 - coins.means.mean()
print(f"at random: {T * mean_gap:.0f} after {T:,} rounds")

# %% [markdown]
# ## A figure
#
# The curves are means over the seeds with 95 % intervals. Asymptotically, no consistent learner has a regret that grows
# more slowly than $C \log t$, where the constant $C$ depends on how hard the arms are to distinguish (Lai & Robbins,
# 1985). The dashed line shows this asymptotic growth. After only 5,000 rounds a curve may still lie below it.

# %%
import matplotlib.pyplot as plt
import numpy as np

from jaxbandits.theory.classics import lai_robbins

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
result.plot("regret", ax=ax)
rounds = np.arange(1, T + 1)
ax.plot(rounds, lai_robbins(coins.means) * np.log(rounds), color="black", linestyle="--", label="C log t")
ax.legend()
# %% [markdown]
# ## How many trials?
#
# One trial says little. For each seed, all learners face the same arms and the same random rewards, so that their
# regrets can be compared in pairs. The next cell shows the paired differences, first for ten trials and then for all
# trials:

# %%
few = compare(learners, coins, horizon=T, seeds=10, progress=False)
print(few.pairs("regret"))
print(result.pairs("regret"))

# %% [markdown]
# If an interval contains 0, the comparison is undecided. The length of intervals shrinks as $1/\sqrt{n}$ with the
# number $n$ of trials, so four times as many trials make them half as long. Trials are cheap, because all of them run
# side by side in one compiled program: a thousand cost little more than ten. Instead of choosing a number of trials,
# `until="decided"` adds trials until every pair is decided, with a correction for repeated tests.

# %%
decided = compare(learners, coins, horizon=T, seeds=SEEDS, until="decided", progress=False)
decided

# %% [markdown]
# ## Hyperparameters
#
# The regret of eps-greedy depends on a hyperparameter, the rate of exploration. UCB1 and Thompson sampling have no
# hyperparameter that must be set. The next cell runs eps-greedy with other rates:

# %%
rates = {f"rate {rate:g}": armed.EpsGreedy(n_arms=5, rate=rate, gap=0.1) for rate in (0.001, 0.01, 0.1, 1.0)}
compare(rates, coins, horizon=T, seeds=SEEDS, progress=False).table("regret")

# %% [markdown]
# ## Where to go from here
#
# * Change `coins`: arms with smaller gaps are harder. Try other learners for rewards in $[0, 1]$, such as
#   `armed.KLUCB(n_arms=5)`, `armed.TsallisINF(n_arms=5)` or `armed.MOSS.bounded(n_arms=5, horizon=T)`;
#   `jaxbandits list armed` lists all of them.
# * Learners for sub-Gaussian rewards, such as MOSS, AO-UCB and Gaussian Thompson sampling, assume a noise scale of 1
#   unless another one is given. For rewards in $[0, 1]$ a scale of 1/2 is enough, and the preset `bounded` of these
#   learners uses it. With the default they explore too long on these arms, and `compare` issues a warning.
# * `02_quickstart` covers arms with features, verdicts on claims, sweeps over hyperparameters, and files.
# * `jaxbandits reproduce classics/kl-fig1 --seeds 1000` reruns a figure of the KL-UCB paper, which also compares
#   learners on Bernoulli arms.
