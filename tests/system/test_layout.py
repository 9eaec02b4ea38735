"""The trial axis stays last: a compiled round of a learner moves no array to another order of axes."""

import jax
import jax.numpy as jnp
import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.coco import OFWTVC, LinearConstraints, SinhaVaze
from jaxbandits.domains import L1Ball
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.estimation.fixed_arms import LEAST_DIM
from jaxbandits.testing.speed import moves
from tests.layout import compiled_rounds

# One-pass learners: here a round is a few microseconds, and one move of an array would be seen in it.
QUICK = ("linear/hvt_ucb", "linear/oful", "linear/crtm", "glm/glb_omd", "glm/gloc", "glm/oful_mlogb", "dro/atkro_k")
# What still moves arrays, and why: the shorter this list the better.
MOVES = {
    "linear/hvt_mdp": "one regression a step of the episode, by vmap over steps",
    "linear/oful_mdp": "likewise",
    "linear/hvt_identification": "one regression a coordinate, by vmap over coordinates",
    "linear/recursive_least_squares": "its environment draws normal vectors",
    "glm/ada_ofu_ecolog": "three implicit steps by vmap",
    "glm/glm_ucb": "scores of the arms by vmap",
    "glm/ofuglb": "searches for all arms by vmap",
    "glm/ofulog_r": "likewise",
}


def test_moves_are_found():
    """What the test below counts is there when a learner is written the textbook way."""

    def body(_, x):
        return jnp.cumsum(jax.lax.optimization_barrier(x.T), axis=1).T

    text = jax.jit(lambda x: jax.lax.fori_loop(0, 9, body, x)).lower(jnp.ones((3, 64))).compile().as_text()
    assert moves(text)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow)
        for name in ALGORITHMS
        if name.startswith(("linear/", "glm/", "coco/", "dro/")) and name not in MOVES
    ],
)
def test_a_round_moves_nothing(name):
    entry = ALGORITHMS[name]
    assert moves(compiled_rounds(entry.example, ENVIRONMENTS[entry.environments[0]].example)) == []


@pytest.mark.parametrize("learner", [OFWTVC, pytest.param(SinhaVaze, marks=pytest.mark.slow)])
def test_oracles_and_projections_move_nothing(learner):
    """On the l1 ball, whose oracle is a search and whose projection is a loop."""
    algorithm = learner(dim=10, horizon=100, domain=L1Ball())
    assert moves(compiled_rounds(algorithm, LinearConstraints(dim=10, domain=L1Ball()))) == []


@pytest.mark.parametrize("learner", [OFUL, HvtUCB])
def test_scores_of_fixed_arms_are_carried_without_moves(learner):
    environment = HeavyTailed(dim=LEAST_DIM, n_arms=20)
    assert moves(compiled_rounds(learner.practical(dim=LEAST_DIM, horizon=100), environment)) == []
