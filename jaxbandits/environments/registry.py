"""The registry of environments, written out by hand."""

import numpy as np

from jaxbandits.core import registry
from jaxbandits.core.registry import Entry
from jaxbandits.environments.coco.linear_constraints import LinearConstraints
from jaxbandits.environments.coco.matrix_completion import MatrixCompletion
from jaxbandits.environments.coco.quadratic_constraints import QuadraticConstraints
from jaxbandits.environments.data.logged_replay import LoggedReplay
from jaxbandits.environments.data.recorded_trace import RecordedTrace
from jaxbandits.environments.data.table_bandit import TableBandit
from jaxbandits.environments.datasets.groups import GroupTable
from jaxbandits.environments.dro.example_groups import ExampleGroups
from jaxbandits.environments.dro.group_data import GroupData
from jaxbandits.environments.dro.synthetic_groups import SyntheticGroups
from jaxbandits.environments.glm.covertype import Covertype
from jaxbandits.environments.glm.generalized_linear import GeneralizedLinear
from jaxbandits.environments.linear.fresh_arms import FreshArms
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.environments.linear.linear_mdp import LinearMDP
from jaxbandits.environments.linear.linear_system import LinearSystem
from jaxbandits.environments.oco.cell_noise import CellNoise
from jaxbandits.environments.oco.data_stream import DataStream
from jaxbandits.environments.oco.linear_losses import LinearLosses
from jaxbandits.environments.oco.logistic_losses import LogisticLosses
from jaxbandits.environments.oco.pseudo_huber_losses import PseudoHuberLosses
from jaxbandits.environments.oco.quadratic_losses import QuadraticLosses
from jaxbandits.environments.oco.random_order import RandomOrder
from jaxbandits.environments.operators.corrupted import Corrupted
from jaxbandits.environments.operators.delayed import Delayed
from jaxbandits.environments.operators.drifting import Drifting
from jaxbandits.environments.operators.noisy import Noisy

_INSIDE = HeavyTailed(dim=2, n_arms=5)  # what the examples of operators work on

ENVIRONMENTS: dict[str, Entry] = {
    "linear/heavy_tailed": Entry(
        HeavyTailed, HeavyTailed(dim=2, n_arms=5), "Wang, Zhang, Zhao & Zhou, ICML 2025, Section 5"
    ),
    "linear/fresh_arms": Entry(
        FreshArms, FreshArms(dim=2, n_arms=5), "Huang, Zhong, Wang & Yang, NeurIPS 2023, their experiment"
    ),
    "linear/linear_mdp": Entry(
        LinearMDP,
        LinearMDP(n_states=2, n_actions=2, dim=2, steps=2),
        "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.1",
    ),
    "linear/linear_system": Entry(
        LinearSystem, LinearSystem(), "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.2"
    ),
    "glm/generalized_linear": Entry(
        GeneralizedLinear,
        GeneralizedLinear(dim=2, n_arms=5, norm_bound=3.0),
        "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025, Section 5",
    ),
    "oco/linear_losses": Entry(
        LinearLosses, LinearLosses(dim=2), "stochastically extended adversarial model, i.i.d. linear losses"
    ),
    "oco/random_order": Entry(
        RandomOrder, RandomOrder(dim=2, pool_size=8), "Sachs et al., NeurIPS 2022: a pool of losses in random order"
    ),
    "oco/quadratic_losses": Entry(QuadraticLosses, QuadraticLosses(dim=2), "SEA model, quadratic losses on a ball"),
    "oco/pseudo_huber_losses": Entry(
        PseudoHuberLosses, PseudoHuberLosses(dim=2), "SEA model, smooth Lipschitz losses on R^d"
    ),
    "oco/logistic_losses": Entry(LogisticLosses, LogisticLosses(dim=2), "SEA model, logistic losses on R^d"),
    "oco/data_stream": Entry(
        DataStream,
        DataStream.from_arrays([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]], [1.0, 2.0, 2.5, -1.0]),
        "your own regression or classification rows as losses",
    ),
    "oco/cell_noise": Entry(CellNoise, CellNoise(n_cells=4), "Wang, Barik, Zhao & Tan, NeurIPS 2025, Proposition A.1"),
    "glm/covertype": Entry(
        Covertype,
        Covertype.stand_in(n_arms=5, rows=500),
        "UCI Covertype as a bandit; a labelled stand-in without the file",
    ),
    "coco/linear_constraints": Entry(
        LinearConstraints, LinearConstraints(dim=2), "linear losses, one time-varying linear constraint (ours)"
    ),
    "coco/matrix_completion": Entry(
        MatrixCompletion,
        MatrixCompletion.stand_in((5, 7), 20, batch=4),
        "Wang, Wan & Zhang, AAAI 2025, Section 5: MovieLens and FilmTrust, or a stand-in",
    ),
    "coco/quadratic_constraints": Entry(
        QuadraticConstraints, QuadraticConstraints(dim=2), "quadratic losses, one time-varying linear constraint (ours)"
    ),
    "dro/synthetic_groups": Entry(
        SyntheticGroups,
        SyntheticGroups.homogeneous(dim=3, n_groups=4),
        "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 7.1",
    ),
    "dro/example_groups": Entry(ExampleGroups, ExampleGroups(), "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Example 1"),
    "dro/group_data": Entry(
        GroupData,
        GroupData.from_table(GroupTable.from_arrays(np.eye(8, 3), [0, 1, 1, 0, 1, 0, 1, 0], [0, 0, 1, 1, 2, 2, 3, 3])),
        "your own labelled rows with groups, and UCI Adult; Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 7",
    ),
    "data/table_bandit": Entry(
        TableBandit,
        TableBandit.from_table(np.eye(6, 2) + 0.5, ["a", "b", "c", "c", "c", "a"]),
        "your own labelled rows (CSV, npz, LIBSVM, ARFF) or table of all rewards as a bandit",
    ),
    "data/logged_replay": Entry(
        LoggedReplay,
        LoggedReplay.from_log([0, 1, 1, 0, 2, 1], [0.0, 1.0, 0.5, 0.0, 1.0, 0.0], n_arms=3),
        "your own uniformly logged events; Li, Chu, Langford & Wang, WSDM 2011, Algorithm 2",
    ),
    "data/recorded_trace": Entry(
        RecordedTrace,
        RecordedTrace.from_arrays(np.eye(4, 2), [1.0, 0.5, 0.0, 0.0]),
        "your own arms and rewards, replayed through any learner",
    ),
    "operators/delayed": Entry(
        Delayed, Delayed(environment=_INSIDE, rounds=3), "Joulani, Gyorgy & Szepesvari, ICML 2013, constant delay"
    ),
    "operators/drifting": Entry(Drifting, Drifting(environment=_INSIDE), "any bandit with a parameter, which moves"),
    "operators/corrupted": Entry(
        Corrupted,
        Corrupted(environment=_INSIDE, rounds=20.0, rate=0.5),
        "any bandit; Lykouris, Mirrokni & Paes Leme, STOC 2018",
    ),
    "operators/noisy": Entry(Noisy, Noisy(environment=_INSIDE), "any bandit, with more noise"),
}


def register_environment(name: str, entry: Entry) -> None:
    """Adds your own environment under `family/name`.

    Raises:
      ValueError: when the name is taken or malformed.
    """
    registry.add(ENVIRONMENTS, name, entry)


registry.discover(ENVIRONMENTS, "jaxbandits.environments")  # last: what it loads may import this module
