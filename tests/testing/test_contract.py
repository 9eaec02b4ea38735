"""Every registered algorithm on every environment it names, through the public contract checks.

What simulates is asked of programs as users get them: tests/simulation/test_split.
"""

import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.coco import OFWTVC, LinearConstraints
from jaxbandits.domains import NuclearBall
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.estimation.fixed_arms import LEAST_DIM
from jaxbandits.testing import contract
from tests.toy_problems import Shrink

SIMULATES = (
    contract.trials_do_not_depend_on_the_split, contract.decisions_are_admissible,
    contract.every_traced_field_can_be_swept, contract.stays_finite_over_many_rounds,
)  # fmt: skip
CHECKS = [c for c in contract.ALGORITHM_CHECKS if c not in SIMULATES]
# All learners go through the first check, most through the next three, and a few of each family through all.
QUICK = (
    "*-fields_have_meanings",
    *(f"{family}/*-{check}" for family in ("linear", "glm", "oco", "coco", "dro")
      for check in ("protocol_names_and_fields", "select_is_read_only", "recommendation_is_finite")),
    "armed/thompson_beta-*", "armed/ucb1-*", "explore/lucb1-*", "contextual/disjoint_lin_ucb-*", "linear/hvt_ucb-*",
    "glm/glb_omd-*", "oco/oons-*", "coco/ofw_tvc-*",
    "duels/rucb-*", "combinatorial/cascade_ucb1-*", "teams/mc_top_m-*",
)  # fmt: skip


def _cases():
    for algorithm, entry in ALGORITHMS.items():
        for environment in entry.environments:
            for check in CHECKS:
                yield pytest.param(algorithm, environment, check, id=f"{algorithm}-{environment}-{check.__name__}")


@pytest.mark.quick_cases(*QUICK)
@pytest.mark.parametrize(("algorithm", "environment", "check"), list(_cases()))
def test_algorithm(algorithm, environment, check):
    check(ALGORITHMS[algorithm].example, ENVIRONMENTS[environment].example)


@pytest.mark.slow_cases(
    "armed/bernoulli_arms",
    "armed/beta_arms",
    "armed/noisy_arms",
    "armed/switching_arms",
    "contextual/linear_contexts",
    "combinatorial/cascading_clicks",
    "combinatorial/semi_bandit",
    "duels/dueling_arms",
    "teams/shared_arms",
)
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment(name):
    contract.check_environment(ENVIRONMENTS[name].example)


@pytest.mark.slow_after_first
@pytest.mark.parametrize("check", [contract.state_shape_is_fixed, *SIMULATES[:1]])
def test_matrix_decisions_go_through_the_same_loop(check):
    shape, domain = (4, 3), NuclearBall(radius=2.0)
    algorithm = OFWTVC.practical(dim=shape, horizon=200, lipschitz=2.0, domain=domain)
    check(algorithm, LinearConstraints(dim=shape, domain=domain))


# every_traced_field_can_be_swept compiles for each field: the examples, of lower dimension, go through it
@pytest.mark.quick_cases(
    "*-fields_have_meanings", "OFUL-protocol_names_and_fields", "OFUL-state_shape_is_fixed", "OFUL-select_is_read_only",
    "OFUL-masked_arms_are_never_played", "OFUL-recommendation_is_finite",
)  # fmt: skip
@pytest.mark.parametrize(
    "check", [*(c for c in CHECKS if c != contract.stays_finite), contract.stays_finite, *SIMULATES[:2]]
)
@pytest.mark.parametrize("learner", [OFUL, HvtUCB])
def test_learners_that_carry_scores_of_fixed_arms(learner, check):
    check(learner.practical(dim=LEAST_DIM, horizon=100), HeavyTailed(dim=LEAST_DIM, n_arms=7, available=4))


def test_a_sweep_of_a_field_that_is_0_has_two_values():
    assert dict(contract._sweepable(Shrink(rate=0.0)))["rate"] == [0.0, 0.1]


def test_every_algorithm_is_paired_with_an_environment():
    for name, entry in ALGORITHMS.items():
        assert entry.environments, name
        assert set(entry.environments) <= set(ENVIRONMENTS), name
