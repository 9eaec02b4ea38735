"""Upper bounds of Bernoulli means against bisection, over all means and levels."""

import jax
import numpy as np
import pytest

from jaxbandits.numerics import bernoulli
from tests.reference.armed import kl, kl_upper

ENDS = np.array([0.0, 1e-12, 1e-6, 1e-3])
MEANS = np.concatenate([ENDS, np.linspace(0.01, 0.99, 33), 1.0 - ENDS])
LEVELS = np.logspace(-9, 2, 45)


def test_upper_against_bisection():
    mean, level = (a.ravel() for a in np.meshgrid(MEANS, LEVELS))
    found = jax.jit(bernoulli.upper)(mean, level)
    wanted = [kl_upper(*pair) for pair in zip(mean, level, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)


def test_levels_at_which_the_bound_is_known():
    mean = np.array([0.0, 0.3, 1.0, 0.0, 0.5])
    level = np.array([0.0, 0.0, 2.0, 1.5, np.inf])
    found = jax.jit(bernoulli.upper)(mean, level)
    np.testing.assert_allclose(found, [0.0, 0.3, 1.0, 1.0 - np.exp(-1.5), 1.0], atol=1e-13)


@pytest.mark.parametrize(("p", "q"), [(0.2, 0.5), (0.0, 0.3), (1.0, 0.3)])
def test_the_reference_is_the_divergence(p, q):
    laws = [(p, q), (1 - p, 1 - q)]
    assert kl(p, q - p) == pytest.approx(sum(a * np.log(a / b) for a, b in laws if a))
