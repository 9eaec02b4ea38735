"""Linear bandits under heavy tails: algorithms, environments and noise laws, under one name."""

from jaxbandits.algorithms.linear import *
from jaxbandits.algorithms.linear.hvt_estimator import HvtEstimator as HvtEstimator
from jaxbandits.environments.linear import *
from jaxbandits.environments.linear import noise as noise
