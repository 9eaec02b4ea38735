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
# # Models and rules: any exploration rule with any reward model
#
# A contextual learner has two parts. A *model* estimates the mean reward of each arm, and some models also say how
# uncertain these estimates are. A *rule* uses the estimates to explore. `contextual.Bandit(model=..., rule=...)`
# combines a model and a rule.

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
# ## The wheel bandit
#
# The context is a point of the unit disc, and there are five arms. The mean reward of one arm, the safe one, is 1.2.
# The means of the other four arms, which belong to the four quadrants, are 1. If the norm of the context exceeds
# $\delta$, however, the arm of the context's quadrant has mean 50. Large rewards therefore become rarer as $\delta$
# grows (Riquelme, Tucker & Snoek, ICLR 2018).

# %%
import optax

from jaxbandits import compare
from jaxbandits.contextual import Bandit, Wheel, models, rules

SEEDS, FEW, T = (50, 50, 60) if FAST else (128, 50, 2000)
env = Wheel(delta=0.9)
print(f"regret per round: {env.uniform_regret:.2f} for uniform play, {env.safe_regret:.2f} for the safe arm")

# %% [markdown]
# ## One rule, several models
#
# Thompson sampling draws the means of all arms jointly from the posterior. We use three models that have such draws:
# Bayesian linear regression, Bayesian linear regression on random Fourier features of a Gaussian kernel, and an
# ensemble of networks, each of which is trained on a random 95 % of the rounds.

# %%
bayes = models.PerArm(model=models.NormalInverseGamma(dim=3), n_arms=5)
on_features = models.PerArm(model=models.NormalInverseGamma(dim=50), n_arms=5)
network = models.Network(
    input_dim=2,
    n_arms=5,
    hidden=(50,),
    optimizer=models.Optimizer(make=optax.adam, hyperparameters={"learning_rate": 0.01}),
)
kernel = models.SquaredExponential(length_scale=0.3)
posteriors = {
    "linear": models.Intercept(model=bayes),
    "random features": models.RandomFeatures(model=on_features, input_dim=2, kernel=kernel),
    "networks": models.Ensemble.bootstrap(model=network),
}
learners = {name: Bandit(model=model, rule=rules.Thompson()) for name, model in posteriors.items()}
result = compare(learners, env, horizon=T, seeds=SEEDS)
result

# %%
ax = result.plot("regret")

# %% [markdown]
# ## One model, several rules
#
# The model is the same for all rules: a ridge regression on random features for each arm. UCB adds a multiple of the
# standard deviation to the prediction. SquareCB draws each arm with a probability that decreases with the gap between
# its prediction and the largest prediction. V-IDS weighs the squared expected regret of an arm against the variance
# that the best arm explains in its mean reward.

# %%
ridge = models.Ridge(n_arms=5, dim=50, ridge=0.01)
features = models.RandomFeatures(model=ridge, input_dim=2, kernel=kernel)
chosen = {
    "greedy": rules.Greedy(),
    "eps-greedy": rules.EpsGreedy(eps=0.05),
    "UCB": rules.UCB(beta=1.0),
    "Thompson": rules.Thompson(),
    "SquareCB": rules.SquareCB(),
    "V-IDS": rules.VIDS(n_draws=32),
}
over_rules = compare(
    {name: Bandit(model=features, rule=rule) for name, rule in chosen.items()}, env, horizon=T, seeds=FEW
)
print(over_rules.table("regret"))

# %% [markdown]
# ## Pairs that do not fit
#
# UCB needs standard deviations. A single network does not provide them, so this pair raises an error.

# %%
from jaxbandits import InputError, simulate

try:
    simulate(Bandit(model=network, rule=rules.UCB()), env, horizon=10, seeds=2)
except InputError as error:
    print(error)

# %% [markdown]
# ## Sweeping fields of the model or the rule
#
# A sweep refers to a field of the model or the rule by its path. Real numbers are inputs of the compiled program, so
# one program runs all points of the grid.

# %%
from jaxbandits import sweep

pair = Bandit(model=features, rule=rules.UCB(beta=1.0))
swept = sweep(pair, env, horizon=T, seeds=FEW, grid={"rule.beta": [0.3, 1.0, 3.0, 10.0]})
best = swept.best("regret")["Bandit"]
print("best:", best.point, best.estimate)

# %% [markdown]
# ## Gaussian processes on fixed arms
#
# Here the arms are 50 points of an interval, and their means are a sample path of a Gaussian process. If the model is
# the same process, the rule `GPUCB` gives the algorithm GP-UCB, and `Thompson` gives Thompson sampling with a Gaussian
# process. Expected improvement (`EI`) is another rule.

# %%
from jaxbandits.contextual import GaussianProcessArms

path = GaussianProcessArms(n_arms=50)
process = models.GaussianProcess(n_arms=50, noise_scale=0.025**0.5)
acquisition = {
    "GP-UCB": rules.GPUCB.experiments(),
    "Thompson": rules.Thompson(),
    "EI": rules.ExpectedImprovement(),
    "mean only": rules.Greedy(),
}
on_paths = compare(
    {name: Bandit(model=process, rule=rule) for name, rule in acquisition.items()},
    path,
    horizon=60 if FAST else 500,
    seeds=FEW,
)
print(on_paths.table("regret"))

# %% [markdown]
# ## Networks
#
# Here the mean reward is $x'A'Ax$ (Zhou, Li & Gu, ICML 2020), which no linear model represents. `NeuralGradient` with
# the rule `UCB` is NeuralUCB, whose widths are computed from the gradient of the network. The weights of
# `LangevinNetwork` are themselves an approximate posterior draw, so that `Thompson` plays greedily for these weights.
# `SubspaceNetwork` varies the weights in a few random directions only, and estimates them by a Kalman filter in one
# pass over the data.

# %%
from jaxbandits.contextual import NonlinearArms

rounds = 60 if FAST else 500
adam = models.Optimizer(make=optax.adam, hyperparameters={"learning_rate": 0.01})
trained = {"input_dim": 5, "capacity": rounds, "train_every": 20, "n_steps": 20}
networks = {
    "linear UCB": Bandit(model=models.Linear(dim=5), rule=rules.UCB()),
    "NeuralUCB": Bandit(
        model=models.NeuralGradient(**trained, ridge=0.001, restarts=False, optimizer=adam), rule=rules.UCB(beta=0.1)
    ),
    "LMC-TS": Bandit(
        model=models.LangevinNetwork(**trained, learning_rate=0.02, weight_decay=0.1), rule=rules.Thompson()
    ),
    "subspace": Bandit(model=models.SubspaceNetwork(input_dim=5, hidden=(20,), subspace_dim=40), rule=rules.Thompson()),
}
on_forms = compare(networks, NonlinearArms(shape="form", dim=5), horizon=rounds, seeds=FEW)
print(on_forms.table("regret"))

# %% [markdown]
# ## Where to go from here
#
# * `docs/models.md` lists all models and rules with their costs and guarantees, and shows how to write your own model
#   in about 30 lines.
# * `jaxbandits reproduce classics/riquelme-wheel`, `classics/srinivas-fig5` and `classics/neural-h1-h3` run similar
#   comparisons and test the claims of the papers. The experiment `classics/russo-table1` compares V-IDS with nine other
#   policies for Bernoulli rewards.
