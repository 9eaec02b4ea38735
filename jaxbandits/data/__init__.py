"""Bandits from data: logs of decisions, tables of rewards or labels, and recorded traces of rewards."""

from jaxbandits.data.evaluation import evaluate as evaluate
from jaxbandits.data.off_policy import PolicyValue as PolicyValue
from jaxbandits.data.off_policy import PolicyValues as PolicyValues
from jaxbandits.environments.data import *
from jaxbandits.environments.data.logs import Log as Log
from jaxbandits.environments.datasets.files import IncompleteDataWarning as IncompleteDataWarning
from jaxbandits.environments.datasets.keel import load_digits as load_digits
from jaxbandits.environments.datasets.keel import load_keel as load_keel
from jaxbandits.environments.datasets.labelled import load_labelled as load_labelled
