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
# A bandit algorithm tries several options, sees what they pay, and has to decide whether to try more or to take the
# best so far. Three classical answers on five coins, compared over a thousand trials each.

# %% [markdown]
# In Colab, upload this notebook and, in the file panel, `jaxbandits` as a wheel or as a zip of the checkout. The
# installation keeps Colab's JAX, which matches its CUDA. Take the CPU runtime: these cells play hundreds of trials side
# by side, and a GPU pays from some thousand on (an estimate: docs/gpus.md).

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
# ## Five coins
#
# Arm $k$ pays 1 with probability $\mu_k$, else 0. In every round the learner chooses one arm and sees what it pays, and
# nothing of the others. It does not know the $\mu_k$: here the first arm is the best one.

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
# * **UCB1** plays the arm whose mean *could* be the largest: the mean so far plus the width of a confidence interval.
# * **Thompson sampling** draws a guess of every $\mu_k$ from what it believes about it (a beta distribution), and plays
#   the arm with the largest guess.
# * **eps-greedy** plays the arm with the largest mean so far, and with a probability that falls as $1/t$ any arm.
#
# ## What regret is
#
# The table is about **regret**: how much less the arms played pay on average than the best arm would have paid,
#
# $$R_T = \sum_{t=1}^{T} \big( \max_k \mu_k - \mu_{A_t} \big),$$
#
# with $A_t$ the arm of round $t$. It counts means, not coins: luck is no merit. A learner that plays at random pays the
# mean gap in every round, so its regret is a straight line. One that finds the best arm has a curve that flattens.

# %%
mean_gap = 0.6 - coins.means.mean()
print(f"at random: {T * mean_gap:.0f} after {T:,} rounds")

# %% [markdown]
# ## A figure
#
# Means over the seeds with 95 % intervals. In the long run the regret of no learner that solves all such problems grows
# more slowly than $C \log t$, where the constant $C$ follows from how hard the arms are to tell apart (Lai & Robbins,
# 1985). The dashed line is about slopes: after 5,000 rounds a curve may still lie below it.

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
# One trial is an anecdote. For one seed all learners play the same coins with the same random numbers, so that
# differences are taken in pairs. Here are ten trials, and then all of them:

# %%
few = compare(learners, coins, horizon=T, seeds=10, progress=False)
print(few.pairs("regret"))
print(result.pairs("regret"))

# %% [markdown]
# An interval that has 0 inside says: not decided. Intervals shrink as $1/\sqrt{n}$, so four times as many trials make
# them half as long. Trials are cheap here, because all of them run side by side in one compiled program; a thousand
# cost little more than ten. Instead of a guessed number of trials, `until="decided"` adds trials until every pair is
# decided, with a correction for repeated tests.

# %%
decided = compare(learners, coins, horizon=T, seeds=SEEDS, until="decided", progress=False)
decided

# %% [markdown]
# ## What a learner must know
#
# eps-greedy has a parameter, the rate of exploration, on which its regret depends; UCB1 and Thompson sampling have none
# that must be set. Here is eps-greedy with other rates:

# %%
rates = {f"rate {rate:g}": armed.EpsGreedy(n_arms=5, rate=rate, gap=0.1) for rate in (0.001, 0.01, 0.1, 1.0)}
compare(rates, coins, horizon=T, seeds=SEEDS, progress=False).table("regret")

# %% [markdown]
# ## Where to go from here
#
# * Change `coins`: arms that are closer are harder. `armed.KLUCB`, `armed.MOSS`, `armed.TsallisINF` and others take the
#   place of any learner above; `jaxbandits list armed` names all of them.
# * `02_quickstart`: arms with features, verdicts on claims, sweeps over hyperparameters, and files.
# * `jaxbandits reproduce classics/kl-fig1 --seeds 1000` draws the figure of a paper about exactly this problem.
