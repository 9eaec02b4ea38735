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
# # Speed
#
# The simulator plays millions of rounds per second on one core. This notebook measures its speed on your machine,
# compares it with a NumPy loop, and explains the main ideas.

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
# ## A loop in NumPy
#
# This is linear UCB (OFUL) with Sherman-Morrison updates of the inverse, about as fast as a Python loop can be. It runs
# a single trial, one round at a time.

# %%
import time

import numpy as np

D, K = 5, 20


def numpy_trial(rng, horizon, radius=1.0):
    arms = rng.uniform(-1, 1, (K, D))
    arms /= np.linalg.norm(arms, axis=1).max()
    theta_star = rng.standard_normal(D)
    theta_star /= np.linalg.norm(theta_star)
    means, eta = arms @ theta_star, rng.standard_normal(horizon)
    inverse, moment, regret = np.eye(D), np.zeros(D), 0.0
    for t in range(horizon):
        width = np.sqrt(np.einsum("kd,kd->k", arms @ inverse, arms))
        k = int((arms @ (inverse @ moment) + radius * width).argmax())
        x = arms[k]
        y = inverse @ x
        inverse -= np.outer(y, y) / (1.0 + x @ y)
        moment += (means[k] + eta[t]) * x
        regret += means.max() - means[k]
    return regret


HORIZON = 200 if FAST else 5_000
begin = time.perf_counter()
numpy_trial(np.random.default_rng(0), HORIZON)
loop = HORIZON / (time.perf_counter() - begin)
print(f"NumPy, one trial at a time: {loop:,.0f} rounds per second")

# %% [markdown]
# ## The simulator
#
# We run the same algorithm on the same problem. A round of many trials consists of operations on long arrays instead of
# many operations on short ones, and the whole loop over rounds is one compiled program.

# %%
from jaxbandits import OFUL, HeavyTailed, noise, simulate

env = HeavyTailed(dim=D, n_arms=K, noise=noise.Gaussian())
learner = OFUL(dim=D)


def speed(algorithm, seeds, **settings):
    simulate(algorithm, env, HORIZON, seeds, progress=False, **settings)  # compiles
    begin = time.perf_counter()
    simulate(algorithm, env, HORIZON, seeds, progress=False, **settings)
    return seeds * HORIZON / (time.perf_counter() - begin)


begin = time.perf_counter()
simulate(learner, env, HORIZON, 1024)
print(f"the first call, compilation included: {time.perf_counter() - begin:.1f} s")
fast = speed(learner, 1024)
print(f"1024 trials: {fast:,.0f} rounds per second, {fast / loop:,.0f} times the loop")

# %% [markdown]
# ## How many trials?
#
# A processor core adds 8 or 16 numbers in the time that it needs for one. A single trial leaves most of this capacity
# idle, while 64 trials side by side use it. More trials run in batches of 64, on all cores.

# %%
import matplotlib.pyplot as plt

sizes = [1, 64, 256] if FAST else [1, 8, 64, 256, 1024, 4096]
rates = [speed(learner, n) for n in sizes]
figure, ax = plt.subplots(figsize=(5.8, 3.6), layout="constrained")
ax.loglog(sizes, rates, marker="o", label="simulator")
ax.axhline(loop, color="grey", linestyle=":", label="NumPy loop")
ax.set(xlabel="trials", ylabel="rounds per second")
_ = ax.legend(frameon=False)

# %% [markdown]
# One trial takes as long as 64. For one short trial NumPy is faster, because it finishes before the simulator has
# compiled.
#
# ## The trial axis is last
#
# 64 matrices of size $d \times d$ can be stored as an array $64 \times d \times d$, one matrix after the other, or as
# an array $d \times d \times 64$, with the same entry of all trials side by side. In the second form every operation is
# one loop over contiguous numbers, which suits vector instructions. `jax.vmap` usually leads to the first form. The
# simulator uses the second form: it interprets the trace of a round with the trial axis last, and has a rule for
# products, sums, searches and small factorisations over short axes. A learner can therefore be written in plain
# `jax.numpy`.

