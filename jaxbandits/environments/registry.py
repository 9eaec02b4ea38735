"""The registry of environments, written out by hand; a row's class is imported and its example made when asked for."""

from typing import Any

import numpy as np

from jaxbandits.base import registry
from jaxbandits.base.registry import Entry, Registry, Row


def _inside() -> Any:
    """What the examples of operators work on."""
    from jaxbandits.environments.linear.heavy_tailed import HeavyTailed

    return HeavyTailed(dim=2, n_arms=5)


def _groups() -> Any:
    """Eight labelled rows in four groups."""
    from jaxbandits.environments.datasets.groups import GroupTable

    return GroupTable.from_arrays(np.eye(8, 3), [0, 1, 1, 0, 1, 0, 1, 0], [0, 0, 1, 1, 2, 2, 3, 3])


ENVIRONMENTS = Registry(
    {
        "linear/heavy_tailed": Row(
            "jaxbandits.environments.linear.heavy_tailed:HeavyTailed",
            lambda cls: cls(dim=2, n_arms=5),
            "Wang, Zhang, Zhao & Zhou, ICML 2025, Section 5",
        ),
        "linear/fresh_arms": Row(
            "jaxbandits.environments.linear.fresh_arms:FreshArms",
            lambda cls: cls(dim=2, n_arms=5),
            "Huang, Zhong, Wang & Yang, NeurIPS 2023, their experiment",
        ),
        "linear/linear_mdp": Row(
            "jaxbandits.environments.linear.linear_mdp:LinearMDP",
            lambda cls: cls(n_states=2, n_actions=2, dim=2, steps=2),
            "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.1",
        ),
        "linear/linear_system": Row(
            "jaxbandits.environments.linear.linear_system:LinearSystem",
            lambda cls: cls(),
            "ours, after Wang, Zhang, Zhao & Zhou, ICML 2025, Section 6.2",
        ),
        "glm/generalized_linear": Row(
            "jaxbandits.environments.glm.generalized_linear:GeneralizedLinear",
            lambda cls: cls(dim=2, n_arms=5, norm_bound=3.0),
            "Zhang, Xu, Zhao & Sugiyama, NeurIPS 2025, Section 5",
        ),
        "oco/linear_losses": Row(
            "jaxbandits.environments.oco.linear_losses:LinearLosses",
            lambda cls: cls(dim=2),
            "stochastically extended adversarial model, i.i.d. linear losses",
        ),
        "oco/random_order": Row(
            "jaxbandits.environments.oco.random_order:RandomOrder",
            lambda cls: cls(dim=2, pool_size=8),
            "Sachs et al., NeurIPS 2022: a pool of losses in random order",
        ),
        "oco/quadratic_losses": Row(
            "jaxbandits.environments.oco.quadratic_losses:QuadraticLosses",
            lambda cls: cls(dim=2),
            "SEA model, quadratic losses on a ball",
        ),
        "oco/pseudo_huber_losses": Row(
            "jaxbandits.environments.oco.pseudo_huber_losses:PseudoHuberLosses",
            lambda cls: cls(dim=2),
            "SEA model, smooth Lipschitz losses on R^d",
        ),
        "oco/logistic_losses": Row(
            "jaxbandits.environments.oco.logistic_losses:LogisticLosses",
            lambda cls: cls(dim=2),
            "SEA model, logistic losses on R^d",
        ),
        "oco/data_stream": Row(
            "jaxbandits.environments.oco.data_stream:DataStream",
            lambda cls: cls.from_arrays([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]], [1.0, 2.0, 2.5, -1.0]),
            "your own regression or classification rows as losses",
        ),
        "oco/cell_noise": Row(
            "jaxbandits.environments.oco.cell_noise:CellNoise",
            lambda cls: cls(n_cells=4),
            "Wang, Barik, Zhao & Tan, NeurIPS 2025, Proposition A.1",
        ),
        "glm/covertype": Row(
            "jaxbandits.environments.glm.covertype:Covertype",
            lambda cls: cls.stand_in(n_arms=5, rows=500),
            "UCI Covertype as a bandit; a labelled stand-in without the file",
        ),
        "coco/linear_constraints": Row(
            "jaxbandits.environments.coco.linear_constraints:LinearConstraints",
            lambda cls: cls(dim=2),
            "linear losses, one time-varying linear constraint (ours)",
        ),
        "coco/matrix_completion": Row(
            "jaxbandits.environments.coco.matrix_completion:MatrixCompletion",
            lambda cls: cls.stand_in((5, 7), 20, batch=4),
            "Wang, Wan & Zhang, AAAI 2025, Section 5: MovieLens and FilmTrust, or a stand-in",
        ),
        "coco/quadratic_constraints": Row(
            "jaxbandits.environments.coco.quadratic_constraints:QuadraticConstraints",
            lambda cls: cls(dim=2),
            "quadratic losses, one time-varying linear constraint (ours)",
        ),
        "dro/synthetic_groups": Row(
            "jaxbandits.environments.dro.synthetic_groups:SyntheticGroups",
            lambda cls: cls.homogeneous(dim=3, n_groups=4),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 7.1",
        ),
        "dro/example_groups": Row(
            "jaxbandits.environments.dro.example_groups:ExampleGroups",
            lambda cls: cls(),
            "Zhang, Bai, Zhao, Yang & Zhou, JMLR, Example 1",
        ),
        "dro/group_data": Row(
            "jaxbandits.environments.dro.group_data:GroupData",
            lambda cls: cls.from_table(_groups()),
            "your own labelled rows with groups, and UCI Adult; Zhang, Bai, Zhao, Yang & Zhou, JMLR, Section 7",
        ),
        "data/table_bandit": Row(
            "jaxbandits.environments.data.table_bandit:TableBandit",
            lambda cls: cls.from_table(np.eye(6, 2) + 0.5, ["a", "b", "c", "c", "c", "a"]),
            "your own labelled rows (CSV, npz, LIBSVM, ARFF) or table of all rewards as a bandit",
        ),
        "data/logged_replay": Row(
            "jaxbandits.environments.data.logged_replay:LoggedReplay",
            lambda cls: cls.from_log([0, 1, 1, 0, 2, 1], [0.0, 1.0, 0.5, 0.0, 1.0, 0.0], n_arms=3),
            "your own uniformly logged events; Li, Chu, Langford & Wang, WSDM 2011, Algorithm 2",
        ),
        "data/recorded_trace": Row(
            "jaxbandits.environments.data.recorded_trace:RecordedTrace",
            lambda cls: cls.from_arrays(np.eye(4, 2), [1.0, 0.5, 0.0, 0.0]),
            "your own arms and rewards, replayed through any learner",
        ),
        "operators/delayed": Row(
            "jaxbandits.environments.operators.delayed:Delayed",
            lambda cls: cls(environment=_inside(), rounds=3),
            "Joulani, Gyorgy & Szepesvari, ICML 2013, constant delay",
        ),
        "operators/drifting": Row(
            "jaxbandits.environments.operators.drifting:Drifting",
            lambda cls: cls(environment=_inside()),
            "any bandit with a parameter, which moves",
        ),
        "operators/corrupted": Row(
            "jaxbandits.environments.operators.corrupted:Corrupted",
            lambda cls: cls(environment=_inside(), rounds=20.0, rate=0.5),
            "any bandit; Lykouris, Mirrokni & Paes Leme, STOC 2018",
        ),
        "operators/noisy": Row(
            "jaxbandits.environments.operators.noisy:Noisy",
            lambda cls: cls(environment=_inside()),
            "any bandit, with more noise",
        ),
    }
)


def register_environment(name: str, entry: Entry) -> None:
    """Adds your own environment under `family/name`.

    Raises:
      ValueError: when the name is taken or malformed.
    """
    registry.add(ENVIRONMENTS, name, entry)


registry.discover(ENVIRONMENTS, "jaxbandits.environments")  # last: what it loads may import this module
