"""One round, one arm, one dimension, as few groups as there can be: every registered learner on its environments."""

import dataclasses

import numpy as np
import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.armed import SwitchingArms
from jaxbandits.combinatorial import PBMUCB, PositionClicks
from jaxbandits.dro import SMPA, GroupData, Groups, SMDr, SyntheticGroups
from jaxbandits.duels import Sparring
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.glm import Covertype
from jaxbandits.linear import LinearSystem
from jaxbandits.oco import DataStream
from jaxbandits.simulation import simulate

SIZES = (
    *("dim", "n_arms", "n_groups", "n_experts", "n_states", "n_inputs", "n_actions", "n_cells", "pool_size", "steps"),
    *("n_items", "list_size", "size", "n_players"),
)
MADE = {
    "armed/switching_arms": lambda: SwitchingArms.from_phases([[0.5], [0.2]], [0, 1]),
    "oco/data_stream": lambda: DataStream.from_arrays([[1.0]], [1.0]),
    "linear/linear_system": lambda: LinearSystem(A=np.array([[0.8]]), B=np.array([[0.5]])),
    "duels/sparring": lambda: Sparring.theory(n_arms=2),
    "dro/smd_r": lambda: SMDr(dim=1, budgets=(1, 1)),
    "dro/smpa": lambda: SMPA(dim=1, budgets=(1, 1)),
    "dro/group_data": lambda: GroupData.from_table(Groups(np.ones((2, 1)), np.arange(2.0), np.arange(2), ("a", "b"))),
    "dro/synthetic_groups": lambda: SyntheticGroups.homogeneous(dim=1, n_groups=2),
    "combinatorial/pbm_ucb": lambda: PBMUCB.theory(n_items=1, examination=[0.5]),
    "combinatorial/position_clicks": lambda: PositionClicks.from_probabilities([0.5], [0.5]),
    "glm/covertype": lambda: Covertype.stand_in(n_arms=1, rows=100),
}


def smallest(name, obj):
    """The example with every size and its horizon at the low end of their ranges, mostly 1."""
    return MADE[name]() if name in MADE else _shrunk(obj)


def smallest_for(learner, name):
    """The smallest environment on which the learner runs: two learners of teams need two arms."""
    env = smallest(name, ENVIRONMENTS[name].example)
    return dataclasses.replace(env, n_arms=learner.n_arms) if name == "teams/shared_arms" else env


def _shrunk(obj):
    changes = {}
    for field in dataclasses.fields(obj):
        value = getattr(obj, field.name)
        if field.name in (*SIZES, "horizon") and value is not None:
            changes[field.name] = type(value)(max(1, int(field.metadata["range"][1:].split(",")[0])))
        elif dataclasses.is_dataclass(value):
            changes[field.name] = _shrunk(value)
    return dataclasses.replace(obj, **changes)


def _cases():
    for algorithm, entry in ALGORITHMS.items():
        for environment in entry.environments:
            yield pytest.param(algorithm, environment, id=f"{algorithm}-{environment}")


@pytest.mark.filterwarnings("ignore:.* assumes a noise scale")
@pytest.mark.quick_cases(
    *("armed/thompson_beta-*", "armed/ucb1-*", "explore/sequential_halving-*"),
    *("linear/oful-*", "oco/ogd-*", "coco/ofw-*"),
)
@pytest.mark.parametrize(("algorithm", "environment"), list(_cases()))
def test_one_round_of_the_smallest_problem(algorithm, environment):
    learner = smallest(algorithm, ALGORITHMS[algorithm].example)
    result = simulate(learner, smallest_for(learner, environment), 1, 3, progress=False)
    (trials,) = result.trials.values()
    for metric, values in trials.values.items():
        assert np.isfinite(values).all(), metric
    assert trials.healthy.all()
    assert not trials.inadmissible.any()
