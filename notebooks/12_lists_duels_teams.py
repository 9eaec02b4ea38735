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
# # Lists, duels, teams
#
# In many problems a round involves more than one arm and one reward. A search engine shows a list and observes the
# first click. A comparison of two rankers reveals only the winner. Radios share channels, and transmissions are lost
# when two radios use the same channel. The means of the arms may also change at unknown times. All of these problems
# use the same simulation loop; only the types of decisions and feedback differ.

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
# ## Lists
#
# A list shows $m$ of $L$ items. The user reads the list from the top and clicks on the first attractive item; item $e$
# is attractive with probability $w_e$. The learner returns a `SetDecision`, which contains the items in the order of
# display, and observes the rewards of the items up to the click. The regret of a list $A$ is
#
# $$\prod_{e \in A} (1 - w_e) - \prod_{e \in A^*} (1 - w_e).$$

# %%
from jaxbandits import compare
from jaxbandits.combinatorial import CascadeKLUCB, CascadeTS, CascadeUCB1, CascadingClicks

SEEDS, T = (64, 500) if FAST else (256, 20_000)
clicks = CascadingClicks.with_gap(n_items=16, list_size=4, attraction=0.2, gap=0.15)
sizes = {"n_items": 16, "list_size": 4}
learners = {
    "CascadeUCB1": CascadeUCB1(**sizes),
    "CascadeKL-UCB": CascadeKLUCB(**sizes),
    "CascadeTS": CascadeTS(**sizes),
}
lists = compare(learners, clicks, horizon=T, seeds=SEEDS)
print(lists.table("regret"))
lists.plot("regret")

# %% [markdown]
# `jaxbandits reproduce classics/cascade-table1` runs the nine instances of the paper's Table 1.
#
# ## Duels
#
# A dueling bandit compares two arms, and only the winner is revealed. Suppose that one arm, the Condorcet winner, beats
# arm $i$ with probability $1/2 + \Delta_i$ for every other arm $i$. The regret of a duel between the arms $i$ and $j$
# is then $(\Delta_i + \Delta_j) / 2$. On the cyclic instance, duels among the other arms are cheap and give more
# information than duels with the winner. RMED2FH makes use of this fact, and RMED1 does not.

# %%
from jaxbandits.duels import RMED1, RMED2FH, RUCB, DoubleTS, DuelingArms

duels = compare(
    {
        "RUCB": RUCB(n_arms=4),
        "Double TS": DoubleTS(n_arms=4),
        "RMED1": RMED1(n_arms=4),
        "RMED2FH": RMED2FH.theory(n_arms=4, horizon=T),
    },
    DuelingArms.cyclic(),
    horizon=T,
    seeds=SEEDS,
)
print(duels.table("regret"))
duels.plot("regret")

# %% [markdown]
# On this instance the regret of a learner that rules out arms only by duels with the winner, like RMED1, is at least
# $7.45 \log T$ asymptotically. If a learner may choose any opponents, the lower bound is $0.82 \log T$.
#
# ## Teams
#
# $P$ players share $K$ arms and do not communicate. Players who choose the same arm collide and receive no reward.
# Under MCTopM, a player that has an arm to itself stays on this arm. Each player of the learner Selfish runs a bandit
# algorithm as if it were alone. The players of Musical Chairs and of SIC-MMAB do not know their number $P$: they
# estimate it by counting collisions. In SIC-MMAB they also collide on purpose, to exchange their statistics bit by bit.

# %%
from jaxbandits.teams import SICMMAB, MCTopM, MusicalChairs, RandTopM, Selfish, SharedArms

players = {"n_arms": 5, "n_players": 5}
teams = compare(
    {
        "MCTopM": MCTopM.theory(**players),
        "RandTopM": RandTopM.theory(**players),
        "Selfish": Selfish.theory(**players),
        "Musical Chairs": MusicalChairs(**players, learning_rounds=200.0),
        "SIC-MMAB": SICMMAB.practical(**players, horizon=T // 4),
    },
    SharedArms.from_means([0.1, 0.3, 0.5, 0.7, 0.9], n_players=5),
    horizon=T // 4,
    seeds=SEEDS,
)
print(teams.table("regret"))
print(teams.table("collisions"))

# %% [markdown]
# ## Change points
#
# In this example the best of three arms changes twice. `Restarting` combines an index policy with a change detector:
# when the detector signals that the mean of an arm has changed, the past rewards of this arm are discarded. The
# detector of the learner `oracle` is given the true change points.

# %%
from jaxbandits import detectors
from jaxbandits.armed import KLUCB, SWKLUCB, Restarting, SwitchingArms

means, starts = [(0.3, 0.5, 0.9), (0.3, 0.5, 0.1), (0.7, 0.5, 0.1)], [0, T // 3, 2 * T // 3]
policy = KLUCB(n_arms=3)
known = {"horizon": T, "changes": 2}
changes = compare(
    {
        "oracle": Restarting(policy=policy, detector=detectors.Oracle.from_phases(means, starts)),
        "GLR-klUCB": Restarting.glr(policy=policy, **known),
        "CUSUM-klUCB": Restarting.cusum(policy=policy, **known),
        "SW-kl-UCB": SWKLUCB.theory(n_arms=3, **known),
        "KL-UCB": policy,
    },
    SwitchingArms.from_phases(means, starts),
    horizon=T,
    seeds=SEEDS,
)
print(changes.table("regret"))
changes.plot("regret")

# %% [markdown]
# `jaxbandits reproduce classics/besson-tables` runs 16 learners, some of them variants of others, on five problems of
# this kind and compares their regret with the tables in Besson's thesis (2019).
# `jaxbandits reproduce classics/teams-k9` does the same for teams of players.
