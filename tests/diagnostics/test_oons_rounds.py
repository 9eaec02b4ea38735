"""The path-wise inequality of OONS, by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandits.diagnostics import oons_rounds


@pytest.mark.parametrize("dim", [1, 3])
def test_the_slack_of_unconstrained_steps_is_known(dim, rng):
    """If both steps are free minimisers, all is equality but the curvature: c eta <x - u, e>^2 / 2 is left."""
    root = rng.standard_normal((dim, dim))
    metric = root @ root.T + np.eye(dim)
    center, hint, grad, u = rng.standard_normal((4, dim))
    c_corr, eta = 1.5, 0.3
    play, error = center - np.linalg.solve(metric, hint), grad - hint
    nabla = grad + c_corr * eta * (play @ error) * error
    next_center = center - np.linalg.solve(metric, nabla)
    fields = {"play": play, "center": center, "next_center": next_center, "hint": hint, "grad": grad, "nabla": nabla}
    numbers = {"metric": metric, "eta": eta, "radius": 1e9, "hint_range": 1e9, "c_corr": c_corr}
    played = oons_rounds.OONSRound(**{name: jnp.asarray(value) for name, value in (fields | numbers).items()})
    expected = 0.5 * c_corr * eta * ((play - u) @ error) ** 2
    np.testing.assert_allclose(oons_rounds.inequality_slack(played, jnp.asarray(u)), expected, rtol=1e-10)
