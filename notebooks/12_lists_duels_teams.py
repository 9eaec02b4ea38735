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
# In many problems a round is more than one arm and one reward. A search engine shows a list and sees the first click; a
# ranker is compared with another one and only the winner is known; players share channels and lose what they send by
# collisions; and means may jump at times that nobody announces. All of these run in the same loop, with other decisions
# and other feedback.

# %% [markdown]
# In Colab, upload this notebook and, in the file panel, `jaxbandits` as a wheel or as a zip of the checkout. The
# installation keeps Colab's JAX, which matches its CUDA. Use the CPU runtime: these cells play hundreds of trials side
# by side, and a GPU is estimated to be faster only for more than about a thousand (`docs/precision.md`).

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
# A user reads a list of $m$ of $L$ items from the top and clicks on the first one that attracts her, item $e$ with
# probability $w_e$. The learner returns a `SetDecision`, the items in the order of display, and sees the rewards of the
# items up to the click. The regret of a list $A$ is
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
# A dueling bandit compares two arms, and only the winner is revealed. If one arm beats all others, the regret of a duel
# of the arms $i$ and $j$ is the mean of what each of them loses against this arm. On the cyclic instance, duels among
# the other arms tell more than duels with the winner, and cost little. RMED2FH uses them, RMED1 does not.

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
# The lower bound for RMED1 here is $7.45 \log T$, and $0.82 \log T$ if opponents may be chosen freely.
#
# ## Teams
#
# $P$ players share $K$ arms without talking. Players who meet on an arm receive nothing. With MCTopM a player stays on
# an arm that it has for itself; selfish players run a bandit algorithm each, as if they were alone.

# %%
from jaxbandits.teams import MCTopM, RandTopM, Selfish, SharedArms

players = {"n_arms": 5, "n_players": 5}
teams = compare(
    {"MCTopM": MCTopM.theory(**players), "RandTopM": RandTopM.theory(**players), "Selfish": Selfish.theory(**players)},
    SharedArms.from_means([0.1, 0.3, 0.5, 0.7, 0.9], n_players=5),
    horizon=T // 4,
    seeds=SEEDS,
)
print(teams.table("regret"))
print(teams.table("collisions"))

# %% [markdown]
# ## Change points
#
# Here the best of three arms changes. `Restarting` watches the rewards of any index policy with a detector, and forgets
# an arm when its mean has changed. The oracle knows the changes.

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
# `jaxbandits reproduce classics/besson-tables` compares eleven learners on five such problems with the tables of a
# thesis, and `jaxbandits reproduce classics/teams-k9` does so for teams.
