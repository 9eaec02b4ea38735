"""Bandits with a context that all arms share, and models and rules that may be paired, under one name.

`Bandit(model=models.Ridge(n_arms=3, dim=2), rule=rules.UCB())` is a learner.
"""

from jaxbandits.algorithms.contextual import *
from jaxbandits.algorithms.contextual import rules as rules
from jaxbandits.environments.contextual import *
from jaxbandits.estimation import models as models
