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
# # Your own algorithm
#
# This notebook implements linear Thompson sampling in fewer than forty lines, runs the contract tests of the built-in
# algorithms on it, compares it with other learners, sweeps a hyperparameter, and makes it faster.

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
# ## The idea
#
# The algorithm maintains a Gaussian posterior distribution of $\theta_*$ with mean $\hat\theta_t = V_t^{-1} b_t$ and
# covariance $v^2 V_t^{-1}$, where
#
# $$V_t = \lambda I + \sum_{s < t} X_s X_s^\top, \qquad b_t = \sum_{s < t} r_s X_s .$$
#
# Each round draws one $\theta$ from the posterior and plays the arm that is best for this $\theta$. An arm whose mean
# is uncertain is sometimes the best arm for the draw and is then explored. An arm that is almost certainly bad is
# hardly ever played.
#
# ## Three functions
#
# An algorithm is a frozen dataclass with three pure functions: `init` creates the state, `select` makes a decision
# without changing the state, and `update` returns the next state. Each function receives a separate random key. The
# functions are written for *one* trial: a vector has shape `[d]`, and the arms have shape `[K, d]`. The simulator runs
# thousands of trials side by side.

# %%
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandits import ArmDecision, Reward, param, pytree, static


class ThompsonState(NamedTuple):
    gram: jax.Array  # [d, d]  V_t
    moment: jax.Array  # [d]  b_t


@pytree
class LinearThompson:
    """Linear Thompson sampling (Agrawal & Goyal, ICML 2013)."""

    feedback: ClassVar[type] = Reward
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    ridge: Any = param(1.0, "(0, inf)", "lambda")
    scale: Any = param(1.0, "[0, inf)", "v, how far draws lie from the mean")

    def init(self, key):
        return ThompsonState(self.ridge * jnp.eye(self.dim), jnp.zeros(self.dim))

    def select(self, key, t, state, obs):
        root = jnp.linalg.cholesky(state.gram)  # V = L L'
        mean = jax.scipy.linalg.cho_solve((root, True), state.moment)
        normal = jax.random.normal(key, (self.dim,))
        theta = mean + self.scale * jax.scipy.linalg.solve_triangular(root.T, normal)  # covariance v^2 V^{-1}
        scores = obs.arms @ theta
        index = jnp.argmax(scores if obs.mask is None else jnp.where(obs.mask, scores, -jnp.inf))
        return ArmDecision(index, obs.arms[index])

    def update(self, key, t, state, obs, decision, feedback):
        x = decision.x
        return ThompsonState(state.gram + jnp.outer(x, x), state.moment + feedback.reward * x)


# %% [markdown]
# `static` fields are sizes and names, which are constants of the compiled program. `param` fields are numbers with a
# range and a meaning: they can be swept, and values outside the range are rejected. `feedback` declares the feedback
# that the learner receives: here only the reward, even if the environment computes more.
#
# ## The contract tests
#
# The contract tests check, among other things, that shapes are constant, that no key is used twice, that masked arms
# are never played, that results do not depend on the number of trials, and that a run resumes bit for bit. A violation
# raises a one-line error. The check also prints performance advice.

# %%
from jaxbandits import HeavyTailed, check_algorithm, noise

env = HeavyTailed(dim=3, n_arms=10, noise=noise.Gaussian(spread=0.3))
check_algorithm(LinearThompson(dim=3), env)
print("the contract holds")

# %% [markdown]
# The following `update` changes the shape of the state, which is an error:


# %%
class Forgetful(LinearThompson):
    def update(self, key, t, state, obs, decision, feedback):
        return state._replace(moment=feedback.reward)


try:
    check_algorithm(pytree(Forgetful)(dim=3), env)
except AssertionError as error:
    print(error)

# %% [markdown]
# ## A comparison
#
# The learner is used in the same way as the built-in ones.

# %%
import matplotlib.pyplot as plt

from jaxbandits import OFUL, compare

SEEDS, T = (64, 100) if FAST else (512, 2000)
learners = {
    "Thompson": LinearThompson(dim=3, scale=0.3),
    "OFUL": OFUL.theory(dim=3, horizon=T, noise_scale=0.3),
    "OFUL, practical": OFUL.practical(dim=3, horizon=T, noise_scale=0.3),
}
result = compare(learners, env, horizon=T, seeds=SEEDS)
figure, ax = plt.subplots(figsize=(5.8, 3.8), layout="constrained")
_ = result.plot("regret", ax=ax)

