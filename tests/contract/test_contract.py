"""Every registered algorithm on every environment it names, through the public contract checks."""

import pytest

from jaxbandits import OFWTVC, LinearConstraints, NuclearBall
from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.testing import contract

PAIRS = [(a, e) for a, entry in ALGORITHMS.items() for e in entry.environments]


@pytest.mark.parametrize("check", contract.ALGORITHM_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("algorithm", "environment"), PAIRS)
def test_algorithm(algorithm, environment, check):
    check(ALGORITHMS[algorithm].example, ENVIRONMENTS[environment].example)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment(name):
    contract.check_environment(ENVIRONMENTS[name].example)


@pytest.mark.parametrize("check", [contract.state_shape_is_fixed, contract.trials_do_not_depend_on_the_split])
def test_matrix_decisions_go_through_the_same_loop(check):
    shape, domain = (4, 3), NuclearBall(radius=2.0)
    algorithm = OFWTVC.balanced(dim=shape, horizon=200, lipschitz=2.0, domain=domain)
    check(algorithm, LinearConstraints(dim=shape, domain=domain))


def test_every_algorithm_is_paired_with_an_environment():
    for name, entry in ALGORITHMS.items():
        assert entry.environments, name
        assert set(entry.environments) <= set(ENVIRONMENTS), name
