"""The heavy-tailed linear experiments: the explicit bound of the theorem."""

import numpy as np

from jaxbandits.experiments import EXPERIMENTS
from jaxbandits.experiments.linear.bound import theorem_1


def test_the_explicit_bound_of_theorem_1_by_hand():
    """At d = 2, T = 18000, eps = 0.99: kappa 33.647, tau0 1.44246, ell 32.167, beta_T 5092 (hand-checked constants).

    On its third branch w_t^2 is tau_0 t^e / (2 sqrt(alpha) beta_{t-1}), alpha = 4: hence the 4 of the second term.
    """
    panel = EXPERIMENTS["linear/bound"].panels(18_000)["student"]
    (algorithm,) = EXPERIMENTS["linear/bound"].algorithms("theory", 18_000, panel).values()
    rounds = np.asarray([18_000])
    got = theorem_1(algorithm, rounds, np.asarray([18_000 * 1.31**2]))
    c = np.sqrt(12.0) / 1.44246 + 107 * 32.167
    expected = 4 * 5092 * (np.sqrt(2 * 33.647) * np.sqrt(18_000 * 1.31**2 + 1) + 4.0 * c * 33.647 / np.sqrt(2.0))
    np.testing.assert_allclose(got, expected, rtol=1e-3)
