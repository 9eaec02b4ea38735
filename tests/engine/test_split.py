"""Every registered learner simulated by programs compiled as for users: the checks of the contract that compile them.

The bits of a trial do not depend on the split, decisions are admissible, every field can be swept: one program a pair.
"""

import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.testing import contract

CHECKS = (
    contract.trials_do_not_depend_on_the_split,
    contract.decisions_are_admissible,
    contract.every_traced_field_can_be_swept,
)


def _cases():
    for algorithm, entry in ALGORITHMS.items():
        for environment in entry.environments:
            for check in CHECKS:
                name = f"{algorithm}-{environment}-{check.__name__}"
                yield pytest.param(algorithm, environment, check, id=name)


@pytest.mark.filterwarnings("ignore:.*assumes a noise scale of")  # examples play other families' rewards
@pytest.mark.quick_cases(
    "armed/ucb1-*",
    "armed/thompson_beta-*-every_traced_field_can_be_swept",
    "linear/oful-*-decisions_are_admissible",
    "linear/oful-*-every_traced_field_can_be_swept",
    "oco/ogd-*-decisions_are_admissible",
    "oco/ogd-*-every_traced_field_can_be_swept",
)
@pytest.mark.parametrize(("algorithm", "environment", "check"), list(_cases()))
def test_simulated(algorithm, environment, check):
    check(ALGORITHMS[algorithm].example, ENVIRONMENTS[environment].example)
