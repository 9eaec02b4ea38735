"""Linear bandits under heavy tails: algorithms, environments and noise laws, in one namespace."""

from jaxbandits.algorithms.linear import *
from jaxbandits.algorithms.linear.hvt_estimator import HvtEstimator as HvtEstimator
from jaxbandits.environments.linear import *
from jaxbandits.environments.linear import noise as noise