# %%
print(result.table("regret"))
print("Thompson minus OFUL (theory):", result.paired_difference("Thompson", "OFUL"))

# %% [markdown]
# In the theorem of the paper, the scale of the draws is $v \approx \sigma \sqrt{9 d \log (t / \delta)}$. All values of
# a sweep over a `param` field share one program.

# %%
from jaxbandits import sweep

swept = sweep(LinearThompson(dim=3), env, T, SEEDS, grid={"scale": [0.03, 0.1, 0.3, 1.0, 3.0]})
print(swept.table("regret"))

# %% [markdown]
# ## A faster form
#
# The column `ns/round` of the comparison shows that Thompson sampling is slower than OFUL, because it factors a matrix
# in every round. The draws of `numerics.rng` are cheaper than those of `jax.random`, and two further ideas help:
#
# * Store $V_t^{-1}$ and update it by the Sherman-Morrison formula in $O(d^2)$ instead of $O(d^3)$.
# * A draw with covariance $V^{-1}$ does not need a triangular factor. If $V^{-1} = C C^\top$ for *any* $C$, then $C z$
#   with standard normal $z$ has this covariance, and there is a rank-one update of $C$ like the Sherman-Morrison
#   formula: with $y = C^\top x$ and $s = \|y\|^2$,
#
# $$C \leftarrow C - \frac{1 - 1 / \sqrt{1 + s}}{s} \; (C y) \, y^\top .$$

# %%
from jaxbandits import best_arm
from jaxbandits.numerics import rng


class RootState(NamedTuple):
    root: jax.Array  # [d, d]  C with C C' = V^{-1}
    moment: jax.Array  # [d]


@pytree
class FastThompson:
    """Thompson sampling with the same distribution of plays, by a rank-one update of a root of V^{-1}."""

    feedback: ClassVar[type] = Reward
    dim: int = static(range="[1, inf)", doc="d, dimension of the arms")
    ridge: Any = param(1.0, "(0, inf)", "lambda")
    scale: Any = param(1.0, "[0, inf)", "v, how far draws lie from the mean")

    def init(self, key):
        return RootState((1.0 / jnp.sqrt(self.ridge)) * jnp.eye(self.dim), jnp.zeros(self.dim))

    def select(self, key, t, state, obs):
        normal = rng.normals(key, 1, self.dim)[0]
        inner = state.moment @ state.root  # C' b
        theta = state.root @ (inner + self.scale * normal)  # C (C' b + v z)
        return best_arm(obs.arms, obs.mask, lambda x: x @ theta)

    def update(self, key, t, state, obs, decision, feedback):
        y = decision.x @ state.root  # C' x
        s = y @ y
        factor = (1.0 - 1.0 / jnp.sqrt(1.0 + s)) / jnp.maximum(s, 1e-30)
        root = state.root - jnp.outer(factor * (state.root @ y), y)
        return RootState(root, state.moment + feedback.reward * decision.x)


check_algorithm(FastThompson(dim=3), env)
both = compare({"plain": LinearThompson(dim=3, scale=0.3), "fast": FastThompson(dim=3, scale=0.3)}, env, T, SEEDS)
print(both.table("regret"))
print("plain minus fast, seed by seed:", both.paired_difference("plain", "fast"))

# %% [markdown]
# Both learners draw from the same distribution, but not the same numbers. Their regrets therefore differ only by
# chance. (A 95 % interval excludes zero in one of twenty such comparisons.) The column `ns/round` shows the speed-up.
#
# ## A registered name
#
# A registered algorithm can be written as JSON and read back, and sweep files can refer to it by its name.

# %%
from jaxbandits import Entry, from_spec, register_algorithm, to_spec

register_algorithm(
    "mine/thompson",
    Entry(
        cls=FastThompson,
        example=FastThompson(dim=3),
        source="Agrawal & Goyal, ICML 2013",
        environments=("linear/heavy_tailed",),
    ),
)
written = to_spec(FastThompson(dim=3, scale=0.3))
print(written)
print(from_spec(written))

# %% [markdown]
# `docs/protocol.md` specifies the functions of algorithms and environments and the types that they exchange, and has an
# example of an environment.
