"""The published instance: the six values of kappa that Section 5 of arXiv:2507.11847 states, and its form."""

import numpy as np

from jaxbandits.environments.glm.published_instance import draw

STATED = {"logistic": {3: 21, 5: 137, 7: 963}, "poisson": {3: 18, 5: 127, 7: 882}}  # S to kappa
INVERSE_SLOPES = {"logistic": lambda z: 2.0 + 2.0 * np.cosh(z), "poisson": lambda z: np.exp(-z)}  # 1 / mu'


def test_all_six_kappas_are_those_that_the_paper_states():
    direction, arms = draw(3000)
    cosines = arms @ direction
    for family, values in STATED.items():
        found = {size: round(np.max(INVERSE_SLOPES[family](size * cosines))) for size in values}
        assert found == values


def test_arms_are_new_in_every_round_and_lie_in_the_ball():
    direction, arms = draw(3000)
    assert arms.shape == (3000, 20, 5) and np.isclose(np.linalg.norm(direction), 1.0)
    norms = np.linalg.norm(arms, axis=-1)
    assert 0.999 < norms.max() <= 1.0 and len(np.unique(arms)) == arms.size
    np.testing.assert_array_equal(draw(40).arms, arms[:40])  # the first rounds of a longer one
