"""Bandits made of data: tables of rewards and of labels, logs, recorded traces."""

from jaxbandits.environments.data import *
from jaxbandits.environments.datasets.labelled import load_labelled as load_labelled
