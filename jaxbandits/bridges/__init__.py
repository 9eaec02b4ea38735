"""Bridges to other packages: learners, environments, logs, cluster executors, tuners and experiment trackers.

`import jaxbandits` imports none of these modules. A bridge requires only the package whose objects it converts.
"""

from jaxbandits.bridges.clusters import cluster_executor
from jaxbandits.bridges.dsjson import read_dsjson, write_dsjson
from jaxbandits.bridges.environments import to_func_env, to_gymnasium
from jaxbandits.bridges.executors import JoblibExecutor, RayExecutor
from jaxbandits.bridges.learners import (
    BayesianBanditsLearner,
    CobaLearner,
    ContextualBanditsLearner,
    MABWiserLearner,
    ObpLearner,
    RiverLearner,
    SklearnLearner,
    TorchLearner,
)
from jaxbandits.bridges.logs import log_from_obp, log_to_obp, read_vw, write_vw
from jaxbandits.bridges.open_bandit import read_open_bandit
from jaxbandits.bridges.tracking import log_to
from jaxbandits.bridges.tuners import tune

__all__ = [
    "BayesianBanditsLearner",
    "CobaLearner",
    "ContextualBanditsLearner",
    "JoblibExecutor",
    "MABWiserLearner",
    "ObpLearner",
    "RayExecutor",
    "RiverLearner",
    "SklearnLearner",
    "TorchLearner",
    "cluster_executor",
    "log_from_obp",
    "log_to",
    "log_to_obp",
    "read_dsjson",
    "read_open_bandit",
    "read_vw",
    "to_func_env",
    "to_gymnasium",
    "tune",
    "write_dsjson",
    "write_vw",
]
