"""OFUL-MLogB against its loop on fresh instances; its step is GLB-OMD's; its bonus by hand."""

import jax
import numpy as np
import pytest

from jaxbandits.algorithms.glm.glb_omd import GLBOMD
from jaxbandits.algorithms.glm.oful_mlogb import OFULMLogB
from tests.algorithms.glm.replay_glm import ROUNDS, agree, force, play
from tests.reference import glb_omd, glm_one_pass


def fresh(seed, d, S):
    theta, X, rng = glb_omd.time_varying(seed, d, 5, ROUNDS, S)
    return X, glb_omd.rewards("bernoulli", rng, X @ theta)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "S", "ridge"), [(5, 5.0, 0.3), (1, 3.0, 1.0), (2, 3.0, 2.0), (20, 3.0, 2.0)])
def test_matches_the_reference(d, S, ridge):
    X, R = fresh(d, d, S)
    trace = play(OFULMLogB(dim=d, norm_bound=S, ridge=ridge), X, R)
    agree(trace, X, R, glm_one_pass.OFULMLogB(d, S, lam=ridge))


@pytest.mark.slow
def test_the_step_is_that_of_glb_omd():
    """Same actions, same eta: the same theta and inverse to the last bit."""
    X, R = fresh(3, 3, 3.0)
    ours = force(OFULMLogB(dim=3, norm_bound=3.0), X[:, 0], R[:, 0])
    eta = 0.5 * np.log(2.0) + 3.0 + 1.0
    omd = force(GLBOMD(dim=3, norm_bound=3.0, step_size=eta), X[:, 0], R[:, 0])
    np.testing.assert_allclose(ours["theta"], omd["theta"], rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(ours["inverse"], omd["inverse"], rtol=1e-14)


def test_scale_zero_is_greedy_and_the_radius_grows_like_a_logarithm():
    X, R = fresh(4, 3, 3.0)
    trace = play(OFULMLogB(dim=3, norm_bound=3.0, beta_scale=0.0), X, R)
    before = np.vstack([np.zeros(3), trace["theta"][:-1]])
    np.testing.assert_array_equal(trace["index"][1:], np.argmax(np.einsum("tkd,td->tk", X, before), axis=1)[1:])
    algorithm = OFULMLogB(dim=4, norm_bound=3.0, ridge=9.0, delta=0.1)
    state = algorithm.init(jax.random.key(0))
    assert float(algorithm.radius(0, state)) == pytest.approx(18.0 + 2.0 * np.log(2.0 / 0.1))
    grown = algorithm.radius(199, state) - algorithm.radius(0, state)
    assert float(grown) == pytest.approx(2.0 * np.log(201.0 / 2.0))
