"""Group distributionally robust optimisation: algorithms, environments, losses and data, under one name."""

from jaxbandits.algorithms.dro.anytime_atkro_1 import AnytimeATkRO1
from jaxbandits.algorithms.dro.anytime_atkro_m import AnytimeATkROm
from jaxbandits.algorithms.dro.anytime_online import AnytimeOnline
from jaxbandits.algorithms.dro.anytime_smd import AnytimeSMD
from jaxbandits.algorithms.dro.atkro_k import ATkROk
from jaxbandits.algorithms.dro.atkro_m import ATkROm
from jaxbandits.algorithms.dro.haghtalab import Haghtalab
from jaxbandits.algorithms.dro.online import Online
from jaxbandits.algorithms.dro.sagawa_smd import SagawaSMD
from jaxbandits.algorithms.dro.smd import SMD
from jaxbandits.algorithms.dro.smd_r import SMDr
from jaxbandits.algorithms.dro.smpa import SMPA
from jaxbandits.algorithms.dro.soma import Soma
from jaxbandits.environments.datasets.adult import adult_like, load_adult
from jaxbandits.environments.datasets.groups import GroupTable, load_groups_csv, load_groups_libsvm, load_groups_npz
from jaxbandits.environments.dro.example_groups import ExampleGroups
from jaxbandits.environments.dro.group_data import GroupData
from jaxbandits.environments.dro.group_losses import Custom, Hinge, Logistic, Squared
from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups

__all__ = [
    "SMD",
    "SMPA",
    "ATkROk",
    "ATkROm",
    "AnytimeATkRO1",
    "AnytimeATkROm",
    "AnytimeOnline",
    "AnytimeSMD",
    "Custom",
    "ExampleGroups",
    "GroupData",
    "GroupTable",
    "Haghtalab",
    "Hinge",
    "Logistic",
    "Online",
    "SMDr",
    "SagawaSMD",
    "Soma",
    "Squared",
    "SyntheticGroups",
    "adult_like",
    "load_adult",
    "load_groups_csv",
    "load_groups_libsvm",
    "load_groups_npz",
]