# %%
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits import ArmDecision, Reward, explain, param, pytree, static, vmap_last


class State(NamedTuple):
    inverse: jax.Array  # [d, d]
    moment: jax.Array  # [d]


@pytree
class Plain:
    feedback: ClassVar[type] = Reward
    dim: int = static(doc="dimension")
    radius: Any = param(1.0, "[0, inf)", "of the confidence set")

    def init(self, key):
        return State(jnp.eye(self.dim), jnp.zeros(self.dim))

    def select(self, key, t, state, obs):
        width = jnp.sqrt(jnp.einsum("kd,de,ke->k", obs.arms, state.inverse, obs.arms))
        index = jnp.argmax(obs.arms @ (state.inverse @ state.moment) + self.radius * width)
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        y = state.inverse @ decision.x
        inverse = state.inverse - jnp.outer(y, y) * (1.0 / (1.0 + decision.x @ y))
        return State(inverse, state.moment + feedback.reward * decision.x)


@pytree
class Solving(Plain):
    """Inversion of the matrix in every round, as in textbooks."""

    def init(self, key):
        return State(jnp.eye(self.dim), jnp.zeros(self.dim))  # here `inverse` holds the matrix itself

    def select(self, key, t, state, obs):
        return Plain.select(self, key, t, state._replace(inverse=jnp.linalg.inv(state.inverse)), obs)

    def update(self, key, t, state, obs, decision, feedback):
        x = decision.x
        return State(state.inverse + jnp.outer(x, x), state.moment + feedback.reward * x)


forms = {
    "NumPy loop": loop,
    "plain jnp, inverse in every round": speed(Solving(dim=D), 1024),
    "plain jnp, Sherman-Morrison": speed(Plain(dim=D), 1024),
    "the shipped OFUL": fast,
}
for name, rate in forms.items():
    print(f"{name:35s} {rate:13,.0f} rounds per second, {rate / loop:8.1f} times the loop")

# %% [markdown]
# The built-in learner stores the inverse as factors, which is necessary in float32 if an arm is played often. It
# updates the scores and widths of fixed arms in $O(K d)$ instead of $O(K d^2)$ per round.
#
# The speed also depends on XLA, which comes with JAX. This notebook ran with:

# %%
print("JAX", jax.__version__)

# %% [markdown]
# `check_algorithm` lists those equations of a traced learner for which the interpreter has no rule, so that they run on
# one trial at a time, and equations that have a faster form:

# %%
from jaxbandits.testing import speed as speed_of

for algorithm in (Solving(dim=D), Plain(dim=D)):
    print(type(algorithm).__name__, *(speed_of.advice(algorithm, env) or ["every equation has a rule"]), sep="\n  ")

# %% [markdown]
# ## Any function
#
# `vmap_last(f)` replaces `jax.vmap(f, -1, -1)` for any function. `explain` lists the equations for which there is no
# rule.


# %%
def spectrum(matrix):  # [5, 5]
    return jnp.linalg.svd(matrix, compute_uv=False)


matrices = jnp.ones((D, D, 64))
print(vmap_last(spectrum)(matrices).shape, explain(spectrum, matrices))

# %% [markdown]
# ## Sweeps
#
# A hyperparameter is an input of the program and not a constant in it. A new value needs no compilation, and a grid
# only adds trials.

# %%
from jaxbandits import sweep

begin = time.perf_counter()
points = 4 if FAST else 32
sweep(learner, env, HORIZON, 32, grid={"beta_scale": np.geomspace(0.01, 1.0, points).tolist()})
seconds = time.perf_counter() - begin
print(f"{points} points x 32 seeds: {seconds:.2f} s, {points * 32 * HORIZON / seconds:,.0f} rounds per second")

# %% [markdown]
# ## Single precision
#
# A vector register holds twice as many float32 as float64 numbers. `docs/precision.md` tabulates how often the two
# precisions lead to different plays. A running sum of many small numbers would lose digits, so metrics are summed in
# blocks, and the host adds the blocks in float64.
#
# `docs/rates.md` has the rates of all learners and of two NumPy implementations; `make bench` measures them on your
# machine.
