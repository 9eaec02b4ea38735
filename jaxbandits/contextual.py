"""Contextual bandits: algorithms, environments, and the models and rules that `Bandit` combines, in one namespace.

For example, `Bandit(model=models.Ridge(n_arms=3, dim=2), rule=rules.UCB())` is a learner.
"""

from jaxbandits.algorithms.contextual import *
from jaxbandits.algorithms.contextual import rules as rules
from jaxbandits.environments.contextual import *
from jaxbandits.estimation import models as models
