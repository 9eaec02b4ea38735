"""Bandits made of data: tables of rewards and of labels, logs, recorded traces."""

from jaxbandits.environments.data import *
from jaxbandits.environments.datasets.labelled import load_labelled as load_labelled
from jaxbandits.results.off_policy import PolicyValue as PolicyValue
from jaxbandits.results.off_policy import evaluate as evaluate
