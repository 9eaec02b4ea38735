"""ada-OFU-ECOLog in float32 (a process without x64), against the float64 reference."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.algorithms.glm.ada_ofu_ecolog import AdaOFUECOLog
from jaxbandits.base.pytree import as_arrays
from jaxbandits.numerics import inverse_factors
from jaxbandits.types import ArmDecision, ArmObs, Reward
from tests.reference import ada_ofu_ecolog, glb_omd

KEY, ROUNDS = jax.random.key(0), 60


@jax.jit
def replay(algorithm, xs, rs):
    def round_(state, row):
        t, x, r = row
        state = algorithm.update(KEY, t, state, ArmObs(x[None]), ArmDecision(jnp.int32(0), x), Reward(r))
        inverse = inverse_factors.to_dense(state.inverse)
        seen = {"theta": state.theta, "warm_theta": state.warmup.theta, "gram": state.gram, "inverse": inverse}
        return state, seen | {"count": state.warmup.count, "radius": algorithm.radius(t, state)}

    return jax.lax.scan(round_, algorithm.init(KEY), (jnp.arange(len(rs), dtype=jnp.int32), xs, rs))[1]


@pytest.mark.slow
@pytest.mark.parametrize(("d", "S", "ridge", "scale"), [(2, 3.0, 0.6, 4e-3), (3, 7.0, 1.0, 4e-3)])
def test_follows_the_float64_reference(d, S, ridge, scale):
    draws = np.random.default_rng(d)
    xs = draws.standard_normal((ROUNDS, d))
    xs = (xs / np.linalg.norm(xs, axis=1, keepdims=True)).astype(np.float32)
    star = draws.standard_normal(d)
    rs = glb_omd.rewards("bernoulli", draws, xs @ star * (S / np.linalg.norm(star))).astype(np.float32)
    algorithm = as_arrays(AdaOFUECOLog(dim=d, capacity=ROUNDS, norm_bound=S, ridge=ridge, warmup_scale=scale))
    trace = {name: np.asarray(a) for name, a in replay(algorithm, jnp.asarray(xs), jnp.asarray(rs)).items()}
    assert all(a.dtype == np.float32 for a in trace.values())
    learner = ada_ofu_ecolog.AdaOFUECOLog(d, S, lam=ridge, warmup_scale=scale)
    for t, (x, r) in enumerate(zip(xs.astype(np.float64), rs.astype(np.float64), strict=True)):
        learner.update(x, r)
        assert abs(learner.margin - 1.0) > 1e-3  # otherwise rounding could decide
        assert trace["count"][t] == len(learner.r)
        np.testing.assert_allclose(trace["theta"][t], learner.theta, atol=3e-4)
        np.testing.assert_allclose(trace["warm_theta"][t], learner.theta_H, atol=3e-4)
        np.testing.assert_allclose(trace["gram"][t], learner.W, rtol=1e-3, atol=1e-4)
        assert trace["radius"][t] == pytest.approx(learner.sigma(), rel=1e-4)
        np.testing.assert_allclose(trace["inverse"][t] @ trace["gram"][t], np.eye(d), atol=1e-4)
    assert 1 <= len(learner.r) <= ROUNDS - 5
