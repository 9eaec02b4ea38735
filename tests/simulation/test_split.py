"""Every registered learner on programs compiled as for users: the bits of a trial do not depend on the split."""

import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.testing import contract

# The bits depend on the loop more than on the learner: these stand for their families in the quick tests.
QUICK = {"linear/hvt_ucb", "oco/oons", "coco/ofw_tvc", "dro/smd"}


def _cases():
    for algorithm, entry in ALGORITHMS.items():
        for environment in entry.environments:
            marks = () if algorithm in QUICK else (pytest.mark.slow,)
            yield pytest.param(algorithm, environment, marks=marks, id=f"{algorithm}-{environment}")


@pytest.mark.parametrize(("algorithm", "environment"), list(_cases()))
def test_trials_do_not_depend_on_the_split(algorithm, environment):
    contract.trials_do_not_depend_on_the_split(ALGORITHMS[algorithm].example, ENVIRONMENTS[environment].example)
