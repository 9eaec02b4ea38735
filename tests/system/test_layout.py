"""The trial axis stays last: a compiled round of a learner moves no array to another order of axes."""

import jax
import jax.numpy as jnp
import pytest

from jaxbandits.algorithms import ALGORITHMS
from jaxbandits.algorithms.linear.hvt_ucb import HvtUCB
from jaxbandits.algorithms.linear.oful import OFUL
from jaxbandits.coco import OFWTVC, LinearConstraints, SinhaVaze
from jaxbandits.domains import Box, CappedSimplex, L1Ball, Simplex
from jaxbandits.environments import ENVIRONMENTS
from jaxbandits.environments.linear.heavy_tailed import HeavyTailed
from jaxbandits.estimation.fixed_arms import LEAST_DIM
from jaxbandits.numerics import rng, sampling, simplex
from jaxbandits.tracing.vmap_last import vmap_last
from tests.hlo_loops import moves
from tests.round_programs import compiled_rounds

# Rounds that transpose trials, and why: the shorter this list the better.
TURNS = {
    "linear/hvt_mdp": "episodes by scan, with gathers; without these (18 of 55 moves) a round took as long",
    "linear/oful_mdp": "likewise",
    "linear/hvt_identification": "its environment draws noise by vmap over coordinates: two moves of keys",
    "linear/recursive_least_squares": "likewise",
    **dict.fromkeys(
        (
            "teams/mc_top_m",
            "teams/rand_top_m",
            "teams/rho_rand",
            "teams/selfish",
            "teams/musical_chairs",
            "teams/sic_mmab",
        ),
        "players by vmap: the rewards of all players are added to their arms in one row of players and trials",
    ),
}
# Rounds that move whole rows of trials, and why.
MOVES = {
    "oco/ca_oons": "the points of N learners, `[d, N]` for them, are queries `[Q, d]`: 13 of whole rows of trials",
    "oco/anytime_ca_oons": "likewise",
    "glm/ada_ofu_ecolog": "three implicit steps by vmap",
    "glm/glm_ucb": "scores of the arms by vmap",
    "glm/ofuglb": "searches for all arms by vmap",
    "glm/ofulog_r": "likewise",
    "glm/rs_glincb": "products of arms lie by the axis that is summed, `[d, K]`",
    "linear/heavy_oful": "likewise, over its history",
    "linear/d_lin_ucb": "likewise, for two matrices",
    "linear/sw_lin_ucb": "likewise",
    "contextual/hybrid_lin_ucb": "likewise",
    "armed/ids": "sums over the grid are a matrix product",
    "armed/vids": "likewise",
    "linear/phased_elimination": "likewise, of the designs at the ends of phases",
}


def test_moves_are_found():
    """The count of the test below is positive for a transposed array."""

    def body(_, x):
        return jnp.cumsum(jax.lax.optimization_barrier(x.T), axis=1).T

    text = jax.jit(lambda x: jax.lax.fori_loop(0, 9, body, x)).lower(jnp.ones((3, 64))).compile().as_text()
    assert moves(text)


@pytest.mark.quick_cases(
    "armed/ucb1",
    "armed/kl_ucb",
    "armed/thompson_beta",
    "armed/restarting",
    "explore/lucb1",
    "contextual/square_cb",
    "glm/glm_ts",
    "linear/lin_ts",
    "linear/hvt_ucb",
)
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in (*TURNS, *MOVES)])
def test_a_round_moves_nothing(name):
    entry = ALGORITHMS[name]
    assert moves(compiled_rounds(entry.example, ENVIRONMENTS[entry.environments[0]].example)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "domain"),
    [
        (learner, domain)
        for learner in (OFWTVC, SinhaVaze)
        for domain in (L1Ball(), Box(dim=10), Simplex(), CappedSimplex(dim=10, cap=0.3))
    ],
)
def test_oracles_and_projections_move_nothing(learner, domain):
    """Oracles that are searches, projections that are loops."""
    algorithm = learner(dim=10, horizon=100, domain=domain)
    assert moves(compiled_rounds(algorithm, LinearConstraints(dim=10, domain=domain))) == []


@pytest.mark.quick_cases("linear/*", "glm/rs_glincb", "contextual/hybrid_lin_ucb")
@pytest.mark.parametrize("name", MOVES)
def test_what_is_left_moves_whole_rows_of_trials(name):
    """AnytimeCAOONS restarts in a branch on `t`, where `vmap` alone would make 103 moves."""
    entry = ALGORITHMS[name]
    text = compiled_rounds(entry.example, ENVIRONMENTS[entry.environments[0]].example)
    assert 0 < len(moves(text)) <= 18 and moves(text, width=64) == []


@pytest.mark.slow_after_first
@pytest.mark.parametrize("learner", [OFUL, HvtUCB])
def test_scores_of_fixed_arms_are_carried_without_moves(learner):
    environment = HeavyTailed(dim=LEAST_DIM, n_arms=12)  # of more, in float64, the arm played is read by its index
    assert moves(compiled_rounds(learner.practical(dim=LEAST_DIM, horizon=100), environment)) == []


def test_words_of_the_generator_are_computed_once():
    """Left alone, XLA repeats the rotations of a block in every kernel that reads its words."""
    entry = ALGORITHMS["oco/ogd"]
    text = compiled_rounds(entry.example, ENVIRONMENTS[entry.environments[0]].example)
    assert text.count(" shift-left(") == 20 + 13  # the key of the round, and the block of its draws


def test_words_of_several_blocks_are_computed_once():
    """One kernel a word, however many kernels read it."""

    def read(key):
        first, second = rng.random_words(key, jnp.arange(8))
        return jnp.sum(first), jnp.max(second), jnp.cumsum(first ^ second)

    keys = jax.random.split(jax.random.key(0, impl="threefry2x32"), 64)
    text = jax.jit(vmap_last(read)).lower(keys).compile({"xla_backend_optimization_level": 0}).as_text()
    assert text.count(" shift-left(") <= 2 * 13


def test_a_drawn_index_is_computed_once():
    """By a kernel of its own: fused into an indicator of m rows, it would be made of the weights m times."""

    def one_hot(q, high, low):
        return simplex.indicator(sampling.categorical(q, high, low), len(q))

    word = jax.ShapeDtypeStruct((64,), jnp.uint32)
    shapes = jax.ShapeDtypeStruct((9, 64), float), word, word
    text = jax.jit(vmap_last(one_hot)).lower(*shapes).compile({"xla_backend_optimization_level": 0}).as_text()
    assert text.count(" fusion(") == 2 and "s64" not in text  # integers of half a double's size, too


def test_exponentials_of_weights_are_taken_once():
    """A logarithm of doubles reads its argument twice: left alone, XLA adds the exponentials up for each."""
    lowered = jax.jit(vmap_last(simplex.kl_projection)).lower(jax.ShapeDtypeStruct((9, 64), float))
    text = lowered.compile({"xla_backend_optimization_level": 0}).as_text()
    assert text.count(" shift-left(") == 1  # of `numerics.elementary.exp`
